//! The cookie that a client of datagrams echoes before anything is sent to it (see "The cookie" in the protocol
//! document).
//!
//! Pure except for the key of a [`Doorkeeper`], which the system's random numbers give. Cookies without a state at the
//! server are as in RFC 9000 section 8.1.2 and RFC 7873.

use std::net::{IpAddr, SocketAddr};

use blake2::Blake2sMac;
use blake2::digest::consts::U16;
use blake2::digest::{KeyInit, Mac};
use sixbench_measure::random::secret;

use crate::datagram::HEADER_BYTES;
use crate::{Error, Result};

/// Length of a cookie.
pub const COOKIE_BYTES: usize = 16;

/// A keyed hash of an address and port.
pub type Cookie = [u8; COOKIE_BYTES];

/// The kind of a datagram of the exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The client wants a cookie.
    Ask = 2,
    /// The server gives a cookie.
    Cookie = 3,
    /// The client repeats the cookie.
    Echo = 4,
    /// The server accepts datagrams from that address and port from now on.
    Welcome = 5,
}

/// A datagram of the exchange. All have the same length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The first bytes of the trial's token.
    pub token: u64,
    /// Zero in [`Kind::Ask`].
    pub cookie: Cookie,
    /// The kind of the message.
    pub kind: Kind,
}

impl Message {
    /// The bytes on the wire.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&self.token.to_be_bytes());
        bytes[8..24].copy_from_slice(&self.cookie);
        bytes[24] = self.kind as u8;
        bytes
    }

    /// `None` where the datagram is none of the exchange of this trial.
    pub fn decode(datagram: &[u8], token: u64) -> Option<Self> {
        let bytes: &[u8; HEADER_BYTES] = datagram.try_into().ok()?;
        let kind = match bytes[24] {
            2 => Kind::Ask,
            3 => Kind::Cookie,
            4 => Kind::Echo,
            5 => Kind::Welcome,
            _ => return None,
        };
        let mut cookie = [0; COOKIE_BYTES];
        cookie.copy_from_slice(&bytes[8..24]);
        let message = Self { token, cookie, kind };
        (message.encode() == *bytes).then_some(message)
    }
}

/// The answer to a datagram at the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The message is to be sent back to the sender.
    Answer(Message),
    /// The sender is the session's peer; the message is to be sent to it.
    Admit(Message),
    /// The datagram is not of the exchange, or has a cookie of another address.
    Stray,
}

/// Gives out cookies and recognises them, without remembering which client has which.
pub struct Doorkeeper {
    key: [u8; 32],
    token: u64,
}

impl Doorkeeper {
    /// A doorkeeper with a key of its own.
    pub fn new(token: u64) -> Result<Self> {
        let key = secret().map_err(|e| Error::system("making a key for cookies", "read(/dev/urandom)", e))?;
        Ok(Self { key, token })
    }

    /// Judges a datagram from that address and port.
    pub fn take(&self, datagram: &[u8], from: SocketAddr) -> Verdict {
        let message = |kind| Message { token: self.token, cookie: self.cookie(from), kind };
        match Message::decode(datagram, self.token) {
            Some(Message { kind: Kind::Ask, .. }) => Verdict::Answer(message(Kind::Cookie)),
            Some(echo) if echo == message(Kind::Echo) => Verdict::Admit(message(Kind::Welcome)),
            _ => Verdict::Stray,
        }
    }

    fn cookie(&self, of: SocketAddr) -> Cookie {
        let address = match of.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        #[allow(clippy::expect_used)] // 32 bytes are a key of BLAKE2s (RFC 7693 section 2.1).
        let mut mac = <Blake2sMac<U16> as KeyInit>::new_from_slice(&self.key).expect("a key of 32 bytes");
        mac.update(&address.octets());
        mac.update(&of.port().to_be_bytes());
        mac.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TOKEN: u64 = 0x0102_0304_0506_0708;

    fn source(port: u16) -> SocketAddr {
        SocketAddr::new([192, 0, 2, 7].into(), port)
    }

    fn ask() -> [u8; HEADER_BYTES] {
        Message { token: TOKEN, cookie: [0; COOKIE_BYTES], kind: Kind::Ask }.encode()
    }

    fn cookie_for(door: &Doorkeeper, from: SocketAddr) -> Cookie {
        let Verdict::Answer(Message { cookie, kind: Kind::Cookie, .. }) = door.take(&ask(), from) else {
            panic!("no cookie")
        };
        cookie
    }

    #[test]
    fn the_layout_of_the_protocol_document() {
        let mut expected = [0; 32];
        expected[..8].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        expected[8..24].fill(0xcc);
        expected[24] = 4;
        let echo = Message { token: TOKEN, cookie: [0xcc; COOKIE_BYTES], kind: Kind::Echo };
        assert_eq!(echo.encode(), expected);
        assert_eq!(Message::decode(&expected, TOKEN), Some(echo));
        assert_eq!(Message::decode(&expected, TOKEN + 1), None);
    }

    #[test]
    fn only_the_address_and_port_that_got_a_cookie_may_echo_it() {
        let door = Doorkeeper::new(TOKEN).unwrap();
        let echo = Message { token: TOKEN, cookie: cookie_for(&door, source(9)), kind: Kind::Echo }.encode();
        assert!(matches!(door.take(&echo, source(9)), Verdict::Admit(Message { kind: Kind::Welcome, .. })));
        assert_eq!(door.take(&echo, source(10)), Verdict::Stray);
        assert_eq!(door.take(&echo, SocketAddr::new([192, 0, 2, 8].into(), 9)), Verdict::Stray);
        let other = Doorkeeper::new(TOKEN).unwrap();
        assert_eq!(other.take(&echo, source(9)), Verdict::Stray);
    }

    proptest! {
        #[test]
        fn nobody_is_admitted_by_chance_and_no_answer_is_longer(
            bytes in prop::collection::vec(any::<u8>(), 0..80),
            has_token: bool,
            kind in 0..8_u8,
        ) {
            let mut bytes = bytes;
            if has_token && bytes.len() >= 25 {
                bytes[..8].copy_from_slice(&TOKEN.to_be_bytes());
                bytes[24] = kind;
            }
            match Doorkeeper::new(TOKEN).unwrap().take(&bytes, source(1)) {
                Verdict::Admit(_) => prop_assert!(false, "admitted"),
                Verdict::Answer(message) => prop_assert!(message.encode().len() <= bytes.len()),
                Verdict::Stray => {}
            }
        }
    }
}
