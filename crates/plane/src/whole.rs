//! Whole packets through one end of a tunnel, without a device: the decisions of the slow path's rules, and the node's
//! work around them. Bytes in, bytes and reasons out.
//!
//! Left out here: fragments of outer packets, which the caller puts together before ([`Whole::joins`]), and mappings
//! that ask a link for its neighbours (6over4) or the node for its routes (ISATAP).

mod carrier_error;
mod forwarding;
mod node;
mod outer;
mod sections;
mod telling;
mod too_long;

use std::collections::HashMap;
use std::net::IpAddr;

use sixbench_wire::map::check_rules;
use sixbench_wire::siit::Ports;
use sixbench_wire::{Span, echo, ipv4, protocol};

use crate::abi::Outcome;
use crate::error::bad_tunnel;
use crate::slow::icmp;
use crate::slow::rules::{self, Inner, Outer};
use crate::spec::{MapDomain, Mapping, Payload, Spec};
use crate::{Error, Result};
pub use node::{Icmp, Node};
use sixbench_wire::family::Family;
use telling::EXPIRED;

/// A node where a tunnel ends.
#[derive(Debug, Clone)]
pub struct Whole {
    /// Ends of the same kind. A border relay has several if customer edges know it by several addresses.
    ends: Vec<Spec>,
    node: Node,
    /// The identification of the next outer packet that is fragmented, or may be: RFC 6864 section 4, RFC 8200 section
    /// 4.5.
    identification: u32,
    /// Sizes of a tunnel's packets that the paths to other ends take, as the carrier's errors have said: RFC 2473
    /// section 8.1, RFC 4213 section 3.2.2.
    path_mtus: HashMap<IpAddr, u32>,
}

/// The decision about a packet, and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// The result for the packet.
    pub verdict: Verdict,
    /// The reason.
    pub outcome: Outcome,
    /// The section where that is written, such as `RFC 4213 section 3.6`, if there is one.
    pub section: Option<&'static str>,
}

impl Carried {
    /// The outcome in words: a sentence about the packet.
    pub fn words(&self) -> &'static str {
        self.outcome.words()
    }
}

/// The result for a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It went through: in several packets if it had to be cut.
    Through(Vec<Vec<u8>>),
    /// Its source gets an error in these packets: one, or its fragments.
    Answered(Vec<Vec<u8>>),
    /// Nothing is sent.
    Dropped,
}

/// The way of a packet through this end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
    /// It is for the node itself: an echo request, or an error about an outer packet.
    Here,
}

/// Treatment of a packet that goes in, by its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Fits,
    /// Its source gets an error with the length that would fit.
    IsTold,
    CutsOuter,
    CutsInner,
}

/// The reason and the result for a packet; or the reason why it is dropped unless its source gets an error.
type Decided = std::result::Result<(Outcome, Verdict), Outcome>;

impl Whole {
    /// A node with an end of a tunnel that compiles.
    pub fn new(spec: &Spec, node: Node) -> Result<Self> {
        Self::with_ends(vec![spec.clone()], node)
    }

    /// A node with several ends, at least one, which compile.
    pub fn with_ends(ends: Vec<Spec>, node: Node) -> Result<Self> {
        for end in &ends {
            end.compile()?;
            let lacking = match end.mapping {
                Mapping::Fixed { .. } | Mapping::SixToFour { .. } | Mapping::SixRd { .. } | Mapping::Map(_) => continue,
                Mapping::Isatap { .. } => "isatap asks the node for its routes",
                Mapping::SixOverFour { .. } => "6over4 asks its link for neighbours",
            };
            return Err(bad(end, format!("{lacking}, and a packet without a device has neither; use a lab")));
        }
        if let [first, _, ..] = &ends[..] {
            check_relays(&ends).map_err(|reason| bad(first, reason))?;
        }
        Ok(Self { ends, node, identification: 0, path_mtus: HashMap::new() })
    }

    /// Carries a packet, from its IP header on: out of the tunnel if it is an outer packet to this end, else into it.
    pub fn carry(&mut self, packet: &[u8]) -> Carried {
        self.carry_by(packet, None)
    }

    /// The same for a packet that is or carries a fragment whose first one has these ports.
    pub fn carry_fragment(&mut self, packet: &[u8], ports: Ports) -> Carried {
        self.carry_by(packet, Some(ports))
    }

    fn carry_by(&mut self, packet: &[u8], ports: Option<Ports>) -> Carried {
        let (way, decided) = match self.here(packet) {
            Some(decided) => (Way::Here, decided),
            None if self.is_outer(packet) => (Way::Out, self.out(packet, ports)),
            None => (Way::In, self.take_in(packet, ports)),
        };
        let (outcome, verdict) = decided.unwrap_or_else(|outcome| (outcome, self.answer_unbound(way, packet, outcome)));
        Carried { verdict, outcome, section: sections::of(&self.ends[0], way, packet, outcome) }
    }

    /// True if ports are needed to decide about a packet: it is to customer edges, which may share its address.
    pub fn needs_ports(&self, packet: &[u8]) -> bool {
        let is_to_edges = match self.is_outer(packet) {
            true => self.node.hairpins && outer::read(self.end_of(packet), packet).is_ok(),
            false => true,
        };
        is_to_edges && self.domains().any(|domain| !domain.rules.is_empty())
    }

    /// True if a packet is a fragment that waits for the others, to be carried with them as one packet. It is one of an
    /// outer packet to this end, or, if the node has to reassemble those, one from outside to a customer edge.
    pub fn joins(&self, packet: &[u8]) -> bool {
        if self.is_outer(packet) {
            return matches!(outer::read(self.end_of(packet), packet), Err(Outcome::OuterFragment));
        }
        self.node.reassembles && self.is_for_an_edge(packet)
    }

    /// The packet that has the ports: the inner one, whether it is in an outer one or not yet.
    pub fn inner_of<'a>(&self, packet: &'a [u8]) -> &'a [u8] {
        match self.is_outer(packet).then(|| outer::read(self.end_of(packet), packet)) {
            Some(Ok(outer)) => outer.payload,
            _ => packet,
        }
    }

    /// True if this node takes a packet for an outer one. Where the tunnel carries the outer family too, only packets
    /// that name this end are outer ones.
    fn is_outer(&self, packet: &[u8]) -> bool {
        let first = &self.ends[0];
        let is_of_outer_family = packet.first().is_some_and(|octet| octet >> 4 == first.outer.version());
        is_of_outer_family && (!carries_outer_family(first) || outer::is_for(first, packet))
    }

    /// The end that an outer packet is for.
    fn end_of(&self, packet: &[u8]) -> &Spec {
        self.ends.iter().find(|end| outer::is_for(end, packet)).unwrap_or(&self.ends[0])
    }

    fn domains(&self) -> impl Iterator<Item = &MapDomain> {
        self.ends.iter().filter_map(|end| match &end.mapping {
            Mapping::Map(domain) => Some(domain),
            _ => None,
        })
    }

    /// The decision about a packet that is for the node itself. `None`: it is for another.
    fn here(&mut self, packet: &[u8]) -> Option<Decided> {
        let is_own = |address: IpAddr| {
            self.node.own4.is_some_and(|own| own == address)
                || self.node.own6.is_some_and(|own| own == address)
                || self.ends.iter().any(|end| end.local == address)
        };
        if let Some(reply) = echo::reply(packet, is_own) {
            return Some(Ok((Outcome::EchoAnswered, Verdict::Answered(vec![reply]))));
        }
        let (overhead_bytes, error) =
            self.ends.iter().find_map(|end| Some((end.overhead_bytes(), carrier_error::read(end, packet)?)))?;
        let version = self.ends[0].outer.version();
        Some(match error {
            _ if !self.node.takes_icmp.has(version) => Err(Outcome::IcmpRefused),
            Ok(error) => Ok(self.pass_on(&error, overhead_bytes)),
            Err(outcome) => Err(outcome),
        })
    }

    fn out(&mut self, packet: &[u8], ports: Option<Ports>) -> Decided {
        let packet = decapsulate(self.end_of(packet), packet, ports)?;
        self.check_forwarded(&packet)?;
        if self.node.hairpins && self.is_for_an_edge(&packet) {
            return self.encapsulate(&packet, ports, self.node.takes_hop).or_else(|outcome| {
                // The sender is behind this end as well.
                Ok((outcome, self.answer_unbound(Way::In, &packet, outcome)))
            });
        }
        let inner = Inner::read(&packet)?;
        if self.is_expired(&inner) {
            return Ok((Outcome::HopLimit, self.tell(EXPIRED, &packet, &inner)));
        }
        let most_bytes = self.node.mtu4_bytes.filter(|&most| inner.version == 4 && packet.len() > usize::from(most));
        match most_bytes {
            None => Ok((Outcome::Decapsulated, Verdict::Through(vec![self.forwarded(&packet)]))),
            Some(mtu_bytes) if inner.dont_fragment => {
                Ok((Outcome::OuterTooBig, self.tell(icmp::too_big(mtu_bytes.into()), &packet, &inner)))
            }
            Some(mtu_bytes) => {
                let pieces = too_long::cut(&self.forwarded(&packet), &inner, mtu_bytes.into());
                Ok((Outcome::Decapsulated, Verdict::Through(pieces)))
            }
        }
    }

    fn take_in(&mut self, packet: &[u8], ports: Option<Ports>) -> Decided {
        let inner = Inner::read(packet)?;
        if inner.version == 4 && inner.protocol == protocol::ICMP && !self.node.takes_icmp.has(4) {
            return Err(Outcome::IcmpRefused);
        }
        self.check_forwarded(&packet[..inner.bytes])?;
        self.encapsulate(packet, ports, self.node.takes_hop)
    }

    fn encapsulate(&mut self, packet: &[u8], ports: Option<Ports>, takes_hop: bool) -> Decided {
        let inner = Inner { ports, ..Inner::read(packet)? };
        let packet = &packet[..inner.bytes];
        let (end, outer) = self.end_for(&inner, packet)?;
        if takes_hop && self.is_expired(&inner) {
            return Ok((Outcome::HopLimit, self.tell(EXPIRED, packet, &inner)));
        }
        let own_bytes = self.ends[end].mtu_bytes;
        let mtu_bytes = self.path_mtus.get(&outer.destination).map_or(own_bytes, |&known| known.min(own_bytes));
        let length = match packet.len() {
            bytes if bytes > own_bytes as usize => self.beyond_the_tunnel(end, &inner),
            bytes if bytes > mtu_bytes as usize => self.beyond_the_path(&outer, &inner, mtu_bytes),
            _ => Length::Fits,
        };
        if length == Length::IsTold {
            return Ok((Outcome::OuterTooBig, self.tell(icmp::too_big(mtu_bytes), packet, &inner)));
        }
        let packet = if takes_hop { self.forwarded(packet) } else { packet.to_vec() };
        let sent = match length {
            Length::Fits | Length::IsTold => vec![self.wrap(end, &outer, &packet)],
            Length::CutsOuter => {
                let outer = Outer { dont_fragment: false, ..outer };
                let identification = self.next_identification();
                let whole = outer::write(&self.ends[end], &outer, identification as u16, &packet);
                outer::cut(&whole, identification, mtu_bytes + self.ends[end].overhead_bytes())
            }
            Length::CutsInner => {
                let pieces = too_long::cut(&packet, &inner, mtu_bytes as usize);
                pieces.iter().map(|piece| self.wrap(end, &outer, piece)).collect()
            }
        };
        Ok((Outcome::Encapsulated, Verdict::Through(sent)))
    }

    /// Treatment of a packet that is longer than the tunnel's own MTU.
    fn beyond_the_tunnel(&self, end: usize, inner: &Inner) -> Length {
        match inner.dont_fragment {
            true => Length::IsTold,
            false if cuts_outer(&self.ends[end]) => Length::CutsOuter,
            false => Length::CutsInner,
        }
    }

    /// Treatment of a packet that is longer than the path to another end takes, as an error has said. Outer IPv4
    /// packets without DF are fragmented by who sends them: RFC 4213 section 3.2.1.
    fn beyond_the_path(&self, outer: &Outer, inner: &Inner, mtu_bytes: u32) -> Length {
        let may_be_cut = outer.destination.is_ipv4() && !outer.dont_fragment;
        if may_be_cut || !self.gets_error_of_path(inner, mtu_bytes) { Length::CutsOuter } else { Length::IsTold }
    }

    /// The end by which a packet goes into the tunnel, by its number, and with which outer headers.
    fn end_for(&self, inner: &Inner, packet: &[u8]) -> std::result::Result<(usize, Outer), Outcome> {
        let mut found = Err(Outcome::NoMapping);
        for (number, end) in self.ends.iter().enumerate() {
            found = rules::encapsulate(end, inner, packet, [0; 6]).map(|outer| (number, outer));
            if !matches!(found, Err(Outcome::NoMapping)) {
                break;
            }
        }
        found
    }

    fn wrap(&mut self, end: usize, outer: &Outer, packet: &[u8]) -> Vec<u8> {
        let is_numbered = self.ends[end].outer == Family::Ipv4 && !outer.dont_fragment;
        let identification = if is_numbered { self.next_identification() as u16 } else { 0 };
        outer::write(&self.ends[end], outer, identification, packet)
    }

    fn next_identification(&mut self) -> u32 {
        let identification = self.identification;
        self.identification = identification.wrapping_add(1);
        identification
    }

    /// True if a router that takes a hop must not send a packet on.
    fn is_expired(&self, inner: &Inner) -> bool {
        self.node.takes_hop && inner.version == 4 && inner.hop_limit <= 1
    }

    /// An IPv4 packet as a router sends it on, which it is not expired for.
    fn forwarded(&self, packet: &[u8]) -> Vec<u8> {
        let mut packet = packet.to_vec();
        if self.node.takes_hop && packet.first().is_some_and(|octet| octet >> 4 == 4) {
            ipv4::take_hop(&mut packet);
        }
        packet
    }

    /// True if an IPv4 packet goes to the address of a customer edge of this border relay.
    fn is_for_an_edge(&self, packet: &[u8]) -> bool {
        let Ok(packet) = ipv4::Packet::parse(Span::whole(packet)) else { return false };
        let mut rules = self.domains().filter(|domain| domain.own.is_none()).flat_map(|domain| &domain.rules);
        rules.any(|rule| rule.0.ipv4.contains(packet.destination()))
    }
}

fn bad(end: &Spec, reason: String) -> Error {
    bad_tunnel(&end.device, reason)
}

/// Fails with a sentence if the ends of a border relay contradict each other: rules that give the same ports to
/// different edges, or an address of the relay's that an edge has.
fn check_relays(ends: &[Spec]) -> std::result::Result<(), String> {
    let mut rules = Vec::new();
    for end in ends {
        match &end.mapping {
            Mapping::Map(domain) if domain.own.is_none() => rules.extend(domain.rules.iter().map(|rule| rule.0)),
            _ => return Err("only a border relay has several ends".to_owned()),
        }
    }
    check_rules(None, &rules, false)?;
    for (number, end) in ends.iter().enumerate() {
        if ends[..number].iter().any(|other| other.local == end.local) {
            return Err(format!("two ends have the address {}", end.local));
        }
        MapDomain::check_relay(end.local, &rules)?;
    }
    Ok(())
}

/// True if outer packets are fragmented, after encapsulation, as IPv4 in IPv6 is: RFC 2473 section 7.2 and RFC 6333
/// section 5.3. In other tunnels, the inner packets are.
fn cuts_outer(end: &Spec) -> bool {
    (end.outer, end.payload) == (Family::Ipv6, Payload::Ipv4)
}

fn carries_outer_family(end: &Spec) -> bool {
    match (end.payload, end.outer) {
        (Payload::Gre, _) | (Payload::Ipv4, Family::Ipv4) | (Payload::Ipv6, Family::Ipv6) => true,
        (Payload::Ipv4, Family::Ipv6) | (Payload::Ipv6, Family::Ipv4) => false,
    }
}

fn decapsulate(end: &Spec, packet: &[u8], ports: Option<Ports>) -> std::result::Result<Vec<u8>, Outcome> {
    let outer = outer::read(end, packet)?;
    let mut payload = outer.payload.to_vec();
    let range = rules::decapsulate(end, &outer.source, outer.tos, &mut payload, ports, &mut |_| false)?;
    Ok(payload[range].to_vec())
}
