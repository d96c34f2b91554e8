//! `timers-start` and `timers-stop`: how late the timers of queueing disciplines are.

use std::time::Instant;

use serde::Deserialize;
use serde_json::json;
use sixbench_plane::Timers;
use sixbench_plane::timers::{Device, MAX_DEVICES};

use crate::error::{Code, Error, Outcome};

/// A request to begin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    devices: Vec<Device>,
}

/// The program that watches, once it was asked for.
#[derive(Default)]
pub struct Watch {
    timers: Option<Timers>,
    since: Option<Instant>,
}

impl Watch {
    /// Watches from now on; what was watched before is forgotten.
    pub fn start(&mut self, request: &Start) -> Outcome {
        let count = request.devices.len();
        if !(1..=MAX_DEVICES).contains(&count) {
            return Err(Error::bad_request(format!(
                "timers-start: devices has {count} entries, not from 1 to {MAX_DEVICES}"
            )));
        }
        self.since = None;
        let timers = match &mut self.timers {
            Some(timers) => timers,
            None => self.timers.insert(Timers::load()?),
        };
        timers.start(&request.devices)?;
        self.since = Some(Instant::now());
        Ok(json!({}))
    }

    /// Stops watching, and returns the counts of each device's timers.
    pub fn stop(&mut self) -> Outcome {
        let (Some(timers), Some(since)) = (self.timers.as_mut(), self.since.take()) else {
            return Err(Error::new(Code::NoCapture, "no timers are being watched: send timers-start first"));
        };
        let elapsed_ns = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let devices = timers.stop()?;
        Ok(json!({ "elapsed_ns": elapsed_ns, "devices": devices }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_a_device_or_with_too_many_is_refused() {
        let refused = |count: usize| {
            let device = || Device { netns_inode: 1, name: "h1r1".to_owned(), slack_ns: 0 };
            let devices = std::iter::repeat_with(device).take(count).collect();
            Watch::default().start(&Start { devices }).expect_err("refused").message
        };
        assert!(refused(0).contains("has 0 entries"));
        assert!(refused(MAX_DEVICES + 1).contains("has 4097 entries"));
    }

    #[test]
    fn nothing_can_be_stopped_that_was_not_started() {
        assert_eq!(Watch::default().stop().expect_err("refused").code, Code::NoCapture);
    }
}
