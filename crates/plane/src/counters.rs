//! Counters of a tunnel's packets, by their fate.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::abi::{Count, Outcome, Verdict};
use crate::slow::SlowCounts;

/// A tunnel's counters, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TunnelCounters {
    /// Sent by the fast path.
    pub encapsulated: Traffic,
    /// Received by the fast path.
    pub decapsulated: Traffic,
    /// Sent by the slow path.
    pub slow_encapsulated: Traffic,
    /// Received by the slow path.
    pub slow_decapsulated: Traffic,
    /// Given to the slow path, by reason.
    pub slow: BTreeMap<&'static str, Traffic>,
    /// Dropped by either path, by reason.
    pub drops: BTreeMap<&'static str, Traffic>,
}

/// Packets as on the wire, and bytes of the inner packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Traffic {
    pub packets: u64,
    pub bytes: u64,
}

impl From<Count> for Traffic {
    fn from(count: Count) -> Self {
        Self { packets: count.packets, bytes: count.bytes }
    }
}

impl TunnelCounters {
    /// Names counts that are in the order of [`Outcome::ALL`]. Reasons that never occurred are absent.
    pub fn name(counts: &[Count], slow: &SlowCounts) -> Self {
        let mut counters = Self {
            slow_encapsulated: slow.encapsulated.into(),
            slow_decapsulated: slow.decapsulated.into(),
            ..Self::default()
        };
        for (outcome, &count) in Outcome::ALL.into_iter().zip(counts) {
            match outcome.verdict() {
                Verdict::Done if outcome == Outcome::Encapsulated => counters.encapsulated = count.into(),
                Verdict::Done => counters.decapsulated = count.into(),
                Verdict::Slow if count.packets > 0 => {
                    counters.slow.insert(outcome.reason(), count.into());
                }
                Verdict::Drop if count.packets > 0 => {
                    counters.drops.insert(outcome.reason(), count.into());
                }
                Verdict::Pass | Verdict::Slow | Verdict::Drop => {}
            }
        }
        for (outcome, &count) in &slow.drops {
            let drops = counters.drops.entry(outcome.reason()).or_default();
            drops.packets += count.packets;
            drops.bytes += count.bytes;
        }
        counters
    }
}
