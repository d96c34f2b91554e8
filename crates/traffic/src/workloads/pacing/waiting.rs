//! Waits for exact times: asleep, except for the last stretch.
//!
//! A thread that sleeps wakes late, by the time that its timer, its core's idle state and its scheduler take. The
//! lateness is measured at every wake. The thread sleeps for that much less, and spins for the rest. Another thread
//! that wants the core at that moment would keep it for milliseconds, so this one asks the scheduler for preference.

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock::{self, PreciseTimers};
use sixbench_measure::cpu;
use sixbench_measure::sys::scheduling::RealTime;

/// The longest stretch that is spun, unless the workload says otherwise.
pub const DEFAULT_SPIN_NS: u64 = 50_000;
/// Share of wakes that may be later than the stretch is long.
const LATE_SHARE: f64 = 0.01;
/// Step of an estimate at a wake, in parts of itself.
const STEP: f64 = 0.2;
/// The least lateness of a timer.
const LEAST_SPIN_NS: f64 = 1_000.0;

/// Waits of one thread. Its timers are precise, and it is scheduled in real time, as long as this lives.
pub struct Waits {
    _timers: PreciseTimers,
    real_time: Option<RealTime>,
    stretch: Stretch,
    spun_ns: u64,
}

impl Waits {
    /// Spins at most the last `most_spin_ns` of each wait. On a machine of one core it leaves that to the receiver: it
    /// does not spin, and asks for no preference. Which cores this process may use does not matter: the receiver may
    /// use others.
    pub fn new(most_spin_ns: u64) -> Self {
        let has_cores = cpu::sample().cores.len() > 1;
        let most_spin_ns = if has_cores { most_spin_ns } else { 0 };
        Self {
            _timers: PreciseTimers::new(),
            real_time: has_cores.then(RealTime::ask),
            stretch: Stretch::new(most_spin_ns),
            spun_ns: 0,
        }
    }

    /// Spins as [`Waits::new`] does, at the priority that the thread has: one that spins much of its time would be
    /// stopped for 50 ms of each second in real time (`kernel.sched_rt_runtime_us`).
    pub fn at_normal_priority(most_spin_ns: u64) -> Self {
        let has_cores = cpu::sample().cores.len() > 1;
        Self {
            _timers: PreciseTimers::new(),
            real_time: None,
            stretch: Stretch::new(if has_cores { most_spin_ns } else { 0 }),
            spun_ns: 0,
        }
    }

    /// Waits until that time on the monotonic clock, or `patience_ns` at most, or a signal.
    pub fn until(&mut self, due_ns: u64, patience_ns: u64) {
        let from_ns = clock::monotonic_ns();
        let spin_ns = self.stretch.length_ns();
        let mut now_ns = from_ns;
        if due_ns.saturating_sub(spin_ns) > now_ns {
            let wake_ns = due_ns.saturating_sub(spin_ns).min(from_ns.saturating_add(patience_ns));
            clock::sleep_until(wake_ns);
            now_ns = clock::monotonic_ns();
            if now_ns < wake_ns || now_ns < due_ns.saturating_sub(spin_ns) {
                return;
            }
            self.stretch.note(now_ns - wake_ns);
        }
        let began_ns = now_ns;
        // A stretch of 0 leaves what is left of the wait to the next look at the clock.
        while spin_ns > 0 && now_ns < due_ns {
            std::hint::spin_loop();
            now_ns = clock::monotonic_ns();
        }
        self.spun_ns += now_ns - began_ns;
    }

    /// Time that was spun since the last call.
    pub fn take_spun_ns(&mut self) -> u64 {
        std::mem::take(&mut self.spun_ns)
    }

    /// The account of the waits. `warmup_spun_ns`: the time that was spun in the warm-up.
    pub fn tally(&self, warmup_spun_ns: u64) -> WaitTally {
        WaitTally {
            spin_ns: self.stretch.length_ns(),
            spun_ns: self.spun_ns,
            warmup_spun_ns,
            real_time: self.real_time.as_ref().is_some_and(RealTime::is_granted),
        }
    }
}

/// The account of a sender's waits: `waits` of the results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WaitTally {
    /// Length of the last stretch that was spun.
    pub spin_ns: u64,
    /// Time that was spun in the measured part.
    pub spun_ns: u64,
    /// Time that was spun in the warm-up.
    pub warmup_spun_ns: u64,
    /// True if the sender had real-time priority.
    pub real_time: bool,
}

/// The length of the last stretch: as long as all but [`LATE_SHARE`] of the wakes were late. Pure.
#[derive(Debug)]
struct Stretch {
    most_ns: f64,
    estimate_ns: f64,
}

impl Stretch {
    fn new(most_ns: u64) -> Self {
        Self { most_ns: most_ns as f64, estimate_ns: most_ns as f64 }
    }

    fn length_ns(&self) -> u64 {
        self.estimate_ns as u64
    }

    /// A wake was so late. The estimate rises and falls so that it is in balance where [`LATE_SHARE`] are later: how
    /// much later does not matter, since a thread that was kept from its core shows nothing about its timer.
    fn note(&mut self, late_ns: u64) {
        let step_ns = STEP * self.estimate_ns;
        self.estimate_ns += step_ns * if late_ns as f64 > self.estimate_ns { 1.0 - LATE_SHARE } else { -LATE_SHARE };
        self.estimate_ns = self.estimate_ns.max(LEAST_SPIN_NS).min(self.most_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stretch_is_what_nearly_all_wakes_are_late() {
        let mut stretch = Stretch::new(50_000);
        // 5 to 9.9 us, and one of a hundred much later.
        for wake in 0..20_000_u64 {
            stretch.note(if wake % 100 == 0 { 3_000_000 } else { 5_000 + wake * 37 % 4_900 });
        }
        assert!((8_000..16_000).contains(&stretch.length_ns()), "{}", stretch.length_ns());
    }

    #[test]
    fn it_has_its_bounds() {
        let mut stretch = Stretch::new(50_000);
        (0..10_000).for_each(|_| stretch.note(0));
        assert_eq!(stretch.length_ns(), 1_000);
        (0..10_000).for_each(|_| stretch.note(1_000_000));
        assert_eq!(stretch.length_ns(), 50_000);
        let mut none = Stretch::new(0);
        none.note(1_000_000);
        assert_eq!(none.length_ns(), 0);
    }

    #[test]
    fn a_wait_is_never_too_short() {
        for most_spin_ns in [0, DEFAULT_SPIN_NS] {
            let mut waits = Waits::new(most_spin_ns);
            for ahead_ns in [0, 500, 30_000, 400_000] {
                let due_ns = clock::monotonic_ns() + ahead_ns;
                while clock::monotonic_ns() < due_ns {
                    waits.until(due_ns, 1_000_000);
                }
                assert!(clock::monotonic_ns() >= due_ns);
            }
            let early_ns = clock::monotonic_ns();
            waits.until(early_ns + 3_600_000_000_000, 10);
            assert!(clock::monotonic_ns() < early_ns + 3_600_000_000_000);
        }
    }
}
