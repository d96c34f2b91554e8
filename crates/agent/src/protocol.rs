//! What a request may look like.

use serde::Deserialize;
use sixbench_services::{broker, dhcp, discovery, dns, multicast, prefix, relay};

use crate::{
    awake, bring_up, capture, device, drops, emulation, exec, packet_send, sessions, sysctl, timers, tracking,
    translators, tunnels, vlans,
};

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
    ConnectionTracking(tracking::Request),
    ForgetPathMtu {},
    Cpu {},
    CaptureStart(capture::Start),
    CaptureStop {
        capture: String,
    },
    PacketSend(packet_send::Request),
    DropsStart(drops::Start),
    DropsStop {},
    TimersStart(timers::Start),
    TimersStop {},
    PerfStart {},
    PerfStop {},
    AwakeStart(awake::Start),
    Awake {},
    Serve(sessions::Serve),
    Run(sessions::Run),
    Finish(sessions::Finish),
    Progress {
        session: String,
    },
    Cancel {
        session: String,
    },
    VlanBegin(vlans::Begin),
    TunnelAdd(Box<sixbench_plane::Spec>),
    TunnelRemove {
        device: String,
    },
    TunnelCounters(tunnels::Counters),
    TranslatorAdd(Box<translators::Add>),
    TranslatorRemove {
        device: String,
    },
    TranslatorCounters(translators::Counters),
    TranslatorBringUp(Box<bring_up::BringUp>),
    EmulateAdd(Box<sixbench_emulate::Spec>),
    EmulateChange(Box<emulation::Change>),
    EmulateRecord(emulation::Record),
    EmulateRemove {
        link: String,
    },
    MulticastForward(multicast::Request),
    MulticastCounters {},
    MulticastStop {},
    RouterAdvertise(discovery::Advertise),
    AdvertiseStop {
        device: String,
    },
    RouterSolicit(discovery::Solicit),
    PrefixDiscover(prefix::Request),
    DhcpServe(dhcp::Serve),
    DhcpStop {
        device: String,
    },
    DhcpAsk(dhcp::Ask),
    BrokerStart(Box<broker::Start>),
    BrokerStatus {},
    BrokerStop {},
    #[serde(rename = "broker-request")]
    BrokerAsk(Box<broker::Request>),
    BrokerRelease(broker::Release),
    DnsStart(Box<dns::Request>),
    DnsCounters {},
    DnsStop {},
    RelayStart(relay::Request),
    RelayCounters {},
    RelayStop {},
    DeviceStart(Box<device::Start>),
    DeviceCounters(device::Counters),
    DeviceLog(device::Said),
}

impl Request {
    /// The operation's name, for messages.
    pub fn op(&self) -> &'static str {
        match self {
            Request::Hello(_) => "hello",
            Request::Exec(_) => "exec",
            Request::Sysctl(_) => "sysctl",
            Request::Counters {} => "counters",
            Request::ConnectionTracking(_) => "connection-tracking",
            Request::ForgetPathMtu {} => "forget-path-mtu",
            Request::Cpu {} => "cpu",
            Request::CaptureStart(_) => "capture-start",
            Request::CaptureStop { .. } => "capture-stop",
            Request::PacketSend(_) => "packet-send",
            Request::DropsStart(_) => "drops-start",
            Request::DropsStop {} => "drops-stop",
            Request::TimersStart(_) => "timers-start",
            Request::TimersStop {} => "timers-stop",
            Request::PerfStart {} => "perf-start",
            Request::PerfStop {} => "perf-stop",
            Request::AwakeStart(_) => "awake-start",
            Request::Awake {} => "awake",
            Request::Serve(_) => "serve",
            Request::Run(_) => "run",
            Request::Finish(_) => "finish",
            Request::Progress { .. } => "progress",
            Request::Cancel { .. } => "cancel",
            Request::VlanBegin(_) => "vlan-begin",
            Request::TunnelAdd(_) => "tunnel-add",
            Request::TunnelRemove { .. } => "tunnel-remove",
            Request::TunnelCounters(_) => "tunnel-counters",
            Request::TranslatorAdd(_) => "translator-add",
            Request::TranslatorRemove { .. } => "translator-remove",
            Request::TranslatorCounters(_) => "translator-counters",
            Request::TranslatorBringUp(_) => "translator-bring-up",
            Request::EmulateAdd(_) => "emulate-add",
            Request::EmulateChange(_) => "emulate-change",
            Request::EmulateRecord(_) => "emulate-record",
            Request::EmulateRemove { .. } => "emulate-remove",
            Request::MulticastForward(_) => "multicast-forward",
            Request::MulticastCounters {} => "multicast-counters",
            Request::MulticastStop {} => "multicast-stop",
            Request::RouterAdvertise(_) => "router-advertise",
            Request::AdvertiseStop { .. } => "advertise-stop",
            Request::RouterSolicit(_) => "router-solicit",
            Request::PrefixDiscover(_) => "prefix-discover",
            Request::DhcpServe(_) => "dhcp-serve",
            Request::DhcpStop { .. } => "dhcp-stop",
            Request::DhcpAsk(_) => "dhcp-ask",
            Request::BrokerStart(_) => "broker-start",
            Request::BrokerStatus {} => "broker-status",
            Request::BrokerStop {} => "broker-stop",
            Request::BrokerAsk(_) => "broker-request",
            Request::BrokerRelease(_) => "broker-release",
            Request::DnsStart(_) => "dns-start",
            Request::DnsCounters {} => "dns-counters",
            Request::DnsStop {} => "dns-stop",
            Request::RelayStart(_) => "relay-start",
            Request::RelayCounters {} => "relay-counters",
            Request::RelayStop {} => "relay-stop",
            Request::DeviceStart(_) => "device-start",
            Request::DeviceCounters(_) => "device-counters",
            Request::DeviceLog(_) => "device-log",
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

    /// xorshift64* (Marsaglia 2003, Vigna 2016).
    fn random(state: &mut u64) -> usize {
        *state ^= *state >> 12;
        *state ^= *state << 25;
        *state ^= *state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize
    }

    #[test]
    fn a_million_lines_that_were_requests_are_read_or_refused() {
        const REQUESTS: [&[u8]; 5] = [
            br#"{"id":3,"op":"hello","protocol":1,"version":"0.1"}"#,
            br#"{"op":"cpu","id":0}"#,
            br#"{"id":1,"op":"cancel","session":"s"}"#,
            br#"{"id":1,"op":"finish","session":"s","sent":5,"timeout_ns":9}"#,
            br#"{"id":1,"op":"serve","session":"s","workload":"w","address":"::1","token":"00112233445566778899aabbccddeeff","params":{"a":[{}]}}"#,
        ];
        const PIECES: &[u8] = b"\"{}[]:,\\u\n0-1e9.\xff\x00 aop";
        let mut state = 0x5eed;
        let (mut read, mut line) = (0, Vec::new());
        for case in 0..1_000_000 {
            line.clear();
            line.extend_from_slice(REQUESTS[case % REQUESTS.len()]);
            for _ in 0..random(&mut state) % 4 {
                let (at, piece) = (random(&mut state) % line.len(), PIECES[random(&mut state) % PIECES.len()]);
                match random(&mut state) % 3 {
                    0 => line[at] = piece,
                    1 => line.insert(at, piece),
                    _ => line.truncate(at.max(1)),
                }
            }
            read += usize::from(parse(&line).is_ok());
        }
        // A quarter is left as it was, and some changes do no harm.
        assert!((250_000..500_000).contains(&read), "{read} are requests");
    }

    proptest! {
        #[test]
        fn no_line_is_a_panic(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&line);
        }
    }
}
