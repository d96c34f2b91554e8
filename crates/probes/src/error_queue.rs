//! The ICMP errors in the error queue of a probe's socket.
//!
//! The kernel puts an error there only if the packet that it quotes has the addresses, the protocol and the ports (or
//! the identifier) of that socket. So somebody who does not see our packets has to guess these.

use std::os::fd::AsFd;

use sixbench_packet::error_queue::{self, SentTimes};

use crate::outcome::{Icmp, Meaning, icmp_of};

/// Room for what is quoted of a packet: probes are told apart by its first bytes.
const QUOTE_BYTES: usize = 128;
/// Entries that are read at once: a flood of errors must not keep a probe from its time limit.
const MOST_AT_ONCE: usize = 64;

/// An entry that a probe knows.
#[derive(Debug, Clone)]
pub enum Entry {
    /// An ICMP error.
    Error {
        /// The error.
        icmp: Icmp,
        /// Its meaning.
        meaning: Meaning,
        /// The first bytes of the packet's payload, as far as they are quoted.
        quote: Vec<u8>,
        /// Time at which the kernel received it, on the realtime clock.
        received_realtime_ns: Option<u64>,
    },
    /// Times of sending, of the packet of this number.
    Sent(u32, SentTimes),
}

/// The part of a probe that an error quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoted {
    /// The probe of this number.
    Number(u16),
    /// Too little to have a number.
    Nothing,
    /// Something else.
    Other,
}

/// Takes what is in the queue now; a bounded number, so the queue may hold more.
pub fn take(socket: &impl AsFd) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut quote = [0; QUOTE_BYTES];
    for _ in 0..MOST_AT_ONCE {
        // The queue is empty, or the socket has nothing more to say.
        let Ok(entry) = error_queue::next(socket, &mut quote) else { break };
        match (entry.error.and_then(|error| icmp_of(&error)), entry.error, entry.times) {
            (Some((icmp, meaning)), _, _) => entries.push(Entry::Error {
                icmp,
                meaning,
                quote: quote[..entry.bytes.min(QUOTE_BYTES)].to_vec(),
                received_realtime_ns: entry.received_realtime_ns,
            }),
            (None, Some(error), Some(times)) => entries.push(Entry::Sent(error.data, times)),
            _ => {}
        }
    }
    entries
}

/// The last error in the queue that ends an attempt.
pub fn last_failure(socket: &impl AsFd) -> Option<(Icmp, Meaning)> {
    let ends = |entry: Entry| match entry {
        Entry::Error { meaning: Meaning::TooBig(_) | Meaning::Notice, .. } | Entry::Sent(..) => None,
        Entry::Error { icmp, meaning, .. } => Some((icmp, meaning)),
    };
    take(socket).into_iter().filter_map(ends).next_back()
}
