//! ICMP errors about a socket's datagrams, as the kernel queues them (`IP_RECVERR`, `IPV6_RECVERR`; ip(7)).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::AsFd;

use sixbench_packet::error_queue::{self, Entry};
use socket2::Socket;

use crate::{Error, Result, sys};

/// Bytes that are read of the datagram that an error is about: more than any header of ours.
const QUOTE_BYTES: usize = 64;

/// Has the kernel queue the errors about the datagrams of a socket. From here on, every error also makes the next call
/// on the socket fail once, unless the queue is read before.
pub fn ask_for_errors(socket: &Socket, address: IpAddr) -> Result<()> {
    error_queue::enable(socket, address.is_ipv6())
        .map_err(|e| Error::system("asking for the errors about datagrams", "setsockopt(RECVERR)", e))
}

/// An error about a datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queued {
    /// This host refused it: it is longer than this MTU.
    Refused {
        /// The MTU of the path, or of the interface, as the kernel says.
        mtu_bytes: u32,
    },
    /// An ICMP error came.
    Icmp(IcmpError),
}

/// An ICMP or ICMPv6 error, and the datagram that it quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IcmpError {
    /// Its type and code.
    pub kind: (u8, u8),
    /// True if it is of ICMP, false if of ICMPv6.
    pub is_ipv4: bool,
    /// The sender of the error.
    pub from: Option<IpAddr>,
    /// The MTU in Fragmentation Needed and Packet Too Big. 0 where an old router gives none (RFC 1191 section 5).
    pub mtu_bytes: Option<u32>,
    /// The start of the datagram's payload, as far as it was quoted.
    pub quote: Vec<u8>,
}

impl IcmpError {
    /// The name its RFC gives it.
    pub fn name(&self) -> &'static str {
        icmp_error_name(self.is_ipv4, self.kind.0, self.kind.1).unwrap_or("other")
    }
}

/// The name that RFC 792 or RFC 4443 gives an error.
pub fn icmp_error_name(is_ipv4: bool, kind: u8, code: u8) -> Option<&'static str> {
    Some(match (is_ipv4, kind, code) {
        (true, 3, 4) => "fragmentation-needed",
        (true, 3, _) | (false, 1, _) => "destination-unreachable",
        (true, 4, _) => "source-quench",
        (true, 5, _) => "redirect",
        (true, 11, _) | (false, 3, _) => "time-exceeded",
        (true, 12, _) | (false, 4, _) => "parameter-problem",
        (false, 2, _) => "packet-too-big",
        _ => return None,
    })
}

/// The next error in the queue; nothing where it is empty. Errors that say nothing of a datagram are passed over.
pub fn next(socket: &impl AsFd) -> Option<Queued> {
    let mut quote = [0; QUOTE_BYTES];
    loop {
        let Entry { bytes, error, .. } = error_queue::next(socket, &mut quote).ok()?;
        let Some(error) = error else { continue };
        match error.origin {
            libc::SO_EE_ORIGIN_LOCAL if error.errno == libc::EMSGSIZE as u32 => {
                return Some(Queued::Refused { mtu_bytes: error.info });
            }
            libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6 => {
                let is_ipv4 = error.origin == libc::SO_EE_ORIGIN_ICMP;
                let kind = (error.kind, error.code);
                let tells_mtu = if is_ipv4 { kind == (3, 4) } else { kind.0 == 2 };
                return Some(Queued::Icmp(IcmpError {
                    kind,
                    is_ipv4,
                    from: error.offender,
                    mtu_bytes: tells_mtu.then_some(error.info),
                    quote: quote[..bytes.min(QUOTE_BYTES)].to_vec(),
                }));
            }
            _ => {}
        }
    }
}

/// Has the kernel note when it sends those datagrams of a socket whose call asks for it (`SO_TIMESTAMPING`, since Linux
/// 4.6). The times are fetched by [`next_send_time`], and make no call fail.
pub fn ask_for_send_times(socket: &Socket) -> Result<()> {
    let flags = libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_OPT_ID | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    sys::set_socket_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as i32)
        .map_err(|e| Error::system("asking for send times", "setsockopt(SO_TIMESTAMPING)", e))
}

/// The time at which a datagram was at a stage of its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendTime {
    /// Number of the datagram, among those whose times were asked for, from 0.
    pub number: u32,
    /// The stage.
    pub stage: Stage,
    /// The time on the realtime clock.
    pub realtime_ns: u64,
}

/// Places of a datagram on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It enters the queue of the device.
    Queue,
    /// The device takes it.
    Device,
}

/// `linux/errqueue.h`: the stage that a time belongs to.
const SCM_TSTAMP_SND: u32 = 0;
const SCM_TSTAMP_SCHED: u32 = 1;

/// The next send time in the queue; nothing where it is empty. Other messages in it are passed over.
pub fn next_send_time(socket: &impl AsFd) -> Option<SendTime> {
    loop {
        let Entry { error, times, .. } = error_queue::next(socket, &mut []).ok()?;
        let (Some(error), Some(realtime_ns)) = (error, times.and_then(|times| times.realtime_ns)) else { continue };
        let stage = match (error.origin, error.info) {
            (libc::SO_EE_ORIGIN_TIMESTAMPING, SCM_TSTAMP_SND) => Stage::Device,
            (libc::SO_EE_ORIGIN_TIMESTAMPING, SCM_TSTAMP_SCHED) => Stage::Queue,
            _ => continue,
        };
        return Some(SendTime { number: error.data, stage, realtime_ns });
    }
}

/// Makes the kernel report when the interface has sent those frames of a packet socket whose call asks for it. The
/// times are fetched by [`next_sent_frame`].
pub fn ask_for_hardware_times(socket: &impl AsFd) -> Result<()> {
    sys::set_socket_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, libc::SOF_TIMESTAMPING_RAW_HARDWARE as i32)
        .map_err(|e| Error::system("asking for the interface's send times", "setsockopt(SO_TIMESTAMPING)", e))
}

/// The beginning of the next frame that the interface has sent, in `buffer`: how long it is, and the time by the
/// interface's clock, if there is one. Nothing where the queue is empty.
pub fn next_sent_frame(socket: &impl AsFd, buffer: &mut [u8]) -> Option<(usize, Option<u64>)> {
    let Entry { bytes, times, .. } = error_queue::next(socket, buffer).ok()?;
    Some((bytes, times.and_then(|times| times.hardware_ns)))
}

/// The errors about the datagrams of a socket, counted by name.
#[derive(Debug, Default)]
pub struct ErrorCounts(BTreeMap<&'static str, u64>);

/// Contents of an emptied queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Number of ICMP errors.
    pub icmp: u64,
    /// True if this host refused a datagram.
    pub is_refused: bool,
}

impl ErrorCounts {
    /// Empties the queue of a socket.
    pub fn drain(&mut self, socket: &impl AsFd) -> Drained {
        let mut drained = Drained { icmp: 0, is_refused: false };
        while let Some(queued) = next(socket) {
            match queued {
                Queued::Refused { .. } => drained.is_refused = true,
                Queued::Icmp(error) => {
                    drained.icmp += 1;
                    *self.0.entry(error.name()).or_default() += 1;
                }
            }
        }
        drained
    }

    /// Each name, and its count.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(name, count)| (*name, *count))
    }

    /// `errors` of the results.
    pub fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

    use socket2::{Protocol, Type};

    use super::*;
    use crate::df::Df;
    use crate::{datagram_socket, socket};

    #[test]
    fn an_error_of_the_network_is_told_with_its_quote() {
        for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            // It has the port, so that nobody else gets it. Connected elsewhere, it takes no datagrams of ours.
            let holder = socket::open(address, Type::DGRAM, Some(Protocol::UDP)).unwrap();
            socket::bind(&holder, address, 0).unwrap();
            let port = holder.local_addr().unwrap().as_socket().map(|to: SocketAddr| to.port()).unwrap();
            datagram_socket::connect(&holder, (address, 9)).unwrap();
            let asking = socket::open(address, Type::DGRAM, Some(Protocol::UDP)).unwrap();
            socket::bind(&asking, address, 0).unwrap();
            ask_for_errors(&asking, address).unwrap();
            datagram_socket::connect(&asking, (address, port)).unwrap();
            asking.send(b"are you there?").unwrap();
            // On loopback the answer is there when the call returns.
            let Some(Queued::Icmp(error)) = next(&asking) else { panic!("no error") };
            assert_eq!((error.name(), error.from), ("destination-unreachable", Some(address)));
            assert_eq!((&error.quote[..], error.mtu_bytes), (&b"are you there?"[..], None));
            // Read, it does not make the next call fail, which has an error of its own.
            asking.send(b"again").unwrap();
            let mut counts = ErrorCounts::default();
            assert_eq!(counts.drain(&asking), Drained { icmp: 1, is_refused: false });
            assert_eq!(*counts.counts(), [("destination-unreachable", 1)].into());
        }
    }

    #[test]
    fn what_this_host_refuses_is_told_with_the_mtu() {
        let address = IpAddr::V6(Ipv6Addr::LOCALHOST);
        let socket = socket::open(address, Type::DGRAM, Some(Protocol::UDP)).unwrap();
        socket::bind(&socket, address, 0).unwrap();
        ask_for_errors(&socket, address).unwrap();
        Df::Probe.apply(&socket, address).unwrap();
        socket.send_to(&[0; 65_527], &socket.local_addr().unwrap()).unwrap_err();
        assert_eq!(next(&socket), Some(Queued::Refused { mtu_bytes: 65_536 }));
        assert_eq!(next(&socket), None);
    }
}
