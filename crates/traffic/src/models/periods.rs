//! On and off: a source that sends and is silent by turns.

use sixbench_measure::random::{Random, Stream};

use super::distribution::Distribution;

/// Lengths of the periods in which a source is on or off. Units are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnOff {
    /// Time for which it sends.
    pub on: Distribution,
    /// Time for which it is silent.
    pub off: Distribution,
}

/// The shortest mean period: bounds the work of finding the next datagram.
pub const MIN_PERIOD_NS: u64 = 1_000_000;

/// Turns time that passes while a source is on into all time.
#[derive(Debug, Clone)]
pub struct Periods {
    on_off: OnOff,
    random: Random,
    /// Time that is left of the period that is on.
    left_ns: f64,
}

impl Periods {
    /// Begins with a period that is on.
    pub fn new(on_off: OnOff, seed: u64, round: u64) -> Self {
        let mut random = Random::new(seed, Stream::Periods, round);
        let left_ns = on_off.on.draw(&mut random);
        Self { on_off, random, left_ns }
    }

    /// The whole time that passes until the source was on for so much time; at the end of a period that is on, its off
    /// period has passed.
    pub fn pass(&mut self, on_ns: f64) -> f64 {
        let (mut still_ns, mut all_ns) = (on_ns, 0.0);
        while still_ns >= self.left_ns {
            still_ns -= self.left_ns;
            all_ns += self.left_ns + self.on_off.off.draw(&mut self.random);
            self.left_ns = self.on_off.on.draw(&mut self.random);
        }
        self.left_ns -= still_ns;
        all_ns + still_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_by_hand() {
        let on_off = OnOff { on: Distribution::Constant { value: 30.0 }, off: Distribution::Constant { value: 70.0 } };
        let mut periods = Periods::new(on_off, 1, 0);
        // On from 0 to 30, from 100 to 130, from 200 to 230: 20 is at 20, 40 at 110, 60 at 200, 125 at 400 + 5.
        assert_eq!([20.0, 20.0, 20.0, 65.0].map(|gap| periods.pass(gap)), [20.0, 90.0, 90.0, 205.0]);
    }

    #[test]
    fn exponential_periods_have_their_share() {
        let exponential = |mean| Distribution::Exponential { mean };
        let mut periods = Periods::new(OnOff { on: exponential(1e6), off: exponential(3e6) }, 5, 0);
        let all_ns: f64 = (0..400_000).map(|_| periods.pass(1e5)).sum();
        assert!((all_ns / (400_000.0 * 1e5) - 4.0).abs() < 0.06, "{all_ns}");
    }
}
