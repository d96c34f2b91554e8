//! The places where the kernel drops packets in some namespaces, the reasons, and the datagrams of a trial among them:
//! `bpf/drops.bpf.c`.

use std::collections::BTreeMap;

use aya::include_bytes_aligned;
use aya::maps::{MapData, RingBuf};
use aya::util::KernelVersion;
use serde::Serialize;

use crate::Result;
use crate::reasons::Reasons;
use crate::tracepoints::{Tracepoints, refused};

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/drops.bpf.o"));

/// The purpose that errors name.
const WATCHING: &str = "for dropped packets";
/// First kernel whose tracepoint tells the receiving socket.
const SOCKET_SINCE: (u8, u8) = (6, 11);

/// Most namespaces that can be watched: MAX_WATCHED in `bpf/drops.h`.
pub const MAX_WATCHED: usize = 1024;
/// Most ranges of sequence numbers that are listed for a place; packets beyond them are only counted.
const MAX_RANGES: usize = 4096;

/// `struct drop_place` as the kernel shares it.
type RawPlace = [u8; 32];
/// `struct drop_count`: packets, warmup, measured, untold.
type RawCount = [u64; 4];
/// Bytes of `struct drop_record`.
const RECORD_BYTES: usize = 48;

/// The program, loaded, and watching while it is attached.
pub struct Drops {
    program: Tracepoints,
    reasons: Reasons,
    records: RingBuf<MapData>,
}

/// A way of being dropped, and what was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// The namespace.
    pub netns_inode: u32,
    /// The device, where the kernel knows it; not for sockets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The packet's place at the device.
    pub side: Side,
    /// The kernel's name of the reason, such as `NETFILTER_DROP`; `reason N` where it has none.
    pub reason: String,
    /// The version of the outermost IP header; absent where none was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_version: Option<u8>,
    /// The protocol number in the outermost IP header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u8>,
    /// Number of all packets, as on the wire.
    pub packets: u64,
    /// Number of packets that carry the trial's datagrams: of its warm-up, and measured.
    pub warmup: u64,
    /// See `warmup`.
    pub measured: u64,
    /// The sequence numbers of the measured ones, first and last of each range.
    pub sequences: Vec<(u64, u64)>,
    /// Measured ones whose numbers are not among `sequences` for want of room.
    pub untold: u64,
}

/// `enum drop_side`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The kernel does not say.
    Unknown,
    /// The packet was behind the device that received it.
    Ingress,
    /// The packet was on its way out of the device.
    Egress,
    /// The packet was at a socket.
    Socket,
}

impl Drops {
    /// Loads the program. Nothing is watched yet.
    pub fn load() -> Result<Self> {
        let reasons = Reasons::of_this_kernel().map_err(|error| refused(WATCHING, &error))?;
        let has_socket = KernelVersion::current()
            .is_ok_and(|version| version >= KernelVersion::new(SOCKET_SINCE.0, SOCKET_SINCE.1, 0));
        let mut program =
            Tracepoints::load(WATCHING, OBJECT, ("HAS_SOCKET", &u8::from(has_socket)), &[("drops", "kfree_skb")])?;
        let records = program.take_records("RECORDS")?;
        Ok(Self { program, reasons, records })
    }

    /// Watches these namespaces from now on for the datagrams of a trial, and forgets earlier counts.
    ///
    /// `token`: the first eight bytes of the trial's token.
    pub fn start(&mut self, netns_inodes: &[u32], token: u64) -> Result<()> {
        self.program.detach();
        while self.records.next().is_some() {}
        self.program.replace::<RawPlace, RawCount>("PLACES", [])?;
        self.program.replace("WATCHED", netns_inodes.iter().map(|&inode| (inode, 1_u8)))?;
        self.program.set("SOUGHT", token.to_be())?;
        self.program.attach()
    }

    /// Stops watching, and tells what was dropped.
    pub fn stop(&mut self) -> Result<Vec<Dropped>> {
        self.program.detach();
        let mut sequences = BTreeMap::<RawPlace, Vec<(u64, u64)>>::new();
        while let Some(record) = self.records.next() {
            if let Some((place, range)) = parse_record(&record) {
                sequences.entry(place).or_default().push(range);
            }
        }
        let places = self.program.entries::<RawPlace, RawCount>("PLACES")?.into_iter();
        let described = places
            .map(|(place, count)| describe(&place, count, sequences.remove(&place).unwrap_or_default(), &self.reasons));
        Ok(described.collect())
    }
}

/// The place where a datagram was dropped, and the first and the last number of those that it stands for.
fn parse_record(record: &[u8]) -> Option<(RawPlace, (u64, u64))> {
    let record: &[u8; RECORD_BYTES] = record.try_into().ok()?;
    let place = *record.first_chunk::<32>()?;
    let first = u64::from_ne_bytes(*record[32..].first_chunk()?);
    let datagrams = u32::from_ne_bytes(*record[40..].first_chunk()?);
    Some((place, (first, first.saturating_add(u64::from(datagrams.saturating_sub(1))))))
}

fn describe(place: &RawPlace, count: RawCount, ranges: Vec<(u64, u64)>, reasons: &Reasons) -> Dropped {
    let word = |at: usize| u32::from_ne_bytes([place[at], place[at + 1], place[at + 2], place[at + 3]]);
    let device = String::from_utf8_lossy(place[16..].split(|&byte| byte == 0).next().unwrap_or_default()).into_owned();
    let [packets, warmup, measured, mut untold] = count;
    let mut sequences = joined(ranges);
    let beyond = sequences.split_off(sequences.len().min(MAX_RANGES));
    untold += beyond.iter().map(|(first, last)| last - first + 1).sum::<u64>();
    Dropped {
        netns_inode: word(0),
        device: (!device.is_empty()).then_some(device),
        side: match place[12] {
            1 => Side::Ingress,
            2 => Side::Egress,
            3 => Side::Socket,
            _ => Side::Unknown,
        },
        reason: reasons.name(word(8)),
        ip_version: (place[13] != 0).then_some(place[13]),
        protocol: (place[13] != 0).then_some(place[14]),
        packets,
        warmup,
        measured,
        sequences,
        untold,
    }
}

/// Ranges in order, those that touch as one.
fn joined(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut joined = Vec::<(u64, u64)>::new();
    for (first, last) in ranges {
        match joined.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> RawPlace {
        let mut place = [0; 32];
        place[..4].copy_from_slice(&7_u32.to_ne_bytes());
        place[4..8].copy_from_slice(&3_u32.to_ne_bytes());
        place[8..12].copy_from_slice(&9_u32.to_ne_bytes());
        place[12..15].copy_from_slice(&[1, 4, 17]);
        place[16..20].copy_from_slice(b"h1r1");
        place
    }

    fn record(sequence: u64, datagrams: u32) -> [u8; RECORD_BYTES] {
        let mut record = [0; RECORD_BYTES];
        record[..32].copy_from_slice(&place());
        record[32..40].copy_from_slice(&sequence.to_ne_bytes());
        record[40..44].copy_from_slice(&datagrams.to_ne_bytes());
        record
    }

    #[test]
    fn a_record_stands_for_all_datagrams_of_a_segment() {
        assert_eq!(parse_record(&record(5, 1)), Some((place(), (5, 5))));
        assert_eq!(parse_record(&record(5, 3)), Some((place(), (5, 7))));
        assert_eq!(parse_record(&record(5, 3)[1..]), None);
        assert_eq!(parse_record(&[]), None);
    }

    #[test]
    fn places_are_described_in_words() {
        let reasons = Reasons::from_names([(9, "NETFILTER_DROP")]);
        let dropped = describe(&place(), [4, 1, 3, 0], vec![(7, 8), (2, 2)], &reasons);
        assert_eq!((dropped.netns_inode, dropped.device.as_deref(), dropped.side), (7, Some("h1r1"), Side::Ingress));
        assert_eq!(
            (dropped.reason.as_str(), dropped.ip_version, dropped.protocol),
            ("NETFILTER_DROP", Some(4), Some(17))
        );
        assert_eq!(dropped.sequences, [(2, 2), (7, 8)]);
        assert_eq!(describe(&[0; 32], [1, 0, 0, 0], vec![], &reasons).reason, "reason 0");
    }

    #[test]
    fn ranges_that_touch_or_overlap_are_one() {
        assert_eq!(joined(vec![(5, 6), (0, 1), (2, 2), (4, 4), (6, 9)]), [(0, 2), (4, 9)]);
        assert_eq!(joined(vec![(0, u64::MAX), (3, 4)]), [(0, u64::MAX)]);
        assert_eq!(joined(vec![]), []);
    }

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let ranges = (0..MAX_RANGES as u64 + 3).map(|number| (number * 3, number * 3 + 1)).collect();
        let dropped = describe(&place(), [0, 0, 0, 1], ranges, &Reasons::from_names([]));
        assert_eq!((dropped.sequences.len(), dropped.untold), (MAX_RANGES, 1 + 6));
    }
}
