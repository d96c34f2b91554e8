//! ICMP errors that a tunnel sends to the sources of packets that it cannot carry.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sixbench_wire::family::Family;
use sixbench_wire::icmp::{V4Repr, V6Repr};
use sixbench_wire::ipv6::Extension;
use sixbench_wire::{Span, icmp_error, ipv6, protocol};
use socket2::{Domain, Protocol, Socket, Type};

use super::rules::Inner;
use crate::sys;

/// Codes of Unreachable: RFC 792, RFC 1191, RFC 4443 section 3.1.
const HOST_UNREACHABLE: u8 = 1;
const FRAGMENTATION_NEEDED: u8 = 4;
const ADDRESS_UNREACHABLE: u8 = 3;

/// The type of service of ICMP errors: internetwork control (RFC 1812 section 4.3.2.5).
pub const TOS: u8 = 0xc0;

/// The error that the source of a packet gets, in the packet's family.
#[derive(Debug, Clone, Copy)]
pub struct SourceError {
    /// The error of ICMP.
    pub v4: V4Repr,
    /// The error of ICMPv6.
    pub v6: V6Repr,
}

/// Error for a packet that the tunnel's path does not carry: RFC 4213 section 3.4, RFC 2473 section 8. Address
/// unreachable, host unreachable.
pub const UNREACHABLE: SourceError = SourceError {
    v4: V4Repr::Unreachable { code: HOST_UNREACHABLE, quoted_words: 0, mtu_bytes: 0 },
    v6: V6Repr::Unreachable { code: ADDRESS_UNREACHABLE, quoted_words: 0 },
};

/// True if an ICMP error about an outer packet says that the carrier does not bring it to the other end: RFC 4213
/// section 3.4. For ICMPv6, RFC 2473 section 8.1 names three such errors. One of them, a Parameter Problem, counts only
/// if it is about a Tunnel Encapsulation Limit, which outer packets of ours do not have. An error that fragments did
/// not all arrive in time does not count.
pub fn is_unreachable(outer: Family, kind: u8, code: u8) -> bool {
    match outer {
        Family::Ipv4 => (kind == 3 && code != FRAGMENTATION_NEEDED) || kind == 11,
        Family::Ipv6 => kind == 1 || (kind == 3 && code == 0),
    }
}

/// Error for a packet that is longer than the tunnel now takes: RFC 8201, RFC 1191.
pub fn too_big(mtu_bytes: u32) -> SourceError {
    let next_hop_bytes = u16::try_from(mtu_bytes).unwrap_or(u16::MAX);
    SourceError {
        v4: V4Repr::Unreachable { code: FRAGMENTATION_NEEDED, quoted_words: 0, mtu_bytes: next_hop_bytes },
        // RFC 8200 section 5.
        v6: V6Repr::PacketTooBig { mtu_bytes: mtu_bytes.max(1280) },
    }
}

impl SourceError {
    /// The error about a packet, without an IP header. ICMPv6's checksum is the kernel's to write.
    pub fn message(self, packet: &[u8], inner: &Inner) -> Vec<u8> {
        if inner.version == 6 {
            icmp_error::v6_message(self.v6, packet)
        } else {
            icmp_error::v4_message(self.v4, packet)
        }
    }
}

/// True if the source of a packet may get an error: RFC 4443 section 2.4 (e), RFC 1122 section 3.2.2. `packet` may be
/// cut off behind the header that `inner` was read from. False if the packet might be an ICMP error.
pub fn may_get_error(packet: &[u8], inner: &Inner) -> bool {
    if inner.version == 6 {
        let source = Ipv6Addr::from(inner.source.0);
        if source.is_unspecified() || source.is_multicast() {
            return false;
        }
        let Ok(parsed) = ipv6::Packet::parse(Span::whole(packet).open_ended()) else { return false };
        let upper = parsed.upper_layer();
        let is_later = upper.fragment.is_some_and(|fragment| fragment.offset_bytes != 0);
        return match (upper.protocol, upper.payload.captured().first()) {
            (number, _) if is_later => number != protocol::ICMPV6 && Extension::of(number).is_none(),
            (protocol::ICMPV6, kind) => kind.is_some_and(|&kind| kind >= 128),
            _ => upper.flaw.is_none(),
        };
    }
    let [source, destination] = [inner.source, inner.destination].map(|address| address.0[0]);
    let kind = packet.get(inner.header_bytes);
    !matches!(source, 0 | 127 | 224..)
        && destination < 224
        && !inner.is_later_fragment
        && (inner.protocol != protocol::ICMP || matches!(kind, Some(0 | 8 | 13..=18)))
}

/// Sends an error to the source of a packet, if that may get one. The kernel chooses the source address and the way.
pub fn send(error: SourceError, packet: &[u8], inner: &Inner) -> io::Result<()> {
    if !may_get_error(packet, inner) {
        return Ok(());
    }
    let (domain, protocol, to): (_, _, IpAddr) = if inner.version == 6 {
        (Domain::IPV6, Protocol::ICMPV6, Ipv6Addr::from(inner.source.0).into())
    } else {
        let [a, b, c, d, ..] = inner.source.0;
        (Domain::IPV4, Protocol::ICMPV4, Ipv4Addr::new(a, b, c, d).into())
    };
    let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
    socket.set_nonblocking(true)?;
    if inner.version == 4 {
        socket.set_tos_v4(u32::from(TOS))?;
        // The kernel's own errors may be fragmented, too.
        sys::set_dont_fragment(&socket, false, false)?;
    }
    socket.send_to(&error.message(packet, inner), &SocketAddr::new(to, 0).into()).map(|_| ())
}
