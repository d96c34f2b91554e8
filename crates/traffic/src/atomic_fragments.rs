//! UDP datagrams as atomic fragments: IPv6 packets that are whole and still have a Fragment header (RFC 6946). No
//! socket option makes Linux send them since RFC 8021, so the headers are written here, for a raw socket.

use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::AsFd;

use nix::errno::Errno;
use sixbench_wire::ipv4::Fragment;
use sixbench_wire::ipv6::{FRAGMENT_HEADER_BYTES, FragmentHeader};
use sixbench_wire::{checksum, ipv6, protocol, udp};
use socket2::Socket;

use crate::datagram::HEADER_BYTES;
use crate::datagram_batch::{DatagramBatch, Manner};
use crate::session::Endpoint;
use crate::socket::Buffers;
use crate::{Error, Result, datagram_socket, path_mtu, sys};

/// Length of the headers before a datagram's payload.
const HEADERS_BYTES: usize = ipv6::HEADER_BYTES + FRAGMENT_HEADER_BYTES + udp::HEADER_BYTES;
/// Length of these headers and of the header of every datagram of ours.
const HEAD_BYTES: usize = HEADERS_BYTES + HEADER_BYTES;
/// Length of the longest packet that IPv6's length field allows.
const MAX_PACKET_BYTES: usize = ipv6::HEADER_BYTES + u16::MAX as usize;

/// Sends the datagrams of a UDP socket in its stead, with its addresses, ports and hop limit.
pub struct AtomicFragments {
    raw: Socket,
    headers: Headers,
    rest: Sums,
    /// Identification of the next packet.
    identification: u32,
    heads: Vec<[u8; HEAD_BYTES]>,
}

impl AtomicFragments {
    /// Sends in place of a connected UDP socket over IPv6, whose datagrams are headers of ours with the beginning of
    /// `rest` behind them. Needs CAP_NET_RAW.
    pub fn open(udp: &Socket, endpoint: &Endpoint, buffers: Buffers, rest: &[u8]) -> Result<Self> {
        let (IpAddr::V6(source), IpAddr::V6(destination)) = (endpoint.address.ip(), endpoint.peer) else {
            return Err(Error::system(
                format!("sending atomic fragments to {}, which is not an address of IPv6", endpoint.peer),
                "socket",
                Errno::EAFNOSUPPORT,
            ));
        };
        let raw = datagram_socket::raw_ipv6(endpoint.address, buffers)?;
        datagram_socket::connect(&raw, (endpoint.peer, 0))?;
        let headers = Headers {
            source,
            destination,
            source_port: datagram_socket::local_port(udp)?,
            destination_port: endpoint.port,
            hop_limit: hop_limit(udp)?,
        };
        Ok(Self { raw, headers, rest: Sums::of(rest), identification: 0, heads: Vec::new() })
    }

    /// As [`DatagramBatch::send`]. A packet that is longer than the path MTU that the kernel knows for `udp` is
    /// refused, with `EMSGSIZE`.
    pub fn send(
        &mut self,
        udp: &Socket,
        batch: &mut DatagramBatch,
        heads: &[[u8; HEADER_BYTES]],
        payloads: impl Iterator<Item = usize> + Clone,
        rest: &[u8],
    ) -> nix::Result<usize> {
        // Where it tells none, it refuses what is longer than its device takes.
        let most_bytes = path_mtu::of_connected(udp, true).map_or(MAX_PACKET_BYTES, |bytes| bytes as usize);
        let room_bytes = most_bytes.min(MAX_PACKET_BYTES).saturating_sub(HEADERS_BYTES);
        self.heads.clear();
        for ((head, payload_bytes), identification) in heads.iter().zip(payloads.clone()).zip(self.identification..) {
            if payload_bytes > room_bytes {
                break;
            }
            let rest_bytes = payload_bytes - HEADER_BYTES;
            self.heads.push(self.headers.encode(identification, head, rest_bytes, self.rest.first(rest, rest_bytes)));
        }
        if self.heads.is_empty() {
            return Err(Errno::EMSGSIZE);
        }
        let whole = Manner { segments: 1, is_timed: false };
        let packets = payloads.map(|payload_bytes| HEADERS_BYTES + payload_bytes);
        let sent = batch.send(self.raw.as_fd(), &self.heads, packets, rest, whole)?;
        self.identification = self.identification.wrapping_add(sent as u32);
        Ok(sent)
    }
}

/// The hop limit that the kernel puts into the socket's packets.
fn hop_limit(udp: &Socket) -> Result<u8> {
    let mut value = [0; 4];
    sys::socket_option(udp, libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS, &mut value)
        .map_err(|e| Error::system("asking for the hop limit of a socket", "getsockopt(IPV6_UNICAST_HOPS)", e))?;
    Ok(u8::try_from(i32::from_ne_bytes(value)).unwrap_or(u8::MAX))
}

/// Header fields that all packets of a flow have in common.
struct Headers {
    source: Ipv6Addr,
    destination: Ipv6Addr,
    source_port: u16,
    destination_port: u16,
    hop_limit: u8,
}

impl Headers {
    /// A packet's headers and the head of its payload, of which `rest_bytes` more with the sum `rest` follow.
    fn encode(&self, identification: u32, head: &[u8; HEADER_BYTES], rest_bytes: usize, rest: u16) -> [u8; HEAD_BYTES] {
        let datagram = udp::Repr {
            source_port: self.source_port,
            destination_port: self.destination_port,
            payload_bytes: HEADER_BYTES + rest_bytes,
        };
        let datagram_bytes = udp::HEADER_BYTES + datagram.payload_bytes;
        let ip = ipv6::Repr {
            source: self.source,
            destination: self.destination,
            traffic_class: 0,
            flow_label: 0,
            hop_limit: self.hop_limit,
            next_header: protocol::FRAGMENT,
            payload_bytes: FRAGMENT_HEADER_BYTES + datagram_bytes,
        };
        let fragment = Fragment { offset_bytes: 0, more: false, identification };
        let fragment = FragmentHeader { next_header: protocol::UDP, fragment };
        let pseudo = checksum::pseudo_header_v6(self.source, self.destination, protocol::UDP, datagram_bytes as u32);
        let datagram = datagram.emit_summed(pseudo, checksum::add(checksum::sum(head), rest));
        let mut packet = [0; HEAD_BYTES];
        let (headers, payload) = packet.split_at_mut(HEADERS_BYTES);
        payload.copy_from_slice(head);
        let (ip_header, behind) = headers.split_at_mut(ipv6::HEADER_BYTES);
        ip_header.copy_from_slice(&ip.emit());
        behind[..FRAGMENT_HEADER_BYTES].copy_from_slice(&fragment.emit());
        behind[FRAGMENT_HEADER_BYTES..].copy_from_slice(&datagram);
        packet
    }
}

/// The sums (RFC 1071) of the first bytes of a stretch, for any number of them.
struct Sums(Vec<u16>);

impl Sums {
    fn of(bytes: &[u8]) -> Self {
        let words = bytes.chunks_exact(2).map(checksum::sum);
        let sums = words.scan(0, |sum, word| {
            *sum = checksum::add(*sum, word);
            Some(*sum)
        });
        Self(std::iter::once(0).chain(sums).collect())
    }

    /// The sum of the first `count` of `bytes`, the bytes that it was made of.
    fn first(&self, bytes: &[u8], count: usize) -> u16 {
        let odd = if count % 2 == 1 { u16::from(bytes[count - 1]) << 8 } else { 0 };
        checksum::add(self.0[count / 2], odd)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sixbench_wire::Span;

    use super::*;

    const HEADERS: Headers = Headers {
        source: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
        destination: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
        source_port: 0x1234,
        destination_port: 0x5678,
        hop_limit: 64,
    };

    /// A packet with all of its payload.
    fn packet(identification: u32, head: &[u8; HEADER_BYTES], rest: &[u8]) -> Vec<u8> {
        let sum = Sums::of(rest).first(rest, rest.len());
        [&HEADERS.encode(identification, head, rest.len(), sum)[..], rest].concat()
    }

    #[test]
    fn a_packet_by_hand() {
        let bytes = packet(0x0102_0304, &[0; HEADER_BYTES], &[0xff, 0xee, 0xdd]);
        // Fragment header 8, UDP header 8, payload 35.
        #[rustfmt::skip]
        let expected = [
            0x60, 0, 0, 0, 0, 51, 44, 64,
            0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
            0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
            17, 0, 0, 0, 1, 2, 3, 4,
            0x12, 0x34, 0x56, 0x78, 0, 43,
        ];
        assert_eq!(bytes[..54], expected);
        // 2001 + 0db8 + 1 + 2001 + 0db8 + 2 + 11 + 2b + 1234 + 5678 + 2b + ffee + dd00 = 2a176, folded a178.
        assert_eq!(bytes[54..56], (!0xa178_u16).to_be_bytes());
        assert_eq!(bytes[56..], [[0; 32].as_slice(), &[0xff, 0xee, 0xdd]].concat());
    }

    proptest! {
        #[test]
        fn what_reads_captures_reads_it_and_the_checksum_is_right(
            identification in any::<u32>(),
            head in prop::array::uniform32(any::<u8>()),
            rest in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let bytes = packet(identification, &head, &rest);
            let read = ipv6::Packet::parse(Span::whole(&bytes)).unwrap();
            let extensions = read.upper_layer();
            let fragment = extensions.fragment.unwrap();
            prop_assert_eq!((fragment.offset_bytes, fragment.more), (0, false));
            prop_assert_eq!(fragment.identification, identification);
            let datagram = udp::Datagram::parse(extensions.payload).unwrap();
            prop_assert_eq!(datagram.payload().captured(), [&head[..], &rest].concat());
            let upper = &bytes[ipv6::HEADER_BYTES + FRAGMENT_HEADER_BYTES..];
            let pseudo =
                checksum::pseudo_header_v6(HEADERS.source, HEADERS.destination, protocol::UDP, upper.len() as u32);
            prop_assert_eq!(checksum::add(pseudo, checksum::sum(upper)), 0xffff);
            prop_assert_ne!(&upper[6..8], &[0, 0]);
        }

        #[test]
        fn sums_of_the_first_bytes(bytes in prop::collection::vec(any::<u8>(), 0..100), count in 0_usize..100) {
            let count = count.min(bytes.len());
            // Zero has two forms in ones' complement.
            let zero = |sum| if sum == 0xffff { 0 } else { sum };
            prop_assert_eq!(zero(Sums::of(&bytes).first(&bytes, count)), zero(checksum::sum(&bytes[..count])));
        }
    }
}
