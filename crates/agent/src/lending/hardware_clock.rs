//! The hardware clock of an interface (PTP hardware clock, PHC), as `ethtool -T` shows it.

use super::ask::output_of;

/// The words that `ethtool` writes before its number, in its versions before 6.13 and since.
const BEFORE: [&str; 2] = ["PTP Hardware Clock: ", "Hardware timestamp provider index: "];
/// The word for an interface without a clock.
const NONE: &str = "none";

/// The device of an interface's clock, such as `/dev/ptp0`, or `none`; absent where that is not known.
pub fn of(interface: &str) -> Option<String> {
    read(&output_of("ethtool", &["-T", interface]).ok()?)
}

fn read(text: &str) -> Option<String> {
    let number_of = |line: &str| BEFORE.iter().find_map(|before| line.trim().strip_prefix(before)).map(str::to_owned);
    match text.lines().find_map(number_of)?.as_str() {
        NONE => Some(NONE.to_owned()),
        number => number.parse::<u32>().ok().map(|number| format!("/dev/ptp{number}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_has_a_clock_or_none_or_that_is_not_known() {
        let number_of = |line: &str| {
            read(&format!("Time stamping parameters for eth1:\nCapabilities:\n\tsoftware-receive\n{line}\n"))
        };
        assert_eq!(number_of("PTP Hardware Clock: 1").as_deref(), Some("/dev/ptp1"));
        assert_eq!(number_of("Hardware timestamp provider index: 0").as_deref(), Some("/dev/ptp0"));
        assert_eq!(number_of("PTP Hardware Clock: none").as_deref(), Some("none"));
        assert_eq!(number_of("PTP Hardware Clock: many"), None);
        assert_eq!(read(""), None);
    }
}
