//! The loss ledger: which datagrams of a flow came, how often and in what order.
//!
//! Pure: sequence numbers in, counts and the numbers themselves out. `sent = unique + lost in the middle + lost at the
//! tail` holds by construction, with duplicates and reordered datagrams counted apart (RFC 7680, RFC 5560, RFC 4737).

use sixbench_measure::ranges::Ranges;

/// Sequence numbers at or above this are never taken, whatever the flow's parameters say: it bounds the memory.
pub const MAX_SEQUENCES: u64 = 1 << 32;

/// Sequence numbers in a page of the set. A page in use is 4 KiB; a full or an untouched one is 16 bytes.
const PAGE_SEQUENCES: u64 = 1 << 15;
const PAGE_WORDS: usize = (PAGE_SEQUENCES / 64) as usize;

/// The kind of the arrival of one sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The first of this number, and larger than all before.
    InOrder,
    /// The first of this number, but a larger one came before (RFC 4737 section 3).
    Reordered,
    /// This number has come before (RFC 5560).
    Duplicate,
    /// No datagram of this flow can have this number: it is counted nowhere in the ledger.
    Impossible,
}

/// The account of one flow's sequence numbers, from 0.
pub struct Ledger {
    seen: Vec<Page>,
    limit: u64,
    next_expected: u64,
    unique: u64,
    duplicates: u64,
    duplicate_sequences: Ranges,
    reordered: u64,
    reordered_sequences: Ranges,
}

impl Ledger {
    /// An empty ledger of a flow of at most `limit` datagrams: larger sequence numbers are [`Arrival::Impossible`].
    pub fn new(limit: u64) -> Self {
        Self {
            seen: Vec::new(),
            limit: limit.min(MAX_SEQUENCES),
            next_expected: 0,
            unique: 0,
            duplicates: 0,
            duplicate_sequences: Ranges::default(),
            reordered: 0,
            reordered_sequences: Ranges::default(),
        }
    }

    /// Enters one arrival.
    pub fn arrive(&mut self, sequence: u64) -> Arrival {
        if sequence >= self.limit {
            return Arrival::Impossible;
        }
        let page = (sequence / PAGE_SEQUENCES) as usize;
        if page >= self.seen.len() {
            self.seen.resize_with(page + 1, || Page::Empty);
        }
        if !self.seen[page].insert((sequence % PAGE_SEQUENCES) as usize) {
            self.duplicates += 1;
            self.duplicate_sequences.insert(sequence);
            return Arrival::Duplicate;
        }
        self.unique += 1;
        if sequence < self.next_expected {
            self.reordered += 1;
            self.reordered_sequences.insert(sequence);
            return Arrival::Reordered;
        }
        self.next_expected = sequence + 1;
        Arrival::InOrder
    }

    /// Arrivals, with duplicates.
    pub fn received(&self) -> u64 {
        self.unique + self.duplicates
    }

    /// Sequence numbers that came at least once.
    pub fn unique(&self) -> u64 {
        self.unique
    }

    /// Arrivals of numbers that had come before.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// First arrivals with a number smaller than the next expected one (RFC 4737 section 3.3).
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    /// The largest number that came; absent if none did.
    pub fn highest_sequence(&self) -> Option<u64> {
        self.next_expected.checked_sub(1)
    }

    /// Numbers missing below the largest that came.
    pub fn lost_middle(&self) -> u64 {
        self.next_expected - self.unique
    }

    /// Numbers missing above the largest that came, of `sent` datagrams; absent where more came than were reported to
    /// have been sent, since the account is then wrong.
    pub fn lost_tail(&self, sent: u64) -> Option<u64> {
        sent.checked_sub(self.next_expected)
    }

    /// The largest number that did not come, of `sent` datagrams; absent where all came.
    pub fn last_lost(&self, sent: u64) -> Option<u64> {
        if sent > self.next_expected {
            return Some(sent - 1);
        }
        let pages = self.seen.iter().enumerate().rev();
        { pages }.find_map(|(number, page)| {
            let first = number as u64 * PAGE_SEQUENCES;
            let length = self.next_expected.saturating_sub(first).min(PAGE_SEQUENCES);
            page.last_missing(length as usize).map(|index| first + index as u64)
        })
    }

    /// The numbers that came more than once.
    pub fn duplicate_sequences(&self) -> &Ranges {
        &self.duplicate_sequences
    }

    /// The numbers of [`Self::reordered`].
    pub fn reordered_sequences(&self) -> &Ranges {
        &self.reordered_sequences
    }

    /// The numbers that did not come, of `sent` datagrams; those below the largest that came where it is not known how
    /// many were sent, or where fewer are reported as sent.
    pub fn lost_sequences(&self, sent: Option<u64>) -> Ranges {
        let end = sent.unwrap_or(0).max(self.next_expected);
        let mut lost = Ranges::default();
        // A run of missing numbers that has not ended yet.
        let mut run: Option<u64> = None;
        let mut sequence = 0;
        while sequence < end {
            let page_end = (sequence - sequence % PAGE_SEQUENCES).saturating_add(PAGE_SEQUENCES);
            let page = self.seen.get((sequence / PAGE_SEQUENCES) as usize).unwrap_or(&Page::Empty);
            let (is_missing, next) = page.run_from((sequence % PAGE_SEQUENCES) as usize);
            let next = next.map_or(page_end, |index| page_end - PAGE_SEQUENCES + index as u64).min(end);
            match (is_missing, run) {
                (true, None) => run = Some(sequence),
                (false, Some(first)) => {
                    lost.insert_range(first, sequence - 1);
                    run = None;
                }
                _ => {}
            }
            sequence = next;
        }
        if let Some(first) = run {
            lost.insert_range(first, end - 1);
        }
        lost
    }
}

/// A piece of the set of numbers that came. Flows that lose little consist of full pages, which take no memory.
enum Page {
    Empty,
    Partial(Box<Bits>),
    Full,
}

struct Bits {
    words: [u64; PAGE_WORDS],
    missing: u32,
}

impl Page {
    /// Returns whether the number at `index` is missing, and the next place in this page where that changes.
    fn run_from(&self, index: usize) -> (bool, Option<usize>) {
        let bits = match self {
            Page::Empty => return (true, None),
            Page::Full => return (false, None),
            Page::Partial(bits) => bits,
        };
        let is_missing = bits.words[index / 64] & (1 << (index % 64)) == 0;
        // Ones where it is otherwise than at `index`.
        let otherwise = |word: usize| if is_missing { bits.words[word] } else { !bits.words[word] };
        let from = index / 64;
        let rest = otherwise(from) & (u64::MAX << (index % 64));
        let words = std::iter::once((from, rest)).chain((from + 1..PAGE_WORDS).map(|word| (word, otherwise(word))));
        let next = words.filter(|(_, ones)| *ones != 0).map(|(word, ones)| 64 * word + ones.trailing_zeros() as usize);
        (is_missing, { next }.next())
    }

    /// The last missing one among the first `length`.
    fn last_missing(&self, length: usize) -> Option<usize> {
        match self {
            Page::Empty => length.checked_sub(1),
            Page::Full => None,
            Page::Partial(bits) => (0..length).rev().find(|&index| bits.words[index / 64] & (1 << (index % 64)) == 0),
        }
    }

    /// Adds a number. Returns true if it was not in the set before.
    fn insert(&mut self, index: usize) -> bool {
        let bits = match self {
            Page::Full => return false,
            Page::Partial(bits) => bits,
            Page::Empty => {
                *self = Page::Partial(Box::new(Bits { words: [0; PAGE_WORDS], missing: PAGE_SEQUENCES as u32 }));
                return self.insert(index);
            }
        };
        let (word, bit) = (index / 64, 1 << (index % 64));
        if bits.words[word] & bit != 0 {
            return false;
        }
        bits.words[word] |= bit;
        bits.missing -= 1;
        if bits.missing == 0 {
            *self = Page::Full;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The account by definition, from the whole list of arrivals.
    fn check_against_definitions(sent: u64, arrivals: &[u64]) {
        let mut ledger = Ledger::new(u64::MAX);
        let mut seen = BTreeSet::new();
        let (mut duplicates, mut reordered) = (0, 0);
        let (mut again, mut overtaken) = (BTreeSet::new(), BTreeSet::new());
        for &sequence in arrivals {
            let expected = if seen.contains(&sequence) {
                duplicates += 1;
                again.insert(sequence);
                Arrival::Duplicate
            } else if seen.last().is_some_and(|&last| sequence < last) {
                reordered += 1;
                overtaken.insert(sequence);
                Arrival::Reordered
            } else {
                Arrival::InOrder
            };
            seen.insert(sequence);
            assert_eq!(ledger.arrive(sequence), expected);
        }
        let missing: Vec<u64> = (0..sent).filter(|sequence| !seen.contains(sequence)).collect();
        let (middle, tail): (Vec<u64>, Vec<u64>) =
            missing.iter().partition(|&&sequence| seen.last().is_some_and(|&last| sequence < last));
        assert_eq!(ledger.received(), arrivals.len() as u64);
        assert_eq!(ledger.unique(), seen.len() as u64);
        assert_eq!(ledger.duplicates(), duplicates);
        assert_eq!(ledger.reordered(), reordered);
        assert_eq!(ledger.highest_sequence(), seen.last().copied());
        assert_eq!(ledger.lost_middle(), middle.len() as u64);
        assert_eq!(ledger.lost_tail(sent), Some(tail.len() as u64));
        assert_eq!(ledger.unique() + ledger.lost_middle() + tail.len() as u64, sent);
        let numbers = |ranges: &Ranges| ranges.iter().flat_map(|[first, last]| first..=last).collect::<Vec<_>>();
        assert_eq!(numbers(&ledger.lost_sequences(Some(sent))), missing);
        assert_eq!(numbers(&ledger.lost_sequences(None)), middle);
        assert_eq!(ledger.last_lost(sent), missing.last().copied());
        assert!(numbers(ledger.duplicate_sequences()).iter().eq(&again));
        assert!(numbers(ledger.reordered_sequences()).iter().eq(&overtaken));
    }

    proptest! {
        #[test]
        fn any_loss_duplication_and_order_is_accounted_for(
            (sent, arrivals) in (1_u64..400).prop_flat_map(|sent| (Just(sent), prop::collection::vec(0..sent, 0..800)))
        ) {
            check_against_definitions(sent, &arrivals);
        }

        #[test]
        fn a_permutation_with_drops_loses_only_the_drops(
            order in Just((0_u64..300).collect::<Vec<_>>()).prop_shuffle(), keep in 0_usize..300
        ) {
            check_against_definitions(300, &order[..keep]);
        }

        #[test]
        fn pages_are_joined_without_seams(start in 0_u64..3 * PAGE_SEQUENCES, length in 1_u64..3 * PAGE_SEQUENCES) {
            let mut ledger = Ledger::new(u64::MAX);
            for sequence in start..start + length {
                prop_assert_eq!(ledger.arrive(sequence), Arrival::InOrder);
            }
            for sequence in [start, start + length / 2, start + length - 1] {
                prop_assert_eq!(ledger.arrive(sequence), Arrival::Duplicate);
            }
            prop_assert_eq!(ledger.unique(), length);
            prop_assert_eq!(ledger.lost_middle(), start);
            let lost: Vec<_> = ledger.lost_sequences(Some(start + length + 7)).iter().collect();
            let tail = [start + length, start + length + 6];
            prop_assert_eq!(ledger.last_lost(start + length + 7), Some(start + length + 6));
            prop_assert_eq!(ledger.last_lost(start + length), start.checked_sub(1));
            prop_assert_eq!(lost, if start == 0 { vec![tail] } else { vec![[0, start - 1], tail] });
        }
    }

    #[test]
    fn nothing_came() {
        let ledger = Ledger::new(10);
        assert_eq!(ledger.highest_sequence(), None);
        assert_eq!(ledger.lost_middle(), 0);
        assert_eq!(ledger.lost_tail(10), Some(10));
    }

    #[test]
    fn impossible_numbers_change_nothing_and_take_no_memory() {
        let mut ledger = Ledger::new(10);
        for sequence in [10, MAX_SEQUENCES, u64::MAX] {
            assert_eq!(ledger.arrive(sequence), Arrival::Impossible);
        }
        assert!(ledger.seen.is_empty());
        assert_eq!(Ledger::new(u64::MAX).arrive(MAX_SEQUENCES), Arrival::Impossible);
        assert_eq!(Ledger::new(u64::MAX).arrive(MAX_SEQUENCES - 1), Arrival::InOrder);
    }

    #[test]
    fn an_account_that_cannot_be_right_has_no_tail() {
        let mut ledger = Ledger::new(10);
        ledger.arrive(5);
        assert_eq!(ledger.lost_tail(5), None);
        assert_eq!(ledger.lost_tail(6), Some(0));
    }
}
