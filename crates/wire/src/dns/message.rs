//! Messages as others write them: RFC 1035 section 4.1, RFC 6891 section 6.

use super::flaw::Flaw;
use super::kind::Kind;
use super::{CLASS_IN, Name};

/// RFC 1035 section 4.1.1.
pub const HEADER_BYTES: usize = 12;

/// The first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The number of the exchange, which the answer repeats.
    pub id: u16,
    flags: u16,
}

impl Header {
    const RESPONSE: u16 = 1 << 15;
    pub(super) const AUTHORITATIVE: u16 = 1 << 10;
    pub(super) const TRUNCATED: u16 = 1 << 9;
    const RECURSION_DESIRED: u16 = 1 << 8;
    pub(super) const RECURSION_AVAILABLE: u16 = 1 << 7;
    /// RFC 4035 section 3.2.2.
    const CHECKING_DISABLED: u16 = 1 << 4;

    /// The header of a message; `None` if the message is too short to have one.
    pub fn parse(message: &[u8]) -> Option<Self> {
        let &[a, b, c, d] = message.first_chunk::<4>().filter(|_| message.len() >= HEADER_BYTES)?;
        Some(Self { id: u16::from_be_bytes([a, b]), flags: u16::from_be_bytes([c, d]) })
    }

    /// True if the message is an answer (QR).
    pub fn is_response(&self) -> bool {
        self.flags & Self::RESPONSE != 0
    }

    /// True if the answer comes from an authority for the name (AA).
    pub fn is_authoritative(&self) -> bool {
        self.flags & Self::AUTHORITATIVE != 0
    }

    /// The kind of request; 0 is a question.
    pub fn opcode(&self) -> u8 {
        (self.flags >> 11) as u8 & 15
    }

    /// True if the server is asked to ask other servers (RD).
    pub fn wants_recursion(&self) -> bool {
        self.flags & Self::RECURSION_DESIRED != 0
    }

    /// True if the answer was cut (TC).
    pub fn is_truncated(&self) -> bool {
        self.flags & Self::TRUNCATED != 0
    }

    /// True if the sender of the question checks signatures itself (CD).
    pub fn is_checking_disabled(&self) -> bool {
        self.flags & Self::CHECKING_DISABLED != 0
    }

    /// The lower four bits of the response code.
    pub fn rcode(&self) -> u8 {
        self.flags as u8 & 15
    }

    /// The flags of an answer: what was asked, RD and CD are repeated (RFC 1035 section 4.1.1, RFC 4035 section 3.2.2).
    pub(super) fn answer_flags(&self, added: u16, rcode: u8) -> u16 {
        let repeated = self.flags & ((15 << 11) | Self::RECURSION_DESIRED | Self::CHECKING_DISABLED);
        repeated | Self::RESPONSE | added | u16::from(rcode & 15)
    }
}

/// A question of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The name whose records are asked for.
    pub name: Name,
    /// The type of the records.
    pub kind: Kind,
    /// The class of the records.
    pub class: u16,
}

impl Question {
    /// A question of the class IN.
    pub fn new(name: Name, kind: Kind) -> Self {
        Self { name, kind, class: CLASS_IN }
    }

    /// The message that asks it of a resolver, without EDNS.
    pub fn asked(&self, id: u16) -> Vec<u8> {
        let mut message = Vec::with_capacity(HEADER_BYTES + self.name.wire().len() + 4);
        for word in [id, Header::RECURSION_DESIRED, 1, 0, 0, 0] {
            message.extend(word.to_be_bytes());
        }
        message.extend(self.emit());
        message
    }

    /// The bytes of the question in a message.
    pub(super) fn emit(&self) -> Vec<u8> {
        [self.name.wire(), &self.kind.0.to_be_bytes(), &self.class.to_be_bytes()].concat()
    }
}

/// A record as it stands in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordView<'a> {
    /// The name that has the record.
    pub name: Name,
    /// Its type.
    pub kind: Kind,
    /// Its class; of an OPT record the size of datagrams that its sender takes.
    pub class: u16,
    /// Time for which the record may be kept, in seconds; of an OPT record flags.
    pub ttl_s: u32,
    /// The data, and the place in the message where they begin, for names in them.
    pub data: (usize, &'a [u8]),
}

/// The abilities of the sender beyond RFC 1035: RFC 6891 section 6.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edns {
    /// The longest datagram that it takes.
    pub udp_bytes: u16,
    /// 0 is the only one that there is.
    pub version: u8,
    /// True if the sender wants the records of DNSSEC (DO, RFC 3225).
    pub wants_dnssec: bool,
}

/// A whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its first bytes.
    pub header: Header,
    /// The questions.
    pub questions: Vec<Question>,
    /// Answers, authorities, and additional records.
    pub sections: [Vec<RecordView<'a>>; 3],
    /// The content of the OPT record, which is not among the additional records.
    pub edns: Option<Edns>,
}

impl<'a> Message<'a> {
    /// Reads a message to its last byte.
    pub fn parse(message: &'a [u8]) -> Result<Self, Flaw> {
        let header = Header::parse(message).ok_or(Flaw::Truncated)?;
        let count = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
        let mut at = HEADER_BYTES;
        let mut questions = Vec::new();
        for _ in 0..count(4) {
            let (name, fixed) = Name::read(message, at)?;
            let &[a, b, c, d] = chunk::<4>(message, fixed)?;
            questions.push(Question {
                name,
                kind: Kind(u16::from_be_bytes([a, b])),
                class: u16::from_be_bytes([c, d]),
            });
            at = fixed + 4;
        }
        let mut edns = None;
        let mut sections = [Vec::new(), Vec::new(), Vec::new()];
        for (index, section) in sections.iter_mut().enumerate() {
            for _ in 0..count(6 + 2 * index) {
                let (record, behind) = read_record(message, at)?;
                at = behind;
                if record.kind != Kind::OPT {
                    section.push(record);
                } else if index == 2 && edns.is_none() && record.name == Name::root() {
                    edns = Some(Edns::of(&record));
                } else {
                    return Err(Flaw::Edns);
                }
            }
        }
        if at < message.len() { Err(Flaw::Trailing) } else { Ok(Self { header, questions, sections, edns }) }
    }
}

impl Edns {
    fn of(record: &RecordView<'_>) -> Self {
        let [_, version, flags, _] = record.ttl_s.to_be_bytes();
        Self { udp_bytes: record.class, version, wants_dnssec: flags & 0x80 != 0 }
    }

    /// An OPT record without options. `rcode`: the whole response code, of which it has the upper eight bits.
    pub(super) fn emit(&self, rcode: u16) -> [u8; 11] {
        let [[size, size_low], [kind, kind_low]] = [self.udp_bytes, Kind::OPT.0].map(u16::to_be_bytes);
        let flags = if self.wants_dnssec { 0x80 } else { 0 };
        [0, kind, kind_low, size, size_low, (rcode >> 4) as u8, self.version, flags, 0, 0, 0]
    }
}

fn read_record(message: &[u8], at: usize) -> Result<(RecordView<'_>, usize), Flaw> {
    let (name, fixed) = Name::read(message, at)?;
    let &[a, b, c, d, e, f, g, h, i, j] = chunk::<10>(message, fixed)?;
    let begin = fixed + 10;
    let behind = begin + usize::from(u16::from_be_bytes([i, j]));
    let data = message.get(begin..behind).ok_or(Flaw::Truncated)?;
    let record = RecordView {
        name,
        kind: Kind(u16::from_be_bytes([a, b])),
        class: u16::from_be_bytes([c, d]),
        ttl_s: u32::from_be_bytes([e, f, g, h]),
        data: (begin, data),
    };
    Ok((record, behind))
}

fn chunk<const N: usize>(message: &[u8], at: usize) -> Result<&[u8; N], Flaw> {
    message.get(at..).and_then(<[u8]>::first_chunk).ok_or(Flaw::Truncated)
}
