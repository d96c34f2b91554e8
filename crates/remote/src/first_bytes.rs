//! The first bytes of a client, all sent at once, and the server's answer ("Connections" in the protocol document).
//! Pure.

use crate::cookie::{COOKIE_BYTES, Cookie, NO_COOKIE};

/// Four letters, a version, a mode: the first bytes of both sides, in every version.
pub const HEAD_BYTES: usize = 6;
const LETTERS: [u8; 4] = *b"SIXB";
/// Version of the transport.
pub const VERSION: u8 = 2;
/// Length of the client's bytes before the handshake: the head, two zero bytes, a cookie.
pub const PREAMBLE_BYTES: usize = HEAD_BYTES + 2 + COOKIE_BYTES;
/// Length of each of the two messages of the handshake: a public key and the tag of an empty payload (Noise revision
/// 34, sections 7 and 5.2).
pub const HANDSHAKE_BYTES: usize = 32 + 16;
/// Length of a message with its length before it.
pub const FRAME_BYTES: usize = 2 + HANDSHAKE_BYTES;
/// The most bytes that a client sends before it is answered.
pub const MAX_OPENING_BYTES: usize = PREAMBLE_BYTES + FRAME_BYTES;

/// The reason why the first bytes are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// They are of something else.
    Foreign,
    /// The other end speaks another version.
    Version(u8),
    /// The other end has a key, this one has none.
    NeedsKey,
    /// The other end has no key, this one has one.
    NoKey,
}

/// The bytes that a client sends before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// The preamble with its cookie. The handshake covers it.
    pub preamble: [u8; PREAMBLE_BYTES],
    /// The first message of the handshake, with a key.
    pub message: Option<[u8; HANDSHAKE_BYTES]>,
}

impl Opening {
    /// Reads what has come so far; `None` where more has to come.
    ///
    /// # Errors
    /// At the first byte that is wrong.
    pub fn read(bytes: &[u8], has_key: bool) -> Result<Option<Self>, Unfit> {
        if bytes.iter().zip(LETTERS).any(|(byte, letter)| *byte != letter) {
            return Err(Unfit::Foreign);
        }
        if let Some(head) = bytes.first_chunk() {
            check_head(head, has_key)?;
        }
        if bytes.iter().skip(HEAD_BYTES).take(2).any(|byte| *byte != 0) {
            return Err(Unfit::Foreign);
        }
        let Some((preamble, rest)) = bytes.split_first_chunk() else { return Ok(None) };
        if !has_key {
            return Ok(Some(Self { preamble: *preamble, message: None }));
        }
        let length = (HANDSHAKE_BYTES as u16).to_be_bytes();
        if rest.iter().zip(length).any(|(byte, right)| *byte != right) {
            return Err(Unfit::Foreign);
        }
        let message = rest.get(length.len()..).and_then(<[u8]>::first_chunk);
        Ok(message.map(|message| Self { preamble: *preamble, message: Some(*message) }))
    }

    /// Length of the opening.
    pub fn length(has_key: bool) -> usize {
        if has_key { MAX_OPENING_BYTES } else { PREAMBLE_BYTES }
    }

    /// The cookie that the client brought.
    pub fn cookie(&self) -> Cookie {
        let mut cookie = NO_COOKIE;
        cookie.copy_from_slice(&self.preamble[HEAD_BYTES + 2..]);
        cookie
    }
}

/// The client's first bytes.
pub fn preamble(has_key: bool, cookie: &Cookie) -> [u8; PREAMBLE_BYTES] {
    let mut bytes = [0; PREAMBLE_BYTES];
    bytes[..HEAD_BYTES].copy_from_slice(&head(has_key));
    bytes[HEAD_BYTES + 2..].copy_from_slice(cookie);
    bytes
}

/// The server's answer to the first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The connection goes on: with a key the second message of the handshake follows, and then the lines.
    GoOn,
    /// Try again in another connection, with this cookie.
    Retry(Cookie),
    /// There are more connections than places for them.
    UnderLoad,
    /// The handshake does not open.
    OtherKey,
    /// The version, or the mode, is another one.
    Differs,
    /// The first bytes took too long.
    TooSlow,
}

impl Answer {
    /// The bytes on the wire.
    pub fn encode(&self, has_key: bool) -> Vec<u8> {
        let mut bytes = head(has_key).to_vec();
        bytes.push(match self {
            Self::GoOn => 0,
            Self::Retry(_) => 1,
            Self::UnderLoad => 2,
            Self::OtherKey => 3,
            Self::Differs => 4,
            Self::TooSlow => 5,
        });
        if let Self::Retry(cookie) = self {
            bytes.extend(cookie);
        }
        bytes
    }

    /// The answer of its code, but for a cookie that is still to be read; `None` where there is no such answer.
    pub fn of_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::GoOn,
            1 => Self::Retry(NO_COOKIE),
            2 => Self::UnderLoad,
            3 => Self::OtherKey,
            4 => Self::Differs,
            5 => Self::TooSlow,
            _ => return None,
        })
    }
}

fn head(has_key: bool) -> [u8; HEAD_BYTES] {
    let [a, b, c, d] = LETTERS;
    [a, b, c, d, VERSION, u8::from(has_key)]
}

/// True if the letters are right as far as they came.
pub fn begins_well(bytes: &[u8]) -> bool {
    bytes.iter().zip(LETTERS).all(|(byte, letter)| *byte == letter)
}

/// Checks that the other end speaks this version and has a key exactly if this end has one.
///
/// # Errors
/// `Unfit` where they do not fit each other.
pub fn check_head(theirs: &[u8; HEAD_BYTES], has_key: bool) -> Result<(), Unfit> {
    let [a, b, c, d, version, mode] = *theirs;
    match ([a, b, c, d] == LETTERS, version, mode, has_key) {
        (false, ..) => Err(Unfit::Foreign),
        (_, VERSION, 0, false) | (_, VERSION, 1, true) => Ok(()),
        (_, VERSION, 0, true) => Err(Unfit::NoKey),
        (_, VERSION, 1, false) => Err(Unfit::NeedsKey),
        (_, VERSION, ..) => Err(Unfit::Foreign),
        (_, other, ..) => Err(Unfit::Version(other)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COOKIE: Cookie = [0xcc; COOKIE_BYTES];

    fn opening(has_key: bool) -> Vec<u8> {
        let mut bytes = preamble(has_key, &COOKIE).to_vec();
        if has_key {
            bytes.extend([0, 48]);
            bytes.extend([0xee; HANDSHAKE_BYTES]);
        }
        bytes
    }

    #[test]
    fn the_layout_of_the_protocol_document() {
        let mut expected = b"SIXB\x02\x01\0\0".to_vec();
        expected.extend([0xcc; 24]);
        expected.extend([0, 48]);
        expected.extend([0xee; 48]);
        assert_eq!(opening(true), expected);
        assert_eq!(Answer::GoOn.encode(true), b"SIXB\x02\x01\0");
        assert_eq!(Answer::UnderLoad.encode(false), b"SIXB\x02\0\x02");
        assert_eq!(Answer::Retry(COOKIE).encode(true), [&b"SIXB\x02\x01\x01"[..], &[0xcc; 24]].concat());
        for code in 0..=u8::MAX {
            let answer = Answer::of_code(code);
            assert!(answer.is_none_or(|answer| answer.encode(true)[HEAD_BYTES] == code));
        }
    }

    #[test]
    fn an_opening_is_whole_at_its_last_byte_and_never_before() {
        for has_key in [false, true] {
            let bytes = opening(has_key);
            assert_eq!(bytes.len(), Opening::length(has_key));
            for length in 0..bytes.len() {
                assert_eq!(Opening::read(&bytes[..length], has_key), Ok(None), "{length}");
            }
            let whole = Opening::read(&bytes, has_key).unwrap().unwrap();
            assert_eq!((whole.cookie(), whole.message.is_some()), (COOKIE, has_key));
        }
        assert_eq!(Opening::read(&opening(true), false), Err(Unfit::NeedsKey));
        assert_eq!(Opening::read(&opening(false), true), Err(Unfit::NoKey));
        assert_eq!(Opening::read(b"SIXB\x01\x01", true), Err(Unfit::Version(1)));
        assert_eq!(Opening::read(b"G", true), Err(Unfit::Foreign));
    }

    proptest! {
        #[test]
        fn a_changed_opening_is_another_one_or_none(has_key: bool, place in 0..MAX_OPENING_BYTES, change in 1..=u8::MAX, length in 0..=MAX_OPENING_BYTES) {
            let right = opening(has_key);
            let mut bytes = right.clone();
            let place = place % bytes.len();
            bytes[place] ^= change;
            bytes.truncate(length);
            match Opening::read(&bytes, has_key) {
                Ok(Some(read)) => {
                    prop_assert_eq!(bytes.len(), right.len());
                    prop_assert!(place >= HEAD_BYTES + 2, "the head is fixed");
                    prop_assert_ne!(Some(read), Opening::read(&right, has_key).unwrap());
                }
                Ok(None) => prop_assert!(bytes.len() < right.len()),
                Err(_) => prop_assert!(place < bytes.len()),
            }
        }
    }
}
