//! Stateless translation between IPv6 and IPv4: RFC 7915, with addresses by RFC 6052, RFC 7757 and RFC 6791.
//!
//! [`Translator::translate`] takes a whole packet of either family, and gives its fate, the clause that decides it, and
//! the resulting packets. Nothing is dropped without a clause. It does no I/O and has no clock, so it limits no rate:
//! the sender of its errors has to do that.
//!
//! `to_ipv6` and `to_ipv4` follow RFC 7915 sections 4 and 5. They use `mapping` for addresses, `domain` and `ports` for
//! those of MAP, `context` for what is known beside a packet's bytes, `headers` for what lies between the IP header and
//! the transport header, `transport` for checksums, `icmp` for messages and `quote` for the packets in errors,
//! `identifications`, `joining` for what has to be whole, `answers` for the errors that the translator sends itself,
//! and `own` for packets to its own addresses.

mod answers;
mod clause;
mod context;
mod domain;
mod ends;
mod explicit;
mod headers;
mod icmp;
mod identifications;
mod joining;
mod mapping;
mod own;
mod ports;
mod quote;
mod settings;
#[cfg(test)]
mod tests;
mod to_ipv4;
mod to_ipv6;
mod transport;

use std::net::Ipv6Addr;

pub use clause::Clause;
pub(crate) use context::{Context, Given};
pub use domain::Domain;
use explicit::Table;
pub(crate) use headers::{Upper, check_source_route};
use identifications::Identifications;
pub use ports::{Port, Ports};
pub use settings::{PLATEAUS, Settings, ZeroChecksum};

use crate::icmp::{V4Repr, V6Repr};
use crate::{Span, checksum, ipv4, ipv6};

/// The least MTU of IPv6: RFC 8200 section 5.
const LEAST_MTU6: usize = 1280;
/// Number of bytes by which an IPv6 header is longer than one of IPv4.
const MORE_BYTES: usize = ipv6::HEADER_BYTES - ipv4::HEADER_BYTES;
/// Most bytes of a packet with its IP header, also of one that fragments make.
const MOST_BYTES: usize = u16::MAX as usize;

/// A translator.
#[derive(Debug, Clone)]
pub struct Translator {
    settings: Settings,
    explicit: Table,
    own6: Option<Ipv6Addr>,
    identifications: Identifications,
}

/// The translator's decision about a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The decision in one word.
    pub verdict: Verdict,
    /// The rule that decided.
    pub clause: Clause,
    /// The packets to send: the translation, in fragments if there are several; or the error.
    pub packets: Vec<Vec<u8>>,
}

/// The decision about a packet, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It goes on in the other family, or comes back in its own.
    Translated,
    /// Its source gets an ICMP error, in its own family.
    Answered,
    /// Nothing is sent.
    Dropped,
}

/// A packet that goes no further. `T`: the header of the ICMP error for its source.
#[derive(Debug)]
pub(crate) struct Stop<T> {
    pub(crate) clause: Clause,
    error: Option<T>,
}

impl<T> From<Clause> for Stop<T> {
    fn from(clause: Clause) -> Self {
        Self { clause, error: None }
    }
}

impl<T> Stop<T> {
    pub(crate) fn with_error(clause: Clause, error: T) -> Self {
        Self { clause, error: Some(error) }
    }
}

/// The packets that go on, and the clause by which they do.
type Outcome<T> = Result<(Clause, Vec<Vec<u8>>), Stop<T>>;

impl Translator {
    /// A translator with settings that are right.
    pub fn new(settings: Settings) -> Result<Self, String> {
        settings.check()?;
        let embedded = || settings.prefixes.first().map(|prefix| prefix.embed(settings.own4));
        Ok(Self {
            explicit: Table::new(&settings.explicit),
            own6: if settings.own6.is_unspecified() { embedded() } else { Some(settings.own6) },
            identifications: Identifications::new(settings.identification_seed),
            settings,
        })
    }

    /// The settings that it was given.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Decides the fate of a packet of either family, which is whole.
    pub fn translate(&mut self, packet: &[u8]) -> Decision {
        self.translate_in(&Context::default(), packet)
    }

    /// Decides the fate of a fragment whose first one has these ports.
    pub fn translate_fragment(&mut self, packet: &[u8], ports: Ports) -> Decision {
        self.translate_in(&Context::of_fragment(Some(ports)), packet)
    }

    /// Decides the fate of a packet in its circumstances.
    fn translate_in(&mut self, context: &Context, packet: &[u8]) -> Decision {
        let span = Span::whole(packet);
        match packet.first().map(|octet| octet >> 4) {
            Some(4) => match ipv4::Packet::parse(span) {
                Ok(parsed) if checksum::is_valid(&packet[..parsed.header_bytes()]) => {
                    self.receive4(packet, &parsed).unwrap_or_else(|| {
                        let outcome = self.packet_to_ipv6(context, packet, &parsed);
                        self.decide(outcome, |translator, error| translator.answer4(packet, &parsed, error))
                    })
                }
                _ => Decision::dropped(Clause::Malformed),
            },
            Some(6) => match ipv6::Packet::parse(span) {
                Ok(parsed) => self.receive6(packet, &parsed).unwrap_or_else(|| {
                    let outcome = self.packet_to_ipv4(context, &parsed);
                    self.decide(outcome, |translator, error| translator.answer6(packet, &parsed, error))
                }),
                Err(_) => Decision::dropped(Clause::Malformed),
            },
            _ => Decision::dropped(Clause::Malformed),
        }
    }

    /// True if ports are needed to decide about a packet: it is to customer edges of MAP, which may share its address.
    pub fn needs_ports(&self, packet: &[u8]) -> bool {
        let has_rules = self.settings.domain.as_ref().is_some_and(|domain| !domain.rules.is_empty());
        has_rules
            && match packet.first().map(|octet| octet >> 4) {
                Some(4) => true,
                Some(6) => ipv6::Packet::parse(Span::whole(packet)).is_ok_and(|packet| {
                    let destination = packet.destination();
                    self.to_ipv4(destination).is_ok_and(|ipv4| self.comes_back(&Context::default(), destination, ipv4))
                }),
                _ => false,
            }
    }

    /// Translates an IPv6 packet in its circumstances, which the owner of its session gives. Errors are about
    /// `original`, which has other ports.
    pub(crate) fn given_to_ipv4(&mut self, context: &Context, original: &[u8], packet: &[u8]) -> Decision {
        let parsed = [original, packet].map(|bytes| ipv6::Packet::parse(Span::whole(bytes)));
        let [Ok(of_original), Ok(parsed)] = parsed else { return Decision::dropped(Clause::Malformed) };
        let outcome = self.packet_to_ipv4(context, &parsed);
        self.decide(outcome, |translator, error| translator.answer6(original, &of_original, error))
    }

    /// The same for an IPv4 packet. If it came out of IPv6 just now, nobody in IPv4 gets an error about it.
    pub(crate) fn given_to_ipv6(&mut self, context: &Context, original: &[u8], packet: &[u8]) -> Decision {
        let parsed = [original, packet].map(|bytes| ipv4::Packet::parse(Span::whole(bytes)));
        let [Ok(of_original), Ok(parsed)] = parsed else { return Decision::dropped(Clause::Malformed) };
        let outcome = self.packet_to_ipv6(context, packet, &parsed);
        let outcome = if context.is_back { outcome.map_err(|stop| Stop::from(stop.clause)) } else { outcome };
        self.decide(outcome, |translator, error| translator.answer4(original, &of_original, error))
    }

    /// Answers or drops an IPv6 packet that the owner of its session stops.
    pub(crate) fn stopped6(&mut self, bytes: &[u8], packet: &ipv6::Packet<'_>, stop: Stop<V6Repr>) -> Decision {
        self.decide(Err(stop), |translator, error| translator.answer6(bytes, packet, error))
    }

    /// The same for an IPv4 packet.
    pub(crate) fn stopped4(&mut self, bytes: &[u8], packet: &ipv4::Packet<'_>, stop: Stop<V4Repr>) -> Decision {
        self.decide(Err(stop), |translator, error| translator.answer4(bytes, packet, error))
    }

    fn decide<T: Prohibited>(
        &mut self,
        outcome: Outcome<T>,
        answer: impl FnOnce(&mut Self, T) -> Option<Vec<u8>>,
    ) -> Decision {
        let Stop { clause, error } = match outcome {
            Ok((clause, packets)) => return Decision { verdict: Verdict::Translated, clause, packets },
            Err(stop) => stop,
        };
        let error = error.or_else(|| self.settings.answered.contains(&clause).then_some(T::PROHIBITED));
        match error.and_then(|error| answer(self, error)) {
            Some(answer) => Decision { verdict: Verdict::Answered, clause, packets: vec![answer] },
            None => Decision::dropped(clause),
        }
    }

    /// The hop limit behind the translator, unless it is used up.
    fn next_hop_limit(&self, context: &Context, hop_limit: u8) -> Option<u8> {
        if !self.settings.takes_hop || context.is_back {
            return Some(hop_limit);
        }
        hop_limit.checked_sub(1).filter(|&left| left > 0)
    }
}

impl Decision {
    pub(crate) fn dropped(clause: Clause) -> Self {
        Self { verdict: Verdict::Dropped, clause, packets: Vec::new() }
    }
}

/// An error that says Communication Administratively Prohibited: RFC 7915 sections 4.4 and 5.4.
trait Prohibited {
    const PROHIBITED: Self;
}
