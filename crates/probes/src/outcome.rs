//! The end of an attempt, by a word that programs and people tell apart.

use std::io;
use std::net::IpAddr;

use nix::errno::Errno;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_packet::error_queue::ExtendedError;

use crate::text::printable;

/// The longest reason: some libraries quote what the server wrote in theirs.
const MAX_REASON_CHARS: usize = 512;
/// `linux/errqueue.h`: the error came by ICMP, or by ICMPv6.
const ORIGIN_ICMP: u8 = 2;
const ORIGIN_ICMP6: u8 = 3;

/// ICMP types and codes (RFC 792, RFC 4443).
const V4_UNREACHABLE: u8 = 3;
const V4_PROTOCOL_UNREACHABLE: u8 = 2;
const V4_PORT_UNREACHABLE: u8 = 3;
const V4_FRAGMENTATION_NEEDED: u8 = 4;
const V4_SOURCE_QUENCH: u8 = 4;
const V4_TIME_EXCEEDED: u8 = 11;
const V6_UNREACHABLE: u8 = 1;
const V6_PACKET_TOO_BIG: u8 = 2;
const V6_TIME_EXCEEDED: u8 = 3;
const V6_PORT_UNREACHABLE: u8 = 4;

/// The end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The server did what was asked.
    Answered,
    /// Nothing came in time.
    Silence,
    /// The server has nothing at that port, and says so.
    Refused,
    /// The server reset the connection.
    Reset,
    /// An ICMP error came, or a neighbour did not answer.
    Unreachable,
    /// This machine does not send it.
    NoRoute,
    /// The handshake of TLS failed.
    Tls,
    /// The certificate is one of other names.
    OtherName,
    /// The server does not have the protocol that was asked for.
    NotOffered,
    /// The server closed without an answer.
    Closed,
    /// The answer is not of the protocol.
    Protocol,
}

/// An ICMP error about a packet of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Icmp {
    /// The type, of the family of its sender.
    #[serde(rename = "type")]
    pub kind: u8,
    /// The code.
    pub code: u8,
    /// Its sender; absent where the kernel does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<IpAddr>,
}

/// The end of an attempt with its cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ending {
    /// The end.
    pub outcome: Outcome,
    /// Its cause: a name such as `ENETUNREACH`, or words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The ICMP error that caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp: Option<Icmp>,
}

impl Ending {
    /// An end without more to say.
    pub fn of(outcome: Outcome) -> Self {
        Self { outcome, reason: None, icmp: None }
    }

    /// An end and its cause in words.
    pub fn because(outcome: Outcome, reason: impl AsRef<str>) -> Self {
        Self { reason: Some(printable(reason.as_ref(), MAX_REASON_CHARS)), ..Self::of(outcome) }
    }

    /// The end that an ICMP error is, and the error.
    pub fn by_icmp(icmp: Icmp, means: Meaning) -> Self {
        let outcome = if means == Meaning::Refused { Outcome::Refused } else { Outcome::Unreachable };
        Self { icmp: Some(icmp), ..Self::of(outcome) }
    }

    /// The end of an attempt that this machine did not send.
    pub fn unsent(error: &io::Error) -> Self {
        match errno(error) {
            // Loopback answers at once.
            Errno::ECONNREFUSED => Self::of(Outcome::Refused),
            errno => Self::because(Outcome::NoRoute, format!("{errno:?}")),
        }
    }

    /// The end of an attempt that was under way when this error came.
    pub fn of_error(error: &io::Error) -> Self {
        let named = |outcome| Self::because(outcome, format!("{:?}", errno(error)));
        match errno(error) {
            Errno::ECONNREFUSED => Self::of(Outcome::Refused),
            Errno::ECONNRESET | Errno::EPIPE | Errno::ECONNABORTED => Self::of(Outcome::Reset),
            Errno::ETIMEDOUT | Errno::EAGAIN => Self::of(Outcome::Silence),
            Errno::EHOSTUNREACH | Errno::ENETUNREACH | Errno::EHOSTDOWN | Errno::EPROTO | Errno::ENOPROTOOPT => {
                named(Outcome::Unreachable)
            }
            Errno::UnknownErrno if error.kind() == io::ErrorKind::UnexpectedEof => Self::of(Outcome::Closed),
            Errno::UnknownErrno if error.kind() == io::ErrorKind::ConnectionReset => Self::of(Outcome::Reset),
            Errno::UnknownErrno => Self::because(Outcome::Protocol, error.to_string()),
            _ => named(Outcome::NoRoute),
        }
    }
}

/// The number of a system's error; `UnknownErrno` where it is none of the system's.
pub fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::UnknownErrno, Errno::from_raw)
}

/// The meaning of an ICMP error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The host has nothing at that port.
    Refused,
    /// The packet does not get there.
    Unreachable,
    /// Its hop limit was used up.
    TimeExceeded,
    /// It was too long for a link of this MTU; 0 where the sender does not say.
    TooBig(u32),
    /// It changes nothing.
    Notice,
}

/// Reads an entry of an error queue as an ICMP error. Absent where it is none.
pub fn icmp_of(error: &ExtendedError) -> Option<(Icmp, Meaning)> {
    let (kind, code) = (error.kind, error.code);
    let meaning = match (error.origin, kind, code) {
        (ORIGIN_ICMP, V4_UNREACHABLE, V4_PORT_UNREACHABLE | V4_PROTOCOL_UNREACHABLE)
        | (ORIGIN_ICMP6, V6_UNREACHABLE, V6_PORT_UNREACHABLE) => Meaning::Refused,
        (ORIGIN_ICMP, V4_UNREACHABLE, V4_FRAGMENTATION_NEEDED) | (ORIGIN_ICMP6, V6_PACKET_TOO_BIG, _) => {
            Meaning::TooBig(error.info)
        }
        (ORIGIN_ICMP, V4_TIME_EXCEEDED, _) | (ORIGIN_ICMP6, V6_TIME_EXCEEDED, _) => Meaning::TimeExceeded,
        (ORIGIN_ICMP, V4_SOURCE_QUENCH, _) => Meaning::Notice,
        (ORIGIN_ICMP | ORIGIN_ICMP6, _, _) => Meaning::Unreachable,
        _ => return None,
    };
    Some((Icmp { kind, code, from: error.offender }, meaning))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(origin: u8, kind: u8, code: u8) -> ExtendedError {
        ExtendedError { errno: 0, origin, kind, code, info: 1_400, data: 0, offender: None }
    }

    #[test]
    fn icmp_errors_of_both_families_mean_the_same() {
        let meaning = |origin, kind, code| icmp_of(&entry(origin, kind, code)).map(|(_, meaning)| meaning);
        for (four, six, expected) in [
            ((3, 3), (1, 4), Meaning::Refused),
            ((3, 1), (1, 0), Meaning::Unreachable),
            ((3, 13), (1, 1), Meaning::Unreachable),
            ((11, 0), (3, 0), Meaning::TimeExceeded),
            ((3, 4), (2, 0), Meaning::TooBig(1_400)),
            ((12, 0), (4, 0), Meaning::Unreachable),
        ] {
            assert_eq!(meaning(ORIGIN_ICMP, four.0, four.1), Some(expected));
            assert_eq!(meaning(ORIGIN_ICMP6, six.0, six.1), Some(expected));
        }
        // A local error, and a time stamp.
        assert_eq!((meaning(1, 0, 0), meaning(4, 0, 0)), (None, None));
    }

    #[test]
    fn reasons_that_quote_a_server_are_short_and_printable() {
        let reason = format!("closed by peer: \u{1b}]0;title\u{7} {}", "x".repeat(1_000));
        let shown = Ending::because(Outcome::Closed, reason).reason.unwrap();
        assert!(shown.starts_with("closed by peer: \u{fffd}]0;title\u{fffd} x"), "{shown}");
        assert_eq!(shown.chars().count(), MAX_REASON_CHARS);
    }

    #[test]
    fn errors_of_the_system_have_a_word_each() {
        let of = |number| Ending::of_error(&io::Error::from_raw_os_error(number)).outcome;
        assert_eq!(of(libc::ECONNREFUSED), Outcome::Refused);
        assert_eq!(of(libc::ECONNRESET), Outcome::Reset);
        assert_eq!(of(libc::EHOSTUNREACH), Outcome::Unreachable);
        assert_eq!(Ending::of_error(&io::ErrorKind::UnexpectedEof.into()).outcome, Outcome::Closed);
        let unsent = Ending::unsent(&io::Error::from_raw_os_error(libc::EHOSTUNREACH));
        assert_eq!((unsent.outcome, unsent.reason.as_deref()), (Outcome::NoRoute, Some("EHOSTUNREACH")));
    }
}
