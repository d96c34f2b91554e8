//! ICMP: RFC 792, and ICMPv6: RFC 4443.

use crate::span::be16;
use crate::{Flaw, Span, checksum};

/// Length of the header: no type of either version has less.
pub const HEADER_BYTES: usize = 8;

/// The version of ICMP. The types of the two versions have different numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// ICMP for IPv4.
    V4,
    /// ICMPv6.
    V6,
}

/// An echo request or reply, of either version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Echo {
    pub is_reply: bool,
    pub identifier: u16,
    pub sequence: u16,
}

/// An ICMP or ICMPv6 message.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    version: Version,
    header: &'a [u8; HEADER_BYTES],
    payload: Span<'a>,
}

impl<'a> Message<'a> {
    /// Reads a message.
    pub fn parse(version: Version, span: Span<'a>) -> Result<Self, Flaw> {
        let header = span.first()?;
        let (_, payload) = span.split(HEADER_BYTES)?;
        Ok(Self { version, header, payload })
    }

    /// The type.
    pub fn kind(&self) -> u8 {
        self.header[0]
    }

    /// The code, which refines the type.
    pub fn code(&self) -> u8 {
        self.header[1]
    }

    /// The checksum as it stands there.
    pub fn checksum(&self) -> u16 {
        be16(self.header[2], self.header[3])
    }

    /// The content of an echo request or reply.
    pub fn echo(&self) -> Option<Echo> {
        let is_reply = match (self.version, self.kind()) {
            (Version::V4, 8) | (Version::V6, 128) => false,
            (Version::V4, 0) | (Version::V6, 129) => true,
            _ => return None,
        };
        let [_, _, _, _, a, b, c, d] = *self.header;
        Some(Echo { is_reply, identifier: be16(a, b), sequence: be16(c, d) })
    }

    /// The MTU of the next hop, of a Packet Too Big (RFC 4443 section 3.2) or Fragmentation Needed (RFC 1191 section
    /// 4). A zero, as routers before RFC 1191 send it, is none.
    pub fn mtu_bytes(&self) -> Option<u32> {
        let [_, _, _, _, bytes @ ..] = *self.header;
        let mtu_bytes = match (self.version, self.kind(), self.code()) {
            (Version::V4, 3, 4) => u32::from(be16(bytes[2], bytes[3])),
            (Version::V6, 2, _) => u32::from_be_bytes(bytes),
            _ => return None,
        };
        (mtu_bytes != 0).then_some(mtu_bytes)
    }

    /// The bytes after the header.
    pub fn payload(&self) -> Span<'a> {
        self.payload
    }
}

/// The fields of an ICMP message's header that are written, except for its checksum. `quoted_words` is the length
/// attribute of RFC 4884 section 4: how much is quoted before its extensions, or 0 where there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum V4Repr {
    Echo(Echo),
    /// `mtu_bytes` is the MTU of the next hop with code 4, Fragmentation Needed, and 0 with other codes.
    Unreachable {
        code: u8,
        quoted_words: u8,
        mtu_bytes: u16,
    },
    TimeExceeded {
        code: u8,
        quoted_words: u8,
    },
    /// The pointer is to the octet at fault in what is quoted.
    ParameterProblem {
        code: u8,
        pointer: u8,
        quoted_words: u8,
    },
    /// `rest` is the second half of the header.
    Other {
        kind: u8,
        code: u8,
        rest: [u8; 4],
    },
}

/// The same for ICMPv6, in words of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum V6Repr {
    Echo(Echo),
    Unreachable {
        code: u8,
        quoted_words: u8,
    },
    PacketTooBig {
        mtu_bytes: u32,
    },
    TimeExceeded {
        code: u8,
        quoted_words: u8,
    },
    /// The pointer is to the octet at fault in what is quoted.
    ParameterProblem {
        code: u8,
        pointer: u32,
    },
    /// `rest` is the second half of the header.
    Other {
        kind: u8,
        code: u8,
        rest: [u8; 4],
    },
}

impl V4Repr {
    /// The content of a message. Ignores reserved fields.
    pub fn parse(message: &Message<'_>) -> Self {
        let [kind, code, _, _, a, b, c, d] = *message.header;
        match (kind, code) {
            (0 | 8, 0) => Self::Echo(Echo { is_reply: kind == 0, identifier: be16(a, b), sequence: be16(c, d) }),
            (3, _) => Self::Unreachable { code, quoted_words: b, mtu_bytes: if code == 4 { be16(c, d) } else { 0 } },
            (11, _) => Self::TimeExceeded { code, quoted_words: b },
            (12, _) => Self::ParameterProblem { code, pointer: a, quoted_words: b },
            _ => Self::Other { kind, code, rest: [a, b, c, d] },
        }
    }

    /// The header with that checksum.
    pub fn emit(&self, checksum: u16) -> [u8; HEADER_BYTES] {
        let (kind, code, rest) = match *self {
            Self::Echo(echo) => (if echo.is_reply { 0 } else { 8 }, 0, pair(echo.identifier, echo.sequence)),
            Self::Unreachable { code, quoted_words, mtu_bytes } => (3, code, pair(quoted_words.into(), mtu_bytes)),
            Self::TimeExceeded { code, quoted_words } => (11, code, [0, quoted_words, 0, 0]),
            Self::ParameterProblem { code, pointer, quoted_words } => (12, code, [pointer, quoted_words, 0, 0]),
            Self::Other { kind, code, rest } => (kind, code, rest),
        };
        header(kind, code, checksum, rest)
    }

    /// The header with its checksum, given the sum of what follows it.
    pub fn emit_summed(&self, payload: u16) -> [u8; HEADER_BYTES] {
        self.emit(checksum::upper_layer(payload, &self.emit(0)))
    }
}

impl V6Repr {
    /// The content of a message. Ignores reserved fields.
    pub fn parse(message: &Message<'_>) -> Self {
        let [kind, code, _, _, rest @ ..] = *message.header;
        let [a, b, c, d] = rest;
        match (kind, code) {
            (128 | 129, 0) => Self::Echo(Echo { is_reply: kind == 129, identifier: be16(a, b), sequence: be16(c, d) }),
            (1, _) => Self::Unreachable { code, quoted_words: a },
            // Its code is to be ignored: RFC 4443 section 3.2.
            (2, _) => Self::PacketTooBig { mtu_bytes: u32::from_be_bytes(rest) },
            (3, _) => Self::TimeExceeded { code, quoted_words: a },
            (4, _) => Self::ParameterProblem { code, pointer: u32::from_be_bytes(rest) },
            _ => Self::Other { kind, code, rest },
        }
    }

    /// The header with that checksum.
    pub fn emit(&self, checksum: u16) -> [u8; HEADER_BYTES] {
        let (kind, code, rest) = match *self {
            Self::Echo(echo) => (if echo.is_reply { 129 } else { 128 }, 0, pair(echo.identifier, echo.sequence)),
            Self::Unreachable { code, quoted_words } => (1, code, [quoted_words, 0, 0, 0]),
            Self::PacketTooBig { mtu_bytes } => (2, 0, mtu_bytes.to_be_bytes()),
            Self::TimeExceeded { code, quoted_words } => (3, code, [quoted_words, 0, 0, 0]),
            Self::ParameterProblem { code, pointer } => (4, code, pointer.to_be_bytes()),
            Self::Other { kind, code, rest } => (kind, code, rest),
        };
        header(kind, code, checksum, rest)
    }

    /// The header with its checksum, given the sum of the pseudo header and that of what follows.
    pub fn emit_summed(&self, pseudo_header: u16, payload: u16) -> [u8; HEADER_BYTES] {
        self.emit(checksum::upper_layer(checksum::add(pseudo_header, payload), &self.emit(0)))
    }
}

fn header(kind: u8, code: u8, checksum: u16, [a, b, c, d]: [u8; 4]) -> [u8; HEADER_BYTES] {
    let [high, low] = checksum.to_be_bytes();
    [kind, code, high, low, a, b, c, d]
}

fn pair(one: u16, other: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (one.to_be_bytes(), other.to_be_bytes());
    [a, b, c, d]
}
