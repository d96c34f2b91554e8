//! ICMP errors that come back to the tunnel's end about outer packets: RFC 2473 section 8, RFC 4213 section 3.4.

use std::net::IpAddr;

use sixbench_wire::family::Family;
use sixbench_wire::icmp::{Message, Version};
use sixbench_wire::{Span, checksum, ipv4, ipv6, protocol};

use super::outer;
use crate::abi::Outcome;
use crate::slow::icmp;
use crate::slow::rules::{self, Inner};
use crate::spec::{MIN_IPV4_MTU_BYTES, MIN_IPV6_MTU_BYTES, Spec};

/// The content of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// The carrier does not bring packets to the other end.
    Unreachable,
    /// Packets must be no longer than this, outer headers counted.
    TooBig(u32),
}

/// An error about a packet that this end sent.
#[derive(Debug, Clone, Copy)]
pub struct CarrierError<'a> {
    pub problem: Problem,
    /// The end that the packet went to.
    pub destination: IpAddr,
    /// The first part of the inner packet that the error quotes, if that holds its addresses: routers may quote 8 bytes
    /// behind an IPv4 header (RFC 792).
    pub inner: Option<(&'a [u8], Inner)>,
}

/// Reads a packet of the outer family to this end as an error. `None` if it is none.
pub fn read<'a>(spec: &Spec, packet: &'a [u8]) -> Option<Result<CarrierError<'a>, Outcome>> {
    let (version, message) = match spec.outer {
        Family::Ipv4 => (Version::V4, message4(spec, packet)?),
        Family::Ipv6 => (Version::V6, message6(spec, packet)?),
    };
    let message = Message::parse(version, message).ok()?;
    let is_error = match spec.outer {
        Family::Ipv4 => matches!(message.kind(), 3 | 4 | 11 | 12),
        Family::Ipv6 => message.kind() < 128,
    };
    is_error.then(|| about(spec, &message).ok_or(Outcome::CarrierError))
}

fn about<'a>(spec: &Spec, message: &Message<'a>) -> Option<CarrierError<'a>> {
    let problem = match message.mtu_bytes() {
        // No link has a lower MTU: RFC 8201 section 4, RFC 791 section 3.2.
        Some(mtu_bytes) if spec.outer == Family::Ipv6 => Problem::TooBig(mtu_bytes.max(MIN_IPV6_MTU_BYTES)),
        Some(mtu_bytes) => Problem::TooBig(mtu_bytes.max(MIN_IPV4_MTU_BYTES)),
        None if icmp::is_unreachable(spec.outer, message.kind(), message.code()) => Problem::Unreachable,
        None => return None,
    };
    let (destination, payload) = outer::quoted(spec, message.payload().captured())?;
    Some(CarrierError { problem, destination, inner: rules::quoted(spec, payload) })
}

fn message4<'a>(spec: &Spec, bytes: &'a [u8]) -> Option<Span<'a>> {
    let packet = ipv4::Packet::parse(Span::whole(bytes)).ok()?;
    let is_ours =
        spec.local == packet.destination() && packet.protocol() == protocol::ICMP && packet.fragment().is_none();
    (is_ours && checksum::is_valid(packet.payload().captured())).then_some(packet.payload())
}

fn message6<'a>(spec: &Spec, bytes: &'a [u8]) -> Option<Span<'a>> {
    let packet = ipv6::Packet::parse(Span::whole(bytes)).ok()?;
    let upper = packet.upper_layer();
    if spec.local != packet.destination() || upper.protocol != protocol::ICMPV6 || upper.fragment.is_some() {
        return None;
    }
    let message = upper.payload.captured();
    let pseudo_header =
        checksum::pseudo_header_v6(packet.source(), packet.destination(), protocol::ICMPV6, message.len() as u32);
    checksum::is_valid_upper_layer(pseudo_header, message).then_some(upper.payload)
}
