//! What a request may look like.

use serde::Deserialize;
use sixbench_services::{broker, discovery, multicast};

use crate::{capture, exec, sessions, sysctl, tunnels};

/// The version of the protocol that this agent speaks.
pub const VERSION: u32 = 1;

/// The longest request, its line's end not counted.
pub const MAX_REQUEST_BYTES: usize = 1 << 20;

/// A request with its number.
#[derive(Debug, Deserialize)]
pub struct Numbered {
    /// What the response repeats.
    pub id: u64,
    /// What is asked.
    #[serde(flatten)]
    pub request: Request,
}

/// What can be asked. Operations without parameters have braces so that serde refuses unknown keys there too.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum Request {
    Hello(Hello),
    Exec(exec::Request),
    Sysctl(sysctl::Request),
    Counters {},
    Cpu {},
    CaptureStart(capture::Start),
    CaptureStop {
        capture: String,
    },
    Serve(sessions::Serve),
    Run(sessions::Run),
    Finish(sessions::Finish),
    Cancel {
        session: String,
    },
    TunnelAdd(Box<sixbench_plane::Spec>),
    TunnelRemove {
        device: String,
    },
    TunnelCounters(tunnels::Counters),
    MulticastForward(multicast::Request),
    MulticastCounters {},
    MulticastStop {},
    RouterAdvertise(discovery::Advertise),
    AdvertiseStop {
        device: String,
    },
    RouterSolicit(discovery::Solicit),
    BrokerStart(Box<broker::Start>),
    BrokerStatus {},
    BrokerStop {},
    #[serde(rename = "broker-request")]
    BrokerAsk(Box<broker::Request>),
    BrokerRelease(broker::Release),
}

impl Request {
    /// The operation's name, for messages.
    pub fn op(&self) -> &'static str {
        match self {
            Request::Hello(_) => "hello",
            Request::Exec(_) => "exec",
            Request::Sysctl(_) => "sysctl",
            Request::Counters {} => "counters",
            Request::Cpu {} => "cpu",
            Request::CaptureStart(_) => "capture-start",
            Request::CaptureStop { .. } => "capture-stop",
            Request::Serve(_) => "serve",
            Request::Run(_) => "run",
            Request::Finish(_) => "finish",
            Request::Cancel { .. } => "cancel",
            Request::TunnelAdd(_) => "tunnel-add",
            Request::TunnelRemove { .. } => "tunnel-remove",
            Request::TunnelCounters(_) => "tunnel-counters",
            Request::MulticastForward(_) => "multicast-forward",
            Request::MulticastCounters {} => "multicast-counters",
            Request::MulticastStop {} => "multicast-stop",
            Request::RouterAdvertise(_) => "router-advertise",
            Request::AdvertiseStop { .. } => "advertise-stop",
            Request::RouterSolicit(_) => "router-solicit",
            Request::BrokerStart(_) => "broker-start",
            Request::BrokerStatus {} => "broker-status",
            Request::BrokerStop {} => "broker-stop",
            Request::BrokerAsk(_) => "broker-request",
            Request::BrokerRelease(_) => "broker-release",
        }
    }
}

/// The first request of all.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// The version of the protocol that the orchestrator speaks.
    pub protocol: u32,
    /// The orchestrator's own version.
    pub version: String,
}

/// A line that is not a request.
#[derive(Debug)]
pub struct NotARequest {
    /// The number to answer with, where one could be read.
    pub id: Option<u64>,
    /// What is wrong.
    pub reason: String,
}

/// Reads a line.
pub fn parse(line: &[u8]) -> Result<Numbered, NotARequest> {
    #[derive(Deserialize)]
    struct Id {
        id: u64,
    }
    serde_json::from_slice(line).map_err(|error| NotARequest {
        id: serde_json::from_slice::<Id>(line).ok().map(|Id { id }| id),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(line: &str) -> NotARequest {
        parse(line.as_bytes()).expect_err(line)
    }

    #[test]
    fn requests_are_read() {
        let parsed = parse(br#"{"op": "hello", "id": 3, "protocol": 1, "version": "0.1.0"}"#).expect("a request");
        assert_eq!(parsed.id, 3);
        assert!(matches!(parsed.request, Request::Hello(Hello { protocol: 1, .. })));
        assert!(matches!(parse(br#"{"id": 0, "op": "cpu"}"#).expect("a request").request, Request::Cpu {}));
    }

    #[test]
    fn unknown_operations_and_keys_are_refused_by_number() {
        for line in [
            r#"{"id": 5, "op": "reboot"}"#,
            r#"{"id": 5}"#,
            r#"{"id": 5, "op": "cpu", "x": 1}"#,
            r#"{"id": 5, "op": "hello", "protocol": 1, "version": "0", "x": 1}"#,
            r#"{"id": 5, "op": "exec", "argv": ["true"], "x": 1}"#,
            r#"{"id": 5, "op": "cancel", "session": "a", "x": 1}"#,
            r#"{"id": 5, "op": "cancel", "session": "a", "session": "b"}"#,
        ] {
            assert_eq!(refused(line).id, Some(5), "{line}");
        }
        assert!(refused(r#"{"id": 5, "op": "cpu", "x": 1}"#).reason.contains("unknown field `x`"));
        assert!(
            refused(r#"{"id": 5, "op": "reboot"}"#)
                .reason
                .contains("unknown variant `reboot`, expected one of `hello`")
        );
    }

    #[test]
    fn other_lines_have_no_number() {
        let deep = "[".repeat(100_000);
        for line in
            ["", "hello", "[]", "7", "{", "\u{0}", r#"{"id": -1, "op": "cpu"}"#, r#"{"id": 1.5, "op": "cpu"}"#, &deep]
        {
            assert_eq!(refused(line).id, None, "{line:.40}");
        }
        assert_eq!(parse(b"\xff\xfe{}").expect_err("not UTF-8").id, None);
    }

    proptest! {
        #[test]
        fn no_line_is_a_panic(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&line);
        }
    }
}
