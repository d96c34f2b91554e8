//! Counters of the slow path.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{Count, Outcome};

/// Packets and bytes of inner packets.
#[derive(Debug, Clone, Default)]
pub struct SlowCounts {
    /// Sent.
    pub encapsulated: Count,
    /// Received.
    pub decapsulated: Count,
    /// Dropped, by reason.
    pub drops: BTreeMap<Outcome, Count>,
}

impl SlowCounts {
    /// The counts of both threads.
    pub(super) fn of(sender: &Mutex<ThreadCounts>, receiver: &Mutex<ThreadCounts>) -> Self {
        let [sender, receiver] = [sender, receiver].map(|counts| lock(counts).clone());
        let mut drops = sender.drops;
        for (reason, count) in receiver.drops {
            add(drops.entry(reason).or_default(), count);
        }
        Self { encapsulated: sender.carried, decapsulated: receiver.carried, drops }
    }
}

/// Counters of one thread. It holds the lock while it carries a batch, so that nobody sees a packet before its count.
#[derive(Debug, Clone, Default)]
pub struct ThreadCounts {
    carried: Count,
    drops: BTreeMap<Outcome, Count>,
}

impl ThreadCounts {
    pub fn carry(&mut self, bytes: usize) {
        add(&mut self.carried, Count { packets: 1, bytes: bytes as u64 });
    }

    pub fn lose(&mut self, reason: Outcome, bytes: usize) {
        add(self.drops.entry(reason).or_default(), Count { packets: 1, bytes: bytes as u64 });
    }
}

/// Locks the counts, for a batch or to read them.
pub fn lock(counts: &Mutex<ThreadCounts>) -> MutexGuard<'_, ThreadCounts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

fn add(sum: &mut Count, count: Count) {
    sum.packets += count.packets;
    sum.bytes += count.bytes;
}
