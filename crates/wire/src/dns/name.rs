//! Domain names: RFC 1035 sections 3.1 and 4.1.4.

use std::cmp::Ordering;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::Flaw;

/// The longest name, with the lengths of its labels and the root's: RFC 1035 section 3.1.
pub const MAX_NAME_BYTES: usize = 255;
const MAX_LABEL_BYTES: usize = 63;
/// The two highest bits of a length give its kind: RFC 1035 section 4.1.4.
const POINTER: u8 = 0xc0;

/// A domain name: its labels as they were written, each after its length, the root's last. Names that differ only in
/// case are equal (RFC 4343).
#[derive(Clone)]
pub struct Name(Vec<u8>);

impl Name {
    /// The name of the root, which has no label.
    pub fn root() -> Self {
        Self(vec![0])
    }

    /// Reads the name that begins at an offset of a message, and gives the offset behind it. A pointer leads only to
    /// what comes before the labels that it ends, so that no pointers make a circle.
    pub fn read(message: &[u8], offset: usize) -> Result<(Self, usize), Flaw> {
        let mut wire = Vec::new();
        let (mut at, mut begin, mut behind) = (offset, offset, None);
        loop {
            let length = *message.get(at).ok_or(Flaw::Truncated)?;
            match length & POINTER {
                0 => {
                    let label = message.get(at..=at + usize::from(length)).ok_or(Flaw::Truncated)?;
                    wire.extend_from_slice(label);
                    at += label.len();
                    if wire.len() > MAX_NAME_BYTES {
                        return Err(Flaw::LongName);
                    }
                    if length == 0 {
                        return Ok((Self(wire), behind.unwrap_or(at)));
                    }
                }
                POINTER => {
                    let low = *message.get(at + 1).ok_or(Flaw::Truncated)?;
                    let target = usize::from(u16::from_be_bytes([length & !POINTER, low]));
                    if target >= begin {
                        return Err(Flaw::Pointer);
                    }
                    behind = behind.or(Some(at + 2));
                    (at, begin) = (target, target);
                }
                _ => return Err(Flaw::LabelType),
            }
        }
    }

    /// The name under which the name of an address is found: RFC 1035 section 3.5, RFC 3596 section 2.5.
    pub fn reverse(address: IpAddr) -> Self {
        let mut wire = Vec::with_capacity(MAX_NAME_BYTES);
        let mut push = |label: &[u8]| {
            wire.push(label.len() as u8);
            wire.extend_from_slice(label);
        };
        match address {
            IpAddr::V4(address) => {
                address.octets().iter().rev().for_each(|octet| push(octet.to_string().as_bytes()));
                push(b"in-addr");
            }
            IpAddr::V6(address) => {
                for octet in address.octets().iter().rev() {
                    push(&[hexadecimal(octet & 15)]);
                    push(&[hexadecimal(octet >> 4)]);
                }
                push(b"ip6");
            }
        }
        push(b"arpa");
        push(b"");
        Self(wire)
    }

    /// The bits that a name below ip6.arpa has, first ones first, and how many they are; `None` of another name. RFC
    /// 3596 section 2.5.
    pub fn reversed_ipv6(&self) -> Option<(u128, u32)> {
        let labels: Vec<&[u8]> = self.labels().collect();
        let (digits, suffix) = labels.split_at_checked(labels.len().checked_sub(2)?)?;
        if !(suffix[0].eq_ignore_ascii_case(b"ip6") && suffix[1].eq_ignore_ascii_case(b"arpa")) || digits.len() > 32 {
            return None;
        }
        let mut bits = 0;
        for (place, digit) in digits.iter().rev().enumerate() {
            let [digit] = digit else { return None };
            let value = char::from(*digit).to_digit(16)?;
            bits |= u128::from(value) << (124 - 4 * place);
        }
        Some((bits, 4 * digits.len() as u32))
    }

    /// Its labels but for the root's, the host's first.
    pub fn labels(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (&length, after) = rest.split_first()?;
            let (label, after) = after.split_at_checked(length.into())?;
            rest = after;
            (length > 0).then_some(label)
        })
    }

    /// The name without its first label; `None` of the root.
    pub fn parent(&self) -> Option<Self> {
        let length = usize::from(self.0[0]);
        (length > 0).then(|| Self(self.0[length + 1..].to_vec()))
    }

    /// True if it is the name of the zone or one below it.
    pub fn is_within(&self, zone: &Self) -> bool {
        let [own, end] = [self, zone].map(|name| name.labels().collect::<Vec<_>>());
        own.len() >= end.len()
            && own.iter().rev().zip(end.iter().rev()).all(|(one, other)| one.eq_ignore_ascii_case(other))
    }

    /// The bytes of the name in a message, without compression.
    pub fn wire(&self) -> &[u8] {
        &self.0
    }

    fn folded(&self) -> impl Iterator<Item = u8> {
        // A length is below 64, so that no letter is one.
        self.0.iter().map(u8::to_ascii_lowercase)
    }
}

fn hexadecimal(nibble: u8) -> u8 {
    b"0123456789abcdef"[usize::from(nibble & 15)]
}

impl FromStr for Name {
    type Err = String;

    /// Reads labels with dots between them; a dot at the end makes no difference.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut wire = Vec::with_capacity(text.len() + 2);
        let inner = text.strip_suffix('.').unwrap_or(text);
        for label in inner.split('.').filter(|_| !text.is_empty() && text != ".") {
            if label.is_empty() || label.len() > MAX_LABEL_BYTES || !label.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(format!(
                    "{text:?} is no domain name: labels have 1 to {MAX_LABEL_BYTES} printable characters"
                ));
            }
            wire.push(label.len() as u8);
            wire.extend_from_slice(label.as_bytes());
        }
        wire.push(0);
        match wire.len() {
            ..=MAX_NAME_BYTES if !text.is_empty() => Ok(Self(wire)),
            _ => Err(format!("{text:?} is no domain name: it has 1 to {MAX_NAME_BYTES} bytes")),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for label in self.labels() {
            write!(formatter, "{}.", label.escape_ascii())?;
        }
        if self.0.len() == 1 { formatter.write_str(".") } else { Ok(()) }
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.folded().cmp(other.folded())
    }
}
