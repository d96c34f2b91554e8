//! Accumulators of the intervals of a measured window.

/// More intervals than this are not kept apart: the last one takes the rest.
const MAX_INTERVALS: usize = 1_000_000;

/// One accumulator an interval. Intervals are open at their start and closed at their end, so that the very end of the
/// window belongs to its last interval.
#[derive(Debug, Clone)]
pub struct Series<T> {
    interval_ns: u64,
    max_intervals: usize,
    slots: Vec<T>,
}

impl<T: Clone + Default> Series<T> {
    /// Empty; `interval_ns` must not be 0.
    pub fn new(interval_ns: u64) -> Self {
        Self { interval_ns: interval_ns.max(1), max_intervals: MAX_INTERVALS, slots: Vec::new() }
    }

    /// A series for a window meant to have this length, where it has one: what ends a little after it, such as the last
    /// transaction, belongs to its last interval rather than to a tiny one of its own.
    pub fn of_window(interval_ns: u64, window_ns: Option<u64>) -> Self {
        let mut series = Self::new(interval_ns);
        series.max_intervals = window_ns.map_or(MAX_INTERVALS, |window_ns| series.index(window_ns) + 1);
        series
    }

    /// The accumulator of the interval that has this time since the window's start.
    #[inline]
    pub fn at(&mut self, since_start_ns: u64) -> &mut T {
        let index = self.index(since_start_ns);
        if index >= self.slots.len() {
            self.slots.resize(index + 1, T::default());
        }
        &mut self.slots[index]
    }

    /// Adds another series of the same interval and start, slot by slot.
    pub fn merge(&mut self, other: &Self, mut add: impl FnMut(&mut T, &T)) {
        if other.slots.len() > self.slots.len() {
            self.slots.resize(other.slots.len(), T::default());
        }
        for (mine, theirs) in self.slots.iter_mut().zip(&other.slots) {
            add(mine, theirs);
        }
    }

    /// Makes the series as long as the window, so that intervals in which nothing happened at the end show as such.
    pub fn close(&mut self, window_ns: u64) {
        if window_ns > 0 {
            self.at(window_ns);
        }
    }

    /// The end of each interval since the window's start. The last one ends with the window.
    pub fn ends_ns(&self, window_ns: u64) -> Vec<u64> {
        let mut ends: Vec<u64> = (1..=self.slots.len() as u64).map(|n| n.saturating_mul(self.interval_ns)).collect();
        if let Some(last) = ends.last_mut() {
            // Nothing is recorded after the window; the cap on intervals is why it may be later than the grid.
            *last = if self.index(window_ns) + 1 == self.slots.len() { window_ns } else { *last };
        }
        ends
    }

    /// The accumulators, in order.
    pub fn slots(&self) -> &[T] {
        &self.slots
    }

    /// A list with a value of each interval.
    pub fn column<V>(&self, value: impl FnMut(&T) -> V) -> Vec<V> {
        self.slots.iter().map(value).collect()
    }

    fn index(&self, since_start_ns: u64) -> usize {
        let index = since_start_ns.saturating_sub(1) / self.interval_ns;
        usize::try_from(index).unwrap_or(usize::MAX).min(self.max_intervals - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_falls_into_its_interval() {
        let mut series = Series::<u64>::new(10);
        for (time, bytes) in [(0, 1), (10, 2), (11, 4), (35, 8)] {
            *series.at(time) += bytes;
        }
        assert_eq!(series.slots(), [3, 4, 0, 8]);
        assert_eq!(series.ends_ns(35), [10, 20, 30, 35]);
    }

    #[test]
    fn quiet_intervals_at_the_end_are_there() {
        let mut series = Series::<u64>::new(10);
        *series.at(5) += 1;
        series.close(30);
        assert_eq!(series.slots(), [1, 0, 0]);
        assert_eq!(series.ends_ns(30), [10, 20, 30]);
    }

    #[test]
    fn what_ends_just_after_the_window_belongs_to_its_last_interval() {
        let mut series = Series::<u64>::of_window(10, Some(30));
        *series.at(29) += 1;
        *series.at(31) += 2;
        assert_eq!(series.slots(), [0, 0, 3]);
        assert_eq!(series.ends_ns(31), [10, 20, 31]);
    }

    #[test]
    fn series_of_several_streams_add_up() {
        let mut series = Series::<u64>::new(10);
        *series.at(5) += 1;
        let mut two = Series::<u64>::new(10);
        *two.at(5) += 2;
        *two.at(15) += 4;
        series.merge(&two, |mine, theirs| *mine += theirs);
        assert_eq!(series.slots(), [3, 4]);
    }

    #[test]
    fn times_without_end_do_not_take_memory_without_end() {
        let mut series = Series::<u8>::new(1);
        *series.at(u64::MAX) += 1;
        assert_eq!(series.slots().len(), MAX_INTERVALS);
        assert_eq!(series.ends_ns(u64::MAX).last(), Some(&u64::MAX));
    }
}
