//! Decides which datagrams go to the kernel together, and whether it gets them in one piece and cuts that.

use schemars::JsonSchema;
use serde::Serialize;
use socket2::Socket;

use super::{NAME, Settings};
use crate::df::Df;
use crate::egress::Egress;
use crate::error::bad_params;
use crate::params::Params;
use crate::session::Endpoint;
use crate::{Error, Result, path_mtu, sys};

/// Datagrams in a super-packet: `UDP_MAX_SEGMENTS` of Linux before 6.9, which is enough to make the call cheap.
const MAX_SEGMENTS: u64 = 64;
/// The most that a super-packet carries: an IPv4 packet.
const MAX_SUPER_PACKET_BYTES: u64 = 65_535 - 20 - 8;
/// Datagrams of an unpaced flow that go by one call, uncut. They leave one after the other, some 4 us each, while all
/// carry the time before the call: with 32 the median delay on an idle veth was 59 us, with 4 it was 7 us, at the same
/// rate.
const UNPACED_AT_ONCE: u64 = 4;
/// The most that `batch` may ask for.
const MAX_BATCH: u64 = 1024;
const UDP_HEADER_BYTES: u64 = 8;

/// The choices of the parameters.
#[derive(Debug, Clone, Copy)]
pub struct Together {
    segmentation: Segmentation,
    batch: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Segmentation {
    /// Used where it is faster and every datagram is a packet of its own on the link nevertheless.
    Auto,
    Never,
    Always,
}

impl Together {
    /// Reads `segmentation` and `batch`.
    pub fn read(params: &mut Params<'_>) -> Result<Self> {
        let words = [("auto", Segmentation::Auto), ("never", Segmentation::Never), ("always", Segmentation::Always)];
        Ok(Self {
            segmentation: params.choice("segmentation", &words)?,
            batch: params.integer("batch", 1..=MAX_BATCH)?,
        })
    }

    /// True if super-packets may arrive, and are to be taken whole.
    pub fn takes_super_packets(&self) -> bool {
        self.segmentation == Segmentation::Always
    }

    /// Decides for a flow, and tells the socket.
    pub fn decide(&self, socket: &Socket, endpoint: &Endpoint, settings: &Settings) -> Result<Sending> {
        let is_wanted = match self.segmentation {
            Segmentation::Never => false,
            Segmentation::Auto => settings.is_unpaced() && settings.df != Df::Atomic,
            Segmentation::Always => true,
        };
        let (payload_bytes, several) = (*settings.payloads().end() as u64, settings.payloads().count() > 1);
        let whole = Sending {
            at_once: self.batch.unwrap_or(if settings.is_unpaced() { UNPACED_AT_ONCE } else { 1 }),
            segments: 1,
            super_packets: false,
        };
        if !is_wanted {
            return Ok(whole);
        }
        let segments = MAX_SEGMENTS.min(MAX_SUPER_PACKET_BYTES / payload_bytes).min(self.batch.unwrap_or(MAX_SEGMENTS));
        let decided = Egress::towards(endpoint).and_then(|egress| {
            let mtu_bytes = path_mtu::known_bytes(endpoint)?;
            let reason = obstacle(payload_bytes, several, endpoint.address.is_ipv4(), mtu_bytes, &egress);
            Ok((egress, reason))
        });
        match (self.segmentation, decided) {
            (Segmentation::Always, Err(error)) => Err(error),
            (Segmentation::Always, Ok((_, Some(reason)))) => {
                Err(bad_params(NAME, format!("`segmentation` cannot be `always`: {reason}")))
            }
            (_, Ok((egress, None))) if segments > 1 && (takes(self.segmentation, &egress)) => {
                sys::set_socket_option(socket, libc::SOL_UDP, libc::UDP_SEGMENT, payload_bytes as i32)
                    .map_err(|e| Error::system("asking for segmentation", "setsockopt(UDP_SEGMENT)", e))?;
                Ok(Sending {
                    at_once: self.batch.unwrap_or(segments),
                    segments: segments as usize,
                    super_packets: egress.takes_super_packets,
                })
            }
            _ => Ok(whole),
        }
    }
}

/// Unasked, super-packets are made only where none of them crosses the link.
fn takes(segmentation: Segmentation, egress: &Egress) -> bool {
    segmentation == Segmentation::Always || !egress.takes_super_packets
}

/// The reason why the kernel would not cut the datagrams as they are meant to be.
fn obstacle(payload_bytes: u64, several: bool, is_ipv4: bool, mtu_bytes: u32, egress: &Egress) -> Option<String> {
    let packet_bytes = payload_bytes + UDP_HEADER_BYTES + if is_ipv4 { 20 } else { 40 };
    if several {
        Some("datagrams of several sizes cannot be cut from one piece".into())
    } else if packet_bytes > u64::from(mtu_bytes) {
        Some(format!(
            "packets of {packet_bytes} bytes exceed the path MTU of {mtu_bytes}, and what is cut is never fragmented"
        ))
    } else if egress.has_queue && !egress.takes_super_packets {
        let device = &egress.device;
        Some(format!(
            "the queue of {device} would take up to {MAX_SEGMENTS} datagrams for one packet, since they are cut behind it"
        ))
    } else if egress.leads_on && !egress.takes_super_packets {
        let device = &egress.device;
        Some(format!(
            "up to {MAX_SEGMENTS} datagrams would leave {device} as one packet, since it leads to another device"
        ))
    } else {
        None
    }
}

/// The way of sending datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sending {
    /// Most datagrams of one call.
    #[serde(rename = "batch")]
    pub at_once: u64,
    /// Most datagrams in one piece for the kernel.
    pub segments: usize,
    /// True if these pieces cross the first link as they are.
    pub super_packets: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIRE: Egress =
        Egress { device: String::new(), has_queue: false, leads_on: false, takes_super_packets: false };

    #[test]
    fn what_cannot_be_cut() {
        assert_eq!(obstacle(1472, false, true, 1500, &WIRE), None);
        let reason = |obstacle: Option<String>| obstacle.unwrap();
        assert!(reason(obstacle(1472, false, false, 1500, &WIRE)).contains("packets of 1520 bytes exceed"));
        assert!(reason(obstacle(100, true, true, 1500, &WIRE)).contains("several sizes"));
        let queued = Egress { device: "to-r1".into(), has_queue: true, ..WIRE };
        assert!(reason(obstacle(100, false, true, 1500, &queued)).contains("the queue of to-r1"));
        assert_eq!(obstacle(100, false, true, 1500, &Egress { takes_super_packets: true, ..queued }), None);
        let tunnel = Egress { device: "6in4-1".into(), leads_on: true, ..WIRE };
        assert!(reason(obstacle(100, false, true, 1500, &tunnel)).contains("would leave 6in4-1 as one packet"));
        assert_eq!(obstacle(100, false, true, 1500, &Egress { takes_super_packets: true, ..tunnel }), None);
    }

    #[test]
    fn unasked_no_super_packet_crosses_a_link() {
        assert!(takes(Segmentation::Auto, &WIRE));
        assert!(!takes(Segmentation::Auto, &Egress { takes_super_packets: true, ..WIRE }));
        assert!(takes(Segmentation::Always, &Egress { takes_super_packets: true, ..WIRE }));
    }
}
