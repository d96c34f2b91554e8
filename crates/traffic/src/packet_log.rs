//! The fate of each datagram, on request: bounded columns of whole numbers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Serialize;

/// Most datagrams that each end notes: with 12 bytes each, and a third more as Base64, an answer stays small.
pub const MAX_NOTED: usize = 500_000;

/// The sender's: datagram k stands at place k.
#[derive(Debug, Default)]
pub struct SentLog {
    sent_realtime_ns: Vec<u64>,
    payload_bytes: Vec<u16>,
    omitted: u64,
}

impl SentLog {
    /// Notes the next datagram.
    pub fn note(&mut self, sent_realtime_ns: u64, payload_bytes: usize) {
        if self.sent_realtime_ns.len() == MAX_NOTED {
            self.omitted += 1;
            return;
        }
        self.sent_realtime_ns.push(sent_realtime_ns);
        // No UDP payload is longer than 65527 bytes.
        self.payload_bytes.push(payload_bytes as u16);
    }

    /// The log in the form of the protocol.
    pub fn tally(&self) -> SentLogTally {
        SentLogTally {
            sent_realtime_ns: base64(self.sent_realtime_ns.iter().map(|ns| ns.to_le_bytes())),
            payload_bytes: base64(self.payload_bytes.iter().map(|bytes| bytes.to_le_bytes())),
            omitted: self.omitted,
        }
    }
}

/// The sender's log, by the names of the protocol document. Its columns are in Base64.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SentLogTally {
    /// Times of 8 bytes each.
    sent_realtime_ns: String,
    /// Sizes of 2 bytes each.
    payload_bytes: String,
    /// Datagrams for which there was no room.
    omitted: u64,
}

/// The receiver's: arrivals in their order, duplicates too.
#[derive(Debug, Default)]
pub struct ArrivalLog {
    sequence: Vec<u32>,
    received_realtime_ns: Vec<u64>,
    omitted: u64,
}

impl ArrivalLog {
    /// Notes an arrival.
    pub fn note(&mut self, sequence: u64, received_realtime_ns: u64) {
        if self.sequence.len() == MAX_NOTED {
            self.omitted += 1;
            return;
        }
        // A flow has at most 2^32 datagrams.
        self.sequence.push(sequence as u32);
        self.received_realtime_ns.push(received_realtime_ns);
    }

    /// The log in the form of the protocol.
    pub fn tally(&self) -> ArrivalLogTally {
        ArrivalLogTally {
            sequence: base64(self.sequence.iter().map(|sequence| sequence.to_le_bytes())),
            received_realtime_ns: base64(self.received_realtime_ns.iter().map(|ns| ns.to_le_bytes())),
            omitted: self.omitted,
        }
    }
}

/// The receiver's log, by the names of the protocol document. Its columns are in Base64.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArrivalLogTally {
    /// Numbers of 4 bytes each.
    sequence: String,
    /// Times of 8 bytes each.
    received_realtime_ns: String,
    /// Arrivals for which there was no room.
    omitted: u64,
}

fn base64<const N: usize>(numbers: impl Iterator<Item = [u8; N]>) -> String {
    STANDARD.encode(numbers.flatten().collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_by_hand() {
        let mut sent = SentLog::default();
        sent.note(1, 32);
        sent.note(0x0102_0304_0506_0708, 65_527);
        assert_eq!(
            json!(sent.tally()),
            json!({"sent_realtime_ns": "AQAAAAAAAAAIBwYFBAMCAQ==", "payload_bytes": "IAD3/w==", "omitted": 0})
        );
        let mut arrivals = ArrivalLog::default();
        arrivals.note(u64::from(u32::MAX), 1);
        assert_eq!(
            json!(arrivals.tally()),
            json!({"sequence": "/////w==", "received_realtime_ns": "AQAAAAAAAAA=", "omitted": 0})
        );
    }

    #[test]
    fn what_is_beyond_the_bound_is_only_counted() {
        let (mut sent, mut arrivals) = (SentLog::default(), ArrivalLog::default());
        for number in 0..MAX_NOTED as u64 + 3 {
            sent.note(number, 40);
            arrivals.note(number, number);
        }
        assert_eq!((sent.omitted, sent.payload_bytes.len()), (3, MAX_NOTED));
        assert_eq!((arrivals.omitted, arrivals.sequence.len()), (3, MAX_NOTED));
    }
}
