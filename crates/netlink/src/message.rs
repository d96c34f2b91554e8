//! Messages and their attributes: `linux/netlink.h`, `linux/rtnetlink.h`. No bytes make the readers panic.

use std::ffi::CStr;
use std::io;

/// `struct nlmsghdr`: length, type, flags, sequence number, port.
const HEADER_BYTES: usize = 16;
/// `struct rtattr`: length, type.
const ATTRIBUTE_HEADER_BYTES: usize = 4;
/// The bits of an attribute's type that do not say how its value is written.
const ATTRIBUTE_TYPE: u16 = 0x3fff;

const END: u16 = libc::NLMSG_DONE as u16;
const ERROR: u16 = libc::NLMSG_ERROR as u16;

/// A message of the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    kind: u16,
    /// The sequence number of the request that it answers.
    pub sequence: u32,
    /// True if other messages of the same answer follow.
    pub has_more: bool,
    body: &'a [u8],
}

/// The content of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// The dump is complete, or the change is made.
    End,
    /// A structure of that type.
    Structure(u16, &'a [u8]),
}

/// The messages of a piece that was read, up to one that is cut off.
pub fn messages(mut piece: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let length = number(piece, 0)? as usize;
        let body = piece.get(HEADER_BYTES..length)?;
        let (kind, flags) = (half(piece, 4)?, half(piece, 6)?);
        let has_more = i32::from(flags) & libc::NLM_F_MULTI != 0;
        let message = Message { kind, sequence: number(piece, 8)?, has_more, body };
        piece = piece.get(aligned(length)..).unwrap_or_default();
        Some(message)
    })
}

impl<'a> Message<'a> {
    /// Reads on; an error is the kernel's refusal.
    pub fn content(&self) -> io::Result<Content<'a>> {
        match (self.kind, number(self.body, 0)) {
            // A dump may fail at its end, and a change is acknowledged by error 0.
            (END | ERROR, Some(0)) | (END, None) => Ok(Content::End),
            (END | ERROR, Some(error)) => Err(io::Error::from_raw_os_error((error as i32).wrapping_neg())),
            (ERROR, None) => Err(io::Error::other("an error message without a number")),
            _ => Ok(Content::Structure(self.kind, self.body)),
        }
    }
}

/// The attributes behind a structure.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a>(&'a [u8]);

impl<'a> Attributes<'a> {
    /// The attributes behind a structure of `fixed_bytes`, or in an attribute (0). `None` where the structure or one of
    /// them is cut off.
    pub fn after(fixed_bytes: usize, body: &'a [u8]) -> Option<Self> {
        let attributes = body.get(fixed_bytes..)?;
        let mut rest = attributes;
        while rest.len() >= ATTRIBUTE_HEADER_BYTES {
            (_, _, rest) = first(rest)?;
        }
        Some(Self(attributes))
    }

    /// The value of the first one of that type.
    pub fn get(&self, wanted: u16) -> Option<&'a [u8]> {
        let mut rest = self.0;
        loop {
            let (kind, value, others) = first(rest)?;
            if kind == wanted {
                return Some(value);
            }
            rest = others;
        }
    }

    /// A value that is a name.
    pub fn text(&self, wanted: u16) -> Option<String> {
        CStr::from_bytes_until_nul(self.get(wanted)?).ok().map(|name| name.to_string_lossy().into_owned())
    }

    /// A value that is a number of 32 bits.
    pub fn number(&self, wanted: u16) -> Option<u32> {
        number(self.get(wanted)?, 0)
    }
}

/// The type and the value of the first attribute, and those behind it.
fn first(attributes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::from(half(attributes, 0)?);
    let value = attributes.get(ATTRIBUTE_HEADER_BYTES..length)?;
    Some((half(attributes, 2)? & ATTRIBUTE_TYPE, value, attributes.get(aligned(length)..).unwrap_or_default()))
}

/// A request: a structure, and attributes.
#[derive(Debug, Clone)]
pub(crate) struct NetlinkRequest(Vec<u8>);

impl NetlinkRequest {
    pub fn new(kind: u16, structure: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(structure);
        Self(bytes)
    }

    pub fn with(mut self, kind: u16, value: &[u8]) -> Self {
        self.0.extend(((ATTRIBUTE_HEADER_BYTES + value.len()) as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend_from_slice(value);
        self.0.resize(aligned(self.0.len()), 0);
        self
    }

    /// The bytes of the request as it is sent.
    pub fn numbered(mut self, flags: i32, sequence: u32) -> Vec<u8> {
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        self.0[6..8].copy_from_slice(&(flags as u16).to_ne_bytes());
        self.0[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.0
    }

    /// The structure and the attributes, as an answer has them too.
    #[cfg(test)]
    pub fn body(&self) -> &[u8] {
        &self.0[HEADER_BYTES..]
    }
}

/// The length with the padding behind it.
fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

/// A number of 32 bits.
pub(crate) fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

pub(crate) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        NetlinkRequest::new(kind, body).numbered(libc::NLM_F_MULTI, 7)
    }

    #[test]
    fn messages_follow_each_other() {
        let piece = [message(16, &[1, 2, 3, 4]), message(END, &[0; 4]), vec![9; 3]].concat();
        let found: Vec<_> = messages(&piece).map(|message| (message.sequence, message.content().ok())).collect();
        assert_eq!(found, [(7, Some(Content::Structure(16, &[1, 2, 3, 4]))), (7, Some(Content::End))]);
    }

    #[test]
    fn refusals_are_errors_and_error_0_is_none() {
        let content = |kind, error: i32| {
            let bytes = message(kind, &error.to_ne_bytes());
            messages(&bytes).next().expect("a message").content().map(|_| ()).map_err(|error| error.raw_os_error())
        };
        for kind in [END, ERROR] {
            assert_eq!(content(kind, 0), Ok(()));
            assert_eq!(content(kind, -libc::ESRCH), Err(Some(libc::ESRCH)));
        }
    }

    #[test]
    fn attributes_are_found_by_their_type() {
        let request = NetlinkRequest::new(0, &[7; 8]).with(1, b"e0\0").with(2 | 0x8000, &5_u32.to_ne_bytes());
        let attributes = Attributes::after(8, request.body()).expect("attributes");
        assert_eq!(
            (attributes.text(1).as_deref(), attributes.number(2), attributes.get(3)),
            (Some("e0"), Some(5), None)
        );
        assert!(Attributes::after(8, &request.body()[..22]).is_none());
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_panic_or_endless(bytes in prop::collection::vec(any::<u8>(), 0..200), wanted: u16) {
            prop_assert!(messages(&bytes).count() <= bytes.len() / HEADER_BYTES);
            for message in messages(&bytes) {
                let _ = message.content();
            }
            if let Some(attributes) = Attributes::after(0, &bytes) {
                let _ = (attributes.text(wanted), attributes.number(wanted));
            }
        }

        #[test]
        fn what_is_asked_is_what_is_read(values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)) {
            let request = values.iter().zip(1..).fold(NetlinkRequest::new(26, &[0; 12]), |request, (value, kind)| request.with(kind, value));
            let bytes = request.numbered(0, 3);
            let message = messages(&bytes).next().expect("a message");
            let Ok(Content::Structure(26, body)) = message.content() else { panic!("no structure") };
            let attributes = Attributes::after(12, body).expect("attributes");
            for (value, kind) in values.iter().zip(1..) {
                prop_assert_eq!(attributes.get(kind), Some(value.as_slice()));
            }
        }
    }
}
