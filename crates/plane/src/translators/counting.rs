//! Counters of a translator's packets, by their fate.

use std::collections::BTreeMap;

use serde::Serialize;
use sixbench_wire::siit::{Clause, Decision, Verdict};
use sixbench_wire::virtual_reassembly::Amount;

use super::fast::FastCounts;
use crate::counters::Traffic;

/// The reason of packets that the node did not take back.
const NOT_SENT: &str = "not-sent";
/// The reason of packets whose source gets no error, because too many errors were sent already.
const ERROR_LIMIT: &str = "error-limit";
/// The reason of packets for which the kernel had no memory.
const NO_ROOM: &str = "no-room";

/// The counters of one thread.
#[derive(Debug, Default)]
pub struct Counts {
    /// The packets translated from IPv4, and from IPv6.
    translated: [Traffic; 2],
    by_clause: [BTreeMap<Clause, Traffic>; 3],
    not_sent: Traffic,
    unanswered: Traffic,
    /// Fragments that waited in vain.
    missed: Traffic,
}

/// A translator's counters: packets as they came, and their bytes with the IP header.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TranslatorReport {
    /// Translated to IPv6.
    pub to_ipv6: Traffic,
    /// Translated to IPv4.
    pub to_ipv4: Traffic,
    /// Packets among these that user space translated, by the clause that decided.
    pub slow: BTreeMap<&'static str, Traffic>,
    /// Packets whose source got an error instead, by clause.
    pub answered: BTreeMap<&'static str, Traffic>,
    /// Dropped, by clause.
    pub drops: BTreeMap<&'static str, Traffic>,
    /// Fragments that wait for others of their packet.
    pub waiting: Traffic,
}

impl Counts {
    /// Counts a packet.
    pub fn add(&mut self, packet: &[u8], decision: &Decision) {
        self.add_joined(packet, Amount { packets: 1, bytes: packet.len() as u64 }, decision);
    }

    /// Counts a packet whose fragments were put together: these, as they came.
    pub fn add_joined(&mut self, packet: &[u8], fragments: Amount, decision: &Decision) {
        let verdict = match decision.verdict {
            Verdict::Translated => 0,
            Verdict::Answered => 1,
            Verdict::Dropped => 2,
        };
        let counted = self.by_clause[verdict].entry(decision.clause).or_default();
        *counted = sum(*counted, traffic(fragments));
        if decision.verdict == Verdict::Translated {
            let is_ipv6 = packet.first().is_some_and(|octet| octet >> 4 == 6);
            let counted = &mut self.translated[usize::from(is_ipv6)];
            *counted = sum(*counted, traffic(fragments));
        }
    }

    /// Counts a packet that was dropped before it could be translated.
    pub fn add_dropped(&mut self, packet: &[u8], clause: Clause) {
        count(self.by_clause[2].entry(clause).or_default(), packet);
    }

    /// Counts fragments that waited in vain.
    pub fn add_missed(&mut self, missed: Amount) {
        self.missed = sum(self.missed, traffic(missed));
    }

    /// Counts a packet that was to be sent and could not be.
    pub fn add_not_sent(&mut self, packet: &[u8]) {
        count(&mut self.not_sent, packet);
    }

    /// Counts a packet whose source does not get its error.
    pub fn add_unanswered(&mut self, packet: &[u8]) {
        count(&mut self.unanswered, packet);
    }

    /// The counters by name, together with those of the program and of what waits.
    pub fn report(&self, fast: &FastCounts, waiting: Amount) -> TranslatorReport {
        let named = |counts: &BTreeMap<Clause, Traffic>| {
            counts.iter().map(|(clause, &traffic)| (clause.name(), traffic)).collect::<BTreeMap<_, _>>()
        };
        let [slow, answered, mut drops] = [0, 1, 2].map(|verdict| named(&self.by_clause[verdict]));
        if self.not_sent.packets > 0 {
            drops.insert(NOT_SENT, self.not_sent);
        }
        let missing = Clause::FirstFragmentMissing.name();
        for (reason, dropped) in [(ERROR_LIMIT, self.unanswered), (NO_ROOM, fast.no_room), (missing, self.missed)] {
            if dropped.packets > 0 {
                drops.insert(reason, dropped);
            }
        }
        let [to_ipv6, to_ipv4] = self.translated;
        TranslatorReport {
            to_ipv6: sum(to_ipv6, fast.to_ipv6),
            to_ipv4: sum(to_ipv4, fast.to_ipv4),
            slow,
            answered,
            drops,
            waiting: traffic(waiting),
        }
    }
}

fn sum(one: Traffic, other: Traffic) -> Traffic {
    Traffic { packets: one.packets + other.packets, bytes: one.bytes + other.bytes }
}

fn traffic(amount: Amount) -> Traffic {
    Traffic { packets: amount.packets, bytes: amount.bytes }
}

fn count(traffic: &mut Traffic, packet: &[u8]) {
    traffic.packets += 1;
    traffic.bytes += packet.len() as u64;
}
