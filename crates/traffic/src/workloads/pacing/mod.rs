//! What is sent when: absolute schedules, and the account of what went out.

mod failures;
mod schedule;

use serde_json::{Map, Value};

pub use self::failures::SendFailures;
pub use self::schedule::{MAX_BPS, MAX_PPS, Schedule};
use crate::histogram::Times;
use crate::ledger::MAX_SEQUENCES;
use crate::params::SECOND_NS;

/// Datagrams to be sent by one system call at most. They leave one after the other, some 4 us each, while all carry the
/// time before the call: with 32 the median delay on an idle veth was 59 us, with 4 it was 7 us, at the same rate.
const MOST_AT_ONCE: u64 = 4;
/// With a schedule and a duration: how long after the end what was due before it may still be sent.
const GRACE_NS: u64 = SECOND_NS;

/// The datagrams of one phase. Pure: it is told the time.
pub struct Flow {
    schedule: Option<Schedule>,
    /// Datagrams to be sent at most.
    count: u64,
    duration_ns: Option<u64>,
    start_ns: u64,
    sent: u64,
    /// Places in the schedule that were used, by datagrams sent and by failures.
    slots_used: u64,
    /// Datagrams that the kernel refused for their size.
    refused: u64,
    first_and_last_ns: Option<(u64, u64)>,
    lateness: Times,
}

/// What a flow wants.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// So many datagrams, numbered on from those sent.
    Send(u64),
    /// Nothing before this time of the monotonic clock.
    WaitUntil(u64),
    /// Nothing any more.
    End,
}

impl Flow {
    /// Of so many datagrams, or of those due in a time; one of them should be given.
    pub fn new(schedule: Option<Schedule>, count: Option<u64>, duration_ns: Option<u64>) -> Self {
        Self {
            schedule,
            count: count.unwrap_or(MAX_SEQUENCES),
            duration_ns,
            start_ns: 0,
            sent: 0,
            slots_used: 0,
            refused: 0,
            first_and_last_ns: None,
            lateness: Times::default(),
        }
    }

    /// What to do at this time of the monotonic clock.
    pub fn next(&self, now_ns: u64) -> Next {
        let since_start_ns = now_ns.saturating_sub(self.start_ns);
        let left = self.count.saturating_sub(self.sent).saturating_sub(self.refused);
        let grace_ns = if self.schedule.is_some() { GRACE_NS } else { 0 };
        if left == 0 || self.duration_ns.is_some_and(|duration_ns| since_start_ns >= duration_ns + grace_ns) {
            return Next::End;
        }
        let Some(schedule) = self.schedule else { return Next::Send(left.min(MOST_AT_ONCE)) };
        let slots = self.slots(schedule);
        if self.slots_used >= slots {
            return Next::End;
        }
        match schedule.due_by(since_start_ns).min(slots).saturating_sub(self.slots_used) {
            0 => Next::WaitUntil(self.start_ns.saturating_add(schedule.due_ns(self.slots_used))),
            due => Next::Send(due.min(left).min(MOST_AT_ONCE)),
        }
    }

    /// The first datagram is due now.
    pub fn start(&mut self, now_ns: u64) {
        self.start_ns = now_ns;
    }

    /// Leaves a place in the schedule unused.
    pub fn skip(&mut self) {
        self.slots_used += 1;
    }

    /// The kernel refuses a datagram for its size, and always will: it uses up its place, and one of the count.
    pub fn refuse(&mut self) {
        self.refused += 1;
        self.slots_used += 1;
    }

    /// Datagrams that were refused.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Datagrams that were sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// When the last one was sent.
    pub fn last_ns(&self) -> Option<u64> {
        self.first_and_last_ns.map(|(_, last_ns)| last_ns)
    }

    /// Whether it has no schedule.
    pub fn is_unpaced(&self) -> bool {
        self.schedule.is_none()
    }

    fn slots(&self, schedule: Schedule) -> u64 {
        self.duration_ns.map_or(u64::MAX, |duration_ns| schedule.due_before(duration_ns))
    }

    /// Enters datagrams that were sent, by the times they went.
    pub fn note_sent(&mut self, moments_ns: &[u64]) {
        let [first, .., last] = match moments_ns {
            [] => return,
            [only] => [*only, *only],
            [first, .., last] => [*first, *last],
        };
        if let Some(schedule) = self.schedule {
            for (slot, moment_ns) in (self.slots_used..).zip(moments_ns) {
                self.lateness.record(moment_ns.saturating_sub(self.start_ns.saturating_add(schedule.due_ns(slot))));
            }
        }
        self.sent += moments_ns.len() as u64;
        self.slots_used += moments_ns.len() as u64;
        self.first_and_last_ns = Some((self.first_and_last_ns.map_or(first, |(first, _)| first), last));
    }

    /// Adds `sent`, the window, `lateness` and `unsent` to a result.
    pub fn write_to(&self, result: &mut Map<String, Value>) {
        result.insert("sent".into(), self.sent.into());
        if let Some((first_ns, last_ns)) = self.first_and_last_ns {
            result.insert("started_ns".into(), first_ns.into());
            result.insert("ended_ns".into(), last_ns.into());
            result.insert("measured_ns".into(), (last_ns - first_ns).into());
        }
        if let Some(schedule) = self.schedule {
            result.insert("lateness".into(), self.lateness.to_json());
            if self.duration_ns.is_some() {
                result.insert("unsent".into(), self.slots(schedule).saturating_sub(self.slots_used).into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn every_ms(count: Option<u64>, duration_ns: Option<u64>) -> Flow {
        Flow { start_ns: 1000 * MS, ..Flow::new(Some(Schedule::of_pps(1000)), count, duration_ns) }
    }

    #[test]
    fn each_datagram_waits_until_it_is_due() {
        let mut flow = every_ms(Some(3), None);
        assert_eq!(flow.next(1000 * MS), Next::Send(1));
        flow.note_sent(&[1000 * MS + 7]);
        assert_eq!(flow.next(1000 * MS + 8), Next::WaitUntil(1001 * MS));
        assert_eq!(flow.next(1005 * MS), Next::Send(2));
        flow.note_sent(&[1005 * MS, 1005 * MS + 1]);
        assert_eq!(flow.next(1005 * MS + 2), Next::End);
        assert_eq!(flow.lateness.buckets().map(|(_, count)| count).sum::<u64>(), 3);
        assert_eq!(flow.lateness.ranked(1), Some(7));
        assert_eq!(flow.first_and_last_ns, Some((1000 * MS + 7, 1005 * MS + 1)));
    }

    #[test]
    fn what_is_overdue_is_sent_in_batches_until_the_grace_is_over() {
        let mut flow = every_ms(None, Some(1000 * MS));
        assert_eq!(flow.next(1500 * MS), Next::Send(4));
        flow.note_sent(&[1500 * MS; 4]);
        assert_eq!(flow.next(2999 * MS), Next::Send(4));
        assert_eq!(flow.next(3000 * MS), Next::End);
        let mut result = Map::new();
        flow.write_to(&mut result);
        assert_eq!((&result["sent"], &result["unsent"]), (&4.into(), &996.into()));
    }

    #[test]
    fn a_failure_takes_its_place_in_the_schedule_but_no_number() {
        let mut flow = every_ms(Some(2), None);
        flow.skip();
        assert_eq!(flow.next(1000 * MS), Next::WaitUntil(1001 * MS));
        flow.note_sent(&[1001 * MS]);
        assert_eq!((flow.sent, flow.slots_used), (1, 2));
        assert_eq!(flow.lateness.ranked(1), Some(0));
    }

    #[test]
    fn what_is_refused_is_not_sent_and_yet_ends_the_flow() {
        let mut flow = every_ms(Some(2), None);
        flow.refuse();
        assert_eq!(flow.next(1000 * MS), Next::WaitUntil(1001 * MS));
        flow.refuse();
        assert_eq!((flow.next(1001 * MS), flow.sent(), flow.refused()), (Next::End, 0, 2));
        let mut flow = Flow::new(None, Some(6), None);
        flow.refuse();
        assert_eq!(flow.next(0), Next::Send(4));
        flow.note_sent(&[1; 4]);
        assert_eq!(flow.next(1), Next::Send(1));
    }

    #[test]
    fn without_a_rate_it_ends_on_time_or_at_the_count() {
        let mut flow = Flow::new(None, Some(6), None);
        assert_eq!(flow.next(0), Next::Send(4));
        flow.note_sent(&[1; 4]);
        assert_eq!(flow.next(5), Next::Send(2));
        flow.note_sent(&[2; 2]);
        assert_eq!(flow.next(5), Next::End);
        let flow = Flow::new(None, None, Some(MS));
        assert_eq!(flow.next(MS - 1), Next::Send(4));
        assert_eq!(flow.next(MS), Next::End);
    }
}
