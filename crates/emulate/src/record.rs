//! Counts and times of what a link really did to its packets.

use std::collections::BTreeMap;
use std::io;

use nix::errno::Errno;
use serde_json::{Value, json};
use sixbench_measure::delay::Ipdv;
use sixbench_measure::histogram::Times;
use sixbench_measure::ranges::Ranges;

use crate::packets::Departure;

/// The start of a datagram of a trial: the first bytes of the token.
pub type Mark = [u8; 8];

/// Counts and times of the packets of one direction.
#[derive(Default)]
pub struct Record {
    /// Packets that the impairments chose from.
    pub packets: u64,
    /// Packets such as those of address resolution, which are only delayed.
    pub control_packets: u64,
    /// Packets that were chosen to vanish.
    pub lost: u64,
    /// The datagrams among them that carry a mark, by their numbers; `None` where no mark is looked for.
    pub marked: Option<Marked>,
    /// Packets that were sent twice.
    pub duplicated: u64,
    /// Packets that were sent with a flipped bit.
    pub corrupted: u64,
    /// Packets that were sent without delay.
    pub overtaking: u64,
    /// Packets that were held back.
    pub late: u64,
    /// Packets that were held back, and let go because nothing more came.
    pub late_given_up: u64,
    /// Packets that were dropped for want of memory.
    pub no_room: u64,
    /// Packets that the kernel refused when they were sent.
    pub send_errors: u64,
    /// The same by the kernel's error, such as `ENOBUFS`.
    pub send_errors_by_code: BTreeMap<String, u64>,
    /// Packets that the packet socket lost before the emulator saw them.
    pub socket_drops: u64,
    /// Packets whose arrival the kernel did not note.
    pub user_timestamps: u64,
    /// Delays from a packet's turn on the wire to its sending.
    pub delay: Times,
    /// Differences of these delays between consecutive packets.
    pub ipdv: Ipdv,
    /// Delays of the sending after the moment that was due.
    pub lateness: Times,
}

/// Datagrams of a trial that vanished.
pub struct Marked {
    mark: Mark,
    lost: Ranges,
}

/// A datagram's header lies within this many bytes of its packet: behind the deepest stack that is measured.
const SEARCHED_BYTES: usize = 256;
/// Places from the beginning of the mark on: of the number, before the send time, and of the phase, which is 1 for
/// measured datagrams.
const SEQUENCE_AT: usize = 8;
const PHASE_AT: usize = 24;
/// Frames have the inverted mark, and from there on a number and a time, whose first bit is set in the warm-up.
const FRAME_SEQUENCE_BYTES: usize = 4;
const FRAME_TIME_AT: usize = SEQUENCE_AT + FRAME_SEQUENCE_BYTES;

impl Record {
    /// An empty one, which looks for a mark.
    pub fn looking_for(mark: Option<Mark>) -> Self {
        Self { marked: mark.map(|mark| Marked { mark, lost: Ranges::default() }), ..Self::default() }
    }

    /// Notes that a packet has been sent.
    pub fn left(&mut self, departure: &Departure, now_ns: u64) {
        let Some(arrived) = departure.arrived else { return };
        let delay_ns = now_ns.saturating_sub(arrived.at_ns);
        self.delay.record(delay_ns);
        self.lateness.record(now_ns.saturating_sub(departure.due_ns));
        if let Some(number) = arrived.number {
            self.ipdv.record(number, i64::try_from(delay_ns).unwrap_or(i64::MAX));
        }
    }

    /// Notes that the kernel refused a packet.
    pub fn refused(&mut self, error: &io::Error) {
        self.send_errors += 1;
        let code =
            error.raw_os_error().map_or_else(|| error.kind().to_string(), |raw| format!("{:?}", Errno::from_raw(raw)));
        *self.send_errors_by_code.entry(code).or_default() += 1;
    }

    /// Notes that a packet was chosen to vanish.
    pub fn lose(&mut self, packet: &[u8]) {
        self.lost += 1;
        let Some(Marked { mark, lost }) = &mut self.marked else { return };
        let inverted = mark.map(|byte| !byte);
        let searched = &packet[..packet.len().min(SEARCHED_BYTES)];
        let is_marked = |bytes: &[u8]| bytes == mark || bytes == inverted;
        let Some(at) = searched.windows(mark.len()).position(is_marked) else { return };
        let header = &packet[at..];
        let sequence = if header.starts_with(mark) { datagram_sequence(header) } else { frame_sequence(header) };
        if let Some(sequence) = sequence {
            lost.insert(sequence.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)));
        }
    }

    /// The form of the protocol document.
    pub fn to_json(&self) -> Value {
        let mut value = json!({
            "packets": self.packets,
            "control_packets": self.control_packets,
            "lost": self.lost,
            "duplicated": self.duplicated,
            "corrupted": self.corrupted,
            "overtaking": self.overtaking,
            "late": self.late,
            "late_given_up": self.late_given_up,
            "no_room": self.no_room,
            "send_errors": self.send_errors,
            "socket_drops": self.socket_drops,
            "user_timestamps": self.user_timestamps,
            "delay": self.delay.tally(),
            "ipdv": self.ipdv.absolute().tally(),
            "lateness": self.lateness.tally(),
        });
        if !self.send_errors_by_code.is_empty() {
            value["send_errors_by_code"] = json!(self.send_errors_by_code);
        }
        if let Some(Marked { lost, .. }) = &self.marked {
            value["lost_sequences"] = json!(lost.iter().collect::<Vec<_>>());
            value["lost_sequences_omitted"] = json!(lost.omitted());
        }
        value
    }
}

/// The number of a measured datagram, from the mark on.
fn datagram_sequence(header: &[u8]) -> Option<&[u8]> {
    if *header.get(PHASE_AT)? == 1 { header.get(SEQUENCE_AT..SEQUENCE_AT + 8) } else { None }
}

/// The number of a measured frame, from the inverted mark on.
fn frame_sequence(header: &[u8]) -> Option<&[u8]> {
    if header.get(FRAME_TIME_AT)? >> 7 == 0 { header.get(SEQUENCE_AT..FRAME_TIME_AT) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = [1, 2, 3, 4, 5, 6, 7, 8];

    fn lost(headers: &[Vec<u8>]) -> Value {
        let mut record = Record::looking_for(Some(MARK));
        for header in headers {
            record.lose(&[&[0; 42][..], header].concat());
        }
        assert_eq!(record.lost, headers.len() as u64);
        record.to_json()["lost_sequences"].clone()
    }

    #[test]
    fn refused_packets_are_counted_by_the_kernels_error() {
        let mut record = Record::default();
        assert!(record.to_json().get("send_errors_by_code").is_none());
        for code in [libc::ENOBUFS, libc::ENETDOWN, libc::ENOBUFS] {
            record.refused(&io::Error::from_raw_os_error(code));
        }
        let value = record.to_json();
        assert_eq!(
            (&value["send_errors"], &value["send_errors_by_code"]),
            (&json!(3), &json!({"ENOBUFS": 2, "ENETDOWN": 1}))
        );
    }

    #[test]
    fn lost_datagrams_and_frames_have_their_numbers() {
        let datagram = |phase| [&MARK[..], &[0, 0, 0, 0, 0, 0, 0, 5], &[0; 8], &[phase], &[0; 7]].concat();
        let inverted = MARK.map(|byte| !byte);
        let frame = |sequence: u8, time: u8| [&inverted[..], &[0, 0, 0, sequence], &[time, 9, 9, 9, 9, 9]].concat();
        let headers = [datagram(1), datagram(0), frame(7, 0x7f), frame(8, 0x80), frame(9, 0)[..13].to_vec(), vec![]];
        assert_eq!(lost(&headers), json!([[5, 5], [7, 7], [9, 9]]));
    }
}
