//! Reassembly: packets of their fragments (RFC 791 section 3.2, RFC 8200 section 4.5).
//!
//! Fragments wait until all those of their packet have arrived, within the bounds of `held_fragments`. There is no
//! clock: the caller gives the time.

use std::time::Duration;

use crate::held_fragments::{Amount, HeldFragments, Noted, Until};
use crate::ipv6::{FRAGMENT_HEADER_BYTES, FragmentHeader};
use crate::siit::Clause;
use crate::{Span, checksum, ipv4, ipv6, protocol};

/// Time for which a packet's other fragments may come, from the first of them that came: RFC 8200 section 4.5, RFC 1122
/// section 3.3.2.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The bits of IPv4's field of flags and offset that a whole packet may have.
const FLAGS: u8 = 0xc0;
/// A packet met congestion: RFC 3168 section 5.
const CONGESTION_EXPERIENCED: u8 = 3;

/// The result for a packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Joined {
    /// It is no fragment, or none that can be read.
    NoFragment,
    /// It was the last one that lacked.
    Packet {
        /// The packet.
        packet: Vec<u8>,
        /// The number of its fragments, and their bytes.
        fragments: Amount,
    },
    /// It waits for the others.
    Waits,
    /// It is dropped by this rule.
    Dropped(Clause),
}

/// The fragments of packets that are not whole yet.
#[derive(Debug)]
pub struct Reassembly {
    /// The fragments that wait, and the numbers of those that waited in vain.
    pub held: HeldFragments,
}

impl Default for Reassembly {
    fn default() -> Self {
        Self { held: HeldFragments::new(Until::Whole, TIMEOUT) }
    }
}

impl Reassembly {
    /// Decides the fate of a packet, from its IP header on. `now` is the time since any instant, and never goes back.
    pub fn take(&mut self, packet: &[u8], now: Duration) -> Joined {
        match self.held.note(packet, packet, now) {
            Noted::NoFragment => Joined::NoFragment,
            Noted::Waits => Joined::Waits,
            Noted::Dropped(clause) => Joined::Dropped(clause),
            Noted::Complete { mut waited, .. } => {
                waited.push(packet.to_vec());
                let fragments = Amount::of(waited.iter().map(Vec::len));
                let joined = join(&waited);
                joined.map_or(Joined::Dropped(Clause::Malformed), |packet| Joined::Packet { packet, fragments })
            }
        }
    }
}

/// The packet of which these are all fragments. `None`: it would be longer than a packet may be.
fn join(fragments: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut parts = fragments.iter().map(|fragment| split(fragment)).collect::<Option<Vec<_>>>()?;
    parts.sort_unstable_by_key(|part| part.offset_bytes);
    // Congestion that one met all have met: RFC 3168 section 5.3.
    let met_congestion = parts.iter().any(|part| part.ecn == CONGESTION_EXPERIENCED);
    let mut packet = parts.first()?.header.clone();
    parts.iter().for_each(|part| packet.extend(part.data));
    let is_ipv6 = packet.first()? >> 4 == 6;
    let counted_bytes = if is_ipv6 { packet.len().checked_sub(ipv6::HEADER_BYTES)? } else { packet.len() };
    let length = u16::try_from(counted_bytes).ok()?.to_be_bytes();
    if is_ipv6 {
        packet[4..6].copy_from_slice(&length);
        if met_congestion {
            packet[1] |= CONGESTION_EXPERIENCED << 4;
        }
    } else {
        packet[2..4].copy_from_slice(&length);
        if met_congestion {
            packet[1] |= CONGESTION_EXPERIENCED;
        }
        let header_bytes = usize::from(packet[0] & 0x0f) * 4;
        packet[10..12].fill(0);
        let computed = checksum::checksum(&packet[..header_bytes]);
        packet[10..12].copy_from_slice(&computed.to_be_bytes());
    }
    Some(packet)
}

/// A fragment's part of its packet.
struct Part<'a> {
    offset_bytes: u32,
    /// The header that the whole packet will have, but for its length.
    header: Vec<u8>,
    ecn: u8,
    data: &'a [u8],
}

fn split(fragment: &[u8]) -> Option<Part<'_>> {
    if fragment.first()? >> 4 == 6 { split6(fragment) } else { split4(fragment) }
}

fn split4(bytes: &[u8]) -> Option<Part<'_>> {
    let packet = ipv4::Packet::parse(Span::whole(bytes)).ok()?;
    let (header, data) = bytes.get(..packet.total_bytes())?.split_at_checked(packet.header_bytes())?;
    let mut header = header.to_vec();
    header[6] &= FLAGS;
    header[7] = 0;
    Some(Part {
        offset_bytes: packet.fragment()?.offset_bytes,
        header,
        ecn: packet.traffic_class() & CONGESTION_EXPERIENCED,
        data,
    })
}

fn split6(bytes: &[u8]) -> Option<Part<'_>> {
    let packet = ipv6::Packet::parse(Span::whole(bytes)).ok()?;
    let bytes = bytes.get(..packet.total_bytes())?;
    // `number_at` is the place of the number of the header that begins at `at`.
    let (mut number_at, mut at) = (6, ipv6::HEADER_BYTES);
    while *bytes.get(number_at)? != protocol::FRAGMENT {
        (number_at, at) = (at, at + (usize::from(*bytes.get(at + 1)?) + 1) * 8);
    }
    let between = FragmentHeader::parse(bytes.get(at..)?.first_chunk()?);
    let mut header = bytes.get(..at)?.to_vec();
    header[number_at] = between.next_header;
    Some(Part {
        offset_bytes: between.fragment.offset_bytes,
        header,
        ecn: packet.traffic_class() & CONGESTION_EXPERIENCED,
        data: bytes.get(at + FRAGMENT_HEADER_BYTES..)?,
    })
}
