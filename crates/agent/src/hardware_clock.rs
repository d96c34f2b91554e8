//! `hardware-clock N`: readings of `/dev/ptpN` between two readings of the system's realtime clock, as JSON.

use std::fs::File;
use std::os::fd::AsFd;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::{complain, sys};

/// Prints the readings of a clock by its number.
pub fn run(number: u32) -> ExitCode {
    let path = format!("/dev/ptp{number}");
    let doing = |what: &str, error| format!("{what} {path}: {error}");
    let readings = File::open(&path)
        .map_err(|error| doing("opening", error))
        .and_then(|file| sys::hardware_times(file.as_fd()).map_err(|error| doing("reading the clock", error)));
    match readings {
        Ok(readings) => {
            println!("{}", readings_as_json(&readings));
            ExitCode::SUCCESS
        }
        Err(why) => complain(&why, 1),
    }
}

/// Each reading as the system's time before, the clock's, and the system's after, in nanoseconds.
fn readings_as_json(readings: &[[sys::PtpTime; 3]]) -> Value {
    let times = readings.iter().map(|reading| json!(reading.map(nanoseconds)));
    json!({"readings": times.collect::<Vec<_>>()})
}

fn nanoseconds(time: sys::PtpTime) -> i64 {
    time.seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(time.nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_in_nanoseconds() {
        let at = |seconds, nanoseconds| sys::PtpTime { seconds, nanoseconds, ..sys::PtpTime::default() };
        let readings = [[at(1, 5), at(38, 7), at(1, 9)], [at(-1, 999_999_999), at(0, 0), at(i64::MAX, 0)]];
        let expected = json!({"readings": [
            [1_000_000_005_i64, 38_000_000_007_i64, 1_000_000_009_i64],
            [-1, 0, i64::MAX],
        ]});
        assert_eq!(readings_as_json(&readings), expected);
    }
}
