//! Probes in namespaces of their own, with what ordinary users are given there. They need root.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::{Ipv6Addr, TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::process::{Child, Command};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};
use serde_json::{Value, json};
use sixbench_applications::certificates;
use sixbench_measure::clock;
use sixbench_packet::ReceiveBatch;
use sixbench_probes::{Pacer, application, path_mtu, ping, route, tcp_connect, vantage};

const TIMEOUT_NS: u64 = 5_000_000_000;

/// Does the work in a namespace whose loopback is up, and where sockets of ICMP are given to all.
fn in_namespace<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).expect("root");
        fs::write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647").expect("the namespace's own");
        ip(&["link", "set", "lo", "up"]);
        work()
    });
    thread.join().expect("no panic")
}

fn ip(arguments: &[&str]) {
    assert!(Command::new("ip").args(arguments).status().expect("ip").success(), "ip {arguments:?}");
}

fn ping_with(params: Value) -> Value {
    json!(ping::run(&serde_json::from_value(params).unwrap(), &Pacer::default()).unwrap())
}

#[test]
#[ignore = "needs root"]
fn echoes_are_answered_with_the_kernels_times() {
    in_namespace(|| {
        for address in ["127.0.0.1", "::1"] {
            let result = ping_with(json!({
                "address": address, "count": 3, "interval_ns": 1_000_000, "mine": true, "timeout_ns": TIMEOUT_NS,
            }));
            let replies = result["replies"].as_array().unwrap();
            assert_eq!(replies.len(), 3);
            for reply in replies {
                assert_eq!(reply["outcome"], "answered", "{result}");
                assert_eq!((&reply["kernel_stamps"], &reply["hop_limit"]), (&json!(true), &json!(64)), "{result}");
                assert!(reply["rtt_ns"].as_u64().unwrap() < TIMEOUT_NS);
            }
            assert_eq!((&result["strays"], &result["source"]), (&json!(0), &json!(address)));
        }
    });
}

#[test]
#[ignore = "needs root"]
fn echoes_that_are_not_answered_have_a_word() {
    in_namespace(|| {
        ip(&["link", "add", "a0", "type", "veth", "peer", "b0"]);
        ip(&["link", "set", "b0", "up"]);
        ip(&["addr", "add", "192.0.2.1/24", "dev", "a0"]);
        ip(&["link", "set", "a0", "up"]);
        let silent = ping_with(json!({"address": "192.0.2.1", "timeout_ns": TIMEOUT_NS}));
        assert_eq!(silent["replies"][0]["outcome"], "answered");
        let nowhere = ping_with(json!({"address": "203.0.113.1"}));
        assert_eq!(nowhere["replies"][0]["outcome"], "no-route");
        assert_eq!(nowhere["replies"][0]["reason"], "ENETUNREACH");
    });
}

#[test]
#[ignore = "needs root"]
fn handshakes_of_quic_without_a_route_are_not_sent() {
    in_namespace(|| {
        let roots = std::env::temp_dir().join(format!("sixbench-probes-no-route-{}.pem", std::process::id()));
        fs::write(&roots, certificates::chain("www.example.org", 1_536).unwrap().authority_pem()).unwrap();
        for address in ["192.0.2.1", "2001:db8::1"] {
            let request = json!({
                "workload": "quic-connect", "address": address, "server_name": "www.example.org",
                "roots": {"file": roots}, "timeout_ns": TIMEOUT_NS,
            });
            let request = serde_json::from_value(request).unwrap();
            let result = json!(application::run(&request, &Pacer::default()).unwrap());
            let attempt = &result["attempts"][0];
            assert_eq!((&attempt["outcome"], &attempt["reason"]), (&json!("no-route"), &json!("ENETUNREACH")));
        }
        fs::remove_file(&roots).unwrap();
    });
}

#[test]
#[ignore = "needs root"]
fn each_echo_request_takes_its_time_from_others_at_the_same_server() {
    in_namespace(|| {
        let (pacer, begin_ns) = (Pacer::default(), clock::monotonic_ns());
        let request = json!({"address": "127.0.0.1", "count": 3, "interval_ns": 200_000_000});
        ping::run(&serde_json::from_value(request).unwrap(), &pacer).unwrap();
        let next_ns = pacer.next_packet_ns("127.0.0.1".parse().unwrap(), 0, 0, false);
        assert!(next_ns >= begin_ns + 600_000_000);
    });
}

#[test]
#[ignore = "needs root"]
fn a_kernel_that_gives_no_socket_is_an_error_that_says_what_helps() {
    in_namespace(|| {
        fs::write("/proc/sys/net/ipv4/ping_group_range", "1 0").unwrap();
        let request = serde_json::from_value(json!({"address": "127.0.0.1"})).unwrap();
        let error = ping::run(&request, &Pacer::default()).unwrap_err();
        assert!(error.message.contains("ping_group_range"), "{error}");
        assert_eq!(error.context["errno"], "EACCES");
    });
}

/// A namespace that lasts as long as this does.
struct Namespace(Child);

impl Namespace {
    fn new() -> Self {
        let held = Self(Command::new("unshare").args(["-n", "sleep", "600"]).spawn().expect("unshare"));
        let ours = fs::read_link("/proc/thread-self/ns/net").unwrap();
        while fs::read_link(format!("/proc/{}/ns/net", held.0.id())).is_ok_and(|its| its == ours) {
            thread::yield_now();
        }
        held.run(&["ip", "link", "set", "lo", "up"]);
        held
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    fn run(&self, command: &[&str]) {
        let entered = Command::new("nsenter").args(["-t", &self.pid(), "-n"]).args(command).status();
        assert!(entered.expect("nsenter").success(), "{command:?}");
    }

    fn set(&self, name: &str, value: &str) {
        self.run(&["sh", "-c", &format!("echo {value} > /proc/sys/net/{name}")]);
    }

    /// Does the work in the namespace.
    fn within<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let namespace = File::open(format!("/proc/{}/ns/net", self.0.id())).unwrap();
        let entered = move || {
            setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
            work()
        };
        thread::spawn(entered).join().unwrap()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A router and a server. The client is the namespace of the thread that calls.
struct Network {
    router: Namespace,
    server: Namespace,
}

const SERVERS: [&str; 2] = ["192.0.2.2", "2001:db8:2::2"];

impl Network {
    /// The far link has this MTU at the router and at the server.
    fn new(mtu_at_router: u32, mtu_at_server: u32) -> Self {
        let network = Self { router: Namespace::new(), server: Namespace::new() };
        let (router, server) = (&network.router, &network.server);
        // Addresses are usable at once.
        for name in ["ipv6/conf/default/accept_dad", "ipv6/conf/all/accept_dad"] {
            fs::write(format!("/proc/sys/net/{name}"), "0").unwrap();
            router.set(name, "0");
            server.set(name, "0");
        }
        ip(&["link", "add", "c0", "type", "veth", "peer", "name", "r0", "netns", &router.pid()]);
        router.run(&["ip", "link", "add", "r1", "type", "veth", "peer", "name", "s0", "netns", &server.pid()]);
        router.run(&["ip", "link", "set", "r1", "mtu", &mtu_at_router.to_string()]);
        server.run(&["ip", "link", "set", "s0", "mtu", &mtu_at_server.to_string()]);
        for (namespace, device, addresses) in [
            (router, "r0", ["198.51.100.1/24", "2001:db8:1::1/64"]),
            (router, "r1", ["192.0.2.1/24", "2001:db8:2::1/64"]),
            (server, "s0", ["192.0.2.2/24", "2001:db8:2::2/64"]),
        ] {
            for address in addresses {
                namespace.run(&["ip", "address", "add", address, "dev", device]);
            }
            namespace.run(&["ip", "link", "set", device, "up"]);
        }
        for address in ["198.51.100.2/24", "2001:db8:1::2/64"] {
            ip(&["address", "add", address, "dev", "c0"]);
        }
        ip(&["link", "set", "c0", "up"]);
        for (family, client, server_side) in
            [("-4", "198.51.100.1", "192.0.2.1"), ("-6", "2001:db8:1::1", "2001:db8:2::1")]
        {
            ip(&[family, "route", "add", "default", "via", client]);
            server.run(&["ip", family, "route", "add", "default", "via", server_side]);
        }
        for name in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            router.set(name, "1");
        }
        for namespace in [router, server] {
            namespace.set("ipv4/icmp_ratelimit", "0");
            namespace.set("ipv6/icmp/ratelimit", "0");
        }
        network
    }
}

fn path_mtu_of(address: &str, by: &str, timeout_ns: u64) -> Value {
    let request = json!({"address": address, "by": by, "timeout_ns": timeout_ns, "mine": true});
    json!(path_mtu::run(&serde_json::from_value(request).unwrap(), &Pacer::default()).unwrap())
}

/// A time limit for probes that are to be silent.
const IMPATIENT_NS: u64 = 500_000_000;

#[test]
#[ignore = "needs root"]
fn a_narrow_link_that_says_so_is_found() {
    in_namespace(|| {
        let _network = Network::new(1_480, 1_480);
        for (address, router) in SERVERS.iter().zip(["198.51.100.1", "2001:db8:1::1"]) {
            for by in ["udp", "icmp"] {
                let result = path_mtu_of(address, by, TIMEOUT_NS);
                assert_eq!(
                    (&result["outcome"], &result["mtu_bytes"]),
                    (&json!("answered"), &json!(1_480)),
                    "{by}: {result}"
                );
                assert_eq!(
                    (&result["packet_too_big"], &result["interface_mtu_bytes"]),
                    (&json!("came"), &json!(1_500))
                );
                assert_eq!(result["reports"][0], json!({"from": router, "mtu_bytes": 1_480, "probe_bytes": 1_500}));
            }
        }
    });
}

#[test]
#[ignore = "needs root"]
fn a_link_that_swallows_long_packets_is_found_by_silence() {
    in_namespace(|| {
        // A veth drops what is longer than the other end's MTU and a VLAN tag, and says nothing.
        let _network = Network::new(1_500, 1_480);
        for (address, by) in SERVERS.iter().zip(["icmp", "udp"]) {
            let result = path_mtu_of(address, by, IMPATIENT_NS);
            assert_eq!((&result["outcome"], &result["mtu_bytes"]), (&json!("answered"), &json!(1_484)), "{result}");
            assert_eq!((&result["packet_too_big"], &result["reports"]), (&json!("never"), &json!([])), "{result}");
        }
    });
}

#[test]
#[ignore = "needs root"]
fn a_server_that_limits_its_errors_is_not_taken_for_a_narrow_link() {
    in_namespace(|| {
        let network = Network::new(1_500, 1_500);
        network.server.set("ipv4/icmp_ratelimit", "1000");
        for _ in 0..4 {
            let result = path_mtu_of(SERVERS[0], "udp", IMPATIENT_NS);
            let is_right = result["mtu_bytes"] == 1_500 && result["packet_too_big"] == "not-needed";
            // Where the server is silent from the first probe on, there is no result.
            assert!(is_right || result["outcome"] == "silence", "{result}");
        }
    });
}

#[test]
#[ignore = "needs root"]
fn the_mss_of_a_handshake_is_that_of_the_narrower_end() {
    in_namespace(|| {
        let network = Network::new(1_480, 1_480);
        let listener = network.server.within(|| TcpListener::bind("[::]:443").unwrap());
        for (address, mss_bytes) in SERVERS.iter().zip([1_440, 1_420]) {
            let result = path_mtu_of(address, "tcp", TIMEOUT_NS);
            assert_eq!((&result["outcome"], &result["mss_bytes"]), (&json!("answered"), &json!(mss_bytes)), "{result}");
            assert!(result["packet_too_big"].is_null() && result["mtu_bytes"].is_null());
        }
        drop(listener);
    });
}

#[test]
#[ignore = "needs root"]
fn a_server_of_quic_answers_probes_by_version_negotiation() {
    in_namespace(|| {
        let network = Network::new(1_480, 1_480);
        let socket = network.server.within(|| UdpSocket::bind("192.0.2.2:443").unwrap());
        thread::spawn(move || {
            let mut buffer = [0; 2_000];
            while let Ok((bytes, from)) = socket.recv_from(&mut buffer) {
                let asked = &buffer[..bytes];
                let answer = [&[0xff, 0, 0, 0, 0][..], &asked[14..23], &asked[5..14], &[0, 0, 0, 1]].concat();
                let _ = socket.send_to(&answer, from);
            }
        });
        let result = path_mtu_of(SERVERS[0], "udp", TIMEOUT_NS);
        assert_eq!((&result["mtu_bytes"], &result["packet_too_big"]), (&json!(1_480), &json!("came")), "{result}");
    });
}

#[test]
#[ignore = "needs root"]
fn hops_are_those_of_the_path() {
    in_namespace(|| {
        let network = Network::new(1_500, 1_500);
        let trace = |address: &str, timeout_ns: u64| {
            let request = json!({"address": address, "timeout_ns": timeout_ns, "max_silent": 2, "flow": 40_000});
            json!(route::run(&serde_json::from_value(request).unwrap(), &Pacer::default()).unwrap())
        };
        for (address, router) in SERVERS.iter().zip(["198.51.100.1", "2001:db8:1::1"]) {
            let result = trace(address, TIMEOUT_NS);
            assert_eq!((&result["ended"], &result["source_port"]), (&json!("reached"), &json!(40_000)), "{result}");
            let hops = result["hops"].as_array().unwrap();
            assert_eq!(hops.len(), 2);
            for (hop, from) in hops.iter().zip([router, address]) {
                for answer in hop["answers"].as_array().unwrap() {
                    assert_eq!(answer["from"], from, "{result}");
                    assert!(answer["rtt_ns"].is_u64());
                }
            }
            assert_eq!(hops[0]["answers"][0]["outcome"], "time-exceeded");
        }
        // Over IPv4 Linux sends this error once a second at most.
        network.router.run(&["ip", "-6", "route", "add", "prohibit", "2001:db8:f::/48"]);
        let prohibited = trace("2001:db8:f::1", TIMEOUT_NS);
        assert_eq!(prohibited["ended"], "unreachable", "{prohibited}");
        network.router.run(&["ip", "route", "add", "blackhole", "203.0.113.128/25"]);
        let silent = trace("203.0.113.129", IMPATIENT_NS);
        assert_eq!((&silent["ended"], silent["hops"].as_array().unwrap().len()), (&json!("silence"), 2), "{silent}");
    });
}

#[test]
#[ignore = "needs root"]
fn all_datagrams_of_a_route_are_of_one_flow() {
    in_namespace(|| {
        let network = Network::new(1_500, 1_500);
        let socket = network.router.within(|| {
            let socket = sixbench_packet::open().unwrap();
            let index = nix::net::if_::if_nametoindex("r0").unwrap();
            sixbench_packet::bind(&socket, index, libc::ETH_P_IPV6 as u16).unwrap();
            socket
        });
        let request = json!({"address": SERVERS[1], "timeout_ns": TIMEOUT_NS});
        route::run(&serde_json::from_value(request).unwrap(), &Pacer::default()).unwrap();
        let (mut labels, mut ports) = (BTreeSet::new(), BTreeSet::new());
        let (mut batch, mut datagrams) = (ReceiveBatch::new(8, 2_000), 0);
        while batch.receive_ready(socket.as_fd()).is_ok() {
            for frame in batch.datagrams().map(|datagram| datagram.bytes) {
                // An Ethernet header, one of IPv6, and one of UDP.
                if frame.get(20) == Some(&17) && frame[38..54] == "2001:db8:2::2".parse::<Ipv6Addr>().unwrap().octets()
                {
                    labels.insert([frame[15] & 0xf, frame[16], frame[17]]);
                    ports.insert(frame[54..58].to_vec());
                    datagrams += 1;
                }
            }
        }
        assert_eq!((datagrams, labels.len(), ports.len()), (6, 1, 1), "{labels:?}");
    });
}

#[test]
#[ignore = "needs root"]
fn a_connection_that_a_router_stops_says_who() {
    in_namespace(|| {
        let network = Network::new(1_500, 1_500);
        network.router.run(&["ip", "route", "add", "prohibit", "203.0.113.0/25"]);
        network.router.run(&["ip", "route", "add", "blackhole", "203.0.113.128/25"]);
        let connect = |address: &str, timeout_ns: u64| {
            let request = json!({"address": address, "port": 443, "timeout_ns": timeout_ns});
            let result = tcp_connect::run(&serde_json::from_value(request).unwrap(), &Pacer::default()).unwrap();
            json!(result)["attempts"][0].clone()
        };
        let prohibited = connect("203.0.113.1", TIMEOUT_NS);
        assert_eq!(prohibited["outcome"], "unreachable", "{prohibited}");
        assert_eq!(prohibited["icmp"], json!({"type": 3, "code": 13, "from": "198.51.100.1"}));
        let silent = connect("203.0.113.129", IMPATIENT_NS);
        assert_eq!((&silent["outcome"], &silent["elapsed_ns"]), (&json!("silence"), &Value::Null), "{silent}");
        let refused = connect(SERVERS[1], TIMEOUT_NS);
        assert_eq!((&refused["outcome"], &refused["interface"]), (&json!("refused"), &json!("c0")), "{refused}");
    });
}

#[test]
#[ignore = "needs root"]
fn an_ordinary_user_sees_where_the_machine_stands() {
    in_namespace(|| {
        let _network = Network::new(1_500, 1_500);
        let request = json!({"ask_nat64": false});
        let result = json!(vantage::run(&serde_json::from_value(request).unwrap(), &Pacer::default()).unwrap());
        assert_eq!(result["routes"][0]["outcome"], "route", "{result}");
        for (route, source, gateway) in [
            (&result["routes"][0], "198.51.100.2", "198.51.100.1"),
            (&result["routes"][1], "2001:db8:1::2", "2001:db8:1::1"),
        ] {
            assert_eq!((&route["source"], &route["gateway"]), (&json!(source), &json!(gateway)), "{result}");
            assert_eq!((&route["interface"], &route["mtu_bytes"]), (&json!("c0"), &json!(1_500)));
        }
        let interface = result["interfaces"].as_array().unwrap().iter().find(|one| one["interface"] == "c0").unwrap();
        assert_eq!((&interface["kind"], &interface["type"]), (&json!("veth"), &json!(1)));
    });
}

#[test]
#[ignore = "needs root"]
fn a_report_of_packet_too_big_about_another_packet_is_not_believed() {
    in_namespace(|| {
        let network = Network::new(1_500, 1_500);
        // Somebody answers each datagram by Fragmentation Needed about another payload of the same flow.
        network.router.run(&["ip", "route", "add", "blackhole", "203.0.113.0/24"]);
        let socket = network.router.within(|| {
            let socket = sixbench_packet::open().unwrap();
            let index = nix::net::if_::if_nametoindex("r0").unwrap();
            sixbench_packet::bind(&socket, index, libc::ETH_P_IP as u16).unwrap();
            socket
        });
        let raw = network.router.within(|| {
            let protocol = Some(socket2::Protocol::ICMPV4);
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::RAW, protocol).unwrap()
        });
        let liar = thread::spawn(move || {
            let (mut batch, mut lies) = (ReceiveBatch::new(1, 2_000), 0);
            while lies < 2 {
                if batch.receive_ready(socket.as_fd()).is_err() {
                    thread::yield_now();
                    continue;
                }
                for frame in batch.datagrams().map(|datagram| datagram.bytes) {
                    // An Ethernet header, one of IPv4 without options, and one of UDP.
                    let Some(quoted) = frame.get(14..90).filter(|packet| packet[9] == 17) else { continue };
                    let mut quoted = quoted.to_vec();
                    quoted[28 + 6] ^= 1;
                    let mut message = [&[3, 4, 0, 0, 0, 0][..], &576_u16.to_be_bytes(), &quoted].concat();
                    let sum =
                        message.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u32>();
                    let folded = !((sum & 0xffff) + (sum >> 16)) as u16;
                    message[2..4].copy_from_slice(&folded.to_be_bytes());
                    let client: std::net::SocketAddr = "198.51.100.2:0".parse().unwrap();
                    raw.send_to(&message, &client.into()).unwrap();
                    lies += 1;
                }
            }
        });
        let result = path_mtu_of("203.0.113.1", "udp", IMPATIENT_NS);
        assert_eq!((&result["outcome"], &result["reports"]), (&json!("silence"), &json!([])), "{result}");
        let silence = json!({"bytes": 1_280, "outcome": "silence"});
        assert_eq!(result["probes"], json!([silence, silence]));
        // There were two lies.
        liar.join().unwrap();
    });
}
