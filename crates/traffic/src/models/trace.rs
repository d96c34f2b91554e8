//! Times and sizes that were taken from a capture.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::leb128;

/// The most datagrams of a trace.
pub const MAX_PACKETS: usize = 65_536;
/// The most time between two datagrams: an hour.
const MAX_GAP_NS: u64 = 3_600_000_000_000;

/// The least mean gap, as of gaps that are drawn.
const MIN_MEAN_GAP_NS: u64 = 1000;

/// Datagrams in the order of time, to be sent again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    packets: Vec<Packet>,
    mean_gap_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packet {
    /// Time since the datagram before; 0 for the first one.
    gap_ns: u64,
    payload_bytes: usize,
}

impl Trace {
    /// Reads Base64 (RFC 4648 section 4) of pairs of LEB128 numbers: nanoseconds since the datagram before, and payload
    /// bytes. Fails in words.
    pub fn decode(text: &str, sizes: std::ops::RangeInclusive<u64>) -> Result<Self, String> {
        // Two numbers of at most 10 bytes each, and a third more for Base64.
        if text.len() > MAX_PACKETS * 20 / 3 * 4 + 4 {
            return Err(format!("is too long: at most {MAX_PACKETS} datagrams"));
        }
        let bytes = STANDARD.decode(text).map_err(|e| format!("is not Base64: {e}"))?;
        let mut rest = &bytes[..];
        let mut packets = Vec::new();
        while !rest.is_empty() {
            if packets.len() == MAX_PACKETS {
                return Err(format!("is too long: at most {MAX_PACKETS} datagrams"));
            }
            let (gap_ns, payload_bytes) = (leb128::take(&mut rest)?, leb128::take(&mut rest)?);
            if gap_ns > MAX_GAP_NS {
                return Err(format!(
                    "has a gap of {gap_ns} ns before datagram {}: at most {MAX_GAP_NS}",
                    packets.len()
                ));
            }
            if !sizes.contains(&payload_bytes) {
                return Err(format!(
                    "has a datagram of {payload_bytes} bytes: from {} to {} can be sent",
                    sizes.start(),
                    sizes.end()
                ));
            }
            packets.push(Packet { gap_ns, payload_bytes: payload_bytes as usize });
        }
        let Some(first) = packets.first_mut() else { return Err("has no datagram".to_owned()) };
        first.gap_ns = 0;
        let all_ns: u64 = packets.iter().map(|packet| packet.gap_ns).sum();
        let mean_gap_ns = all_ns / (packets.len() as u64 - 1).max(1);
        if mean_gap_ns < MIN_MEAN_GAP_NS {
            let count = packets.len();
            return Err(format!(
                "has {count} datagrams in {all_ns} ns: their mean gap must be at least {MIN_MEAN_GAP_NS} ns"
            ));
        }
        Ok(Self { packets, mean_gap_ns })
    }

    /// The mean time between datagrams.
    pub fn mean_gap_ns(&self) -> u64 {
        self.mean_gap_ns
    }

    /// The largest datagram.
    pub fn max_bytes(&self) -> usize {
        self.packets.iter().map(|packet| packet.payload_bytes).max().unwrap_or(0)
    }

    /// The smallest datagram.
    pub fn min_bytes(&self) -> usize {
        self.packets.iter().map(|packet| packet.payload_bytes).min().unwrap_or(0)
    }

    /// Time before datagram `index` of the flow, and its size. After the last one the trace begins again, by its mean
    /// gap later.
    pub fn at(&self, index: u64) -> (u64, usize) {
        let packet = self.packets[(index % self.packets.len() as u64) as usize];
        let is_again = index > 0 && index % self.packets.len() as u64 == 0;
        (if is_again { self.mean_gap_ns } else { packet.gap_ns }, packet.payload_bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encode(packets: &[(u64, u64)]) -> String {
        let mut bytes = Vec::new();
        for number in packets.iter().flat_map(|(gap, size)| [*gap, *size]) {
            let mut left = number;
            while left >= 0x80 {
                bytes.push(left as u8 | 0x80);
                left >>= 7;
            }
            bytes.push(left as u8);
        }
        STANDARD.encode(bytes)
    }

    fn reason(packets: &[(u64, u64)]) -> String {
        Trace::decode(&encode(packets), 32..=1400).unwrap_err()
    }

    #[test]
    fn a_trace_begins_again_after_its_mean_gap() {
        let trace = Trace::decode(&encode(&[(900, 100), (1000, 200), (2000, 32)]), 32..=1400).unwrap();
        let flow: Vec<_> = (0..5).map(|index| trace.at(index)).collect();
        assert_eq!(flow, [(0, 100), (1000, 200), (2000, 32), (1500, 100), (1000, 200)]);
        assert_eq!((trace.min_bytes(), trace.max_bytes()), (32, 200));
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert_eq!(reason(&[]), "has no datagram");
        assert!(reason(&[(0, 100)]).starts_with("has 1 datagrams in 0 ns"));
        assert_eq!(reason(&[(0, 100), (1, 31)]), "has a datagram of 31 bytes: from 32 to 1400 can be sent");
        assert!(reason(&[(0, 100), (u64::MAX, 100)]).starts_with("has a gap of 18446744073709551615 ns before"));
        assert!(Trace::decode("?", 0..=1).unwrap_err().starts_with("is not Base64"));
        assert_eq!(Trace::decode(&STANDARD.encode([0x80]), 0..=1).unwrap_err(), "ends in the middle of a number");
        let long = STANDARD.encode([0xff; 11]);
        assert_eq!(Trace::decode(&long, 0..=1).unwrap_err(), "has a number of more than 64 bits");
        let many = vec![(1, 40); MAX_PACKETS + 1];
        assert!(reason(&many).starts_with("is too long"));
        assert!(Trace::decode(&"A".repeat(MAX_PACKETS * 30), 0..=1).unwrap_err().starts_with("is too long"));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_read(packets in prop::collection::vec((MIN_MEAN_GAP_NS..MAX_GAP_NS, 32_u64..1400), 2..50)) {
            let trace = Trace::decode(&encode(&packets), 32..=1400).unwrap();
            for (index, (gap, size)) in packets.iter().enumerate() {
                let expected = if index == 0 { 0 } else { *gap };
                prop_assert_eq!(trace.at(index as u64), (expected, *size as usize));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Trace::decode(&text, 32..=1400);
            let _ = Trace::decode(&STANDARD.encode(bytes), 32..=1400);
        }
    }
}
