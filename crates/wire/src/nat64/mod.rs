//! Stateful translation for IPv6 clients of IPv4 servers: RFC 6146.
//!
//! [`Nat64`] takes whole packets of either family and decides the fate of each, as a [`Translator`] does, which writes
//! the packets of the other family. This module adds state: `table` has the bindings of addresses and ports and the
//! sessions, `ends` their ends, `pool` the addresses and ports that can be bound, `tcp` the states of connections,
//! `flow` reads the session of a packet, and `rewrite` puts a port in the place of another. It has no clock: its caller
//! gives the time with each packet. It gets the ports of later fragments from its caller
//! ([`crate::virtual_reassembly`]), but takes packets that have to be whole ([`Nat64::joins`]) in one piece
//! ([`crate::reassembly`]).

mod ends;
mod flow;
mod pool;
mod rewrite;
mod settings;
mod table;
mod tcp;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

pub use ends::{Inside, Outside, Protocol};
pub use pool::PoolRange;
pub use settings::{Filtering, Settings, StaticBinding, Timeouts};
pub use table::Amounts;

use crate::icmp::{V4Repr, V6Repr};
use crate::siit::{Clause, Context, Decision, Given, Port, Ports, Stop, Translator, Verdict, check_source_route};
use crate::{Span, checksum, ipv4, ipv6};
use flow::Flow;
use rewrite::End;
use table::Table;
use tcp::Event;

/// A stateful translator.
#[derive(Debug)]
pub struct Nat64 {
    translator: Translator,
    table: Table,
    /// The latest time of a packet, so that none goes back.
    now: Duration,
}

/// A packet with other ports, and the addresses of both families that it has.
struct Rewritten {
    packet: Vec<u8>,
    ports: Ports,
    given: Given,
}

impl Nat64 {
    /// A translator with settings that are right.
    pub fn new(settings: Settings) -> Result<Self, String> {
        settings.check()?;
        let table = Table::new(&settings)?;
        Ok(Self { translator: Translator::new(settings.translation)?, table, now: Duration::ZERO })
    }

    /// Decides the fate of a packet of either family, which is whole or a fragment.
    ///
    /// `ports`: those of a fragment's first one. `now`: the time since any instant.
    pub fn translate(&mut self, packet: &[u8], ports: Option<Ports>, now: Duration) -> Decision {
        self.translate_in(Context::of_fragment(ports), packet, now)
    }

    /// Decides the fate of a packet whose fragments were put together.
    pub fn translate_joined(&mut self, packet: &[u8], now: Duration) -> Decision {
        self.translate_in(Context::JOINED, packet, now)
    }

    fn translate_in(&mut self, context: Context, packet: &[u8], now: Duration) -> Decision {
        self.now = self.now.max(now);
        match packet.first().map(|octet| octet >> 4) {
            Some(4) => self.ipv4_packet(context, packet),
            Some(6) => self.ipv6_packet(context, packet),
            _ => Decision::dropped(Clause::Malformed),
        }
    }

    /// True if a packet is a fragment that waits for the others, to be translated with them as one packet
    /// ([`Translator::joins`]).
    pub fn joins(&self, packet: &[u8], others_wait: bool) -> bool {
        self.translator.joins(packet, others_wait)
    }

    /// The numbers of bindings and sessions in the table.
    pub fn amounts(&self) -> Amounts {
        self.table.amounts()
    }

    fn ipv6_packet(&mut self, context: Context, bytes: &[u8]) -> Decision {
        let Ok(packet) = ipv6::Packet::parse(Span::whole(bytes)) else { return Decision::dropped(Clause::Malformed) };
        self.received(bytes, &packet).unwrap_or_else(|| match self.out(bytes, &packet, context.ports) {
            Ok(rewritten) => self.outward(context, bytes, &rewritten),
            Err(stop) => self.translator.stopped6(bytes, &packet, stop),
        })
    }

    /// The decision about an IPv6 packet to the translator itself. An address of the pool is its bindings', also where
    /// it is the translator's own.
    fn received(&mut self, bytes: &[u8], packet: &ipv6::Packet<'_>) -> Option<Decision> {
        let is_bound = self.translator.to_ipv4(packet.destination()).is_ok_and(|to| self.table.has(to));
        if is_bound { None } else { self.translator.receive6(bytes, packet) }
    }

    /// Sends a packet to IPv4, or back to IPv6 if it is to another host of IPv6: RFC 6146 section 3.8.
    fn outward(&mut self, context: Context, bytes: &[u8], rewritten: &Rewritten) -> Decision {
        let decision = self.translator.given_to_ipv4(&context.with(rewritten.given), bytes, &rewritten.packet);
        match &decision.packets[..] {
            [back] if rewritten.given.comes_back && decision.verdict == Verdict::Translated => {
                let ports = context.ports.map(|_| rewritten.ports);
                self.hairpin(Context { ports, ..context }.back(), back).unwrap_or_else(Decision::dropped)
            }
            _ => decision,
        }
    }

    /// Sends a packet that came out of IPv6 to the IPv6 host. Nobody in IPv4 has sent it, so nobody is told of what is
    /// wrong with it.
    fn hairpin(&mut self, context: Context, bytes: &[u8]) -> Result<Decision, Clause> {
        let packet = ipv4::Packet::parse(Span::whole(bytes)).map_err(|_| Clause::Malformed)?;
        let Rewritten { packet, given, .. } =
            self.back(bytes, &packet, context.ports).map_err(|stop: Stop<V4Repr>| stop.clause)?;
        let decision = self.translator.given_to_ipv6(&context.with(given), bytes, &packet);
        let is_through = decision.verdict == Verdict::Translated;
        Ok(Decision { clause: if is_through { Clause::Hairpin } else { decision.clause }, ..decision })
    }

    fn ipv4_packet(&mut self, context: Context, bytes: &[u8]) -> Decision {
        let packet = match ipv4::Packet::parse(Span::whole(bytes)) {
            Ok(packet) if checksum::is_valid(&bytes[..packet.header_bytes()]) => packet,
            _ => return Decision::dropped(Clause::Malformed),
        };
        if self.table.has(packet.source()) {
            return Decision::dropped(Clause::OfPool);
        }
        match self.back(bytes, &packet, context.ports) {
            Ok(rewritten) => self.translator.given_to_ipv6(&context.with(rewritten.given), bytes, &rewritten.packet),
            Err(stop) => self.translator.stopped4(bytes, &packet, stop),
        }
    }

    /// Gives an IPv6 packet its addresses and ports in IPv4: RFC 6146 sections 3.5 and 3.6.
    fn out(
        &mut self,
        bytes: &[u8],
        packet: &ipv6::Packet<'_>,
        ports: Option<Ports>,
    ) -> Result<Rewritten, Stop<V6Repr>> {
        let (source, destination) = (packet.source(), packet.destination());
        if self.translator.settings().prefixes.iter().any(|prefix| prefix.contains(source)) {
            return Err(Clause::OfPrefix.into());
        }
        let to = self.translator.to_ipv4(destination)?;
        let flow = Flow::of_ipv6(packet, ports).map_err(|clause| match clause {
            Clause::Sessionless => Stop::with_error(clause, V6Repr::Unreachable { code: 4, quoted_words: 0 }),
            other => other.into(),
        })?;
        let Some(quoted) = &flow.quoted else {
            self.translator.check_host6(source)?;
            let inside = Inside { address: source, port: flow.ports[0] };
            let remote = Outside { address: to, port: flow.remote_port(1) };
            let outside = self.table.outgoing(flow.protocol, inside, remote, flow.event, self.now)?;
            let mut changed = bytes.to_vec();
            rewrite::port(&mut changed, End::Source, outside.port);
            let given = Given {
                ipv4: [outside.address, to],
                ipv6: [source, destination],
                quoted: None,
                comes_back: self.table.has(to),
            };
            let ports = Ports([outside.port, flow.ports[1]].map(Port::Known));
            return Ok(Rewritten { packet: changed, ports, given });
        };
        // The packet inside came from there, and went to the IPv6 host.
        let inside = Inside { address: quoted.ipv6[1], port: flow.ports[0] };
        let outside = self.table.outside_of(flow.protocol, inside, self.now).ok_or(Clause::NoBinding)?;
        let remote = self.translator.to_ipv4(quoted.ipv6[0])?;
        let mut changed = bytes.to_vec();
        rewrite::quoted_port(&mut changed, End::Destination, outside.port);
        let given = Given {
            ipv4: [outside.address, to],
            ipv6: [source, destination],
            quoted: Some(([remote, outside.address], quoted.ipv6)),
            comes_back: self.table.has(to),
        };
        Ok(Rewritten { packet: changed, ports: Ports::ABSENT, given })
    }

    /// Gives an IPv4 packet its addresses and ports in IPv6.
    fn back(
        &mut self,
        bytes: &[u8],
        packet: &ipv4::Packet<'_>,
        ports: Option<Ports>,
    ) -> Result<Rewritten, Stop<V4Repr>> {
        let (source, destination) = (packet.source(), packet.destination());
        if !self.table.has(destination) {
            return Err(Clause::NoBinding.into());
        }
        check_source_route(&bytes[ipv4::HEADER_BYTES..packet.header_bytes()])?;
        let flow = Flow::of_ipv4(packet, ports).map_err(|clause| match clause {
            Clause::Sessionless => {
                Stop::with_error(clause, V4Repr::Unreachable { code: 2, quoted_words: 0, mtu_bytes: 0 })
            }
            other => other.into(),
        })?;
        let mut changed = bytes.to_vec();
        let Some(quoted) = &flow.quoted else {
            let from = self.translator.to_ipv6(source)?;
            let outside = Outside { address: destination, port: flow.ports[1] };
            let remote = Outside { address: source, port: flow.remote_port(0) };
            let inside = self.table.incoming(flow.protocol, outside, remote, flow.event, self.now);
            let inside = inside.map_err(|clause| answer_to(clause, flow.event))?;
            rewrite::port(&mut changed, End::Destination, inside.port);
            let given =
                Given { ipv4: [source, destination], ipv6: [from, inside.address], quoted: None, comes_back: false };
            let ports = Ports([flow.ports[0], inside.port].map(Port::Known));
            return Ok(Rewritten { packet: changed, ports, given });
        };
        let [quoted_source, quoted_destination] = quoted.ipv4;
        let outside = Outside { address: quoted_source, port: flow.ports[1] };
        let remote = Outside { address: quoted_destination, port: flow.remote_port(0) };
        let inside = self.table.inside_of(flow.protocol, outside, remote, self.now)?;
        let from = self.translator.router_to_ipv6(&Context::default(), source, packet.hop_limit())?;
        let remote = self.translator.to_ipv6(quoted_destination)?;
        rewrite::quoted_port(&mut changed, End::Source, inside.port);
        let given = Given {
            ipv4: [source, destination],
            ipv6: [from, inside.address],
            quoted: Some((quoted.ipv4, [inside.address, remote])),
            comes_back: false,
        };
        Ok(Rewritten { packet: changed, ports: Ports::ABSENT, given })
    }
}

/// The answer to a packet that is dropped. A sender gets an error that nobody is there, or that it may not send: RFC
/// 6146 section 3.5.1.2. The sender of a SYN gets none, as the IPv6 host may be about to open the same connection
/// (section 3.5.2.2, RFC 5382 section 4.3), which an error would end.
fn answer_to(clause: Clause, event: Event) -> Stop<V4Repr> {
    match clause {
        Clause::NoBinding | Clause::Filtered if event == Event::Syn => clause.into(),
        Clause::NoBinding => Stop::with_error(clause, V4Repr::Unreachable { code: 1, quoted_words: 0, mtu_bytes: 0 }),
        Clause::Filtered => Stop::with_error(clause, V4Repr::Unreachable { code: 13, quoted_words: 0, mtu_bytes: 0 }),
        other => other.into(),
    }
}

/// The addresses of a packet in an ICMP error, of the family that it came in.
#[derive(Debug)]
struct Quoted {
    ipv4: [Ipv4Addr; 2],
    ipv6: [Ipv6Addr; 2],
}
