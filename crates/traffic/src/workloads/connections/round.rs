//! The turns of the connections of a round, and the account of their outcomes. Pure: callers pass the time.

use std::collections::{BTreeMap, VecDeque};

use sixbench_measure::histogram::Times;

use crate::params::SECOND_NS;
use crate::workloads::pacing::Interval;

/// Most connections that began a short time ago and wait for an answer, where there is no rate. Those that have waited
/// for longer hold up no other: with a translator's ports used up, most never get an answer.
const IN_FLIGHT: u64 = 256;
const SHORT_NS: u64 = 100_000_000;
/// Time after which a request without an answer is sent again over UDP, as TCP's SYN is (RFC 6298 section 2).
const RESEND_NS: u64 = SECOND_NS;

/// One pass over connections: all are opened, or all that are open are checked.
pub struct Round {
    rate: Option<Interval>,
    count: u64,
    timeout_ns: u64,
    started_ns: u64,
    begun: u64,
    waiting: u64,
    /// Without a rate: the times at which the present places of connections under way become free.
    places: VecDeque<u64>,
    /// Connections that may still wait, in the order in which they began, and the times of their beginnings.
    pending: VecDeque<(usize, u64)>,
    /// Connections whose request is to be sent again, and when.
    again: VecDeque<(usize, u64)>,
    /// Times of the connections that succeeded.
    pub times: Times,
    /// Lateness of the beginnings.
    pub lateness: Times,
    /// Number of failed connections by reason.
    pub failed: BTreeMap<String, u64>,
    first_and_last_ns: Option<(u64, u64)>,
    succeeded_ns: Option<u64>,
}

/// The next action of a round.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Begin the connection of that number.
    Begin(u64),
    /// Wait until that time; absent: until something happens.
    WaitUntil(Option<u64>),
    /// End the round: all have begun, and none waits.
    End,
}

impl Round {
    /// A round of this many connections, from now on.
    pub fn new(rate: Option<Interval>, count: u64, timeout_ns: u64, now_ns: u64) -> Self {
        Self {
            rate,
            count,
            timeout_ns,
            started_ns: now_ns,
            begun: 0,
            waiting: 0,
            places: VecDeque::new(),
            pending: VecDeque::new(),
            again: VecDeque::new(),
            times: Times::default(),
            lateness: Times::default(),
            failed: BTreeMap::new(),
            first_and_last_ns: None,
            succeeded_ns: None,
        }
    }

    /// The next action at this time.
    pub fn next(&mut self, now_ns: u64) -> Next {
        if self.begun == self.count {
            return if self.waiting == 0 { Next::End } else { Next::WaitUntil(None) };
        }
        match self.due_ns() {
            Some(due_ns) if due_ns > now_ns => Next::WaitUntil(Some(due_ns)),
            None if self.is_full(now_ns) => Next::WaitUntil(None),
            _ => Next::Begin(self.begun),
        }
    }

    fn is_full(&mut self, now_ns: u64) -> bool {
        while self.places.front().is_some_and(|end_ns| now_ns >= *end_ns) {
            self.places.pop_front();
        }
        self.places.len() as u64 >= IN_FLIGHT
    }

    fn due_ns(&self) -> Option<u64> {
        self.rate.map(|rate| self.started_ns.saturating_add(rate.due_ns(self.begun)))
    }

    /// The one of [`Next::Begin`] begins, and is known by `index` from now on.
    pub fn begin(&mut self, index: usize, now_ns: u64) {
        if let Some(due_ns) = self.due_ns() {
            self.lateness.record(now_ns.saturating_sub(due_ns));
        }
        self.begun += 1;
        self.waiting += 1;
        self.first_and_last_ns = Some((self.first_and_last_ns.map_or(now_ns, |(first_ns, _)| first_ns), now_ns));
        self.pending.push_back((index, now_ns));
        self.again.push_back((index, now_ns.saturating_add(RESEND_NS)));
        if self.rate.is_none() {
            self.places.push_back(now_ns.saturating_add(SHORT_NS));
        }
    }

    /// Notes that a connection succeeded, and its time.
    pub fn succeeded(&mut self, took_ns: u64, now_ns: u64) {
        self.leave(took_ns);
        self.times.record(took_ns);
        self.succeeded_ns = Some(now_ns);
    }

    /// Notes that a connection failed, and its time.
    pub fn failed(&mut self, reason: String, took_ns: u64) {
        self.leave(took_ns);
        *self.failed.entry(reason).or_default() += 1;
    }

    /// Notes that a connection is over. One that took longer than its place lasts has left it before.
    fn leave(&mut self, took_ns: u64) {
        self.waiting -= 1;
        if took_ns < SHORT_NS {
            self.places.pop_front();
        }
    }

    /// The next connection that began so long ago that it takes too long if it still waits.
    pub fn overdue(&mut self, now_ns: u64) -> Option<usize> {
        let &(index, begun_ns) = self.pending.front()?;
        if now_ns.saturating_sub(begun_ns) < self.timeout_ns {
            return None;
        }
        self.pending.pop_front();
        Some(index)
    }

    /// The next connection whose request is to be sent again if it still waits.
    pub fn unanswered(&mut self, now_ns: u64) -> Option<usize> {
        let &(index, due_ns) = self.again.front()?;
        if now_ns < due_ns {
            return None;
        }
        self.again.pop_front();
        self.again.push_back((index, due_ns.saturating_add(RESEND_NS)));
        Some(index)
    }

    /// Time from the first beginning to the last success; absent where none succeeded.
    pub fn lasted_ns(&self) -> Option<u64> {
        Some(self.succeeded_ns?.saturating_sub(self.first_and_last_ns?.0))
    }

    /// Time from the first beginning to the last one; absent where there was none.
    pub fn offered_ns(&self) -> Option<u64> {
        self.first_and_last_ns.map(|(first_ns, last_ns)| last_ns - first_ns)
    }

    /// Number of connections that have begun.
    pub fn begun(&self) -> u64 {
        self.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_keeps_its_times_whatever_happens() {
        let mut round = Round::new(Some(Interval::of_ns(10)), 3, 25, 1_000);
        assert_eq!(round.next(1_000), Next::Begin(0));
        round.begin(0, 1_002);
        assert_eq!(round.next(1_005), Next::WaitUntil(Some(1_010)));
        round.begin(1, 1_010);
        assert_eq!((round.overdue(1_026), round.next(1_026)), (None, Next::Begin(2)));
        round.begin(2, 1_026);
        assert_eq!((round.overdue(1_027), round.overdue(1_027)), (Some(0), None));
        round.failed("timeout".to_owned(), 25);
        round.succeeded(5, 1_030);
        assert_eq!(round.next(1_030), Next::WaitUntil(None));
        round.succeeded(5, 1_031);
        assert_eq!(round.next(1_031), Next::End);
        assert_eq!((round.lasted_ns(), round.offered_ns(), round.begun()), (Some(29), Some(24), 3));
        assert_eq!((round.times.count(), round.failed["timeout"]), (2, 1));
    }

    #[test]
    fn without_a_rate_so_many_wait_at_a_time() {
        let mut round = Round::new(None, 1_000, 25, 0);
        for index in 0..IN_FLIGHT {
            assert_eq!(round.next(5), Next::Begin(index));
            round.begin(index as usize, 5);
        }
        assert_eq!(round.next(5), Next::WaitUntil(None));
        round.failed("ECONNREFUSED".to_owned(), 7);
        assert_eq!(round.next(5), Next::Begin(IN_FLIGHT));
        round.begin(IN_FLIGHT as usize, 6);
        assert_eq!(round.next(6), Next::WaitUntil(None));
        assert_eq!(round.next(5 + SHORT_NS), Next::Begin(IN_FLIGHT + 1));
        round.failed("timeout".to_owned(), 2 * SHORT_NS);
        assert_eq!((round.lasted_ns(), round.lateness.count()), (None, 0));
    }

    #[test]
    fn what_is_unanswered_is_sent_again_each_second() {
        let mut round = Round::new(None, 1, 10 * SECOND_NS, 0);
        round.begin(7, 0);
        assert_eq!(round.unanswered(RESEND_NS - 1), None);
        assert_eq!((round.unanswered(RESEND_NS), round.unanswered(RESEND_NS)), (Some(7), None));
        assert_eq!(round.unanswered(2 * RESEND_NS), Some(7));
    }
}
