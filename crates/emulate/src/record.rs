//! What a link really did to its packets.

use serde_json::{Value, json};
use sixbench_measure::delay::Ipdv;
use sixbench_measure::histogram::Times;
use sixbench_measure::ranges::Ranges;

use crate::packets::Departure;

/// How a datagram of a trial begins: the first bytes of the token.
pub type Mark = [u8; 8];

/// What became of the packets of one direction.
#[derive(Default)]
pub struct Record {
    /// That the impairments chose from.
    pub packets: u64,
    /// Of the address resolution and the like, which are delayed and nothing else.
    pub control_packets: u64,
    /// Chosen to vanish.
    pub lost: u64,
    /// The datagrams among them that carry a mark, by their numbers; `None`: none is looked for.
    pub marked: Option<Marked>,
    /// Sent twice.
    pub duplicated: u64,
    /// Sent with a flipped bit.
    pub corrupted: u64,
    /// Sent without delay.
    pub overtaking: u64,
    /// Held back.
    pub late: u64,
    /// Held back, and let go because nothing more came.
    pub late_given_up: u64,
    /// Dropped for want of memory.
    pub no_room: u64,
    /// Refused by the kernel when they were sent.
    pub send_errors: u64,
    /// Lost by the packet socket before the emulator saw them.
    pub socket_drops: u64,
    /// Whose arrival the kernel did not note.
    pub user_timestamps: u64,
    /// From its turn on the wire to having been sent.
    pub delay: Times,
    /// How much that differed from one packet to the next.
    pub ipdv: Ipdv,
    /// Having been sent after the moment that was due.
    pub lateness: Times,
}

/// Datagrams of a trial that vanished.
pub struct Marked {
    mark: Mark,
    lost: Ranges,
}

/// A datagram's header lies within so many bytes of its packet: behind the deepest stack that is measured.
const SEARCHED_BYTES: usize = 256;
/// From the mark on: number, send time, and the phase, which is 1 for what is measured.
const SEQUENCE_AT: usize = 8;
const PHASE_AT: usize = 24;

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

    /// Notes that a packet was chosen to vanish.
    pub fn lose(&mut self, packet: &[u8]) {
        self.lost += 1;
        let Some(Marked { mark, lost }) = &mut self.marked else { return };
        let searched = &packet[..packet.len().min(SEARCHED_BYTES)];
        let Some(at) = searched.windows(mark.len()).position(|bytes| bytes == mark) else { return };
        let header = &packet[at..];
        if let (Some(1), Some(sequence)) = (header.get(PHASE_AT), header.get(SEQUENCE_AT..SEQUENCE_AT + 8)) {
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
            "delay": self.delay.to_json(),
            "ipdv": self.ipdv.absolute().to_json(),
            "lateness": self.lateness.to_json(),
        });
        if let Some(Marked { lost, .. }) = &self.marked {
            value["lost_sequences"] = json!(lost.iter().collect::<Vec<_>>());
            value["lost_sequences_omitted"] = json!(lost.omitted());
        }
        value
    }
}
