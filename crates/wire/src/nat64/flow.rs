//! The session that a packet belongs to: its protocol and ports, or those of the packet in an ICMP error (RFC 6146
//! section 3.4).

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Quoted;
use super::ends::Protocol;
use super::tcp::Event;
use crate::siit::{Clause, Port, Ports, Upper};
use crate::{Span, ipv4, ipv6, protocol};

/// The fields of a packet that decide its session.
#[derive(Debug)]
pub struct Flow {
    pub protocol: Protocol,
    /// The ports, that of the source first. For an ICMP error, they are those of an answer to the packet inside.
    pub ports: [u16; 2],
    pub event: Event,
    /// The packet in an ICMP error.
    pub quoted: Option<Quoted>,
}

impl Flow {
    /// The flow of an IPv6 packet. `ports`: those of its first fragment, if it is a fragment.
    pub fn of_ipv6(packet: &ipv6::Packet<'_>, ports: Option<Ports>) -> Result<Self, Clause> {
        let upper = Upper::read(packet)?;
        let ports = ports.unwrap_or_else(|| Ports::of_ipv6(packet));
        match (upper.protocol, upper.payload) {
            (protocol::ICMPV6, _) if upper.is_fragment() => Err(Clause::FragmentedIcmp),
            (protocol::ICMPV6, [128 | 129, ..]) => Self::new(Protocol::Icmp, ports, Event::Other),
            (protocol::ICMPV6, [0..=127, _, _, _, _, _, _, _, quoted @ ..]) => {
                let quoted = ipv6::Packet::parse(Span::whole(quoted).open_ended()).map_err(|_| Clause::QuotedPacket)?;
                let inner = Upper::read(&quoted).map_err(|_| Clause::QuotedPacket)?;
                let number = if inner.protocol == protocol::ICMPV6 { protocol::ICMP } else { inner.protocol };
                let ends = [quoted.source(), quoted.destination()];
                Self::of_error(number, ports, Quoted { ipv4: [Ipv4Addr::UNSPECIFIED; 2], ipv6: ends })
            }
            (protocol::ICMPV6, _) => Err(Clause::UntranslatedIcmp),
            (number, payload) => Self::of_message(number, ports, payload, upper.is_later_fragment()),
        }
    }

    /// The same for an IPv4 packet.
    pub fn of_ipv4(packet: &ipv4::Packet<'_>, ports: Option<Ports>) -> Result<Self, Clause> {
        let ports = ports.unwrap_or_else(|| Ports::of_ipv4(packet));
        let is_later = packet.fragment().is_some_and(|fragment| fragment.offset_bytes != 0);
        match (packet.protocol(), packet.payload().captured()) {
            (protocol::ICMP, _) if packet.fragment().is_some() => Err(Clause::FragmentedIcmp),
            (protocol::ICMP, [0 | 8, ..]) => Self::new(Protocol::Icmp, ports, Event::Other),
            (protocol::ICMP, [3 | 4 | 5 | 11 | 12, _, _, _, _, _, _, _, quoted @ ..]) => {
                let quoted = ipv4::Packet::parse(Span::whole(quoted).open_ended()).map_err(|_| Clause::QuotedPacket)?;
                let ends = [quoted.source(), quoted.destination()];
                Self::of_error(quoted.protocol(), ports, Quoted { ipv4: ends, ipv6: [Ipv6Addr::UNSPECIFIED; 2] })
            }
            (protocol::ICMP, _) => Err(Clause::UntranslatedIcmp),
            (number, payload) => Self::of_message(number, ports, payload, is_later),
        }
    }

    /// The port of the other end, which echoes have not: their identifier is the session's (RFC 6146 section 3.2).
    pub fn remote_port(&self, index: usize) -> u16 {
        if self.protocol == Protocol::Icmp { 0 } else { self.ports[index] }
    }

    fn of_message(number: u8, ports: Ports, payload: &[u8], is_later: bool) -> Result<Self, Clause> {
        match (Protocol::of(number), payload.get(13)) {
            (Some(Protocol::Tcp), Some(&flags)) if !is_later => Self::new(Protocol::Tcp, ports, Event::of(flags)),
            (Some(Protocol::Tcp), None) if !is_later => Err(Clause::Malformed),
            (Some(Protocol::Icmp) | None, _) => Err(Clause::Sessionless),
            (Some(found), _) => Self::new(found, ports, Event::Other),
        }
    }

    fn of_error(number: u8, ports: Ports, quoted: Quoted) -> Result<Self, Clause> {
        let found = Protocol::of(number).ok_or(Clause::QuotedPacket)?;
        let flow = Self::new(found, ports, Event::Other).map_err(|_| Clause::QuotedPacket)?;
        Ok(Self { quoted: Some(quoted), ..flow })
    }

    fn new(protocol: Protocol, ports: Ports, event: Event) -> Result<Self, Clause> {
        match ports.0 {
            [Port::Known(source), Port::Known(destination)] => {
                Ok(Self { protocol, ports: [source, destination], event, quoted: None })
            }
            [Port::Elsewhere, _] | [_, Port::Elsewhere] => Err(Clause::NoPort),
            _ => Err(Clause::Malformed),
        }
    }
}
