//! `perf-start` and `perf-stop`: cycles and instructions of the whole machine.

use serde_json::json;
use sixbench_measure::perf::{CYCLES_AND_INSTRUCTIONS, Pair, PerfCounters, Refusal};

use crate::error::{Code, Error, Outcome};

/// The counters, while they run.
pub struct Perf {
    pair: Pair,
    counters: Option<PerfCounters>,
}

impl Default for Perf {
    fn default() -> Self {
        Self { pair: CYCLES_AND_INSTRUCTIONS, counters: None }
    }
}

impl Perf {
    /// Counts from now on, and forgets earlier counts.
    pub fn start(&mut self) -> Outcome {
        self.counters = None;
        self.counters = Some(PerfCounters::open(self.pair).map_err(refused)?);
        Ok(json!({}))
    }

    /// Stops counting, and returns the counts.
    pub fn stop(&mut self) -> Outcome {
        let Some(counters) = self.counters.take() else {
            return Err(Error::new(Code::NoCapture, "no events are being counted: send perf-start first"));
        };
        let total = counters.total().map_err(refused)?;
        let [cycles, instructions] = total.counts;
        Ok(json!({
            "cycles": cycles,
            "instructions": instructions,
            "cpus": total.cpus,
            "enabled_ns": total.enabled_ns,
            "running_ns": total.running_ns,
        }))
    }
}

fn refused(refusal: Refusal) -> Error {
    Error::new(Code::System, refusal.to_string()).with_call(refusal.call, &refusal.source)
}

#[cfg(test)]
mod tests {
    use sixbench_measure::perf::Event;

    use super::*;

    /// Context switches (`PERF_COUNT_SW_CONTEXT_SWITCHES`), which every kernel with perf events counts.
    const SWITCHES: Event = Event { kind: 1, config: 3 };

    #[test]
    fn it_is_counted_from_the_start_to_the_stop_only() {
        let mut perf = Perf { pair: Pair { name: "switches", events: [SWITCHES; 2] }, counters: None };
        assert_eq!(perf.stop().expect_err("not started").code, Code::NoCapture);
        if let Err(failure) = perf.start() {
            assert!(failure.message.contains("kernel.perf_event_paranoid"), "{}", failure.message);
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
        let counted = perf.stop().expect("it was started");
        // The two counters are read one after the other, while the machine goes on switching.
        for name in ["cycles", "instructions"] {
            assert!(counted[name].as_u64() > Some(0), "{counted}");
        }
        assert!(counted["running_ns"].as_u64() > Some(0), "{counted}");
        assert!(counted["running_ns"].as_u64() <= counted["enabled_ns"].as_u64(), "{counted}");
        assert_eq!(perf.stop().expect_err("it was stopped").code, Code::NoCapture);
    }

    #[test]
    fn a_refusal_names_the_call_and_the_error() {
        let nonesuch = Event { kind: 1, config: 999_999 };
        let mut perf = Perf { pair: Pair { name: "nothing", events: [nonesuch; 2] }, counters: None };
        let failure = perf.start().expect_err("there is no such event");
        assert_eq!(failure.code, Code::System);
        assert_eq!(failure.context["call"], "perf_event_open");
        assert!(failure.context["errno"].is_string());
        assert!(perf.counters.is_none());
    }
}
