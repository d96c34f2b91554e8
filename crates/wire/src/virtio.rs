//! `struct virtio_net_hdr` (`linux/virtio_net.h`), which packet sockets put before a frame: the work that was left to a
//! device. Its numbers are in the host's order.

use crate::checksum;

/// Length of the header.
pub const HEADER_BYTES: usize = 10;

/// VIRTIO_NET_HDR_F_NEEDS_CSUM.
const NEEDS_CHECKSUM: u8 = 1;
/// VIRTIO_NET_HDR_GSO_TCPV4, _TCPV6 and _ECN.
const GSO_TCP_V4: u8 = 1;
const GSO_TCP_V6: u8 = 4;
const GSO_ECN: u8 = 0x80;

/// The work that is left to do on a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repr {
    /// A checksum, whose field has the sum of the pseudo header.
    pub checksum: Option<Checksum>,
    /// The segments that the frame is to be cut into.
    pub segments: Option<Segments>,
}

/// A checksum that is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum {
    /// The beginning of the bytes that it covers, from the frame's beginning.
    pub start_bytes: u16,
    /// The place of its field, from there.
    pub offset_bytes: u16,
}

/// The segments that a frame is to be cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segments {
    /// The kind of segments, as the header has it.
    pub kind: u8,
    /// Length of the headers, which each segment gets.
    pub header_bytes: u16,
    /// Length of what a segment has behind them. Never 0.
    pub segment_bytes: u16,
}

impl Segments {
    /// Segments of TCP. With `has_cwr`, only the first has that flag: RFC 3168 section 6.1.2.
    pub fn of_tcp(is_ipv4: bool, has_cwr: bool, header_bytes: u16, segment_bytes: u16) -> Self {
        let kind = if is_ipv4 { GSO_TCP_V4 } else { GSO_TCP_V6 } | if has_cwr { GSO_ECN } else { 0 };
        Self { kind, header_bytes, segment_bytes }
    }
}

impl Repr {
    /// Reads a header.
    pub fn parse(header: &[u8; HEADER_BYTES]) -> Self {
        let [flags, kind, a, b, c, d, e, f, g, h] = *header;
        let [header_bytes, segment_bytes, start_bytes, offset_bytes] =
            [[a, b], [c, d], [e, f], [g, h]].map(u16::from_ne_bytes);
        Self {
            checksum: (flags & NEEDS_CHECKSUM != 0).then_some(Checksum { start_bytes, offset_bytes }),
            segments: (segment_bytes != 0).then_some(Segments { kind, header_bytes, segment_bytes }),
        }
    }

    /// The header.
    pub fn emit(&self) -> [u8; HEADER_BYTES] {
        let flags = if self.checksum.is_some() { NEEDS_CHECKSUM } else { 0 };
        let Segments { kind, header_bytes, segment_bytes } =
            self.segments.unwrap_or(Segments { kind: 0, header_bytes: 0, segment_bytes: 0 });
        let Checksum { start_bytes, offset_bytes } =
            self.checksum.unwrap_or(Checksum { start_bytes: 0, offset_bytes: 0 });
        let [[a, b], [c, d], [e, f], [g, h]] =
            [header_bytes, segment_bytes, start_bytes, offset_bytes].map(u16::to_ne_bytes);
        [flags, kind, a, b, c, d, e, f, g, h]
    }
}

impl Checksum {
    /// Writes it, as a device would. `None` where the frame does not have its field.
    pub fn complete(self, frame: &mut [u8]) -> Option<()> {
        let start = usize::from(self.start_bytes);
        let at = start + usize::from(self.offset_bytes);
        // Zero would mean "none" to UDP: RFC 768. For others all ones is the same number.
        let sum = checksum::never_zero(checksum::checksum(frame.get(start..)?));
        frame.get_mut(at..at + 2)?.copy_from_slice(&sum.to_be_bytes());
        Some(())
    }
}
