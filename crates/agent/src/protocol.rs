//! The form of requests.

use serde::Deserialize;
use sixbench_probes::{application, path_mtu, ping, resolve, route, tcp_connect, vantage};
use sixbench_services::{broker, dhcp, discovery, dns, multicast, prefix, relay};

use crate::{
    awake, bring_up, capture, device, drops, emulation, exec, packet_send, place, sessions, sysctl, timers, tracking,
    translators, tunnels, vlans,
};

/// The version of the protocol that this agent speaks.
pub const VERSION: u32 = 1;

/// The longest request, its line's end not counted.
pub const MAX_REQUEST_BYTES: usize = 1 << 20;

/// A request with its number.
#[derive(Debug, Deserialize)]
pub struct Numbered {
    /// The number that the response repeats.
    pub id: u64,
    /// The request itself.
    #[serde(flatten)]
    pub request: Request,
}

macro_rules! requests {
    ($($op:literal => $name:ident $(($parameters:ty))? $({ $($key:ident: $value:ty)? })?,)*) => {
        /// The requests that there are. Operations without parameters have braces so that serde refuses unknown keys
        /// there too.
        #[derive(Debug, Deserialize)]
        #[serde(tag = "op", deny_unknown_fields)]
        #[allow(missing_docs)]
        pub enum Request { $(#[serde(rename = $op)] $name $(($parameters))? $({ $($key: $value)? })?,)* }

        impl Request {
            /// The operation's name, for messages.
            pub fn op(&self) -> &'static str {
                match self { $(Self::$name { .. } => $op,)* }
            }
        }
    };
}

requests! {
    "hello" => Hello(Hello),
    "exec" => Exec(exec::ExecRequest),
    "sysctl" => Sysctl(sysctl::SysctlRequest),
    "counters" => Counters {},
    "connection-tracking" => ConnectionTracking(tracking::TrackingRequest),
    "forget-path-mtu" => ForgetPathMtu {},
    "cpu" => Cpu {},
    "loop-times" => LoopTimes {},
    "place" => Place(place::PlaceRequest),
    "capture-start" => CaptureStart(capture::Start),
    "capture-stop" => CaptureStop { capture: String },
    "packet-send" => PacketSend(packet_send::PacketSendRequest),
    "drops-start" => DropsStart(drops::Start),
    "drops-stop" => DropsStop {},
    "timers-start" => TimersStart(timers::Start),
    "timers-stop" => TimersStop {},
    "perf-start" => PerfStart {},
    "perf-stop" => PerfStop {},
    "awake-start" => AwakeStart(awake::Start),
    "awake" => Awake {},
    "serve" => Serve(sessions::Serve),
    "run" => Run(sessions::Run),
    "finish" => Finish(sessions::Finish),
    "progress" => Progress { session: String },
    "cancel" => Cancel { session: String },
    "connection-logs-start" => ConnectionLogsStart {},
    "connection-logs-stop" => ConnectionLogsStop {},
    "vlan-begin" => VlanBegin(vlans::Begin),
    "tunnel-add" => TunnelAdd(Box<sixbench_plane::Spec>),
    "tunnel-remove" => TunnelRemove { device: String },
    "tunnel-counters" => TunnelCounters(tunnels::TunnelCountersRequest),
    "translator-add" => TranslatorAdd(Box<translators::Add>),
    "translator-remove" => TranslatorRemove { device: String },
    "translator-counters" => TranslatorCounters(translators::TranslatorCountersRequest),
    "translator-bring-up" => TranslatorBringUp(Box<bring_up::BringUp>),
    "emulate-add" => EmulateAdd(Box<sixbench_emulate::Spec>),
    "emulate-change" => EmulateChange(Box<emulation::Change>),
    "emulate-record" => EmulateRecord(emulation::Record),
    "emulate-remove" => EmulateRemove { link: String },
    "multicast-forward" => MulticastForward(multicast::MulticastRequest),
    "multicast-counters" => MulticastCounters {},
    "multicast-stop" => MulticastStop {},
    "router-advertise" => RouterAdvertise(discovery::AdvertiseRequest),
    "advertise-stop" => AdvertiseStop { device: String },
    "router-solicit" => RouterSolicit(discovery::SolicitRequest),
    "prefix-discover" => PrefixDiscover(prefix::PrefixRequest),
    "dhcp-serve" => DhcpServe(dhcp::ServeRequest),
    "dhcp-stop" => DhcpStop { device: String },
    "dhcp-ask" => DhcpAsk(dhcp::AskRequest),
    "broker-start" => BrokerStart(Box<broker::Start>),
    "broker-status" => BrokerStatus {},
    "broker-stop" => BrokerStop {},
    "broker-request" => BrokerAsk(Box<broker::BrokerRequest>),
    "broker-release" => BrokerRelease(broker::Release),
    "dns-start" => DnsStart(Box<dns::DnsRequest>),
    "dns-counters" => DnsCounters {},
    "dns-stop" => DnsStop {},
    "relay-start" => RelayStart(relay::RelayRequest),
    "relay-counters" => RelayCounters {},
    "relay-stop" => RelayStop {},
    "tcp-connect" => TcpConnect(tcp_connect::TcpConnectRequest),
    "resolve" => Resolve(resolve::ResolveRequest),
    "application" => Application(Box<application::ApplicationRequest>),
    "ping" => Ping(ping::PingRequest),
    "vantage" => Vantage(vantage::VantageRequest),
    "route" => Route(route::RouteRequest),
    "path-mtu" => PathMtu(path_mtu::PathMtuRequest),
    "device-start" => DeviceStart(Box<device::Start>),
    "device-counters" => DeviceCounters(device::DeviceCountersRequest),
    "device-log" => DeviceLog(device::LogRequest),
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
    /// The error in the line.
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
    use sixbench_measure::random::{Random, Stream};

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
        let mut numbers = Random::new(0x5eed, Stream::Corruption, 0);
        let mut below = |limit: usize| (numbers.next_u64() % limit as u64) as usize;
        let (mut read, mut line) = (0, Vec::new());
        for case in 0..1_000_000 {
            line.clear();
            line.extend_from_slice(REQUESTS[case % REQUESTS.len()]);
            for _ in 0..below(4) {
                let (at, piece) = (below(line.len()), PIECES[below(PIECES.len())]);
                match below(3) {
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
