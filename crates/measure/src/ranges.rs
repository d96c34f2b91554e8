//! Sets of sequence numbers as ranges, in bounded memory.
//!
//! Pure: numbers in, ranges out.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// Ranges that a set holds at most: some 100 KiB of JSON.
pub const MAX_RANGES: usize = 4096;

/// Sequence numbers by ranges, and how many more there were than could be held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges {
    /// First to last, both included; not overlapping, not touching.
    by_first: BTreeMap<u64, u64>,
    omitted: u64,
}

impl Ranges {
    /// Enters one number; it may have been entered before.
    pub fn insert(&mut self, number: u64) {
        self.insert_range(number, number);
    }

    /// Enters the numbers from `first` to `last`, which must be all in the set or none of them.
    pub fn insert_range(&mut self, first: u64, last: u64) {
        let before = self.by_first.range(..=first).next_back().map(|(&first, &last)| (first, last));
        if before.is_some_and(|(_, before_last)| before_last >= first) {
            return;
        }
        let before = before.filter(|&(_, before_last)| before_last.checked_add(1) == Some(first));
        let after = last.checked_add(1).and_then(|next| self.by_first.get(&next).map(|&last| (next, last)));
        if before.is_none() && after.is_none() && self.by_first.len() >= MAX_RANGES {
            self.omitted += (last - first).saturating_add(1);
            return;
        }
        if let Some((after_first, _)) = after {
            self.by_first.remove(&after_first);
        }
        let first = before.map_or(first, |(before_first, _)| before_first);
        self.by_first.insert(first, after.map_or(last, |(_, after_last)| after_last));
    }

    /// The ranges in order, both ends included.
    pub fn iter(&self) -> impl Iterator<Item = [u64; 2]> {
        self.by_first.iter().map(|(&first, &last)| [first, last])
    }

    /// Numbers that were entered when there was no room for another range.
    pub fn omitted(&self) -> u64 {
        self.omitted
    }

    /// The set, as results carry it.
    pub fn tally(&self) -> RangesTally {
        RangesTally { ranges: self.iter().collect(), omitted: self.omitted }
    }
}

/// Sequence numbers as ranges, by the names of the protocol document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RangesTally {
    /// The first and the last number of each range, in order.
    pub ranges: Vec<[u64; 2]>,
    /// Numbers for which there was no room.
    pub omitted: u64,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_are_one_range() {
        let mut ranges = Ranges::default();
        for number in [5, 3, 9, 4, 4, u64::MAX, 0] {
            ranges.insert(number);
        }
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [[0, 0], [3, 5], [9, 9], [u64::MAX, u64::MAX]]);
        assert_eq!(ranges.tally().omitted, 0);
    }

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let mut ranges = Ranges::default();
        for number in 0..MAX_RANGES as u64 {
            ranges.insert(2 * number);
        }
        ranges.insert(1_000_000);
        ranges.insert_range(2_000_000, 2_000_009);
        assert_eq!((ranges.iter().count(), ranges.omitted()), (MAX_RANGES, 11));
        // A number that joins two ranges makes room.
        ranges.insert(1);
        ranges.insert(1_000_000);
        assert_eq!((ranges.iter().count(), ranges.omitted()), (MAX_RANGES, 11));
    }

    proptest! {
        #[test]
        fn the_ranges_are_the_set(numbers in prop::collection::vec(0_u64..200, 0..300)) {
            let mut ranges = Ranges::default();
            numbers.iter().for_each(|&number| ranges.insert(number));
            let held: Vec<u64> = ranges.iter().flat_map(|[first, last]| first..=last).collect();
            prop_assert_eq!(held, numbers.iter().copied().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
            let edges: Vec<_> = ranges.iter().collect();
            prop_assert!(edges.windows(2).all(|pair| pair[0][1] + 1 < pair[1][0]));
        }
    }
}
