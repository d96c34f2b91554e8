//! Sending at due times: absolute schedules, and the account of the datagrams that went out.

mod failures;
mod schedule;
mod waiting;

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::histogram::{Times, TimesTally};

pub use self::failures::SendFailures;
pub use self::schedule::{Interval, MAX_BPS, MAX_PPS, Schedule, Slot};
pub use self::waiting::{DEFAULT_SPIN_NS, WaitTally, Waits};
use crate::ledger::MAX_SEQUENCES;
use crate::params::SECOND_NS;
use crate::workloads::window::Window;

/// Time after the end in which a flow with a schedule and a duration may still send what was due before.
const GRACE_NS: u64 = SECOND_NS;

/// The pace of datagrams.
pub enum Pace {
    /// Datagrams of this payload, as fast as they go.
    Unpaced(usize),
    /// Each at its due time.
    Scheduled(Box<dyn Schedule>),
}

/// The datagrams of one phase. Pure: callers pass the time.
pub struct Flow {
    pace: Pace,
    /// Datagrams to be sent together at most.
    at_once: u64,
    /// Slots that are due next, as far as the schedule has been looked at.
    upcoming: VecDeque<Slot>,
    /// Datagrams to be sent at most.
    count: u64,
    duration_ns: Option<u64>,
    start_ns: u64,
    sent: u64,
    sent_bytes: u64,
    /// Datagrams that the kernel refused for their size.
    refused: u64,
    first_and_last_ns: Option<(u64, u64)>,
    /// Due times of the first and the last of those sent.
    first_and_last_due_ns: Option<(u64, u64)>,
    lateness: Times,
}

/// The account of a flow that is over, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FlowTally {
    /// Datagrams that were sent.
    pub sent: u64,
    /// The time in which they were sent; absent where none was.
    #[serde(flatten)]
    pub window: Option<Window>,
    /// Lateness of each, where there is a schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness: Option<TimesTally>,
    /// Time from the first due time to the last, of those sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_ns: Option<u64>,
    /// Datagrams that were due and not sent, where there is a duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsent: Option<u64>,
}

/// The next action of a flow.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Send this many datagrams, numbered on from those sent.
    Send(u64),
    /// Wait until this time of the monotonic clock.
    WaitUntil(u64),
    /// Nothing is left to do.
    End,
}

impl Flow {
    /// A flow of this many datagrams, or of those due in a time; one of the two should be given. At most `at_once` go
    /// together.
    pub fn new(pace: Pace, at_once: u64, count: Option<u64>, duration_ns: Option<u64>) -> Self {
        Self {
            pace,
            at_once,
            upcoming: VecDeque::new(),
            count: count.unwrap_or(MAX_SEQUENCES),
            duration_ns,
            start_ns: 0,
            sent: 0,
            sent_bytes: 0,
            refused: 0,
            first_and_last_ns: None,
            first_and_last_due_ns: None,
            lateness: Times::default(),
        }
    }

    /// The next action at this time of the monotonic clock.
    pub fn next(&mut self, now_ns: u64) -> Next {
        let since_start_ns = now_ns.saturating_sub(self.start_ns);
        let left = self.count.saturating_sub(self.sent).saturating_sub(self.refused);
        let grace_ns = if self.is_unpaced() { 0 } else { GRACE_NS };
        if left == 0 || self.duration_ns.is_some_and(|duration_ns| since_start_ns >= duration_ns + grace_ns) {
            return Next::End;
        }
        let most = left.min(self.at_once);
        self.look_ahead(most as usize);
        let Some(first) = self.upcoming.front() else { return Next::End };
        if first.due_ns > since_start_ns {
            return Next::WaitUntil(self.start_ns.saturating_add(first.due_ns));
        }
        let due = self.upcoming.iter().take(most as usize).take_while(|slot| slot.due_ns <= since_start_ns);
        Next::Send(due.count() as u64)
    }

    /// Payloads of the datagrams that are next.
    pub fn payloads(&self) -> impl Iterator<Item = usize> + Clone {
        self.upcoming.iter().map(|slot| slot.payload_bytes)
    }

    /// Starts the flow: the first datagram is due now.
    pub fn start(&mut self, now_ns: u64) {
        self.start_ns = now_ns;
    }

    /// Time of the start on the monotonic clock.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Leaves a place in the schedule unused.
    pub fn skip(&mut self) {
        self.upcoming.pop_front();
    }

    /// Notes that the kernel refuses a datagram for its size, and always will: it uses up its place, and one of the
    /// count.
    pub fn refuse(&mut self) {
        self.refused += 1;
        self.skip();
    }

    /// Datagrams that were refused.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Datagrams that were sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Payload of the datagrams that were sent.
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Time of the last datagram that was sent.
    pub fn last_ns(&self) -> Option<u64> {
        self.first_and_last_ns.map(|(_, last_ns)| last_ns)
    }

    /// True if it has no schedule.
    pub fn is_unpaced(&self) -> bool {
        matches!(self.pace, Pace::Unpaced(_))
    }

    /// Enters this many datagrams that were sent at that time.
    pub fn note_sent(&mut self, datagrams: usize, moment_ns: u64) {
        let is_paced = !self.is_unpaced();
        for slot in self.upcoming.drain(..datagrams.min(self.upcoming.len())) {
            self.sent_bytes += slot.payload_bytes as u64;
            if is_paced {
                let first_due_ns = self.first_and_last_due_ns.map_or(slot.due_ns, |(first, _)| first);
                self.first_and_last_due_ns = Some((first_due_ns, slot.due_ns));
                self.lateness.record(moment_ns.saturating_sub(self.start_ns.saturating_add(slot.due_ns)));
            }
        }
        self.sent += datagrams as u64;
        let first_ns = self.first_and_last_ns.map_or(moment_ns, |(first_ns, _)| first_ns);
        self.first_and_last_ns = Some((first_ns, moment_ns));
    }

    /// The account of the flow, which is over.
    pub fn tally(&mut self) -> FlowTally {
        let mut tally = FlowTally {
            sent: self.sent,
            window: self.first_and_last_ns.map(|(started_ns, ended_ns)| Window {
                started_ns,
                ended_ns,
                measured_ns: ended_ns - started_ns,
            }),
            lateness: None,
            scheduled_ns: None,
            unsent: None,
        };
        if let Pace::Scheduled(schedule) = &mut self.pace {
            tally.lateness = Some(self.lateness.tally());
            tally.scheduled_ns = self.first_and_last_due_ns.map(|(first_ns, last_ns)| last_ns - first_ns);
            let known = self.upcoming.len() as u64;
            tally.unsent = self.duration_ns.map(|duration_ns| known + schedule.count_before(duration_ns));
        }
        tally
    }

    /// Has the slots of this many datagrams, where there are as many.
    fn look_ahead(&mut self, datagrams: usize) {
        while self.upcoming.len() < datagrams {
            let slot = match &mut self.pace {
                Pace::Unpaced(payload_bytes) => Some(Slot { due_ns: 0, payload_bytes: *payload_bytes }),
                Pace::Scheduled(schedule) => schedule.next(),
            };
            match slot.filter(|slot| self.duration_ns.is_none_or(|duration_ns| slot.due_ns < duration_ns)) {
                Some(slot) => self.upcoming.push_back(slot),
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn every_ms(count: Option<u64>, duration_ns: Option<u64>) -> Flow {
        let schedule = Interval::of_pps(1000).of_payload_bytes(100);
        Flow { start_ns: 1000 * MS, ..Flow::new(Pace::Scheduled(Box::new(schedule)), 4, count, duration_ns) }
    }

    #[test]
    fn each_datagram_waits_until_it_is_due() {
        let mut flow = every_ms(Some(3), None);
        assert_eq!(flow.next(1000 * MS), Next::Send(1));
        flow.note_sent(1, 1000 * MS + 7);
        assert_eq!(flow.next(1000 * MS + 8), Next::WaitUntil(1001 * MS));
        assert_eq!(flow.next(1005 * MS), Next::Send(2));
        flow.note_sent(2, 1005 * MS + 1);
        assert_eq!(flow.next(1005 * MS + 2), Next::End);
        assert_eq!(flow.lateness.buckets().map(|(_, count)| count).sum::<u64>(), 3);
        assert_eq!(flow.lateness.ranked(1), Some(7));
        assert_eq!(flow.first_and_last_ns, Some((1000 * MS + 7, 1005 * MS + 1)));
    }

    #[test]
    fn what_is_overdue_is_sent_in_batches_until_the_grace_is_over() {
        let mut flow = every_ms(None, Some(1000 * MS));
        assert_eq!(flow.next(1500 * MS), Next::Send(4));
        flow.note_sent(4, 1500 * MS);
        assert_eq!(flow.next(2999 * MS), Next::Send(4));
        assert_eq!(flow.next(3000 * MS), Next::End);
        let tally = flow.tally();
        assert_eq!((tally.sent, tally.unsent), (4, Some(996)));
    }

    #[test]
    fn a_failure_takes_its_place_in_the_schedule_but_no_number() {
        let mut flow = every_ms(Some(2), None);
        assert_eq!(flow.next(1000 * MS), Next::Send(1));
        flow.skip();
        assert_eq!(flow.next(1000 * MS), Next::WaitUntil(1001 * MS));
        flow.note_sent(1, 1001 * MS);
        assert_eq!((flow.sent, flow.sent_bytes), (1, 100));
        assert_eq!(flow.lateness.ranked(1), Some(0));
    }

    #[test]
    fn what_is_refused_is_not_sent_and_yet_ends_the_flow() {
        let mut flow = every_ms(Some(2), None);
        assert_eq!(flow.next(1000 * MS), Next::Send(1));
        flow.refuse();
        assert_eq!(flow.next(1000 * MS), Next::WaitUntil(1001 * MS));
        flow.refuse();
        assert_eq!((flow.next(1001 * MS), flow.sent(), flow.refused()), (Next::End, 0, 2));
        let mut flow = Flow::new(Pace::Unpaced(100), 4, Some(6), None);
        assert_eq!(flow.next(0), Next::Send(4));
        flow.refuse();
        assert_eq!(flow.next(0), Next::Send(4));
        flow.note_sent(4, 1);
        assert_eq!(flow.next(1), Next::Send(1));
    }

    /// Three datagrams of growing size, whose distances grow too.
    struct Growing(u64);

    impl Schedule for Growing {
        fn next(&mut self) -> Option<Slot> {
            self.0 += 1;
            (self.0 <= 3).then(|| Slot { due_ns: self.0 * self.0 * MS, payload_bytes: 100 * self.0 as usize })
        }
    }

    #[test]
    fn any_schedule_is_followed_to_its_end() {
        let mut flow = Flow::new(Pace::Scheduled(Box::new(Growing(0))), 4, None, Some(9 * MS + 1));
        assert_eq!(flow.next(0), Next::WaitUntil(MS));
        assert_eq!(flow.next(4 * MS), Next::Send(2));
        assert_eq!(flow.payloads().take(2).collect::<Vec<_>>(), [100, 200]);
        flow.note_sent(2, 4 * MS);
        assert_eq!((flow.sent_bytes(), flow.next(4 * MS)), (300, Next::WaitUntil(9 * MS)));
        let tally = flow.tally();
        assert_eq!((tally.unsent, tally.lateness.unwrap().count), (Some(1), 2));
        let mut flow = Flow::new(Pace::Scheduled(Box::new(Growing(0))), 4, None, Some(9 * MS));
        assert_eq!(flow.next(9 * MS), Next::Send(2));
        flow.note_sent(2, 9 * MS);
        assert_eq!(flow.next(9 * MS), Next::End);
    }

    #[test]
    fn without_a_rate_it_ends_on_time_or_at_the_count() {
        let mut flow = Flow::new(Pace::Unpaced(100), 4, Some(6), None);
        assert_eq!(flow.next(0), Next::Send(4));
        flow.note_sent(4, 1);
        assert_eq!(flow.next(5), Next::Send(2));
        flow.note_sent(2, 2);
        assert_eq!(flow.next(5), Next::End);
        let mut flow = Flow::new(Pace::Unpaced(100), 4, None, Some(MS));
        assert_eq!(flow.next(MS - 1), Next::Send(4));
        assert_eq!(flow.next(MS), Next::End);
    }
}
