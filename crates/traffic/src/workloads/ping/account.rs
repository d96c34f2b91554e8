//! The answers to the requests of a ping. Pure: callers pass the messages and their times.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::delay::Ipdv;
use sixbench_measure::histogram::{Times, TimesTally};

use super::packet::{Mark, Message};
use crate::ledger::{Arrival, Ledger, MAX_SEQUENCES};
use crate::strays::Strays;

/// The account of the measured requests.
pub struct Account {
    token: u64,
    timeout_ns: u64,
    /// Number of the first measured request: those before are of the warm-up.
    first: u64,
    ledger: Ledger,
    received: u64,
    late: u64,
    strays: u64,
    user_timestamps: u64,
    errors: BTreeMap<&'static str, u64>,
    rtt: Times,
    rtt_negative: u64,
    variation: Ipdv,
    hop_limit: Option<u8>,
}

impl Account {
    pub fn new(token: u64, timeout_ns: u64, first: u64) -> Self {
        Self {
            token,
            timeout_ns,
            first,
            ledger: Ledger::new(MAX_SEQUENCES),
            received: 0,
            late: 0,
            strays: 0,
            user_timestamps: 0,
            errors: BTreeMap::new(),
            rtt: Times::default(),
            rtt_negative: 0,
            variation: Ipdv::default(),
            hop_limit: None,
        }
    }

    /// Enters a message; `sent` is the number of measured requests so far.
    pub fn enter(&mut self, message: Option<Message>, hop_limit: Option<u8>, times: Received, sent: u64) {
        let (mark, ttl) = match message {
            Some(Message::Reply { mark, ttl }) if mark.token == self.token => (mark, ttl),
            Some(Message::Error(name)) => {
                *self.errors.entry(name).or_default() += 1;
                return;
            }
            _ => {
                self.strays += 1;
                return;
            }
        };
        if mark.number < self.first {
            return;
        }
        let number = mark.number - self.first;
        if number >= sent {
            self.strays += 1;
        } else if self.ledger.arrive(number) != Arrival::Duplicate {
            self.hop_limit = ttl.or(hop_limit).or(self.hop_limit);
            self.answer(number, mark, times);
        }
    }

    /// True if all `sent` requests were answered, in time or late.
    pub fn has_all(&self, sent: u64) -> bool {
        self.ledger.unique() >= sent
    }

    /// The account of all `sent` requests.
    pub fn tally(&self, sent: u64) -> AccountTally {
        AccountTally {
            received: self.received,
            lost: sent.saturating_sub(self.received),
            late: self.late,
            duplicates: self.ledger.duplicates(),
            errors: self.errors.clone(),
            strays: Strays::of_datagrams(self.strays),
            user_timestamps: self.user_timestamps,
            rtt: self.rtt.tally(),
            rtt_negative: self.rtt_negative,
            rtt_jitter: self.variation.absolute().tally(),
            hop_limit: self.hop_limit,
        }
    }

    fn answer(&mut self, number: u64, mark: Mark, times: Received) {
        let received_ns = match times {
            Received::Kernel(ns) => ns,
            Received::User(ns) => {
                self.user_timestamps += 1;
                ns
            }
        };
        let rtt_ns = received_ns.wrapping_sub(mark.sent_realtime_ns) as i64;
        match u64::try_from(rtt_ns) {
            Ok(rtt_ns) if rtt_ns > self.timeout_ns => {
                self.late += 1;
                return;
            }
            Ok(rtt_ns) => self.rtt.record(rtt_ns),
            // The clock was stepped.
            Err(_) => self.rtt_negative += 1,
        }
        self.received += 1;
        self.variation.record(number, rtt_ns);
    }
}

/// The account of the measured requests, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AccountTally {
    received: u64,
    lost: u64,
    late: u64,
    duplicates: u64,
    /// Numbers of ICMP errors by their names.
    errors: BTreeMap<&'static str, u64>,
    strays: Strays,
    /// Answers whose time the kernel did not note.
    user_timestamps: u64,
    /// Round-trip times.
    rtt: TimesTally,
    rtt_negative: u64,
    /// Differences between the round-trip times of consecutive requests.
    rtt_jitter: TimesTally,
    /// The hop limit of the last answer; absent where none was noted.
    #[serde(skip_serializing_if = "Option::is_none")]
    hop_limit: Option<u8>,
}

/// Time at which a message was received, on the realtime clock.
#[derive(Debug, Clone, Copy)]
pub enum Received {
    /// The time that the kernel noted.
    Kernel(u64),
    /// The time at which it was read, since the kernel noted none.
    User(u64),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reply(token: u64, number: u64) -> Option<Message> {
        Some(Message::Reply { mark: Mark { token, number, sent_realtime_ns: 1_000 + number }, ttl: Some(60) })
    }

    #[test]
    fn a_ping_by_hand() {
        let mut account = Account::new(7, 500, 2);
        let mut enter = |message, realtime_ns| account.enter(message, None, Received::Kernel(realtime_ns), 5);
        // Requests 2 to 6 are measured. 1 is of the warm-up, 2 and 3 are answered, 3 twice, 4 too late, 5 and 6 are
        // lost.
        enter(reply(7, 1), 1_101);
        enter(reply(7, 2), 1_102);
        enter(reply(7, 3), 1_133);
        enter(reply(7, 3), 1_140);
        enter(reply(7, 4), 1_505);
        // A number that was not sent, another token, no message of ours.
        enter(reply(7, 7), 1_200);
        enter(reply(8, 2), 1_200);
        enter(None, 1_200);
        enter(Some(Message::Error("time-exceeded")), 1_200);
        let result = json!(account.tally(5));
        for (name, value) in [("received", 2), ("lost", 3), ("late", 1), ("duplicates", 1), ("hop_limit", 60)] {
            assert_eq!(result[name], value, "{name}");
        }
        assert_eq!(result["strays"]["datagrams"], 3);
        assert_eq!(result["errors"], json!({"time-exceeded": 1}));
        assert_eq!(result["rtt"]["buckets"], json!([[100, 1], [130, 1]]));
        assert_eq!(result["rtt_jitter"]["buckets"], json!([[30, 1]]));
        assert!(!account.has_all(5) && account.has_all(3));
    }

    #[test]
    fn a_clock_that_was_stepped_back_shows() {
        let mut account = Account::new(7, 500, 0);
        account.enter(reply(7, 0), Some(9), Received::User(900), 1);
        let result = json!(account.tally(1));
        assert_eq!((&result["rtt_negative"], &result["user_timestamps"]), (&json!(1), &json!(1)));
        assert_eq!((&result["received"], &result["hop_limit"]), (&json!(1), &json!(60)));
    }
}
