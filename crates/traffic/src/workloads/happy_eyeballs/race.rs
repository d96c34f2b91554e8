//! The algorithm of Happy Eyeballs version 2 (RFC 8305 sections 3 to 5) for one connection. Pure: callers pass the time
//! and the outcomes of attempts, and get the next attempt with its time.

use sixbench_wire::family::Family;

/// The times of a race.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The Connection Attempt Delay (RFC 8305 section 5).
    pub attempt_delay_ns: u64,
    /// The Resolution Delay (RFC 8305 section 3): how long the A answer alone waits for the AAAA answer.
    pub resolution_delay_ns: u64,
    /// Time at which the A answer comes, from the race's beginning.
    pub a_after_ns: u64,
    /// Time at which the AAAA answer comes.
    pub aaaa_after_ns: u64,
}

impl Rules {
    /// Time at which the addresses of a family are known.
    pub fn answered_ns(&self, family: Family) -> u64 {
        match family {
            Family::Ipv4 => self.a_after_ns,
            Family::Ipv6 => self.aaaa_after_ns,
        }
    }

    /// Time at which the first attempt may begin: at once with the AAAA answer, a Resolution Delay after the A answer
    /// without it.
    fn opens_ns(&self, families: &[Family]) -> u64 {
        let (has_a, has_aaaa) = (families.contains(&Family::Ipv4), families.contains(&Family::Ipv6));
        match (has_a, has_aaaa) {
            (true, true) => self.aaaa_after_ns.min(self.a_after_ns.saturating_add(self.resolution_delay_ns)),
            (false, _) => self.aaaa_after_ns,
            (true, false) => self.a_after_ns,
        }
    }
}

/// The next action of a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Begin an attempt to connect to the address of that number.
    Begin(usize),
    /// Wait until that time; absent: until one of the attempts is over.
    WaitUntil(Option<u64>),
    /// No address is left, and all attempts have failed.
    Lost,
}

/// One connection that is to be made to one of several addresses. It ends with the first attempt that succeeds.
#[derive(Debug)]
pub struct Race<'a> {
    rules: Rules,
    /// Families of the addresses, in the order of RFC 6724.
    families: &'a [Family],
    states: Vec<State>,
    /// The attempt that began last.
    last: Option<usize>,
    /// Earliest time at which the next one may begin.
    due_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unused,
    UnderWay,
    Failed,
}

impl<'a> Race<'a> {
    /// A race between addresses of these families, whose queries are sent at time 0.
    pub fn new(rules: Rules, families: &'a [Family]) -> Self {
        let states = vec![State::Unused; families.len()];
        Self { rules, families, states, last: None, due_ns: rules.opens_ns(families) }
    }

    /// The next action at this time. An attempt counts as begun once it is returned.
    pub fn next(&mut self, now_ns: u64) -> Next {
        let Some(answer_ns) = self.next_answer_ns() else {
            return if self.states.contains(&State::UnderWay) { Next::WaitUntil(None) } else { Next::Lost };
        };
        let due_ns = self.due_ns.max(answer_ns);
        if now_ns < due_ns {
            return Next::WaitUntil(Some(due_ns));
        }
        let Some(index) = self.choose(now_ns) else { return Next::WaitUntil(Some(due_ns)) };
        self.states[index] = State::UnderWay;
        self.last = Some(index);
        self.due_ns = now_ns.saturating_add(self.rules.attempt_delay_ns);
        Next::Begin(index)
    }

    /// An attempt has failed. Where it was the last one begun, the next one need not wait for its delay.
    pub fn failed(&mut self, index: usize, now_ns: u64) {
        self.states[index] = State::Failed;
        if self.last == Some(index) {
            self.due_ns = self.due_ns.min(now_ns);
        }
    }

    /// Time at which the first address is or was known that has not been tried.
    fn next_answer_ns(&self) -> Option<u64> {
        self.unused().map(|index| self.rules.answered_ns(self.families[index])).min()
    }

    /// The first address that is known and of the other family than the one before; else the first (section 4, with a
    /// First Address Family Count of 1).
    fn choose(&self, now_ns: u64) -> Option<usize> {
        let known = |index: &usize| self.rules.answered_ns(self.families[*index]) <= now_ns;
        let before = self.last.map(|last| self.families[last]);
        let other = self.unused().filter(known).find(|index| Some(self.families[*index]) != before);
        other.or_else(|| self.unused().find(known))
    }

    fn unused(&self) -> impl Iterator<Item = usize> {
        self.states.iter().enumerate().filter(|(_, state)| **state == State::Unused).map(|(index, _)| index)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;
    const RULES: Rules =
        Rules { attempt_delay_ns: 250 * MS, resolution_delay_ns: 50 * MS, a_after_ns: 0, aaaa_after_ns: 0 };

    use Family::{Ipv4, Ipv6};

    /// The behaviour of an attempt, this long after it began.
    #[derive(Debug, Clone, Copy)]
    enum Behaviour {
        Connects(u64),
        Fails(u64),
        Silent,
    }
    use Behaviour::{Connects, Fails, Silent};

    #[derive(Debug, PartialEq, Eq)]
    struct Outcome {
        winner: Option<usize>,
        at_ns: u64,
        begun: Vec<(usize, u64)>,
    }

    /// Plays a race by a clock of its own.
    fn play(rules: Rules, addresses: &[(Family, Behaviour)]) -> Outcome {
        let families: Vec<_> = addresses.iter().map(|(family, _)| *family).collect();
        let mut race = Race::new(rules, &families);
        let (mut now_ns, mut begun) = (0, Vec::new());
        let mut events: Vec<(u64, usize, bool)> = Vec::new();
        loop {
            events.sort_unstable();
            let wakes_ns = match race.next(now_ns) {
                Next::Begin(index) => {
                    begun.push((index, now_ns));
                    match addresses[index].1 {
                        Connects(after_ns) => events.push((now_ns + after_ns, index, true)),
                        Fails(after_ns) => events.push((now_ns + after_ns, index, false)),
                        Silent => {}
                    }
                    continue;
                }
                Next::WaitUntil(wakes_ns) => wakes_ns,
                Next::Lost => return Outcome { winner: None, at_ns: now_ns, begun },
            };
            match (events.first().copied(), wakes_ns) {
                (Some((at_ns, index, connects)), wakes_ns) if wakes_ns.is_none_or(|wakes_ns| at_ns <= wakes_ns) => {
                    if connects {
                        return Outcome { winner: Some(index), at_ns, begun };
                    }
                    events.remove(0);
                    race.failed(index, at_ns);
                    now_ns = at_ns;
                }
                (_, Some(wakes_ns)) => now_ns = wakes_ns,
                (_, None) => return Outcome { winner: None, at_ns: now_ns, begun },
            }
        }
    }

    fn outcome(winner: Option<usize>, at_ms: u64, begun_ms: &[(usize, u64)]) -> Outcome {
        Outcome { winner, at_ns: at_ms * MS, begun: begun_ms.iter().map(|(index, ms)| (*index, ms * MS)).collect() }
    }

    #[test]
    fn section_5_the_first_wins_within_the_attempt_delay_and_the_second_is_never_tried() {
        let addresses = [(Ipv6, Connects(249 * MS)), (Ipv4, Connects(MS))];
        assert_eq!(play(RULES, &addresses), outcome(Some(0), 249, &[(0, 0)]));
    }

    #[test]
    fn section_5_a_second_attempt_begins_after_the_attempt_delay() {
        let addresses = [(Ipv6, Connects(420 * MS)), (Ipv4, Connects(20 * MS))];
        assert_eq!(play(RULES, &addresses), outcome(Some(1), 270, &[(0, 0), (1, 250)]));
        // The first may still be the one that wins.
        let addresses = [(Ipv6, Connects(260 * MS)), (Ipv4, Connects(20 * MS))];
        assert_eq!(play(RULES, &addresses), outcome(Some(0), 260, &[(0, 0), (1, 250)]));
    }

    #[test]
    fn section_5_a_failure_does_not_wait_for_the_attempt_delay() {
        let addresses = [(Ipv6, Fails(5 * MS)), (Ipv4, Connects(20 * MS))];
        assert_eq!(play(RULES, &addresses), outcome(Some(1), 25, &[(0, 0), (1, 5)]));
        // That of an earlier attempt changes nothing: the later one has its whole delay.
        let addresses = [(Ipv6, Fails(260 * MS)), (Ipv4, Silent), (Ipv6, Connects(MS))];
        assert_eq!(play(RULES, &addresses), outcome(Some(2), 501, &[(0, 0), (1, 250), (2, 500)]));
    }

    #[test]
    fn section_4_families_alternate_from_the_first_on() {
        let silent = |family| (family, Silent);
        let six_first = [Ipv6, Ipv6, Ipv6, Ipv4, Ipv4].map(silent);
        let order: Vec<_> = play(RULES, &six_first).begun.into_iter().map(|(index, _)| index).collect();
        assert_eq!(order, [0, 3, 1, 4, 2]);
        let four_first = [Ipv4, Ipv6, Ipv6].map(silent);
        let order: Vec<_> = play(RULES, &four_first).begun.into_iter().map(|(index, _)| index).collect();
        assert_eq!(order, [0, 1, 2]);
    }

    #[test]
    fn section_3_the_aaaa_answer_is_waited_for_and_no_longer_than_the_resolution_delay() {
        let addresses = [(Ipv6, Connects(10 * MS)), (Ipv4, Connects(10 * MS))];
        let rules = |a_ms: u64, aaaa_ms: u64| Rules { a_after_ns: a_ms * MS, aaaa_after_ns: aaaa_ms * MS, ..RULES };
        assert_eq!(play(rules(5, 40), &addresses), outcome(Some(0), 50, &[(0, 40)]));
        assert_eq!(play(rules(5, 90), &addresses), outcome(Some(1), 65, &[(1, 55)]));
        // With the AAAA answer it begins, whenever the A answer comes.
        assert_eq!(play(rules(300, 5), &addresses), outcome(Some(0), 15, &[(0, 5)]));
        // A late answer joins the race, a delay after the attempt before.
        let addresses = [(Ipv6, Connects(10 * MS)), (Ipv4, Silent)];
        assert_eq!(play(rules(0, 400), &addresses), outcome(Some(0), 410, &[(1, 50), (0, 400)]));
        assert_eq!(play(rules(0, 100), &addresses), outcome(Some(0), 310, &[(1, 50), (0, 300)]));
    }

    #[test]
    fn section_3_without_addresses_of_a_family_nobody_waits_for_its_answer() {
        let rules = Rules { a_after_ns: 5 * MS, aaaa_after_ns: 7 * MS, ..RULES };
        assert_eq!(play(rules, &[(Ipv4, Connects(MS))]), outcome(Some(0), 6, &[(0, 5)]));
        assert_eq!(play(rules, &[(Ipv6, Connects(MS))]), outcome(Some(0), 8, &[(0, 7)]));
    }

    #[test]
    fn a_race_is_lost_when_all_attempts_have_failed() {
        let addresses = [(Ipv6, Fails(3 * MS)), (Ipv4, Fails(4 * MS))];
        assert_eq!(play(RULES, &addresses), outcome(None, 7, &[(0, 0), (1, 3)]));
        assert_eq!(play(RULES, &[]), outcome(None, 0, &[]));
    }

    fn behaviour() -> impl Strategy<Value = Behaviour> {
        prop_oneof![(0..800 * MS).prop_map(Connects), (0..800 * MS).prop_map(Fails), Just(Silent)]
    }

    fn address() -> impl Strategy<Value = (Family, Behaviour)> {
        (prop_oneof![Just(Ipv4), Just(Ipv6)], behaviour())
    }

    fn rules() -> impl Strategy<Value = Rules> {
        (10 * MS..500 * MS, 0..100 * MS, 0..300 * MS, 0..300 * MS).prop_map(
            |(attempt_delay_ns, resolution_delay_ns, a_after_ns, aaaa_after_ns)| Rules {
                attempt_delay_ns,
                resolution_delay_ns,
                a_after_ns,
                aaaa_after_ns,
            },
        )
    }

    proptest! {
        #[test]
        fn each_address_is_tried_once_when_it_is_known_and_no_sooner_than_it_may(
            rules in rules(), addresses in prop::collection::vec(address(), 0..7)
        ) {
            let played = play(rules, &addresses);
            let mut seen: Vec<_> = played.begun.iter().map(|(index, _)| *index).collect();
            seen.sort_unstable();
            seen.dedup();
            prop_assert_eq!(seen.len(), played.begun.len());
            for (index, at_ns) in &played.begun {
                prop_assert!(*at_ns >= rules.answered_ns(addresses[*index].0));
            }
            for pair in played.begun.windows(2) {
                let ((before, began_ns), (_, next_ns)) = (pair[0], pair[1]);
                let gap_ns = next_ns - began_ns;
                let failed = matches!(addresses[before].1, Fails(after_ns) if after_ns <= gap_ns);
                prop_assert!(gap_ns >= rules.attempt_delay_ns || failed);
            }
        }

        #[test]
        fn a_race_that_one_address_could_win_is_won_and_by_the_first_that_connects(
            rules in rules(), addresses in prop::collection::vec(address(), 1..7)
        ) {
            let played = play(rules, &addresses);
            let could = addresses.iter().any(|(_, behaviour)| matches!(behaviour, Connects(_)));
            prop_assert_eq!(played.winner.is_some(), could);
            for (index, began_ns) in played.begun {
                if let Connects(after_ns) = addresses[index].1 {
                    prop_assert!(played.at_ns <= began_ns + after_ns);
                }
            }
        }

        #[test]
        fn nobody_loses_more_than_the_delays_against_the_fastest_address(
            rules in rules(), six_ns in 0..800 * MS, four_ns in 0..800 * MS
        ) {
            let addresses = [(Ipv6, Connects(six_ns)), (Ipv4, Connects(four_ns))];
            let played = play(rules, &addresses);
            let alone_ns = (rules.aaaa_after_ns + six_ns).min(rules.a_after_ns + four_ns);
            prop_assert!(played.at_ns >= alone_ns);
            prop_assert!(played.at_ns <= alone_ns + rules.resolution_delay_ns + rules.attempt_delay_ns);
        }
    }
}
