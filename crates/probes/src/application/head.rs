//! The head of a stranger's answer: what of it is told. Pure: no header makes it panic.

use std::time::SystemTime;

use hyper::HeaderMap;
use hyper::header::{ALT_SVC, CONTENT_LENGTH, HeaderName, LOCATION, RETRY_AFTER, SERVER};
use schemars::JsonSchema;
use serde::Serialize;

use crate::text::printable;

/// The longest value that is told.
const MAX_VALUE_CHARS: usize = 512;

/// The head of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Head {
    /// The status code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Time for which the server asks to be left alone (RFC 9110 section 10.2.3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u64>,
    /// Length of the body, as the head has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_length: Option<u64>,
    /// Where the answer sends clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Other services with the same (RFC 7838), such as HTTP/3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alt_svc: Option<String>,
    /// The server's program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

impl Head {
    /// Reads a head that came at this time.
    pub fn read(status: u16, headers: &HeaderMap, now: SystemTime) -> Self {
        let text = |name: HeaderName| {
            headers.get(name).map(|value| printable(&String::from_utf8_lossy(value.as_bytes()), MAX_VALUE_CHARS))
        };
        Self {
            status: Some(status),
            retry_after_s: text(RETRY_AFTER).and_then(|value| retry_after_s(&value, now)),
            content_length: text(CONTENT_LENGTH).and_then(|value| value.trim().parse().ok()),
            location: text(LOCATION),
            alt_svc: text(ALT_SVC),
            server: text(SERVER),
        }
    }
}

/// A time in seconds, or a date. One that is over is 0; what is neither is absent.
pub fn retry_after_s(value: &str, now: SystemTime) -> Option<u64> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More than fits is for ever.
        return Some(value.parse().unwrap_or(u64::MAX));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).map_or(0, |left| left.as_secs() + u64::from(left.subsec_nanos() > 0)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hyper::header::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn retry_after_is_a_time_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        for (value, expected) in [
            ("120", Some(120)),
            (" 7 ", Some(7)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Sun, 09 Sep 2001 01:48:20 GMT", Some(100)),
            ("Sun, 09 Sep 2001 01:46:39 GMT", Some(0)),
            ("-5", None),
            ("", None),
            ("soon", None),
        ] {
            assert_eq!(retry_after_s(value, now), expected, "{value}");
        }
    }

    #[test]
    fn values_are_short_and_printable() {
        let mut headers = HeaderMap::new();
        headers.insert(SERVER, HeaderValue::from_bytes(&[b'a'; 2_000]).unwrap());
        headers.insert(LOCATION, HeaderValue::from_bytes(b"/\xff\x9b2J").unwrap());
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("-1"));
        let head = Head::read(200, &headers, SystemTime::now());
        assert_eq!(head.server.map(|server| server.len()), Some(MAX_VALUE_CHARS));
        assert_eq!((head.location.as_deref(), head.content_length), (Some("/\u{fffd}\u{fffd}2J"), None));
    }

    proptest! {
        #[test]
        fn no_head_is_a_panic(status: u16, values: [Vec<u8>; 5]) {
            let mut headers = HeaderMap::new();
            for (name, value) in [ALT_SVC, CONTENT_LENGTH, LOCATION, RETRY_AFTER, SERVER].into_iter().zip(&values) {
                if let Ok(value) = HeaderValue::from_bytes(value) {
                    headers.insert(name, value);
                }
            }
            let _ = Head::read(status, &headers, SystemTime::now());
        }
    }
}
