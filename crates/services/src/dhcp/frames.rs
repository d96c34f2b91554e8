//! The frames that carry DHCP: Ethernet, IPv4 and UDP headers. No I/O.

use std::net::Ipv4Addr;

use sixbench_wire::ethernet::{self, ethertype};
use sixbench_wire::{Span, checksum, ipv4, protocol, udp};

use crate::discovery::Mac;

/// All stations of a link.
pub const EVERYBODY: Mac = [0xff; 6];
/// RFC 1700.
const HOP_LIMIT: u8 = 64;

/// The sender and the receiver of a frame.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Ends {
    pub from: (Mac, Ipv4Addr, u16),
    pub to: (Mac, Ipv4Addr, u16),
}

/// The frame with a datagram.
pub fn frame(Ends { from, to }: Ends, payload: &[u8]) -> Vec<u8> {
    let datagram = udp::Repr { source_port: from.2, destination_port: to.2, payload_bytes: payload.len() };
    let datagram_bytes = udp::HEADER_BYTES + payload.len();
    let packet = ipv4::Repr { hop_limit: HOP_LIMIT, ..ipv4::Repr::new([from.1, to.1], protocol::UDP, datagram_bytes) };
    let length = u16::try_from(datagram_bytes).unwrap_or(0);
    let pseudo_header = checksum::pseudo_header_v4(from.1, to.1, protocol::UDP, length);
    let mut frame = [to.0, from.0].concat();
    frame.extend(ethertype::IPV4.to_be_bytes());
    frame.extend(packet.emit());
    frame.extend(datagram.emit_summed(pseudo_header, checksum::sum(payload)));
    frame.extend(payload);
    frame
}

/// The payload of a frame that is a whole UDP datagram over IPv4 to that port. Checksums are not looked at: offloads
/// leave them to the device.
pub fn payload_for(port: u16, frame: &[u8]) -> Option<&[u8]> {
    let frame = ethernet::Frame::parse(Span::whole(frame)).ok().filter(|frame| frame.ethertype() == ethertype::IPV4)?;
    let packet = ipv4::Packet::parse(frame.payload()).ok()?;
    let is_udp = packet.protocol() == protocol::UDP && packet.fragment().is_none();
    let datagram = udp::Datagram::parse(packet.payload()).ok().filter(|_| is_udp)?;
    (datagram.destination_port() == port).then_some(datagram.payload().captured())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sixbench_wire::checksum::is_valid;

    use super::*;

    #[test]
    fn a_frame_has_its_checksums() {
        let (server, client) = (Ipv4Addr::new(198, 18, 0, 2), Ipv4Addr::new(198, 18, 0, 1));
        let ends = Ends { from: ([2, 0, 0, 0, 0, 2], server, 67), to: ([2, 0, 0, 0, 0, 1], client, 68) };
        let whole = frame(ends, b"offer");
        assert_eq!(whole[..14], [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
        assert!(is_valid(&whole[14..34]));
        let pseudo_header = checksum::pseudo_header_v4(server, client, protocol::UDP, 13);
        assert_eq!(checksum::upper_layer(pseudo_header, &whole[34..]), 0);
        assert_eq!(payload_for(68, &whole), Some(&b"offer"[..]));
        assert_eq!(payload_for(67, &whole), None);
    }

    proptest! {
        #[test]
        fn no_frame_is_a_panic(frame in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = payload_for(67, &frame);
        }
    }
}
