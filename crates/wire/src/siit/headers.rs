//! The headers between the IP header and the transport header: the options of IPv4, the extension headers of IPv6.

use crate::icmp::V4Repr;
use crate::ipv4::Fragment;
use crate::ipv6::{self, FRAGMENT_HEADER_BYTES, FragmentHeader, MAX_EXTENSIONS};
use crate::protocol;

use super::{Clause, Stop};

/// Options that name routers which the packet is to pass: RFC 791 section 3.1.
const SOURCE_ROUTES: [u8; 2] = [131, 137];

/// Extension headers that this crate does not read: Mobility (RFC 6275), HIP (RFC 7401), Shim6 (RFC 5533).
const UNREAD_EXTENSIONS: [u8; 3] = [135, 139, 140];

/// The part of an IPv6 packet behind the headers that IPv4 does not have: RFC 7915 section 5.1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Upper<'a> {
    /// Length of the headers that are left out.
    pub bytes: usize,
    pub fragment: Option<Fragment>,
    /// True if there is an extension header behind the Fragment header.
    pub is_extended_fragment: bool,
    /// The place of the field in a routing header that says that more nodes are to be passed: RFC 8200 section 4.4.
    pub segments_left_at: Option<u32>,
    pub protocol: u8,
    /// The place in the packet of the number of the protocol.
    pub number_at: u32,
    pub payload: &'a [u8],
}

impl<'a> Upper<'a> {
    /// Reads a packet, which may be only the first part of one. A header that is not there to be read makes it
    /// malformed.
    pub fn read(packet: &ipv6::Packet<'a>) -> Result<Self, Clause> {
        let mut upper = Self {
            bytes: 0,
            fragment: None,
            is_extended_fragment: false,
            segments_left_at: None,
            protocol: packet.next_header(),
            number_at: ipv6::NEXT_HEADER_AT,
            payload: packet.payload().captured(),
        };
        for _ in 0..=MAX_EXTENSIONS {
            if !upper.step()? {
                return Ok(upper);
            }
        }
        Err(Clause::Malformed)
    }

    /// Over one header, if IPv4 does not have it.
    fn step(&mut self) -> Result<bool, Clause> {
        let skipped = match self.protocol {
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION_OPTIONS => true,
            protocol::FRAGMENT => false,
            protocol::AUTHENTICATION => {
                self.is_extended_fragment |= self.fragment.is_some();
                return Ok(false);
            }
            number => {
                self.is_extended_fragment |= self.fragment.is_some() && UNREAD_EXTENSIONS.contains(&number);
                return Ok(false);
            }
        };
        self.is_extended_fragment |= self.fragment.is_some();
        if self.is_later_fragment() {
            return Ok(false);
        }
        let header: &[u8; FRAGMENT_HEADER_BYTES] = self.payload.first_chunk().ok_or(Clause::Malformed)?;
        let bytes = if skipped { (usize::from(header[1]) + 1) * 8 } else { FRAGMENT_HEADER_BYTES };
        if !skipped {
            self.fragment = Some(FragmentHeader::parse(header).fragment);
        } else if self.protocol == protocol::ROUTING && header[3] != 0 {
            self.segments_left_at.get_or_insert((ipv6::HEADER_BYTES + self.bytes + 3) as u32);
        }
        self.payload = self.payload.get(bytes..).ok_or(Clause::Malformed)?;
        self.protocol = header[0];
        self.number_at = (ipv6::HEADER_BYTES + self.bytes) as u32;
        self.bytes += bytes;
        Ok(true)
    }

    /// True if it is one of several fragments.
    pub fn is_fragment(&self) -> bool {
        self.fragment.is_some_and(|fragment| fragment.more || fragment.offset_bytes != 0)
    }

    /// True if it has no transport header because the first fragment has it.
    pub fn is_later_fragment(&self) -> bool {
        self.fragment.is_some_and(|fragment| fragment.offset_bytes != 0)
    }
}

/// True if IPv6 alone gives this number a meaning, or takes what follows for an extension header.
pub(super) fn is_of_ipv6_alone(number: u8) -> bool {
    matches!(
        number,
        protocol::HOP_BY_HOP
            | protocol::ROUTING
            | protocol::FRAGMENT
            | protocol::ICMPV6
            | protocol::DESTINATION_OPTIONS
    )
}

/// True if IPv4 alone gives this number a meaning.
pub(super) fn is_of_ipv4_alone(number: u8) -> bool {
    matches!(number, protocol::ICMP | protocol::IGMP)
}

/// Fails where the options of an IPv4 packet have a route that was not followed to its end: RFC 7915 section 4.1.
pub(crate) fn check_source_route(options: &[u8]) -> Result<(), Stop<V4Repr>> {
    if !has_source_route(options) {
        return Ok(());
    }
    Err(Stop::with_error(Clause::SourceRoute, V4Repr::Unreachable { code: 5, quoted_words: 0, mtu_bytes: 0 }))
}

fn has_source_route(mut options: &[u8]) -> bool {
    while let [kind, rest @ ..] = options {
        options = match (*kind, rest) {
            (0, _) => return false,
            (1, _) => rest,
            // The pointer is beyond the length where the route was followed to its end.
            (kind, [length, pointer, ..]) if SOURCE_ROUTES.contains(&kind) && pointer <= length => return true,
            (_, [length, ..]) if *length >= 2 => options.get(usize::from(*length)..).unwrap_or_default(),
            _ => return false,
        };
    }
    false
}
