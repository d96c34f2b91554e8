//! Datagram Packetization Layer Path MTU Discovery (RFC 8899): chooses the next size to probe, and knows when the
//! search is complete.
//!
//! Pure: no I/O, no clock, no randomness. Callers pass the probes that were acknowledged and those that were not in
//! time. Sizes are those of IP packets, while the RFC counts the part that the layer below carries.

use schemars::JsonSchema;
use serde::Serialize;

/// A size counts as too large after this many probes without an acknowledgement (RFC 8899 section 5.1.2, MAX_PROBES).
pub const MAX_PROBES: u32 = 3;
/// BASE_PLPMTU of RFC 8899 section 5.1.2: most paths carry it.
const BASE_BYTES: u32 = 1200;

/// The phases of RFC 8899 section 5.2, by the names of the protocol document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Does the base size arrive?
    Base,
    /// It does not: does the smallest that the family allows?
    Error,
    /// Something arrives: how much more does?
    Searching,
    /// Found; probes of this size confirm it, as long as they are acknowledged.
    SearchComplete,
    /// Not even the smallest arrives (DISABLED).
    #[serde(rename = "disabled")]
    Unreachable,
}

/// The search for the path MTU.
#[derive(Debug, Clone)]
pub struct Search {
    phase: Phase,
    base: u32,
    minimum: u32,
    maximum: u32,
    /// The largest size that was acknowledged.
    proven: Option<u32>,
    /// The smallest size that was given up.
    given_up: Option<u32>,
    /// Probes of the present size that were not acknowledged.
    lost: u32,
    black_holes: u32,
}

impl Search {
    /// A search between the family's minimum (RFC 791: 68 bytes for IPv4; RFC 8200 section 5: 1280 for IPv6) and this
    /// maximum, the interface's MTU.
    pub fn new(is_ipv4: bool, maximum_bytes: u32) -> Self {
        let minimum = if is_ipv4 { 68 } else { 1280 };
        let maximum = maximum_bytes.max(minimum);
        Self {
            phase: Phase::Base,
            base: BASE_BYTES.clamp(minimum, maximum),
            minimum,
            maximum,
            proven: None,
            given_up: None,
            lost: 0,
            black_holes: 0,
        }
    }

    /// The phase of the search.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The size to probe: nothing once it is over. A complete search has one too, to confirm it by.
    pub fn next_bytes(&self) -> Option<u32> {
        match (self.phase, self.proven) {
            (Phase::Base, _) => Some(self.base),
            (Phase::Error, _) => Some(self.minimum),
            (Phase::Searching | Phase::SearchComplete, Some(proven)) => Some(self.candidate(proven)),
            (Phase::Searching | Phase::SearchComplete, None) | (Phase::Unreachable, _) => None,
        }
    }

    /// The largest size that was acknowledged; the path MTU once the search is complete.
    pub fn proven_bytes(&self) -> Option<u32> {
        self.proven
    }

    /// The smallest size that was given up as too large.
    pub fn too_large_bytes(&self) -> Option<u32> {
        self.given_up
    }

    /// Number of times that a size that had been confirmed was not any more (RFC 8899 section 4.3).
    pub fn black_holes(&self) -> u32 {
        self.black_holes
    }

    /// A probe of this size was acknowledged, be it the present one or one given up before.
    pub fn acknowledged(&mut self, bytes: u32) {
        // A probe that exceeds the maximum was sent before a black hole lowered it.
        if bytes > self.maximum || self.phase == Phase::Unreachable {
            return;
        }
        if Some(bytes) == self.next_bytes() {
            self.lost = 0;
        }
        if self.proven.is_some_and(|proven| bytes <= proven) {
            return;
        }
        self.lost = 0;
        self.proven = Some(bytes);
        // One that was given up was only late: nothing is known above it.
        self.given_up = self.given_up.filter(|given_up| bytes < *given_up);
        let end = self.given_up.unwrap_or(self.maximum + 1);
        self.phase = if bytes + 1 == end { Phase::SearchComplete } else { Phase::Searching };
    }

    /// The present probe was not acknowledged in time.
    pub fn lost(&mut self) {
        let Some(bytes) = self.next_bytes() else { return };
        self.lost += 1;
        if self.lost < MAX_PROBES {
            return;
        }
        self.lost = 0;
        match self.phase {
            Phase::Base if bytes > self.minimum => {
                self.given_up = Some(bytes);
                self.phase = Phase::Error;
            }
            Phase::Base | Phase::Error | Phase::Unreachable => self.phase = Phase::Unreachable,
            Phase::Searching => {
                self.given_up = Some(bytes);
                if self.proven.is_some_and(|proven| proven + 1 == bytes) {
                    self.phase = Phase::SearchComplete;
                }
            }
            Phase::SearchComplete => self.enter_black_hole(bytes),
        }
    }

    /// Notes that a confirmed size does not arrive any more: the path is another one, and is searched again, from the
    /// base (RFC 8899 section 5.2). Each time lowers the maximum, so that the search ends.
    fn enter_black_hole(&mut self, bytes: u32) {
        self.black_holes += 1;
        self.proven = None;
        if bytes <= self.minimum {
            self.phase = Phase::Unreachable;
            return;
        }
        self.maximum = bytes - 1;
        self.given_up = Some(bytes);
        self.base = self.base.min(self.maximum);
        self.phase = Phase::Base;
    }

    /// The largest that may be, first: most paths carry what the interface does. Then by halves.
    fn candidate(&self, proven: u32) -> u32 {
        match self.given_up {
            None => self.maximum,
            Some(given_up) => proven + given_up.saturating_sub(proven) / 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// More probes than any search may take: 14 halvings of at most MAX_PROBES, the base, the minimum, the maximum,
    /// once more for each of the late acknowledgements and black holes that a path here has.
    const ENOUGH: usize = 2_000;

    /// Runs a search to its end; the path says whether a probe arrives.
    fn search(is_ipv4: bool, maximum: u32, mut arrives: impl FnMut(u32) -> bool) -> (Search, usize) {
        let mut search = Search::new(is_ipv4, maximum);
        for probes in 0..ENOUGH {
            if search.phase() == Phase::SearchComplete {
                return (search, probes);
            }
            let Some(bytes) = search.next_bytes() else { return (search, probes) };
            if arrives(bytes) {
                search.acknowledged(bytes);
            } else {
                search.lost();
            }
        }
        panic!("it does not end: {search:?}");
    }

    #[test]
    fn a_path_that_carries_what_the_interface_does_takes_two_probes() {
        for is_ipv4 in [true, false] {
            let (search, probes) = search(is_ipv4, 1500, |_| true);
            assert_eq!((search.proven_bytes(), search.too_large_bytes(), probes), (Some(1500), None, 2));
        }
    }

    #[test]
    fn the_phases_by_hand() {
        let mut search = Search::new(true, 1500);
        assert_eq!((search.phase(), search.next_bytes()), (Phase::Base, Some(1200)));
        search.lost();
        search.lost();
        assert_eq!((search.phase(), search.next_bytes()), (Phase::Base, Some(1200)));
        search.acknowledged(1200);
        assert_eq!((search.phase(), search.next_bytes()), (Phase::Searching, Some(1500)));
        for _ in 0..MAX_PROBES {
            search.lost();
        }
        assert_eq!((search.next_bytes(), search.too_large_bytes()), (Some(1350), Some(1500)));
        search.acknowledged(1350);
        assert_eq!(search.next_bytes(), Some(1425));
        // An acknowledgement that is late proves its size all the same.
        search.acknowledged(1498);
        assert_eq!(search.next_bytes(), Some(1499));
        for _ in 0..MAX_PROBES {
            search.lost();
        }
        assert_eq!((search.phase(), search.proven_bytes()), (Phase::SearchComplete, Some(1498)));
        search.acknowledged(1500);
        assert_eq!((search.phase(), search.proven_bytes()), (Phase::SearchComplete, Some(1500)));
    }

    #[test]
    fn below_the_base_it_goes_down_to_the_minimum() {
        let (searched, _) = search(true, 1500, |bytes| bytes <= 296);
        assert_eq!((searched.proven_bytes(), searched.too_large_bytes()), (Some(296), Some(297)));
        let (searched, _) = search(true, 1500, |bytes| bytes <= 68);
        assert_eq!(searched.proven_bytes(), Some(68));
        let (searched, _) = search(true, 1500, |_| false);
        assert_eq!((searched.phase(), searched.proven_bytes()), (Phase::Unreachable, None));
        // IPv6 has no smaller one than its base.
        let (searched, probes) = search(false, 1500, |bytes| bytes <= 1279);
        assert_eq!((searched.phase(), probes), (Phase::Unreachable, MAX_PROBES as usize));
    }

    #[test]
    fn a_size_that_is_not_confirmed_any_more_is_a_black_hole() {
        let (mut searched, _) = search(true, 1500, |_| true);
        assert_eq!(searched.next_bytes(), Some(1500));
        searched.lost();
        searched.acknowledged(1500);
        for _ in 0..MAX_PROBES {
            assert_eq!(searched.phase(), Phase::SearchComplete);
            searched.lost();
        }
        assert_eq!((searched.phase(), searched.black_holes(), searched.next_bytes()), (Phase::Base, 1, Some(1200)));
        // Acknowledgements of the path as it was before do not count.
        searched.acknowledged(1500);
        assert_eq!(searched.proven_bytes(), None);
        searched.acknowledged(1200);
        assert_eq!((searched.phase(), searched.next_bytes()), (Phase::Searching, Some(1350)));
    }

    proptest! {
        #[test]
        fn without_loss_it_finds_the_path_mtu_exactly(mtu in 68_u32..9500, maximum in 68_u32..9500) {
            let (searched, probes) = search(true, maximum, |bytes| bytes <= mtu);
            prop_assert_eq!(searched.proven_bytes(), Some(mtu.min(maximum)));
            prop_assert_eq!(searched.too_large_bytes(), (mtu < maximum).then_some(mtu + 1));
            prop_assert!(probes <= 3 * (14 + 3));
        }

        #[test]
        fn so_it_does_over_ipv6(mtu in 1280_u32..9500, maximum in 1280_u32..9500) {
            let (searched, _) = search(false, maximum, |bytes| bytes <= mtu);
            prop_assert_eq!(searched.proven_bytes(), Some(mtu.min(maximum)));
        }

        #[test]
        fn with_loss_it_ends_and_never_exceeds_the_path_mtu(
            mtu in 60_u32..9500, maximum in 68_u32..9500, is_ipv4: bool, luck in prop::collection::vec(0_u8..100, 1..200),
            loss_percent in 0_u8..=100,
        ) {
            let mut luck = luck.iter().cycle();
            let (searched, _) =
                search(is_ipv4, maximum, |bytes| bytes <= mtu && luck.next().is_some_and(|luck| *luck >= loss_percent));
            prop_assert!(searched.proven_bytes().is_none_or(|proven| proven <= mtu));
            if let (Some(proven), Some(too_large)) = (searched.proven_bytes(), searched.too_large_bytes()) {
                prop_assert_eq!(proven + 1, too_large);
            }
        }

        /// Acknowledgements come late, or twice, and the path may become narrower at any time.
        #[test]
        fn whatever_it_is_told_it_ends_and_claims_only_what_was_acknowledged(
            mtu in 68_u32..9500, maximum in 68_u32..9500, is_ipv4: bool,
            steps in prop::collection::vec((0_u8..10, any::<prop::sample::Index>()), 0..400),
        ) {
            let mut search = Search::new(is_ipv4, maximum);
            let (mut mtu, mut sent) = (mtu, Vec::new());
            for (step, which) in steps {
                let Some(bytes) = search.next_bytes() else { break };
                sent.push(bytes);
                match step {
                    0 => {
                        let late = sent[which.index(sent.len())];
                        if late <= mtu {
                            search.acknowledged(late);
                        }
                    }
                    1 => mtu = mtu.saturating_sub(which.index(300) as u32).max(68),
                    2..=5 if bytes <= mtu => search.acknowledged(bytes),
                    _ => search.lost(),
                }
                prop_assert!(search.proven_bytes().is_none_or(|proven| sent.contains(&proven)));
            }
            // From here on nothing changes any more.
            for _ in 0..ENOUGH {
                let Some(bytes) = search.next_bytes() else { return Ok(()) };
                if bytes > mtu {
                    search.lost();
                } else {
                    search.acknowledged(bytes);
                    if search.phase() == Phase::SearchComplete {
                        prop_assert_eq!(search.proven_bytes(), Some(bytes));
                        return Ok(());
                    }
                }
            }
            prop_assert!(false, "it does not end");
        }
    }
}
