//! The skeleton of a side that asks, with one request in flight: a warm-up, the measured part, and the account.

use sixbench_measure::{clock, cpu};

use super::round_trips::{RoundTripTally, RoundTrips};
use crate::Result;
use crate::datagram::Phase;
use crate::params::Limit;

/// A side that asks and waits for the answer.
pub trait Asker {
    /// Asks once, by a number that counts from 0 in each phase.
    fn ask(&mut self, phase: Phase, number: u64) -> Result<Outcome>;

    /// Starts all counts again, before the measured part.
    fn forget(&mut self) {}
}

/// The outcome of a request. Times are of the monotonic clock.
pub enum Outcome {
    /// It was answered.
    Answered { asked_ns: u64, answered_ns: u64 },
    /// It had no answer in time.
    Lost { ended_ns: u64 },
    /// The kernel would not send it, for its size.
    Refused { ended_ns: u64 },
}

/// The lengths of the phases, and of the intervals of the series.
#[derive(Debug, Clone, Copy)]
pub struct Lengths {
    pub warmup_ns: u64,
    pub limit: Limit,
    pub interval_ns: u64,
}

/// The measured part, once it is over.
pub struct Asked {
    /// The answered requests.
    pub trips: RoundTripTally,
    /// Requests without an answer.
    pub lost: u64,
    /// Requests that the kernel refused for their size.
    pub refused: u64,
    /// Answered requests of the warm-up.
    pub warmup_transactions: u64,
    pub cpu: cpu::Span,
}

/// Asks again and again: through the warm-up, then through the measured part.
pub fn ask_phases(asker: &mut impl Asker, lengths: Lengths) -> Result<Asked> {
    let warmup_transactions = warm_up(asker, lengths.warmup_ns)?;
    asker.forget();
    let mut trips = RoundTrips::new(lengths.interval_ns, lengths.limit.duration_ns());
    let (mut asked, mut lost, mut refused) = (0, 0, 0);
    let from = cpu::sample();
    let started_ns = clock::monotonic_ns();
    let mut last_ns = started_ns;
    while !lengths.limit.is_reached(asked, last_ns - started_ns) {
        last_ns = match asker.ask(Phase::Measured, asked)? {
            Outcome::Answered { asked_ns, answered_ns } => {
                trips.record(answered_ns - asked_ns, answered_ns - started_ns);
                answered_ns
            }
            Outcome::Lost { ended_ns } => {
                trips.note_lost();
                lost += 1;
                ended_ns
            }
            Outcome::Refused { ended_ns } => {
                trips.note_lost();
                refused += 1;
                ended_ns
            }
        };
        asked += 1;
    }
    let cpu = cpu::Span { from, to: cpu::sample() };
    Ok(Asked { trips: trips.tally(started_ns, last_ns), lost, refused, warmup_transactions, cpu })
}

fn warm_up(asker: &mut impl Asker, length_ns: u64) -> Result<u64> {
    let ends_ns = clock::monotonic_ns().saturating_add(length_ns);
    let (mut asked, mut answered) = (0, 0);
    while clock::monotonic_ns() < ends_ns {
        if let Outcome::Answered { .. } = asker.ask(Phase::WarmUp, asked)? {
            answered += 1;
        }
        asked += 1;
    }
    Ok(answered)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its answers come after 5 ns, but for each third, which is lost, and the one after, which is refused.
    #[derive(Default)]
    struct Scripted {
        now_ns: u64,
        forgotten: bool,
    }

    impl Asker for Scripted {
        fn ask(&mut self, phase: Phase, number: u64) -> Result<Outcome> {
            assert_eq!(phase, Phase::Measured);
            let asked_ns = self.now_ns.max(clock::monotonic_ns());
            self.now_ns = asked_ns + 5;
            Ok(match number % 4 {
                2 => Outcome::Lost { ended_ns: self.now_ns },
                3 => Outcome::Refused { ended_ns: self.now_ns },
                _ => Outcome::Answered { asked_ns, answered_ns: self.now_ns },
            })
        }

        fn forget(&mut self) {
            self.forgotten = true;
        }
    }

    #[test]
    fn every_request_has_its_outcome_counted() {
        let mut asker = Scripted::default();
        let lengths = Lengths { warmup_ns: 0, limit: Limit::Count(7), interval_ns: 1_000 };
        let asked = ask_phases(&mut asker, lengths).unwrap();
        assert_eq!((asked.lost, asked.refused, asked.warmup_transactions), (2, 1, 0));
        let trips = serde_json::json!(asked.trips);
        assert_eq!((&trips["transactions"], &trips["rtt"]["max"]), (&4.into(), &5.into()));
        assert!(asker.forgotten);
    }
}
