//! The wire of a direction: packets take it one after the other.

use sixbench_wire::virtio::{self, Segments};

/// Bytes of a frame on the wire beyond its Ethernet header and payload: preamble and SFD 8, FCS 4, inter-frame gap 12
/// (IEEE 802.3).
const OVERHEAD_BYTES: u64 = 24;
/// The shortest frame, 64 bytes, with preamble and gap.
const LEAST_BYTES: u64 = 84;
/// Factor by which packets that jitter delayed follow each other faster than the link's rate. At the rate itself a link
/// that is full would never catch up: all its packets would end up with the longest delay that was ever drawn.
const CATCHING_UP: u64 = 2;

/// Spaces packets as a wire of a rate does. The limiter of the rate sends in bunches the packets that its timer missed;
/// on a wire packets are never closer together than they are long. It only spaces: the limiter decides which packets
/// wait, and for how long.
#[derive(Debug, Default)]
pub struct Wire {
    /// 0: packets take no time.
    bits_per_s: u64,
    /// Time at which the last packet has entered it.
    free_ns: u64,
    /// Time from which on the next packet may leave, where packets keep their order.
    follows_ns: u64,
}

impl Wire {
    /// A wire of that rate, with nothing on it.
    pub fn new(bits_per_s: u64) -> Self {
        Self { bits_per_s, ..Self::default() }
    }

    /// Gives it another rate, for the packets that come from now on.
    pub fn change(&mut self, bits_per_s: u64) {
        self.bits_per_s = bits_per_s;
    }

    /// The time at which the turn of a packet comes that arrived at `arrived_ns`: when those before it are on the wire.
    /// It does not wait for itself, as it does not at the limiter.
    pub fn enter(&mut self, arrived_ns: u64, wire_bytes: u64) -> u64 {
        let enters_ns = arrived_ns.max(self.free_ns);
        self.free_ns = enters_ns + self.time_ns(wire_bytes);
        enters_ns
    }

    /// The time at which a packet leaves that may at `due_ns`; where packets keep their order, not before the one that
    /// entered before it.
    pub fn leave(&mut self, due_ns: u64, wire_bytes: u64, in_order: bool) -> u64 {
        let leaves_ns = if in_order { due_ns.max(self.follows_ns) } else { due_ns };
        self.follows_ns = leaves_ns + self.time_ns(wire_bytes) / CATCHING_UP;
        leaves_ns
    }

    fn time_ns(&self, wire_bytes: u64) -> u64 {
        (wire_bytes * 8 * 1_000_000_000).checked_div(self.bits_per_s).unwrap_or(0)
    }
}

/// Bytes of a packet on the wire, once it is cut into segments.
pub fn wire_bytes(packet: &[u8]) -> u64 {
    let Some((header, frame)) = packet.split_first_chunk() else { return LEAST_BYTES };
    let frame_bytes = frame.len() as u64;
    let (segments, header_bytes) = match virtio::Repr::parse(header).segments {
        None => (1, 0),
        Some(Segments { header_bytes, segment_bytes, .. }) => {
            let header_bytes = u64::from(header_bytes);
            (frame_bytes.saturating_sub(header_bytes).div_ceil(segment_bytes.into()).max(1), header_bytes)
        }
    };
    (frame_bytes + (segments - 1) * header_bytes + segments * OVERHEAD_BYTES).max(LEAST_BYTES)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packet(frame_bytes: usize, header_bytes: u16, segment_bytes: u16) -> Vec<u8> {
        let segments = Some(Segments { kind: 1, header_bytes, segment_bytes });
        let header = virtio::Repr { checksum: None, segments }.emit();
        [&header[..], &vec![0; frame_bytes]].concat()
    }

    #[test]
    fn a_packet_is_as_long_on_the_wire_as_its_segments_are() {
        assert_eq!(wire_bytes(&packet(1514, 0, 0)), 1538);
        assert_eq!(wire_bytes(&packet(42, 0, 0)), 84);
        assert_eq!(wire_bytes(&packet(66 + 4 * 1448, 66, 1448)), 4 * 1538);
        assert_eq!(wire_bytes(&packet(66 + 1448 + 1, 66, 1448)), 1538 + 91);
    }

    #[test]
    fn a_wire_without_a_rate_takes_no_time() {
        let mut wire = Wire::default();
        assert_eq!([7, 7, 9].map(|at| wire.enter(at, 1538)), [7, 7, 9]);
        assert_eq!([9, 7, 8].map(|at| wire.leave(at, 1538, true)), [9, 9, 9]);
        assert_eq!([9, 7, 8].map(|at| wire.leave(at, 1538, false)), [9, 7, 8]);
    }

    #[test]
    fn a_bunch_becomes_packets_one_after_the_other() {
        let mut wire = Wire::new(100_000_000);
        assert_eq!([0, 0, 0].map(|at| wire.enter(at, 1538)), [0, 123_040, 246_080]);
        assert_eq!(wire.enter(1_000_000, 1538), 1_000_000);
        // Another rate holds from the next packet on.
        wire.change(10_000_000);
        assert_eq!(wire.enter(1_000_000, 1538), 1_123_040);
        assert_eq!(wire.enter(1_000_000, 1538), 2_353_440);
    }

    #[test]
    fn what_jitter_held_up_follows_at_twice_the_rate() {
        let mut wire = Wire::new(100_000_000);
        assert_eq!([5_000_000, 0, 0].map(|at| wire.leave(at, 1538, true)), [5_000_000, 5_061_520, 5_123_040]);
    }

    proptest! {
        #[test]
        fn the_wire_never_lags_behind_what_its_rate_allows(gaps in prop::collection::vec(0_u64..500_000, 1..200)) {
            let (mut wire, mut at_ns, mut last_ns) = (Wire::new(100_000_000), 0, None);
            for gap_ns in gaps {
                at_ns += gap_ns;
                let enters_ns = wire.enter(at_ns, 1538);
                let expected = last_ns.map_or(at_ns, |last_ns: u64| at_ns.max(last_ns + 123_040));
                prop_assert_eq!(enters_ns, expected);
                last_ns = Some(enters_ns);
            }
        }
    }
}
