//! The search for the largest packet that arrives. Pure: its caller sends the probes.

/// MTUs that links have: Ethernet; PPPoE (RFC 2516); tunnels of protocol 41, GRE, WireGuard, IPsec and Teredo over
/// them; the IPv6 minimum (RFC 8200 section 5); jumbo frames.
const COMMON_BYTES: [u32; 17] = [
    1_280, 1_320, 1_360, 1_380, 1_400, 1_412, 1_420, 1_432, 1_440, 1_452, 1_460, 1_472, 1_476, 1_480, 1_492, 1_500,
    9_000,
];

/// Reports of routers that are followed: more narrow links than a path has. Who reports more often only prolongs the
/// search.
const MAX_REPORTS: u32 = 8;

/// The fate of a probe of a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The server answered.
    Arrived,
    /// It was too long for a link of this MTU; 0 where nobody says of which.
    TooBig(u32),
    /// Nothing came, while shorter packets arrived.
    Silence,
}

/// The state of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    /// The largest packet that arrived.
    good: Option<u32>,
    /// The smallest that did not.
    bad: u32,
    least: u32,
    /// The size to try next, where somebody has named one.
    named: Option<u32>,
    /// Number of sizes that routers may still name.
    reports_left: u32,
}

impl Search {
    /// A search between two sizes; `least` is at most `most`.
    pub fn new(least: u32, most: u32) -> Self {
        Self { good: None, bad: most.saturating_add(1), least, named: Some(most), reports_left: MAX_REPORTS }
    }

    /// The largest packet that arrived so far.
    pub fn largest(&self) -> Option<u32> {
        self.good
    }

    /// The size to try next: first the least one, to see that the server answers at all. Absent at the end.
    pub fn next(&self) -> Option<u32> {
        let Some(good) = self.good else { return (self.least < self.bad).then_some(self.least) };
        if self.bad - good <= 1 {
            return None;
        }
        let is_open = |size: &u32| good < *size && *size < self.bad;
        if let Some(named) = self.named.filter(is_open) {
            return Some(named);
        }
        let open: Vec<u32> = COMMON_BYTES.into_iter().filter(is_open).collect();
        if let Some(&common) = open.get(open.len() / 2) {
            return Some(common);
        }
        // A link that is a common one lets no byte more pass.
        if COMMON_BYTES.contains(&good) { Some(good + 1) } else { Some(good + (self.bad - good).div_ceil(2)) }
    }

    /// Notes what happened to a probe of a size.
    pub fn note(&mut self, size: u32, fate: Fate) {
        match fate {
            Fate::Arrived => {
                let before = self.good.replace(self.good.map_or(size, |good| good.max(size)));
                if self.named == Some(size) {
                    // One byte more tells whether the link's MTU is the one that was named; that arrived here, or not.
                    self.named = (before.map(|good| good + 1) != Some(size)).then_some(size + 1);
                }
            }
            Fate::TooBig(mtu) => {
                self.bad = self.bad.min(size);
                // A larger one would be no reason to refuse this; a lie costs a probe.
                self.named = (mtu < size && mtu > 0 && self.reports_left > 0).then_some(mtu);
                self.reports_left = self.reports_left.saturating_sub(1);
            }
            Fate::Silence => self.bad = self.bad.min(size),
        }
        // Both bounds hold: where a probe arrived that was thought too long, it is the arrival that counts.
        self.bad = self.bad.max(self.good.map_or(0, |good| good + 1));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The result of a search on a path, and the number of probes.
    fn find(least: u32, most: u32, mtu: u32, fate: impl Fn(u32) -> Fate) -> (Option<u32>, usize) {
        let (mut search, mut probes) = (Search::new(least, most), 0);
        while let Some(size) = search.next() {
            probes += 1;
            assert!(probes < 100 && (least..=most).contains(&size), "{size}");
            let fate = if size <= mtu { Fate::Arrived } else { fate(size) };
            search.note(size, fate);
            if search.largest().is_none() {
                break;
            }
        }
        (search.largest(), probes)
    }

    #[test]
    fn a_path_without_a_narrow_link_needs_two_probes() {
        assert_eq!(find(1_280, 1_500, 9_000, |_| Fate::Silence), (Some(1_500), 2));
        assert_eq!(find(1_500, 1_500, 9_000, |_| Fate::Silence), (Some(1_500), 1));
    }

    #[test]
    fn routers_that_lie_do_not_prolong_a_search() {
        let (_, creeping_up) = find(1_280, 9_000, 8_999, |_| Fate::TooBig(1_300));
        let (_, creeping_down) = find(1_280, 9_000, 1_280, |size| Fate::TooBig(size - 1));
        assert!(creeping_up < 40 && creeping_down < 40, "{creeping_up} {creeping_down}");
    }

    #[test]
    fn a_link_that_says_its_mtu_is_found_and_checked() {
        // Least, most, 1480, and one byte more than that.
        assert_eq!(find(1_280, 1_500, 1_480, |_| Fate::TooBig(1_480)), (Some(1_480), 4));
    }

    #[test]
    fn a_black_hole_is_found_by_silence() {
        for mtu in [1_492, 1_480, 1_420, 1_400, 1_280] {
            let (found, probes) = find(1_280, 1_500, mtu, |_| Fate::Silence);
            assert_eq!(found, Some(mtu));
            assert!(probes <= 8, "{probes} for {mtu}");
        }
    }

    #[test]
    fn a_server_that_does_not_answer_is_asked_once() {
        assert_eq!(find(1_280, 1_500, 100, |_| Fate::Silence), (None, 1));
    }

    proptest! {
        #[test]
        fn the_largest_packet_is_found_whatever_is_said(
            least in 500_u32..2_000, more in 0_u32..9_000, at in 0_u32..9_000, lies: [Option<u32>; 4],
        ) {
            let (most, mtu) = (least + more, least + at.min(more));
            let (found, _) = find(least, most, mtu, |size| match lies[size as usize % 4] {
                Some(lie) => Fate::TooBig(lie),
                None => Fate::Silence,
            });
            prop_assert_eq!(found, Some(mtu));
        }
    }
}
