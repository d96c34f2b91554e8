//! Whole packets through one end of a tunnel, without a device: what the slow path's rules decide, and what the kernel does for them where a tunnel has a
//! device. Bytes in, bytes and reasons out.
//!
//! What is not here: the way of a packet to the tunnel (a router that forwards it takes a hop), fragments of outer packets, which the kernel puts together
//! before, and mappings that ask a link for its neighbours (6over4) or the node for its routes (ISATAP).

mod explanations;
mod outer;
mod sections;
mod too_long;
mod unbound;

use std::net::{Ipv4Addr, Ipv6Addr};

use sixbench_wire::siit::Ports;
use sixbench_wire::{Span, ipv4};

use crate::abi::Outcome;
use crate::slow::rules::{self, Inner};
use crate::spec::{Family, Mapping, Payload, Spec};
use crate::{Error, Result};

/// One end of a tunnel, and what it says to those whose packets are too long for it.
#[derive(Debug, Clone)]
pub struct Whole {
    spec: Spec,
    own4: Option<Ipv4Addr>,
    own6: Option<Ipv6Addr>,
    hairpins: bool,
    tells_unbound: bool,
    /// Of the next outer IPv4 packet that may be fragmented: RFC 6864 section 4.
    identification: u16,
}

/// What became of a packet, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// What became of it.
    pub verdict: Verdict,
    /// Why.
    pub outcome: Outcome,
    /// Where that is written, such as `RFC 4213 section 3.6`, if it is.
    pub section: Option<&'static str>,
}

impl Carried {
    /// What the outcome says of the packet, as a sentence.
    pub fn words(&self) -> &'static str {
        explanations::of(self.outcome)
    }
}

/// What became of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It went through: in several packets if a router has to cut it for the tunnel.
    Through(Vec<Vec<u8>>),
    /// Its source is told by this packet.
    Answered(Vec<u8>),
    /// Nothing is sent.
    Dropped,
}

/// The way of a packet through this end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

impl Whole {
    /// An end of a tunnel that compiles. `own4`, `own6`: the sources of errors that it sends; without one it sends none of that family.
    pub fn new(spec: &Spec, own4: Option<Ipv4Addr>, own6: Option<Ipv6Addr>) -> Result<Self> {
        spec.compile()?;
        let lacking = match spec.mapping {
            Mapping::Fixed { .. } | Mapping::SixToFour { .. } | Mapping::SixRd { .. } | Mapping::Map(_) => None,
            Mapping::Isatap { .. } => Some("isatap asks the node for its routes"),
            Mapping::SixOverFour { .. } => Some("6over4 asks its link for neighbours"),
        };
        match lacking {
            None => {
                Ok(Self { spec: spec.clone(), own4, own6, hairpins: false, tells_unbound: false, identification: 0 })
            }
            Some(lacking) => Err(Error::BadSpec {
                device: spec.device.clone(),
                reason: format!("{lacking}, and a packet without a device has none; use a lab"),
            }),
        }
    }

    /// Whether what comes out for another customer edge goes in again at once: RFC 7596 section 6.2.
    pub fn hairpinning(self, hairpins: bool) -> Self {
        Self { hairpins, ..self }
    }

    /// Whether sources are told of packets that no rule binds to anybody: RFC 7596 section 6.2.
    pub fn telling(self, tells_unbound: bool) -> Self {
        Self { tells_unbound, ..self }
    }

    /// Carries a packet, from its IP header on: out of the tunnel if it is an outer packet to this end, else into it.
    pub fn carry(&mut self, packet: &[u8]) -> Carried {
        self.carry_by(packet, None)
    }

    /// The same of a packet that is or carries a fragment whose first one has these ports.
    pub fn carry_fragment(&mut self, packet: &[u8], ports: Ports) -> Carried {
        self.carry_by(packet, Some(ports))
    }

    fn carry_by(&mut self, packet: &[u8], ports: Option<Ports>) -> Carried {
        let (way, carried) = if self.is_outer(packet) {
            (Way::Out, self.out(packet, ports))
        } else {
            (Way::In, self.encapsulate(packet, ports))
        };
        let (outcome, verdict) = carried.unwrap_or_else(|outcome| {
            let told =
                self.tells_unbound.then(|| unbound::answer(way, packet, outcome, self.own4, self.own6)).flatten();
            (outcome, told.map_or(Verdict::Dropped, Verdict::Answered))
        });
        Carried { verdict, outcome, section: sections::of(&self.spec, way, packet, outcome) }
    }

    /// Whether it takes ports to say what becomes of a packet: of one to customer edges, which may share its address.
    pub fn needs_ports(&self, packet: &[u8]) -> bool {
        let Mapping::Map(domain) = &self.spec.mapping else { return false };
        !domain.rules.is_empty() && (self.hairpins || !self.is_outer(packet))
    }

    /// The packet that has the ports: the inner one, whether it is in an outer one or not yet.
    pub fn inner_of<'a>(&self, packet: &'a [u8]) -> &'a [u8] {
        match self.is_outer(packet).then(|| outer::read(&self.spec, packet)) {
            Some(Ok(outer)) => outer.payload,
            _ => packet,
        }
    }

    /// Whether this end takes a packet for an outer one. Where the tunnel carries the outer family too, only what names this end is one.
    fn is_outer(&self, packet: &[u8]) -> bool {
        let is_of_outer_family = packet.first().is_some_and(|first| first >> 4 == self.spec.outer.version());
        is_of_outer_family && (!self.carries_outer_family() || outer::is_for(&self.spec, packet))
    }

    fn carries_outer_family(&self) -> bool {
        match (self.spec.payload, self.spec.outer) {
            (Payload::Gre, _) | (Payload::Ipv4, Family::Ipv4) | (Payload::Ipv6, Family::Ipv6) => true,
            (Payload::Ipv4, Family::Ipv6) | (Payload::Ipv6, Family::Ipv4) => false,
        }
    }

    fn out(&mut self, packet: &[u8], ports: Option<Ports>) -> std::result::Result<(Outcome, Verdict), Outcome> {
        let inner = self.decapsulate(packet, ports)?;
        if !(self.hairpins && self.is_for_an_edge(&inner)) {
            return Ok((Outcome::Decapsulated, Verdict::Through(vec![inner])));
        }
        match self.encapsulate(&inner, ports) {
            Err(outcome) if self.tells_unbound => {
                // Who sent it is behind this end as well.
                let told = unbound::answer(Way::In, &inner, outcome, self.own4, self.own6).ok_or(outcome)?;
                match self.encapsulate(&told, None)? {
                    (_, Verdict::Through(packets)) if packets.len() == 1 => {
                        Ok((outcome, packets.into_iter().next().map_or(Verdict::Dropped, Verdict::Answered)))
                    }
                    _ => Err(outcome),
                }
            }
            carried => carried,
        }
    }

    fn is_for_an_edge(&self, inner: &[u8]) -> bool {
        let Mapping::Map(domain) = &self.spec.mapping else { return false };
        ipv4::Packet::parse(Span::whole(inner))
            .is_ok_and(|packet| domain.rules.iter().any(|rule| rule.0.ipv4.contains(packet.destination())))
    }

    fn decapsulate(&self, packet: &[u8], ports: Option<Ports>) -> std::result::Result<Vec<u8>, Outcome> {
        let outer = outer::read(&self.spec, packet)?;
        let mut payload = outer.payload.to_vec();
        let range = rules::decapsulate(&self.spec, &outer.source, outer.tos, &mut payload, ports, &mut |_| false)?;
        Ok(payload[range].to_vec())
    }

    fn encapsulate(&mut self, packet: &[u8], ports: Option<Ports>) -> std::result::Result<(Outcome, Verdict), Outcome> {
        let inner = Inner { ports, ..Inner::read(packet)? };
        let packet = &packet[..inner.bytes];
        let mtu_bytes = self.spec.mtu_bytes as usize;
        if packet.len() <= mtu_bytes {
            return Ok((Outcome::Encapsulated, Verdict::Through(vec![self.wrap(&inner, packet)?])));
        }
        // What the tunnel would not take is not cut for it, nor answered.
        rules::encapsulate(&self.spec, &inner, packet, [0; 6])?;
        if inner.dont_fragment {
            let answer = too_long::answer(packet, &inner, self.spec.mtu_bytes, self.own4, self.own6);
            return Ok((Outcome::OuterTooBig, answer.map_or(Verdict::Dropped, Verdict::Answered)));
        }
        let pieces = too_long::cut(packet, &inner, mtu_bytes);
        // The first one has the ports of all.
        let ports = ports.or_else(|| self.needs_ports(packet).then(|| inner.own_ports(packet)));
        let wrapped = pieces.iter().map(|piece| self.wrap(&Inner { ports, ..Inner::read(piece)? }, piece));
        Ok((Outcome::Encapsulated, Verdict::Through(wrapped.collect::<std::result::Result<_, _>>()?)))
    }

    fn wrap(&mut self, inner: &Inner, packet: &[u8]) -> std::result::Result<Vec<u8>, Outcome> {
        let outer = rules::encapsulate(&self.spec, inner, packet, [0; 6])?;
        let identification = if outer.dont_fragment { 0 } else { self.next_identification() };
        Ok(outer::write(&self.spec, &outer, identification, packet))
    }

    fn next_identification(&mut self) -> u16 {
        let identification = self.identification;
        self.identification = identification.wrapping_add(1);
        identification
    }
}
