//! The bounds of requests: number, size and time. Each is checked before the first packet.

use std::ops::RangeInclusive;

use sixbench_packet::{Error, Result};

/// One second.
pub const SECOND_NS: u64 = 1_000_000_000;
/// Attempts of a request, at most.
const MAX_COUNT: u64 = 100;
/// Time of one attempt.
const TIMEOUTS_NS: RangeInclusive<u64> = 1_000_000..=30 * SECOND_NS;
/// Time of a whole request, at most.
const MAX_REQUEST_NS: u64 = 600 * SECOND_NS;

/// The repetitions of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    /// Number of attempts.
    pub count: u64,
    /// Time between the begins of two.
    pub interval_ns: u64,
    /// Longest time of one.
    pub timeout_ns: u64,
}

/// The repetitions as a request has them.
#[derive(Debug, Clone, Copy)]
pub struct AskedRepeats {
    /// Number of attempts.
    pub count: Option<u64>,
    /// Time between the begins of two.
    pub interval_ns: Option<u64>,
    /// Longest time of one.
    pub timeout_ns: Option<u64>,
}

impl AskedRepeats {
    /// The repetitions with the defaults in place.
    ///
    /// # Errors
    /// `bad-params` where one is out of range, or all together take too long.
    pub fn checked(self, least_interval_ns: u64, default_timeout_ns: u64) -> Result<Repeats> {
        let repeats = Repeats {
            count: within("count", self.count.unwrap_or(1), 1..=MAX_COUNT)?,
            interval_ns: within(
                "interval_ns",
                self.interval_ns.unwrap_or(SECOND_NS),
                least_interval_ns..=60 * SECOND_NS,
            )?,
            timeout_ns: timeout_ns(self.timeout_ns, default_timeout_ns)?,
        };
        let longest_ns = repeats.count.saturating_mul(repeats.interval_ns.max(repeats.timeout_ns));
        if longest_ns > MAX_REQUEST_NS {
            let most_s = MAX_REQUEST_NS / SECOND_NS;
            return Err(Error::bad_params(format!(
                "`count` attempts may take {} s, and a request has at most {most_s} s: ask for fewer at once",
                longest_ns / SECOND_NS
            )));
        }
        Ok(repeats)
    }
}

/// The time limit of one attempt.
///
/// # Errors
/// `bad-params` where it is out of range.
pub fn timeout_ns(asked_ns: Option<u64>, default_ns: u64) -> Result<u64> {
    within("timeout_ns", asked_ns.unwrap_or(default_ns), TIMEOUTS_NS)
}

/// The value, where it is in the range.
///
/// # Errors
/// `bad-params` where it is not.
pub fn within(name: &str, value: u64, range: RangeInclusive<u64>) -> Result<u64> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (least, most) = (range.start(), range.end());
    Err(Error::bad_params(format!("`{name}` must be from {least} to {most}, not {value}")))
}

/// A port that a server can have.
///
/// # Errors
/// `bad-params` where it is 0.
pub fn port(port: u16) -> Result<u16> {
    within("port", port.into(), 1..=u64::from(u16::MAX)).map(|_| port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_bounded_in_number_and_time() {
        let asked = |count, interval_ns, timeout_ns| AskedRepeats { count, interval_ns, timeout_ns };
        let repeats = asked(None, None, None).checked(SECOND_NS, 3 * SECOND_NS).unwrap();
        assert_eq!(repeats, Repeats { count: 1, interval_ns: SECOND_NS, timeout_ns: 3 * SECOND_NS });
        for (wrong, words) in [
            (asked(Some(0), None, None), "`count` must be from 1 to 100, not 0"),
            (asked(Some(101), None, None), "`count`"),
            (asked(None, Some(SECOND_NS - 1), None), "`interval_ns` must be from 1000000000"),
            (asked(None, None, Some(31 * SECOND_NS)), "`timeout_ns`"),
            (asked(Some(100), None, Some(10 * SECOND_NS)), "`count` attempts may take 1000 s"),
        ] {
            let error = wrong.checked(SECOND_NS, 3 * SECOND_NS).unwrap_err();
            assert!(error.message.contains(words), "{error}");
        }
        assert!(port(0).is_err() && port(443).is_ok());
    }
}
