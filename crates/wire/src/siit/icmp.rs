//! ICMP in the other family: RFC 7915 sections 4.2, 4.3, 5.2 and 5.3.

use super::{Clause, ERROR4_BYTES, Ends, LEAST_MTU6, Translator};
use crate::icmp::{HEADER_BYTES, Message, V4Repr, V6Repr, Version};
use crate::{Span, checksum, ipv4, ipv6, protocol};

/// MTUs of links, for routers that tell none: RFC 1191 section 7.1.
const PLATEAUS: [u32; 11] = [65_535, 32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296, 68];
/// How much more an IPv6 header takes.
const MORE: u32 = (ipv6::HEADER_BYTES - ipv4::HEADER_BYTES) as u32;

/// RFC 7915 section 4.2, figure 3: where the fields of an IPv4 header are in IPv6's.
fn pointer_to_ipv6(pointer: u8) -> Option<u32> {
    match pointer {
        0 | 1 => Some(pointer.into()),
        2 | 3 => Some(4),
        8 => Some(7),
        9 => Some(6),
        12..=15 => Some(8),
        16..=19 => Some(24),
        _ => None,
    }
}

/// RFC 7915 section 5.2, figure 6.
fn pointer_to_ipv4(pointer: u32) -> Option<u8> {
    match pointer {
        0 | 1 => Some(pointer as u8),
        4 | 5 => Some(2),
        6 => Some(9),
        7 => Some(8),
        8..=23 => Some(12),
        24..=39 => Some(16),
        _ => None,
    }
}

/// An ICMP message as an ICMPv6 message.
pub(super) fn to_ipv6(translator: &Translator, ends: &Ends, bytes: &[u8]) -> Result<(Clause, Vec<u8>), Clause> {
    let message = Message::parse(Version::V4, Span::whole(bytes)).map_err(|_| Clause::Malformed)?;
    if !checksum::is_valid(bytes) {
        return Err(Clause::Malformed);
    }
    let payload = message.payload().captured();
    let settings = &translator.settings;
    let mut quoted_words = 0;
    let told = match V4Repr::parse(&message) {
        V4Repr::Echo(echo) => return Ok((Clause::ToIpv6, join6(ends, V6Repr::Echo(echo), payload))),
        V4Repr::Unreachable { code: 2, .. } => V6Repr::ParameterProblem { code: 1, pointer: 6 },
        V4Repr::Unreachable { code: 4, mtu_bytes, .. } => {
            let told_bytes = match mtu_bytes {
                0 => plateau_below(payload),
                _ => mtu_bytes.into(),
            };
            let mtu_bytes = (told_bytes + MORE).min(settings.mtu6).min(settings.mtu4 + MORE).max(LEAST_MTU6 as u32);
            V6Repr::PacketTooBig { mtu_bytes }
        }
        V4Repr::Unreachable { code, quoted_words: words, .. } => {
            quoted_words = words;
            let code = match code {
                0 | 1 | 5 | 6 | 7 | 8 | 11 | 12 => 0,
                3 => 4,
                9 | 10 | 13 | 15 => 1,
                _ => return Err(Clause::UntranslatedIcmp),
            };
            V6Repr::Unreachable { code, quoted_words: 0 }
        }
        V4Repr::TimeExceeded { code, quoted_words: words } => {
            quoted_words = words;
            V6Repr::TimeExceeded { code, quoted_words: 0 }
        }
        V4Repr::ParameterProblem { code: 0 | 2, pointer, .. } => {
            let pointer = pointer_to_ipv6(pointer).ok_or(Clause::UntranslatedIcmp)?;
            V6Repr::ParameterProblem { code: 0, pointer }
        }
        V4Repr::ParameterProblem { .. } | V4Repr::Other { .. } => return Err(Clause::UntranslatedIcmp),
    };
    let room = LEAST_MTU6 - ipv6::HEADER_BYTES - HEADER_BYTES;
    let (quoted, words) =
        quote(payload, usize::from(quoted_words) * 4, 8, room, |quoted| translator.quoted_to_ipv6(quoted))?;
    let told = match told {
        V6Repr::Unreachable { code, .. } => V6Repr::Unreachable { code, quoted_words: words },
        V6Repr::TimeExceeded { code, .. } => V6Repr::TimeExceeded { code, quoted_words: words },
        other => other,
    };
    Ok((Clause::ErrorToIpv6, join6(ends, told, &quoted)))
}

/// An ICMPv6 message as an ICMP message.
pub(super) fn to_ipv4(translator: &Translator, ends: &Ends, bytes: &[u8]) -> Result<(Clause, Vec<u8>), Clause> {
    let message = Message::parse(Version::V6, Span::whole(bytes)).map_err(|_| Clause::Malformed)?;
    let pseudo = checksum::pseudo_header_v6(ends.ipv6[0], ends.ipv6[1], protocol::ICMPV6, bytes.len() as u32);
    if checksum::add(pseudo, checksum::sum(bytes)) != u16::MAX {
        return Err(Clause::Malformed);
    }
    let payload = message.payload().captured();
    let settings = &translator.settings;
    let mut quoted_words = 0;
    let told = match V6Repr::parse(&message) {
        V6Repr::Echo(echo) => return Ok((Clause::ToIpv4, join4(V4Repr::Echo(echo), payload))),
        V6Repr::Unreachable { code, quoted_words: words } => {
            quoted_words = words;
            let code = match code {
                0 | 2 | 3 => 1,
                1 => 10,
                4 => 3,
                _ => return Err(Clause::UntranslatedIcmp),
            };
            V4Repr::Unreachable { code, quoted_words: 0, mtu_bytes: 0 }
        }
        V6Repr::PacketTooBig { mtu_bytes } => {
            let least = mtu_bytes.saturating_sub(MORE).min(settings.mtu4).min(settings.mtu6 - MORE);
            V4Repr::Unreachable { code: 4, quoted_words: 0, mtu_bytes: least as u16 }
        }
        V6Repr::TimeExceeded { code, quoted_words: words } => {
            quoted_words = words;
            V4Repr::TimeExceeded { code, quoted_words: 0 }
        }
        V6Repr::ParameterProblem { code: 0, pointer } => {
            let pointer = pointer_to_ipv4(pointer).ok_or(Clause::UntranslatedIcmp)?;
            V4Repr::ParameterProblem { code: 0, pointer, quoted_words: 0 }
        }
        V6Repr::ParameterProblem { code: 1, .. } => V4Repr::Unreachable { code: 2, quoted_words: 0, mtu_bytes: 0 },
        V6Repr::ParameterProblem { .. } | V6Repr::Other { .. } => return Err(Clause::UntranslatedIcmp),
    };
    let room = ERROR4_BYTES - ipv4::HEADER_BYTES - HEADER_BYTES;
    let (quoted, words) =
        quote(payload, usize::from(quoted_words) * 8, 4, room, |quoted| translator.quoted_to_ipv4(quoted))?;
    let told = match told {
        V4Repr::Unreachable { code, mtu_bytes, .. } => V4Repr::Unreachable { code, quoted_words: words, mtu_bytes },
        V4Repr::TimeExceeded { code, .. } => V4Repr::TimeExceeded { code, quoted_words: words },
        other => other,
    };
    Ok((Clause::ErrorToIpv4, join4(told, &quoted)))
}

/// What an error quotes in the other family, and its length attribute. Extensions follow where `quoted_bytes` says that there are some: RFC 4884 sections 3
/// and 5.
///
/// `word_bytes`: the unit of the length attribute. `room`: what there is for all of it.
fn quote(
    payload: &[u8],
    quoted_bytes: usize,
    word_bytes: usize,
    room: usize,
    translate: impl Fn(&[u8]) -> Result<Vec<u8>, Clause>,
) -> Result<(Vec<u8>, u8), Clause> {
    /// A packet is padded to this before extensions.
    const LEAST_QUOTED_BYTES: usize = 128;
    if quoted_bytes == 0 {
        let mut quoted = translate(payload)?;
        quoted.truncate(room);
        return Ok((quoted, 0));
    }
    let (quoted, extensions) = payload.split_at_checked(quoted_bytes).ok_or(Clause::Malformed)?;
    let mut quoted = translate(quoted)?;
    let most = room.saturating_sub(extensions.len()) / word_bytes * word_bytes;
    if most < LEAST_QUOTED_BYTES {
        quoted.truncate(room);
        return Ok((quoted, 0));
    }
    let padded = quoted.len().max(LEAST_QUOTED_BYTES).next_multiple_of(word_bytes).min(most).min(255 * word_bytes);
    quoted.resize(padded, 0);
    quoted.extend(extensions);
    Ok((quoted, (padded / word_bytes) as u8))
}

/// Makes an echo out of an echo of the other family, in a packet that may be cut off. Other messages cannot be quoted: an error is never about an error.
///
/// `pseudo`: the sum of what the checksum covers besides the message, before and after.
pub(super) fn quoted_echo(message: &mut [u8], from: [u8; 2], to: [u8; 2], pseudo: [u16; 2]) -> Result<(), Clause> {
    let Some(&kind) = message.first() else { return Ok(()) };
    let index = from.iter().position(|&one| one == kind).ok_or(Clause::ErrorInError)?;
    if let Some(field) = message.get_mut(2..4) {
        let old = checksum::add(pseudo[0], u16::from(kind) << 8);
        let new = checksum::add(pseudo[1], u16::from(to[index]) << 8);
        let updated = checksum::update_sum(u16::from_be_bytes([field[0], field[1]]), old, new);
        field.copy_from_slice(&updated.to_be_bytes());
    }
    message[0] = to[index];
    Ok(())
}

/// The first plateau below the length of the packet that was too long: RFC 1191 section 5.
fn plateau_below(quoted: &[u8]) -> u32 {
    let total_bytes = quoted.get(2..4).map_or(0, |field| u32::from(u16::from_be_bytes([field[0], field[1]])));
    PLATEAUS.into_iter().find(|&plateau| plateau < total_bytes).unwrap_or(PLATEAUS[PLATEAUS.len() - 1])
}

fn join4(told: V4Repr, payload: &[u8]) -> Vec<u8> {
    [&told.emit_summed(checksum::sum(payload))[..], payload].concat()
}

fn join6(ends: &Ends, told: V6Repr, payload: &[u8]) -> Vec<u8> {
    let bytes = (HEADER_BYTES + payload.len()) as u32;
    let pseudo = checksum::pseudo_header_v6(ends.ipv6[0], ends.ipv6[1], protocol::ICMPV6, bytes);
    [&told.emit_summed(pseudo, checksum::sum(payload))[..], payload].concat()
}
