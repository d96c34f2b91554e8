//! The extension headers that frames over IPv6 have, if asked for (RFC 5180 section 5.3). Pure.

use sixbench_wire::ipv6::FRAGMENT_HEADER_BYTES;
use sixbench_wire::protocol;

/// The extension headers of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extensions {
    /// No extension header.
    None,
    /// Hop-by-Hop Options, which each router may look at.
    HopByHop,
    /// Destination Options.
    DestinationOptions,
    /// A Routing header with one address, which is behind the last one to visit.
    Routing,
    /// A Fragment header in front of the whole datagram (RFC 6946).
    Fragment,
    /// Destination Options, Routing and Fragment, in the order of RFC 8200 section 4.1.
    Chain,
}

/// Length of a header with options: the padding of the shortest header.
const OPTIONS_BYTES: usize = 8;
/// Length of a Routing header with one address (RFC 5180 section 5.3: 24 to 32 bytes).
const ROUTING_BYTES: usize = 24;
/// Routing type (RFC 4727 section 3.2.2): for experiments. It has no meaning, and a node ignores it if no further nodes
/// are to be visited (RFC 8200 section 4.4).
const ROUTING_TYPE: u8 = 253;

impl Extensions {
    /// Extension headers by the names of the parameter.
    pub const NAMES: &[(&'static str, Self)] = &[
        ("none", Self::None),
        ("hop-by-hop", Self::HopByHop),
        ("destination-options", Self::DestinationOptions),
        ("routing", Self::Routing),
        ("fragment", Self::Fragment),
        ("chain", Self::Chain),
    ];

    /// The numbers of the headers, in their order.
    fn numbers(self) -> &'static [u8] {
        match self {
            Self::None => &[],
            Self::HopByHop => &[protocol::HOP_BY_HOP],
            Self::DestinationOptions => &[protocol::DESTINATION_OPTIONS],
            Self::Routing => &[protocol::ROUTING],
            Self::Fragment => &[protocol::FRAGMENT],
            Self::Chain => &[protocol::DESTINATION_OPTIONS, protocol::ROUTING, protocol::FRAGMENT],
        }
    }

    /// Length of the headers together.
    pub fn bytes(self) -> usize {
        self.numbers().iter().map(|&number| bytes_of(number)).sum()
    }

    /// The next-header number of the IPv6 header, and the extension headers. UDP is behind the last one.
    pub fn emit(self) -> (u8, Vec<u8>) {
        let (mut follows, mut bytes) = (protocol::UDP, Vec::new());
        for &number in self.numbers().iter().rev() {
            let mut header = vec![0; bytes_of(number)];
            header[0] = follows;
            match number {
                // PadN over the rest (RFC 8200 section 4.2).
                protocol::HOP_BY_HOP | protocol::DESTINATION_OPTIONS => header[2..4].copy_from_slice(&[1, 4]),
                protocol::ROUTING => header[1..3].copy_from_slice(&[(ROUTING_BYTES / 8 - 1) as u8, ROUTING_TYPE]),
                // Offset 0, no more fragments, identification 0.
                _ => {}
            }
            header.extend(bytes);
            (follows, bytes) = (number, header);
        }
        (follows, bytes)
    }
}

fn bytes_of(number: u8) -> usize {
    match number {
        protocol::ROUTING => ROUTING_BYTES,
        protocol::FRAGMENT => FRAGMENT_HEADER_BYTES,
        _ => OPTIONS_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use sixbench_wire::Span;
    use sixbench_wire::ipv6::{Extension, Packet};

    use super::*;

    #[test]
    fn others_read_what_is_written() {
        let expected: [&[Extension]; 6] = [
            &[],
            &[Extension::HopByHop],
            &[Extension::DestinationOptions],
            &[Extension::Routing],
            &[Extension::Fragment],
            &[Extension::DestinationOptions, Extension::Routing, Extension::Fragment],
        ];
        for (&(name, extensions), expected) in Extensions::NAMES.iter().zip(expected) {
            let (first, bytes) = extensions.emit();
            assert_eq!(bytes.len(), extensions.bytes(), "{name}");
            let mut packet = vec![0; 40];
            (packet[0], packet[5], packet[6]) = (0x60, bytes.len() as u8, first);
            packet.extend(&bytes);
            let packet = Packet::parse(Span::new(&packet, packet.len())).unwrap();
            let mut walk = packet.extensions();
            assert_eq!(walk.by_ref().collect::<Vec<_>>(), expected, "{name}");
            assert_eq!((walk.protocol, walk.bytes, walk.flaw), (protocol::UDP, bytes.len(), None), "{name}");
            assert!(walk.fragment.is_none_or(|fragment| fragment.offset_bytes == 0 && !fragment.more));
        }
    }

    #[test]
    fn the_chain_fits_into_the_second_frame_size() {
        assert_eq!(84 + Extensions::Chain.bytes(), 124);
    }
}
