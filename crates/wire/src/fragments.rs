//! Packets in fragments: RFC 791 section 3.2, RFC 8200 section 4.5.

use crate::ipv4::{self, Fragment};
use crate::ipv6::{self, FRAGMENT_HEADER_BYTES, FragmentHeader};
use crate::protocol;

/// Fragment offsets count these.
const UNIT_BYTES: usize = 8;

/// An IPv6 packet in fragments of at most `most` bytes, of which at least 56 are needed. It may be a fragment itself.
pub fn cut6(header: &ipv6::Repr, fragment: Fragment, payload: &[u8], most: usize) -> Vec<Vec<u8>> {
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

/// An IPv4 packet without options in fragments of at most `most` bytes, of which at least 28 are needed. It may be a
/// fragment itself.
pub fn cut4(header: &ipv4::Repr, payload: &[u8], most: usize) -> Vec<Vec<u8>> {
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
