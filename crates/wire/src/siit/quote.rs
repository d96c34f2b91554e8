//! The packet in an ICMP error, and the extensions behind it: RFC 7915 sections 4.3 and 5.3, RFC 4884.

use super::context::Context;
use super::{Clause, Translator};
use crate::icmp::HEADER_BYTES;
use crate::icmp_error::{QUOTED_V6_BYTES, quoted_v4_bytes};

/// A packet has at least this length before extensions: RFC 4884 section 3.
const LEAST_BYTES: usize = 128;

/// The families between which a packet is translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    ToIpv6,
    ToIpv4,
}

/// The part of an error behind its header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quoted<'a> {
    way: Way,
    /// The packet, or its first part, and its padding.
    pub packet: &'a [u8],
    extensions: &'a [u8],
}

impl<'a> Quoted<'a> {
    /// Reads an error. The length attribute says where extensions begin, in words of 32 bits in ICMP and of 64 bits in
    /// ICMPv6: RFC 4884 sections 4 and 5.
    pub fn read(way: Way, message: &'a [u8]) -> Result<Self, Clause> {
        let (header, payload) = message.split_at_checked(HEADER_BYTES).ok_or(Clause::Malformed)?;
        let bytes = match (way, header[0]) {
            (Way::ToIpv6, 3 | 11 | 12) => usize::from(header[5]) * 4,
            (Way::ToIpv4, 1 | 3) => usize::from(header[4]) * 8,
            _ => 0,
        };
        let bytes = if bytes == 0 { payload.len() } else { bytes };
        let (packet, extensions) = payload.split_at_checked(bytes).ok_or(Clause::Malformed)?;
        Ok(Self { way, packet, extensions })
    }

    /// Appends this in the other family, as far as an error has room for it, and returns the length attribute.
    ///
    /// If there is no room for all, the packet is cut for the extensions, but not below 128 bytes; then the extensions
    /// are left out. They also are where the message has no length attribute (`takes_length`) in the other family.
    pub fn translate(
        self,
        translator: &Translator,
        context: &Context,
        takes_length: bool,
        out: &mut Vec<u8>,
    ) -> Result<u8, Clause> {
        let (word_bytes, room) = match self.way {
            Way::ToIpv6 => (8, QUOTED_V6_BYTES),
            Way::ToIpv4 => (4, quoted_v4_bytes(translator.settings.mtu4 as usize)),
        };
        let (mut packet, packet_bytes) = match self.way {
            Way::ToIpv6 => translator.quoted_to_ipv6(context, self.packet)?,
            Way::ToIpv4 => translator.quoted_to_ipv4(context, self.packet)?,
        };
        let most = room.saturating_sub(self.extensions.len()) / word_bytes * word_bytes;
        if self.extensions.is_empty() || !takes_length || most < LEAST_BYTES {
            packet.truncate(room);
            out.extend(packet);
            return Ok(0);
        }
        let padding_bytes = self.packet.len().saturating_sub(packet_bytes);
        // Words are longer in ICMPv6. The remainder is cut off, as the extensions have what one more word would take.
        let bytes = (packet.len() + padding_bytes).max(LEAST_BYTES) / word_bytes * word_bytes;
        let bytes = bytes.min(most);
        packet.resize(bytes, 0);
        out.extend(packet);
        out.extend(self.extensions);
        Ok((bytes / word_bytes) as u8)
    }
}
