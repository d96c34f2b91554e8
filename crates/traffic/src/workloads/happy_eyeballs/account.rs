//! The outcomes of the connections of a session. Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::histogram::{Times, TimesTally};
use sixbench_wire::family::{FAMILIES, Family};

/// After this many failures in a row and no success, a family is not tried alone any more.
const HOPELESS: u64 = 3;

/// Failures by reason: an errno's name, or `timeout`.
type Failures = BTreeMap<String, u64>;

/// The account of all connections.
#[derive(Default)]
pub struct Account {
    order: Vec<Family>,
    connect: Times,
    failed: Failures,
    of: [OfFamily; FAMILIES.len()],
}

#[derive(Default)]
struct OfFamily {
    alone: Times,
    alone_failed: Failures,
    wins: u64,
    begun: u64,
    refused: Failures,
}

impl Account {
    /// The account of connections to addresses of these families, in the order in which they are preferred.
    pub fn new(families: &[Family]) -> Self {
        let mut order = Vec::new();
        for family in families {
            if !order.contains(family) {
                order.push(*family);
            }
        }
        Self { order, ..Self::default() }
    }

    /// The families there are, the one to be tried first before the other.
    pub fn order(&self) -> &[Family] {
        &self.order
    }

    /// True if a family is still to be tried alone.
    pub fn has_hope(&self, family: Family) -> bool {
        let of = &self.of[family as usize];
        of.alone.count() > 0 || of.alone_failed.values().sum::<u64>() < HOPELESS
    }

    /// Notes the outcome of a connection over one family alone.
    pub fn alone(&mut self, family: Family, outcome: Result<u64, String>) {
        let of = &mut self.of[family as usize];
        match outcome {
            Ok(connect_ns) => of.alone.record(connect_ns),
            Err(reason) => *of.alone_failed.entry(reason).or_default() += 1,
        }
    }

    /// Notes that an attempt of a race begins.
    pub fn begun(&mut self, family: Family) {
        self.of[family as usize].begun += 1;
    }

    /// Notes that an attempt of a race has failed.
    pub fn refused(&mut self, family: Family, reason: String) {
        *self.of[family as usize].refused.entry(reason).or_default() += 1;
    }

    /// Notes that a race was won, and its time.
    pub fn won(&mut self, family: Family, connect_ns: u64) {
        self.of[family as usize].wins += 1;
        self.connect.record(connect_ns);
    }

    /// Notes that a race had no winner.
    pub fn lost(&mut self, reason: String) {
        *self.failed.entry(reason).or_default() += 1;
    }

    /// The account of all connections.
    pub fn tally(&self) -> AccountTally {
        let of = |family: Family| self.order.contains(&family).then(|| self.of[family as usize].tally());
        AccountTally {
            order: self.order.clone(),
            races: self.connect.count() + self.failed.values().sum::<u64>(),
            connect: self.connect.tally(),
            failed: self.failed.clone(),
            ipv4: of(Family::Ipv4),
            ipv6: of(Family::Ipv6),
        }
    }
}

impl OfFamily {
    fn tally(&self) -> FamilyTally {
        FamilyTally {
            wins: self.wins,
            begun: self.begun,
            failed: self.refused.clone(),
            alone: AloneTally { connect: self.alone.tally(), failed: self.alone_failed.clone() },
        }
    }
}

/// The account of all connections, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AccountTally {
    /// The families, in the order in which they are preferred.
    order: Vec<Family>,
    races: u64,
    /// Times of races that had a winner.
    connect: TimesTally,
    failed: Failures,
    /// IPv4's.
    #[serde(skip_serializing_if = "Option::is_none")]
    ipv4: Option<FamilyTally>,
    /// IPv6's.
    #[serde(skip_serializing_if = "Option::is_none")]
    ipv6: Option<FamilyTally>,
}

/// The account of one family.
#[derive(Debug, Serialize, JsonSchema)]
struct FamilyTally {
    wins: u64,
    /// Attempts of races.
    begun: u64,
    failed: Failures,
    alone: AloneTally,
}

/// The account of connections over one family alone.
#[derive(Debug, Serialize, JsonSchema)]
struct AloneTally {
    connect: TimesTally,
    failed: Failures,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_family_that_never_answers_is_given_up_alone() {
        let mut account = Account::new(&FAMILIES);
        for _ in 0..HOPELESS {
            assert!(account.has_hope(Family::Ipv6));
            account.alone(Family::Ipv6, Err("timeout".to_owned()));
            account.alone(Family::Ipv4, Err("timeout".to_owned()));
            account.alone(Family::Ipv4, Ok(5));
        }
        assert!(!account.has_hope(Family::Ipv6));
        assert!(account.has_hope(Family::Ipv4));
    }

    #[test]
    fn a_result_says_who_won_what_was_begun_and_what_failed() {
        let mut account = Account::new(&[Family::Ipv6, Family::Ipv6, Family::Ipv4, Family::Ipv6]);
        account.alone(Family::Ipv4, Ok(1_000));
        account.begun(Family::Ipv6);
        account.refused(Family::Ipv6, "ENETUNREACH".to_owned());
        account.begun(Family::Ipv4);
        account.won(Family::Ipv4, 2_000);
        account.begun(Family::Ipv6);
        account.lost("timeout".to_owned());
        let result = json!(account.tally());
        assert_eq!((&result["order"], &result["races"]), (&json!(["ipv6", "ipv4"]), &json!(2)));
        assert_eq!((&result["connect"]["count"], &result["failed"]), (&json!(1), &json!({"timeout": 1})));
        let of = |family: &str, key: &str| result[family][key].clone();
        assert_eq!((of("ipv6", "wins"), of("ipv6", "begun")), (json!(0), json!(2)));
        assert_eq!((of("ipv4", "wins"), of("ipv4", "begun")), (json!(1), json!(1)));
        assert_eq!(of("ipv6", "failed"), json!({"ENETUNREACH": 1}));
        assert_eq!(of("ipv4", "alone")["connect"]["count"], json!(1));
    }
}
