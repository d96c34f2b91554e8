//! IPv4 packets that are too long for a link, as the kernel does where the tunnel has a device.

use sixbench_wire::{checksum, ipv4};

use crate::slow::rules::Inner;

/// Fragment offsets count these.
const FRAGMENT_UNIT_BYTES: usize = 8;
/// Options of IPv4: RFC 791 section 3.1.
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
const COPIED: u8 = 0x80;

/// The fragments of an IPv4 packet: RFC 791 section 3.2. It may be a fragment itself.
pub fn cut(packet: &[u8], inner: &Inner, mtu_bytes: usize) -> Vec<Vec<u8>> {
    let (first, payload) = packet.split_at(inner.header_bytes);
    let later = with_copied_options(first);
    let field = u16::from_be_bytes([packet[6], packet[7]]);
    // There is room for at least 8 bytes: no header has more than 60 bytes, and no MTU is less than 68.
    let room = (mtu_bytes - inner.header_bytes) / FRAGMENT_UNIT_BYTES * FRAGMENT_UNIT_BYTES;
    let count = payload.len().div_ceil(room);
    let piece = |index: usize| {
        let data = &payload[index * room..payload.len().min((index + 1) * room)];
        let is_last = index + 1 == count;
        // The bit for more fragments, and the offset.
        let more = if is_last { field & 0x2000 } else { 0x2000 };
        let offset = (field & 0x1fff).wrapping_add((index * room / FRAGMENT_UNIT_BYTES) as u16) & 0x1fff;
        let mut header = if index == 0 { first.to_vec() } else { later.clone() };
        let total_bytes = (header.len() + data.len()) as u16;
        header[2..4].copy_from_slice(&total_bytes.to_be_bytes());
        header[6..8].copy_from_slice(&(more | offset).to_be_bytes());
        header[10..12].fill(0);
        let computed = checksum::checksum(&header);
        header[10..12].copy_from_slice(&computed.to_be_bytes());
        [&header[..], data].concat()
    };
    (0..count).map(piece).collect()
}

/// The header of fragments but the first: options that are not copied make room for nothing.
fn with_copied_options(header: &[u8]) -> Vec<u8> {
    let mut header = header.to_vec();
    let mut at = ipv4::HEADER_BYTES;
    while let Some(&kind) = header.get(at) {
        let bytes = match kind {
            END_OF_OPTIONS => break,
            NO_OPERATION => 1,
            _ => header.get(at + 1).map_or(0, |&bytes| usize::from(bytes)),
        };
        let Some(option) = header.get_mut(at..at + bytes).filter(|option| option.len() == 1 || bytes > 1) else {
            break;
        };
        if kind & COPIED == 0 {
            option.fill(NO_OPERATION);
        }
        at += bytes;
    }
    header
}
