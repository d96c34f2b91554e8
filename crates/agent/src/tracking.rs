//! `connection-tracking`: the connections that the node's namespace tracks, and those that it did not take.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};
use serde_json::json;
use sixbench_measure::clock;
use sixbench_netlink::tracking;

use crate::error::{Code, Error, Outcome};
use crate::sys;

const SETTINGS: &str = "/proc/sys/net/netfilter";
/// A line for each processor, of this namespace alone.
const STATISTICS: &str = "/proc/thread-self/net/stat/nf_conntrack";
/// The kernel's slabs, of the whole machine, and for root alone.
const SLABS: &str = "/proc/slabinfo";
const SLAB: &str = "nf_conntrack";
/// The columns of [`STATISTICS`] that are reported. `insert` counts only entries that user space put in (seen with
/// Linux 6.18): the rise of the count shows the others.
const TOLD: [&str; 4] = ["insert", "insert_failed", "drop", "early_drop"];

/// The memory of the kernel's entries, of all namespaces together.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Slab {
    /// Entries in use; those that processors keep at hand count as used.
    objects: u64,
    /// Bytes of each entry, with its share of what is left over at the end of a slab.
    object_bytes: u64,
}

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrackingRequest {
    /// True if all connections are forgotten first.
    #[serde(default)]
    forget: bool,
}

/// Forgets if asked to, and reads. `forgotten` is true if this kernel can forget, which takes `nf_conntrack_netlink`,
/// and `forget_ns` is the time that this took.
pub fn answer(request: &TrackingRequest) -> Outcome {
    let begun_ns = clock::monotonic_ns();
    let forgotten = request.forget.then(|| tracking::forget_all().is_ok());
    let forget_ns = clock::monotonic_ns() - begun_ns;
    let mut answer = read()?;
    if let Some(forgotten) = forgotten {
        answer["forgotten"] = json!(forgotten);
        answer["forget_ns"] = json!(forget_ns);
    }
    Ok(answer)
}

/// Reads the counters. Without connection tracking in the kernel the answer is empty.
fn read() -> Outcome {
    let mut answer = json!({});
    let (Some(sessions), Some(most)) = (setting("nf_conntrack_count")?, setting("nf_conntrack_max")?) else {
        return Ok(answer);
    };
    answer["sessions"] = json!(sessions);
    answer["most"] = json!(most);
    // A kernel without CONFIG_NF_CONNTRACK_PROCFS does not tell these.
    if let Ok(text) = fs::read_to_string(STATISTICS) {
        answer["statistics"] = json!(parse_statistics(&text));
    }
    let slab = fs::read_to_string(SLABS).ok().and_then(|text| parse_slab(&text, sys::page_bytes()));
    if let Some(slab) = slab {
        answer["slab"] = json!(slab);
    }
    Ok(answer)
}

/// Absent where the kernel has no such setting.
fn setting(name: &str) -> Result<Option<u64>, Error> {
    let path = format!("{SETTINGS}/{name}");
    let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
    let number = text
        .trim()
        .parse()
        .map_err(|_| Error::new(Code::Internal, format!("reading {path}: {:?} is not a number", text.trim())))?;
    Ok(Some(number))
}

/// Reads a line of names, then a line of hexadecimal numbers for each processor: the sums of those that are reported.
fn parse_statistics(text: &str) -> BTreeMap<&'static str, u64> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split_ascii_whitespace().collect();
    let rows: Vec<Vec<u64>> = lines
        .map(|line| line.split_ascii_whitespace().map_while(|word| u64::from_str_radix(word, 16).ok()).collect())
        .collect();
    TOLD.into_iter()
        .filter_map(|name| {
            let column = names.iter().position(|column| *column == name)?;
            Some((name, rows.iter().filter_map(|row| row.get(column)).sum()))
        })
        .collect()
}

/// `slabinfo` 2.1: `name active_objs num_objs objsize objperslab pagesperslab : ...`.
fn parse_slab(text: &str, page_bytes: u64) -> Option<Slab> {
    let line = text.lines().find(|line| line.split_ascii_whitespace().next() == Some(SLAB))?;
    let numbers: Vec<u64> = line.split_ascii_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
    match numbers[..] {
        [objects, _, _, of_slab, pages, ..] if of_slab > 0 => {
            Some(Slab { objects, object_bytes: pages * page_bytes / of_slab })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_sums_over_processors_in_hexadecimal() {
        let text = "entries  clashres insert insert_failed drop early_drop icmp_error\n\
                    000000c8  00000000 00000000 0000000a 00000001 00000000 00000007\n\
                    000000c8  00000000 00000000 000000fa 00000002 00000003 00000000\n";
        let expected = BTreeMap::from([("insert", 0), ("insert_failed", 260), ("drop", 3), ("early_drop", 3)]);
        assert_eq!(parse_statistics(text), expected);
        assert_eq!(parse_statistics("entries\n00000001\n"), BTreeMap::new());
        assert_eq!(parse_statistics(""), BTreeMap::new());
    }

    #[test]
    fn a_slab_is_known_by_its_whole_name() {
        let text = "slabinfo - version: 2.1\n\
                    # name <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables\n\
                    nf_conntrack_expect 0 0 208 19 1 : tunables 0 0 0 : slabdata 0 0 0\n\
                    nf_conntrack 208 272 248 16 1 : tunables 0 0 0 : slabdata 17 17 0\n";
        assert_eq!(parse_slab(text, 4096), Some(Slab { objects: 208, object_bytes: 256 }));
        assert_eq!(parse_slab("nf_conntrack 1 2", 4096), None);
        assert_eq!(parse_slab("", 4096), None);
    }

    #[test]
    fn the_answer_has_the_count_and_the_most_or_nothing() {
        let answer = read().expect("an answer");
        assert!(answer == json!({}) || answer["sessions"].is_u64() && answer["most"].is_u64(), "{answer}");
    }
}
