//! ICMP in the other family: RFC 7915 sections 4.2, 4.3, 5.2 and 5.3.

use super::context::Context;
use super::ends::Ends;
use super::headers::Upper;
use super::quote::{Quoted, Way};
use super::transport::{Sums, blank};
use super::{Clause, LEAST_MTU6, MORE_BYTES, Translator};
use crate::icmp::{HEADER_BYTES, Message, V4Repr, V6Repr, Version};
use crate::ipv6::{self, FRAGMENT_HEADER_BYTES};
use crate::{Span, checksum};

const MORE: u32 = MORE_BYTES as u32;
/// The types of echo requests and replies.
pub(super) const ECHO4: [u8; 2] = [8, 0];
pub(super) const ECHO6: [u8; 2] = [128, 129];

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

/// An ICMP message as an ICMPv6 message, behind `room` for headers.
pub(super) fn to_ipv6(
    translator: &Translator,
    context: &Context,
    ends: &Ends,
    bytes: &[u8],
    room: usize,
) -> Result<(Clause, Vec<u8>), Clause> {
    let message = Message::parse(Version::V4, Span::whole(bytes)).map_err(|_| Clause::Malformed)?;
    if ECHO4.contains(&message.kind()) {
        let mut out = blank(room, bytes);
        change_echo(&mut out[room..], ECHO4, ECHO6, Sums::of(ends).icmp(bytes.len()).to_ipv6());
        return Ok((Clause::ToIpv6, out));
    }
    if !checksum::is_valid(bytes) {
        return Err(Clause::Malformed);
    }
    let quoted = Quoted::read(Way::ToIpv6, bytes)?;
    let error = error_to_ipv6(translator, V4Repr::parse(&message), quoted.packet)?;
    let takes_length = matches!(error, V6Repr::Unreachable { .. } | V6Repr::TimeExceeded { .. });
    let mut out = vec![0; room + HEADER_BYTES];
    let quoted_words = quoted.translate(translator, context, takes_length, &mut out)?;
    let error = match error {
        V6Repr::Unreachable { code, .. } => V6Repr::Unreachable { code, quoted_words },
        V6Repr::TimeExceeded { code, .. } => V6Repr::TimeExceeded { code, quoted_words },
        other => other,
    };
    let (front, rest) = out.split_at_mut(room + HEADER_BYTES);
    let pseudo = Sums::of(ends).icmp(HEADER_BYTES + rest.len()).ipv6;
    front[room..].copy_from_slice(&error.emit_summed(pseudo, checksum::sum(rest)));
    Ok((Clause::ErrorToIpv6, out))
}

/// RFC 7915 section 4.2. The length attribute is still that of IPv4.
fn error_to_ipv6(translator: &Translator, error: V4Repr, quoted: &[u8]) -> Result<V6Repr, Clause> {
    let settings = &translator.settings;
    Ok(match error {
        V4Repr::Unreachable { code: 2, .. } => V6Repr::ParameterProblem { code: 1, pointer: 6 },
        V4Repr::Unreachable { code: 4, mtu_bytes, .. } => {
            let mtu4 = if mtu_bytes == 0 { plateau_below(&settings.plateaus, quoted) } else { mtu_bytes.into() };
            let mtu_bytes = (mtu4 + MORE).min(settings.mtu6).min(settings.mtu4 + MORE).max(LEAST_MTU6 as u32);
            V6Repr::PacketTooBig { mtu_bytes }
        }
        V4Repr::Unreachable { code, quoted_words, .. } => {
            let code = match code {
                0 | 1 | 5 | 6 | 7 | 8 | 11 | 12 => 0,
                3 => 4,
                9 | 10 | 13 | 15 => 1,
                _ => return Err(Clause::UntranslatedIcmp),
            };
            V6Repr::Unreachable { code, quoted_words }
        }
        V4Repr::TimeExceeded { code, quoted_words } => V6Repr::TimeExceeded { code, quoted_words },
        V4Repr::ParameterProblem { code: 0 | 2, pointer, .. } => {
            let pointer = pointer_to_ipv6(pointer).ok_or(Clause::UntranslatedIcmp)?;
            V6Repr::ParameterProblem { code: 0, pointer }
        }
        V4Repr::ParameterProblem { .. } | V4Repr::Echo(_) | V4Repr::Other { .. } => {
            return Err(Clause::UntranslatedIcmp);
        }
    })
}

/// An ICMPv6 message as an ICMP message, behind `room` for headers.
pub(super) fn to_ipv4(
    translator: &Translator,
    context: &Context,
    ends: &Ends,
    bytes: &[u8],
    room: usize,
) -> Result<(Clause, Vec<u8>), Clause> {
    let message = Message::parse(Version::V6, Span::whole(bytes)).map_err(|_| Clause::Malformed)?;
    let sums = Sums::of(ends).icmp(bytes.len());
    if ECHO6.contains(&message.kind()) {
        let mut out = blank(room, bytes);
        change_echo(&mut out[room..], ECHO6, ECHO4, sums.to_ipv4());
        return Ok((Clause::ToIpv4, out));
    }
    if checksum::add(sums.ipv6, checksum::sum(bytes)) != u16::MAX {
        return Err(Clause::Malformed);
    }
    let quoted = Quoted::read(Way::ToIpv4, bytes)?;
    let error = error_to_ipv4(translator, V6Repr::parse(&message), quoted.packet)?;
    let takes_length = matches!(error, V4Repr::Unreachable { .. } | V4Repr::TimeExceeded { .. });
    let mut out = vec![0; room + HEADER_BYTES];
    let quoted_words = quoted.translate(translator, context, takes_length, &mut out)?;
    let error = match error {
        V4Repr::Unreachable { code, mtu_bytes, .. } => V4Repr::Unreachable { code, quoted_words, mtu_bytes },
        V4Repr::TimeExceeded { code, .. } => V4Repr::TimeExceeded { code, quoted_words },
        other => other,
    };
    let (front, rest) = out.split_at_mut(room + HEADER_BYTES);
    front[room..].copy_from_slice(&error.emit_summed(checksum::sum(rest)));
    Ok((Clause::ErrorToIpv4, out))
}

/// RFC 7915 section 5.2. The length attribute is still that of IPv6.
fn error_to_ipv4(translator: &Translator, error: V6Repr, quoted: &[u8]) -> Result<V4Repr, Clause> {
    let settings = &translator.settings;
    Ok(match error {
        V6Repr::Unreachable { code, quoted_words } => {
            let code = match code {
                0 | 2 | 3 => 1,
                1 => 10,
                4 => 3,
                _ => return Err(Clause::UntranslatedIcmp),
            };
            V4Repr::Unreachable { code, quoted_words, mtu_bytes: 0 }
        }
        V6Repr::PacketTooBig { mtu_bytes } => {
            // No link of IPv6 has a lower MTU: RFC 8201 section 4.
            let mtu6 = mtu_bytes.max(LEAST_MTU6 as u32).min(settings.mtu6);
            let mtu_bytes = (mtu6 - more_bytes_of(quoted)).min(settings.mtu4) as u16;
            V4Repr::Unreachable { code: 4, quoted_words: 0, mtu_bytes }
        }
        V6Repr::TimeExceeded { code, quoted_words } => V4Repr::TimeExceeded { code, quoted_words },
        V6Repr::ParameterProblem { code: 0, pointer } => {
            let pointer = pointer_to_ipv4(pointer).ok_or(Clause::UntranslatedIcmp)?;
            V4Repr::ParameterProblem { code: 0, pointer, quoted_words: 0 }
        }
        V6Repr::ParameterProblem { code: 1, .. } => V4Repr::Unreachable { code: 2, quoted_words: 0, mtu_bytes: 0 },
        V6Repr::ParameterProblem { .. } | V6Repr::Echo(_) | V6Repr::Other { .. } => {
            return Err(Clause::UntranslatedIcmp);
        }
    })
}

/// Makes an echo of the types `to` out of one of the types `from`, in a packet that may be cut off. Other messages
/// cannot be quoted: an error is never about an error.
pub(super) fn quoted_echo(message: &mut [u8], from: [u8; 2], to: [u8; 2], pseudo: [u16; 2]) -> Result<(), Clause> {
    match message.first() {
        Some(kind) if !from.contains(kind) => return Err(Clause::ErrorInError),
        _ => change_echo(message, from, to, pseudo),
    }
    Ok(())
}

/// Changes the type, and by as much the checksum, if they are there. So a checksum that is wrong stays wrong.
///
/// `pseudo`: the sum of what the checksum covers besides the message, before and after.
fn change_echo(message: &mut [u8], from: [u8; 2], to: [u8; 2], pseudo: [u16; 2]) {
    let Some(&kind) = message.first() else { return };
    let new_kind = if kind == from[0] { to[0] } else { to[1] };
    message[0] = new_kind;
    let Some(field) = message.get_mut(2..4) else { return };
    let old = checksum::add(pseudo[0], u16::from(kind) << 8);
    let new = checksum::add(pseudo[1], u16::from(new_kind) << 8);
    let updated = checksum::update_sum(u16::from_be_bytes([field[0], field[1]]), old, new);
    field.copy_from_slice(&updated.to_be_bytes());
}

/// The difference in length between a packet that an ICMPv6 error quotes and the IPv4 packet. RFC 7915 section 5.2 has
/// its Fragment header counted. In the other direction section 4.2 has it left out, as IPv6 hosts get one MTU for
/// packets with and without it.
fn more_bytes_of(quoted: &[u8]) -> u32 {
    let upper = ipv6::Packet::parse(Span::whole(quoted).open_ended()).ok().and_then(|packet| Upper::read(&packet).ok());
    let has_fragment_header = upper.is_some_and(|upper| upper.fragment.is_some());
    if has_fragment_header { MORE + FRAGMENT_HEADER_BYTES as u32 } else { MORE }
}

/// The next lower plateau, as the MTU of a path where an IPv4 packet of the quoted length was too long: RFC 7915
/// section 4.2. A result below the least MTU of IPv6 does not matter.
fn plateau_below(plateaus: &[u16], quoted: &[u8]) -> u32 {
    let total_bytes = quoted.get(2..4).map_or(0, |field| u16::from_be_bytes([field[0], field[1]]));
    plateaus.iter().copied().filter(|&plateau| plateau < total_bytes).max().unwrap_or(0).into()
}
