//! Messages between broker and client: a line of JSON each. No I/O.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use sixbench_wire::token::Token;

/// The longest line, its end not counted.
pub const MAX_LINE_BYTES: usize = 4096;

/// A client's request to the broker.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The action that the client wants. The lease is that of the connection's source address.
    pub action: Action,
    /// The token that proves that the client may ask.
    pub token: Token,
}

/// Actions that a client can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// A lease, or more time for the one it has.
    Create,
    /// The return of the lease.
    Release,
}

/// The broker's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// The lease.
    Granted(Granted),
    /// The lease is returned.
    Released,
    /// A reason of [`Refusal`].
    Refused(String),
}

/// A lease, as its client needs it. The addresses in a tunnel that the broker makes are in the same /64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Granted {
    /// The other end of the tunnel.
    pub remote: IpAddr,
    /// The other end's address in the tunnel.
    pub server: IpAddr,
    /// The client's address in the tunnel.
    pub address: IpAddr,
    /// MTU of the tunnel; `None`: the client makes the tunnel and knows its MTU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
    /// Time within which it must be renewed.
    pub lifetime_s: u32,
}

sixbench_wire::named! {
    /// The reason why a client gets nothing.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    #[allow(missing_docs)]
    pub enum Refusal by reason {
        Stranger = "stranger",
        WrongToken = "wrong-token",
        Malformed = "malformed",
        TooLong = "too-long",
        Deadline = "deadline",
        NoRoom = "no-room",
        NoLease = "no-lease",
        System = "system",
    }
}

/// A line, with its end.
pub fn line(message: &impl Serialize) -> Vec<u8> {
    // Nothing that is said here has keys that are not text, or numbers that are none: the only things JSON cannot say.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Reads a line, without its end.
pub fn read<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TOKEN: &str = "00112233445566778899aabbccddeeff";

    #[test]
    fn questions_and_answers_are_lines() {
        let token = Token::parse(TOKEN).expect("a token");
        let question = Question { action: Action::Create, token };
        let text = line(&question);
        assert_eq!(text, format!("{{\"action\":\"create\",\"token\":\"{TOKEN}\"}}\n").as_bytes());
        assert_eq!(read(&text), Some(question));
        for answer in [Answer::Released, Answer::Refused("no-room".to_owned())] {
            assert_eq!(read(&line(&answer)), Some(answer));
        }
        assert!(!format!("{question:?}").contains("0011"));
    }

    #[test]
    fn other_tokens_are_not_equal() {
        let secret = |text: &str| Token::parse(text).expect("a token");
        assert!(secret(TOKEN) == secret(TOKEN));
        assert!(secret(TOKEN) != secret("10112233445566778899aabbccddeeff"));
        assert!(secret(TOKEN) != secret("00112233445566778899aabbccddeefe"));
    }

    #[test]
    fn other_lines_are_no_questions() {
        for text in ["", "{}", "[]", r#"{"action":"create"}"#, r#"{"action":"create","token":"00"}"#] {
            assert_eq!(read::<Question>(text.as_bytes()), None, "{text}");
        }
        let extra = format!(r#"{{"action":"create","token":"{TOKEN}","client":"192.0.2.1"}}"#);
        assert_eq!(read::<Question>(extra.as_bytes()), None);
    }

    proptest! {
        #[test]
        fn no_line_is_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = read::<Question>(&bytes);
            let _ = read::<Answer>(&bytes);
        }
    }
}
