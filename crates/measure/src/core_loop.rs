//! Times a loop that keeps all units of a core busy. The loop takes longer where another thread of the core uses some
//! of the units, or the core has a lower frequency. No counter of a virtual machine shows either.

use std::hint::black_box;

use serde::Serialize;

use crate::clock;

/// Number of times the loop is timed, some 0.2 ms in all.
const LOOPS: usize = 128;
/// Rounds of one timed loop: a microsecond or two, beside which reading the clock takes little.
const ROUNDS: u64 = 1000;

/// Durations of the timed loops.
#[derive(Debug, Clone, Serialize)]
pub struct LoopTimes {
    /// The median, which ignores a few loops that an interrupt or another program made longer.
    pub median_ns: u64,
    /// The shortest time.
    pub least_ns: u64,
}

/// Times the loop on the processor that this thread runs on.
pub fn loop_times() -> LoopTimes {
    let mut times_ns = [0; LOOPS];
    let mut seed = 1;
    for time_ns in &mut times_ns {
        let begun_ns = clock::monotonic_ns();
        seed = black_box(go_round(black_box(seed)));
        *time_ns = clock::monotonic_ns() - begun_ns;
    }
    times_ns.sort_unstable();
    LoopTimes { median_ns: times_ns[LOOPS / 2], least_ns: times_ns[0] }
}

/// Six chains that do not wait for each other, of steps that each wait for the one before.
fn go_round(seed: u64) -> u64 {
    let mut chains = [seed, seed + 1, seed + 2, seed + 3, seed + 4, seed + 5];
    for round in 0..ROUNDS {
        for (number, chain) in (1..).zip(&mut chains) {
            *chain = chain.rotate_left(number).wrapping_add(*chain) ^ round;
        }
    }
    chains.into_iter().fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_no_less_than_the_shortest_and_both_take_time() {
        let times = loop_times();
        assert!(times.least_ns > 0);
        assert!(times.median_ns >= times.least_ns);
    }

    #[test]
    fn what_it_computes_depends_on_its_seed_so_that_it_cannot_be_left_out() {
        assert_ne!(go_round(1), go_round(2));
    }
}
