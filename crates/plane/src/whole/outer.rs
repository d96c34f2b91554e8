//! Outer headers, which the kernel reads and writes where a tunnel has a device.

use std::net::IpAddr;

use sixbench_wire::family::Family;
use sixbench_wire::ipv4::Fragment;
use sixbench_wire::ipv6::Extension;
use sixbench_wire::{Span, checksum, fragments, ipv4, ipv6, protocol};

use super::too_long;
use crate::abi::{Address, Outcome};
use crate::slow::rules::{Inner, Outer};
use crate::spec::{Payload, Spec};

/// The content of an outer header, and its payload.
pub struct Read<'a> {
    pub source: Address,
    pub tos: u8,
    pub payload: &'a [u8],
}

/// True if a packet of the outer family names this end and what the tunnel carries.
pub fn is_for(spec: &Spec, packet: &[u8]) -> bool {
    !matches!(read(spec, packet), Err(Outcome::NotOurs | Outcome::OuterTruncated))
}

/// Reads the outer header of a packet of the outer family: RFC 791 section 3.1, RFC 8200.
pub fn read<'a>(spec: &Spec, packet: &'a [u8]) -> Result<Read<'a>, Outcome> {
    match spec.outer {
        Family::Ipv4 => read_ipv4(spec, packet),
        Family::Ipv6 => read_ipv6(spec, packet),
    }
}

/// A packet with its outer headers. `identification` is for IPv4.
pub fn write(spec: &Spec, outer: &Outer, identification: u16, packet: &[u8]) -> Vec<u8> {
    let gre = outer.gre.as_bytes();
    let (number, payload_bytes) = (payload_number(spec), gre.len() + packet.len());
    match (spec.local, outer.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let header = ipv4::Repr {
                traffic_class: outer.tos,
                identification,
                dont_fragment: outer.dont_fragment,
                hop_limit: outer.ttl,
                ..ipv4::Repr::new([source, destination], number, payload_bytes)
            };
            [&header.emit()[..], gre, packet].concat()
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let header = ipv6::Repr {
                traffic_class: outer.tos,
                hop_limit: outer.ttl,
                ..ipv6::Repr::new([source, destination], number, payload_bytes)
            };
            [&header.emit()[..], gre, packet].concat()
        }
        _ => unreachable!("a tunnel that compiles has ends of one family"),
    }
}

/// An outer packet in fragments of at most `most_bytes`. `identification` is for IPv6: an IPv4 packet has its own.
pub fn cut(packet: &[u8], identification: u32, most_bytes: u32) -> Vec<Vec<u8>> {
    if let Some(header) = Inner::read(packet).ok().filter(|header| header.version == 4) {
        return too_long::cut(packet, &header, most_bytes as usize);
    }
    let Ok(parsed) = ipv6::Packet::parse(Span::whole(packet)) else { return vec![packet.to_vec()] };
    let whole = Fragment { offset_bytes: 0, more: false, identification };
    fragments::cut6(&ipv6::Repr::parse(&parsed), whole, parsed.payload().captured(), most_bytes as usize)
}

/// The quote of an outer packet of this end in an ICMP error: where that went, and its payload. A later fragment has no
/// inner header, so its payload counts as empty.
pub fn quoted<'a>(spec: &Spec, quoted: &'a [u8]) -> Option<(IpAddr, &'a [u8])> {
    let span = Span::whole(quoted).open_ended();
    let (source, destination, number, payload): (IpAddr, IpAddr, _, _) = match spec.outer {
        Family::Ipv4 => {
            let packet = ipv4::Packet::parse(span).ok()?;
            let is_later = packet.fragment().is_some_and(|fragment| fragment.offset_bytes != 0);
            let payload = if is_later { &[][..] } else { packet.payload().captured() };
            (packet.source().into(), packet.destination().into(), packet.protocol(), payload)
        }
        Family::Ipv6 => {
            let packet = ipv6::Packet::parse(span).ok()?;
            let upper = packet.upper_layer();
            let is_later = upper.fragment.is_some_and(|fragment| fragment.offset_bytes != 0);
            let payload = if is_later { &[][..] } else { upper.payload.captured() };
            (packet.source().into(), packet.destination().into(), upper.protocol, payload)
        }
    };
    (source == spec.local && number == payload_number(spec)).then_some((destination, payload))
}

fn read_ipv4<'a>(spec: &Spec, bytes: &'a [u8]) -> Result<Read<'a>, Outcome> {
    let packet = ipv4::Packet::parse(Span::whole(bytes)).map_err(|_| Outcome::OuterTruncated)?;
    if spec.local != packet.destination() || packet.protocol() != payload_number(spec) {
        return Err(Outcome::NotOurs);
    }
    if !checksum::is_valid(&bytes[..packet.header_bytes()]) {
        return Err(Outcome::OuterChecksum);
    }
    if packet.fragment().is_some() {
        return Err(Outcome::OuterFragment);
    }
    let payload = &bytes[packet.header_bytes()..packet.total_bytes()];
    Ok(Read { source: packet.source().into(), tos: packet.traffic_class(), payload })
}

fn read_ipv6<'a>(spec: &Spec, bytes: &'a [u8]) -> Result<Read<'a>, Outcome> {
    let packet = ipv6::Packet::parse(Span::whole(bytes)).map_err(|_| Outcome::OuterTruncated)?;
    if spec.local != packet.destination() {
        return Err(Outcome::NotOurs);
    }
    let mut extensions = packet.extensions();
    loop {
        let header = extensions.payload.captured();
        match extensions.next() {
            // It goes on to another node (RFC 8200 section 4.4), or is for who has the key (RFC 4302).
            Some(Extension::Routing) if header.get(3) != Some(&0) => return Err(Outcome::NotOurs),
            Some(Extension::Authentication) => return Err(Outcome::NotOurs),
            Some(_) => {}
            None => break,
        }
    }
    if extensions.flaw.is_some() {
        return Err(Outcome::OuterTruncated);
    }
    if extensions.protocol != payload_number(spec) {
        return Err(Outcome::NotOurs);
    }
    if extensions.fragment.is_some_and(|fragment| fragment.more || fragment.offset_bytes != 0) {
        return Err(Outcome::OuterFragment);
    }
    let payload = extensions.payload.captured();
    Ok(Read { source: packet.source().into(), tos: packet.traffic_class(), payload })
}

fn payload_number(spec: &Spec) -> u8 {
    match spec.payload {
        Payload::Ipv6 => protocol::IPV6,
        Payload::Ipv4 => protocol::IPV4,
        Payload::Gre => protocol::GRE,
    }
}
