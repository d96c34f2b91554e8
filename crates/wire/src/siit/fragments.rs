//! Fragments that the translator makes, and the identifications of those that others may make.

use crate::ipv4::{self, Fragment};
use crate::ipv6::{self, FRAGMENT_HEADER_BYTES, FragmentHeader};
use crate::protocol;

/// Fragment offsets count these.
const UNIT_BYTES: usize = 8;

/// Identifications of IPv4 packets that may be fragmented: RFC 7915 section 5.1. They go through all 65,536 values but 0 before one comes again.
#[derive(Debug, Clone)]
pub(super) struct Identifications {
    last: u16,
    /// Odd, so that it leads to every value.
    step: u16,
}

impl Identifications {
    pub fn new(seed: Option<u64>) -> Self {
        // SplitMix64: Steele, Lea and Flood 2014.
        let mut mixed = seed.map_or(0, |seed| seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        Self { last: mixed as u16, step: (mixed >> 16) as u16 | 1 }
    }

    pub fn next(&mut self) -> u16 {
        self.last = self.last.wrapping_add(self.step);
        if self.last == 0 {
            self.last = self.step;
        }
        self.last
    }
}

/// A packet in fragments of at most `most` bytes. It may be a fragment itself.
pub(super) fn cut6(header: &ipv6::Repr, fragment: Fragment, payload: &[u8], most: usize) -> Vec<Vec<u8>> {
    let room = most - ipv6::HEADER_BYTES - FRAGMENT_HEADER_BYTES;
    let part = |start: usize, piece: &[u8], is_last: bool| {
        let next_header = header.next_header;
        let payload_bytes = FRAGMENT_HEADER_BYTES + piece.len();
        let header = ipv6::Repr { next_header: protocol::FRAGMENT, payload_bytes, ..*header };
        let offset_bytes = fragment.offset_bytes + start as u32;
        let fragment = Fragment { offset_bytes, more: fragment.more || !is_last, ..fragment };
        let between = FragmentHeader { next_header, fragment };
        [&header.emit()[..], &between.emit(), piece].concat()
    };
    pieces(payload, room, part)
}

/// A packet in fragments of at most `most` bytes. It may be a fragment itself.
pub(super) fn cut4(header: &ipv4::Repr, payload: &[u8], most: usize) -> Vec<Vec<u8>> {
    let part = |start: usize, piece: &[u8], is_last: bool| {
        let header = ipv4::Repr {
            offset_bytes: header.offset_bytes + start as u16,
            more_fragments: header.more_fragments || !is_last,
            payload_bytes: piece.len(),
            ..*header
        };
        [&header.emit()[..], piece].concat()
    };
    pieces(payload, most - ipv4::HEADER_BYTES, part)
}

/// A payload in pieces of at most `room`, each with where it begins and whether it is the last one.
fn pieces(payload: &[u8], room: usize, part: impl Fn(usize, &[u8], bool) -> Vec<u8>) -> Vec<Vec<u8>> {
    let room = room / UNIT_BYTES * UNIT_BYTES;
    let count = payload.len().div_ceil(room);
    let pieces = payload.chunks(room).enumerate();
    pieces.map(|(index, piece)| part(index * room, piece, index + 1 == count)).collect()
}
