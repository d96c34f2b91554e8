//! Packets under way: their memory, and the order in which they are due.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Buffers of one size, made as they are needed and used again.
#[derive(Debug)]
pub struct Pool {
    buffer_bytes: usize,
    free: Vec<Box<[u8]>>,
    allocated: usize,
    most: usize,
}

impl Pool {
    /// A pool of at most `most` buffers of `buffer_bytes`.
    pub fn new(buffer_bytes: usize, most: usize) -> Self {
        Self { buffer_bytes, free: Vec::new(), allocated: 0, most }
    }

    /// A buffer, unless there are as many as may be.
    pub fn take(&mut self) -> Option<Box<[u8]>> {
        self.free.pop().or_else(|| {
            (self.allocated < self.most).then(|| {
                self.allocated += 1;
                vec![0; self.buffer_bytes].into_boxed_slice()
            })
        })
    }

    /// Takes a buffer back.
    pub fn give(&mut self, buffer: Box<[u8]>) {
        self.free.push(buffer);
    }
}

/// The arrival of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    /// Time at which its turn on the wire came, on the monotonic clock.
    pub at_ns: u64,
    /// Number among the numbered packets of its direction; `None` for a copy.
    pub number: Option<u64>,
}

/// A packet that is to leave.
#[derive(Debug)]
pub struct Departure {
    /// Due time on the monotonic clock.
    pub due_ns: u64,
    /// Packets due at the same time leave as they came.
    pub order: u64,
    /// The number of the link's direction by which it leaves.
    pub line: usize,
    /// `None` for one that was held back, whose delay was not configured.
    pub arrived: Option<Arrived>,
    /// Length of the packet in the buffer.
    pub length: usize,
    /// The packet.
    pub buffer: Box<[u8]>,
}

impl PartialEq for Departure {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Departure {}

impl PartialOrd for Departure {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Departure {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due_ns, self.order).cmp(&(other.due_ns, other.order))
    }
}

/// Packets in the order in which they are due.
#[derive(Debug, Default)]
pub struct Departures {
    heap: BinaryHeap<Reverse<Departure>>,
    count: u64,
}

impl Departures {
    /// Adds a packet.
    pub fn add(&mut self, due_ns: u64, line: usize, arrived: Option<Arrived>, length: usize, buffer: Box<[u8]>) {
        self.count += 1;
        self.heap.push(Reverse(Departure { due_ns, order: self.count, line, arrived, length, buffer }));
    }

    /// Number of packets under way.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// The time when the next one is due.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(next)| next.due_ns)
    }

    /// The next one, if it is due by then.
    pub fn take_due(&mut self, by_ns: u64) -> Option<Departure> {
        let is_due = self.next_due_ns().is_some_and(|due_ns| due_ns <= by_ns);
        if is_due { self.heap.pop().map(|Reverse(next)| next) } else { None }
    }

    /// Puts one back that was taken.
    pub fn put_back(&mut self, departure: Departure) {
        self.heap.push(Reverse(departure));
    }

    /// Takes out those for which `leaves` says so.
    pub fn remove(&mut self, leaves: impl Fn(&Departure) -> bool) -> Vec<Departure> {
        let (gone, stay): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.heap).into_iter().partition(|Reverse(one)| leaves(one));
        self.heap = stay.into();
        gone.into_iter().map(|Reverse(one)| one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_more_buffers_than_may_be_and_those_given_back_are_used_again() {
        let mut pool = Pool::new(1514, 3);
        let taken: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(taken.iter().map(|buffer| buffer.len()).collect::<Vec<_>>(), [1514; 3]);
        assert!(pool.take().is_none());
        taken.into_iter().for_each(|buffer| pool.give(buffer));
        assert_eq!(std::iter::from_fn(|| pool.take()).count(), 3);
    }

    #[test]
    fn packets_leave_as_they_are_due_and_those_of_one_moment_as_they_came() {
        let mut departures = Departures::default();
        for (due_ns, length) in [(30, 0), (10, 1), (20, 2), (10, 3)] {
            departures.add(due_ns, 0, None, length, Box::default());
        }
        assert_eq!(departures.next_due_ns(), Some(10));
        assert!(departures.take_due(9).is_none());
        let order: Vec<_> = std::iter::from_fn(|| departures.take_due(25)).map(|one| one.length).collect();
        assert_eq!(order, [1, 3, 2]);
        assert_eq!(departures.next_due_ns(), Some(30));
    }
}
