//! `drops-start` and `drops-stop`: where the kernel drops packets, and which of a trial's they were.

use serde::Deserialize;
use serde_json::json;
use sixbench_plane::Drops;
use sixbench_plane::drops::MAX_WATCHED;
use sixbench_wire::token::Token;

use crate::error::{Code, Error, Outcome};

/// A request to begin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    netns_inodes: Vec<u32>,
    token: Token,
}

/// The program that watches, once it was asked for.
#[derive(Default)]
pub struct Watch {
    drops: Option<Drops>,
    is_watching: bool,
}

impl Watch {
    /// Watches from now on; what was watched before is forgotten.
    pub fn start(&mut self, request: &Start) -> Outcome {
        let count = request.netns_inodes.len();
        if !(1..=MAX_WATCHED).contains(&count) {
            return Err(Error::bad_request(format!(
                "drops-start: netns_inodes has {count} numbers, not from 1 to {MAX_WATCHED}"
            )));
        }
        self.is_watching = false;
        let drops = match &mut self.drops {
            Some(drops) => drops,
            None => self.drops.insert(Drops::load()?),
        };
        drops.start(&request.netns_inodes, request.token.short())?;
        self.is_watching = true;
        Ok(json!({}))
    }

    /// Stops watching, and tells what was dropped.
    pub fn stop(&mut self) -> Outcome {
        let Some(drops) = self.drops.as_mut().filter(|_| self.is_watching) else {
            return Err(Error::new(Code::NoCapture, "no drops are being watched: send drops-start first"));
        };
        self.is_watching = false;
        let dropped = drops.stop()?;
        Ok(json!({ "dropped": dropped }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_request_is_said_before_anything_is_loaded() {
        let mut watch = Watch::default();
        let mut refused = |netns_inodes: Vec<u32>| {
            watch.start(&Start { netns_inodes, token: Token([0; 16]) }).expect_err("refused").message
        };
        assert!(refused(vec![]).contains("has 0 numbers"));
        assert!(refused(vec![1; MAX_WATCHED + 1]).contains("has 1025 numbers"));
    }

    #[test]
    fn nothing_can_be_stopped_that_was_not_started() {
        assert_eq!(Watch::default().stop().expect_err("refused").code, Code::NoCapture);
    }
}
