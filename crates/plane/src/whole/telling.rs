//! The errors that the node sends to the sources of packets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sixbench_wire::icmp::{V4Repr, V6Repr};
use sixbench_wire::{icmp_error, protocol};

use super::carrier_error::{CarrierError, Problem};
use super::{Verdict, Way, Whole};
use crate::abi::Outcome;
use crate::slow::icmp::{self, SourceError};
use crate::slow::rules::Inner;
use crate::spec::MIN_IPV6_MTU_BYTES;

/// Paths whose MTU is known at a time.
const MAX_PATHS: usize = 4096;
/// Codes of Unreachable: RFC 792, RFC 4443 section 3.1.
const HOST_UNREACHABLE: u8 = 1;
const SOURCE_FAILED_POLICY: u8 = 5;

/// Error for a packet whose hop limit is used up: RFC 792, RFC 4443 section 3.3.
pub const EXPIRED: SourceError = SourceError {
    v4: V4Repr::TimeExceeded { code: 0, quoted_words: 0 },
    v6: V6Repr::TimeExceeded { code: 0, quoted_words: 0 },
};
/// Error for a packet that is bound to nobody, by an IPv4 packet's destination, or an IPv6 packet's source: RFC 7596
/// section 6.2.
const UNBOUND: SourceError = SourceError {
    v4: V4Repr::Unreachable { code: HOST_UNREACHABLE, quoted_words: 0, mtu_bytes: 0 },
    v6: V6Repr::Unreachable { code: SOURCE_FAILED_POLICY, quoted_words: 0 },
};

impl Whole {
    /// Passes the carrier's error about an outer packet on to the source of the inner one, unless the error quotes too
    /// little to show that source.
    pub(super) fn pass_on(&mut self, error: &CarrierError<'_>, overhead_bytes: u32) -> (Outcome, Verdict) {
        let unanswered = (Outcome::CarrierError, Verdict::Dropped);
        let mtu_bytes = match error.problem {
            Problem::Unreachable => {
                let verdict = error.inner.map(|(packet, inner)| self.tell(icmp::UNREACHABLE, packet, &inner));
                return verdict.map_or(unanswered, |verdict| (Outcome::CarrierUnreachable, verdict));
            }
            Problem::TooBig(path_bytes) => path_bytes.saturating_sub(overhead_bytes),
        };
        self.learn(error.destination, mtu_bytes);
        // Over IPv4 only the next packet's source is told, by what is remembered: RFC 4213 section 3.4.
        let Some((packet, inner)) = error.inner.filter(|_| error.destination.is_ipv6()) else { return unanswered };
        if !self.gets_error_of_path(&inner, mtu_bytes) {
            return unanswered;
        }
        (Outcome::OuterTooBig, self.tell(icmp::too_big(mtu_bytes), packet, &inner))
    }

    /// True if the source of a packet gets an error that a path takes no more than this. If not, the outer packets are
    /// fragmented: RFC 2473 sections 7.1 and 7.2, RFC 4213 section 3.2.2.
    pub(super) fn gets_error_of_path(&self, inner: &Inner, mtu_bytes: u32) -> bool {
        let least_bytes = if inner.version == 6 { MIN_IPV6_MTU_BYTES } else { 0 };
        inner.dont_fragment && inner.bytes > mtu_bytes.max(least_bytes) as usize
    }

    /// Remembers what fits the path to another end.
    fn learn(&mut self, destination: IpAddr, mtu_bytes: u32) {
        if self.path_mtus.len() < MAX_PATHS || self.path_mtus.contains_key(&destination) {
            self.path_mtus.insert(destination, mtu_bytes);
        }
    }

    /// The result for a packet that no rule carries: it is dropped, and its source gets an error if the node sends
    /// those.
    pub(super) fn answer_unbound(&mut self, way: Way, packet: &[u8], outcome: Outcome) -> Verdict {
        let Ok(inner) = Inner::read(packet) else { return Verdict::Dropped };
        let is_unbound = match (way, outcome) {
            // RFC 7596 section 8.1 has ICMP messages discarded.
            (Way::In, Outcome::NoMapping) => inner.version == 4 && inner.protocol != protocol::ICMP,
            (Way::Out, Outcome::SourceNotPeer | Outcome::InnerSourceMismatch) => inner.version == 6,
            _ => false,
        };
        if is_unbound && self.node.tells_unbound {
            self.tell(UNBOUND, &packet[..inner.bytes], &inner)
        } else {
            Verdict::Dropped
        }
    }

    /// Sends an error to the source of a packet, on either side: an IPv4 source may be behind this end too.
    pub(super) fn tell(&mut self, error: SourceError, packet: &[u8], inner: &Inner) -> Verdict {
        if !self.node.tells.has(inner.version) || !icmp::may_get_error(packet, inner) {
            return Verdict::Dropped;
        }
        if inner.version == 6 {
            let ends = self.node.own6.map(|own| (own, Ipv6Addr::from(inner.source.0)));
            let answer = ends.map(|ends| icmp_error::v6_packet(error.v6, packet, ends));
            return answer.map_or(Verdict::Dropped, |answer| Verdict::Answered(vec![answer]));
        }
        let [a, b, c, d, ..] = inner.source.0;
        let Some(own) = self.node.own4 else { return Verdict::Dropped };
        let mtu_bytes = self.node.mtu4_bytes.map_or(usize::MAX, usize::from);
        let answer = icmp_error::v4_packet(error.v4, packet, (own, Ipv4Addr::new(a, b, c, d)), icmp::TOS, 0, mtu_bytes);
        if !self.is_for_an_edge(&answer) {
            return Verdict::Answered(vec![answer]);
        }
        match self.encapsulate(&answer, None, false) {
            Ok((_, Verdict::Through(packets))) => Verdict::Answered(packets),
            _ => Verdict::Dropped,
        }
    }
}
