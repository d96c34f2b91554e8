//! The questions that wait for an answer, and the outcomes of the others. Pure: callers pass the time.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::histogram::{Times, TimesTally};

use super::message::Verdict;
use crate::strays::Strays;

/// Number of questions that identifiers can distinguish.
const PLACES: usize = 1 << 16;

/// The account of all questions.
pub struct Answers {
    timeout_ns: u64,
    places: Vec<Option<Waiting>>,
    waiting: u64,
    times: Times,
    late: u64,
    wrong: u64,
    failed: BTreeMap<&'static str, u64>,
    strays: u64,
}

#[derive(Clone, Copy)]
struct Waiting {
    number: u32,
    asked_ns: u64,
}

impl Answers {
    /// An account that counts answers up to this long after their questions.
    pub fn new(timeout_ns: u64) -> Self {
        Self {
            timeout_ns,
            places: vec![None; PLACES],
            waiting: 0,
            times: Times::default(),
            late: 0,
            wrong: 0,
            failed: BTreeMap::new(),
            strays: 0,
        }
    }

    /// A question with that identifier is asked. One that still has it was never answered.
    pub fn ask(&mut self, id: u16, number: u32, asked_ns: u64) {
        if self.places[usize::from(id)].replace(Waiting { number, asked_ns }).is_none() {
            self.waiting += 1;
        }
    }

    /// The number of the name that was asked for with that identifier, where an answer is waited for.
    pub fn asked(&self, id: u16) -> Option<u32> {
        self.places[usize::from(id)].map(|waiting| waiting.number)
    }

    /// An answer came that was compared with that name.
    pub fn answer(&mut self, id: u16, verdict: Verdict, now_ns: u64) {
        let Some(waiting) = self.places[usize::from(id)].take() else { return };
        self.waiting -= 1;
        let took_ns = now_ns.saturating_sub(waiting.asked_ns);
        match verdict {
            _ if took_ns > self.timeout_ns => self.late += 1,
            Verdict::Right => self.times.record(took_ns),
            Verdict::Wrong => self.wrong += 1,
            Verdict::Failed(rcode) => *self.failed.entry(name_of(rcode)).or_default() += 1,
        }
    }

    /// Something came that answers nothing.
    pub fn note_stray(&mut self) {
        self.strays += 1;
    }

    /// True if all questions have an answer.
    pub fn has_all(&self) -> bool {
        self.waiting == 0
    }

    /// The account of all questions so far.
    pub fn tally(&self) -> AnswerTally {
        AnswerTally {
            right: self.times.count(),
            wrong: self.wrong,
            late: self.late,
            failed: self.failed.clone(),
            response: self.times.tally(),
            strays: Strays::of_datagrams(self.strays),
        }
    }
}

/// The account of all questions, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AnswerTally {
    right: u64,
    wrong: u64,
    late: u64,
    /// Numbers of answers that report a failure, by its name.
    failed: BTreeMap<&'static str, u64>,
    /// Times of right answers.
    response: TimesTally,
    strays: Strays,
}

/// RFC 1035 section 4.1.1.
fn name_of(rcode: u8) -> &'static str {
    match rcode {
        1 => "FORMERR",
        2 => "SERVFAIL",
        3 => "NXDOMAIN",
        4 => "NOTIMP",
        5 => "REFUSED",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_is_counted_once() {
        let mut answers = Answers::new(100);
        for id in 0..5 {
            answers.ask(id, u32::from(id) + 10, 1000);
        }
        assert_eq!((answers.asked(1), answers.asked(9)), (Some(11), None));
        answers.answer(0, Verdict::Right, 1050);
        answers.answer(0, Verdict::Right, 1060);
        answers.answer(1, Verdict::Right, 1101);
        answers.answer(2, Verdict::Wrong, 1010);
        answers.answer(3, Verdict::Failed(2), 1010);
        assert!(!answers.has_all());
        answers.ask(4, 99, 5000);
        answers.answer(4, Verdict::Right, 5001);
        assert!(answers.has_all());
        let AnswerTally { right, wrong, late, failed, .. } = answers.tally();
        assert_eq!((right, wrong, late, failed), (2, 1, 1, BTreeMap::from([("SERVFAIL", 1)])));
    }
}
