//! A tunnel broker and those who ask it.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::common::{Agent, TOKEN, join, with, within};

const BROKER: &str = "192.0.2.254";

/// A broker, and around it hosts that reach it over IPv4 only. The last one is a stranger to it.
struct Star {
    broker: Agent,
    hosts: [Agent; 3],
    port: Value,
}

impl Star {
    fn build(changes: Value) -> Option<Self> {
        let mut star =
            Self { broker: Agent::node()?, hosts: [Agent::node()?, Agent::node()?, Agent::node()?], port: json!(0) };
        star.broker.shell(&format!("ip address add {BROKER}/32 dev lo; sysctl -qw net.ipv6.conf.all.forwarding=1"));
        for (number, host) in star.hosts.iter_mut().enumerate() {
            let (near, far) = (format!("10.0.{number}.2/24"), format!("10.0.{number}.1/24"));
            join((host, "e0", &[&near]), (&mut star.broker, &format!("e{number}"), &[&far]));
            host.shell(&format!("ip route add {BROKER} via 10.0.{number}.1"));
        }
        star.port = star.broker.ok("broker-start", with(start(), changes))["port"].clone();
        Some(star)
    }

    fn request(&self, host: usize) -> Value {
        json!({
            "broker": BROKER, "port": self.port, "token": TOKEN, "local": format!("10.0.{host}.2"), "device": "sb0",
            "tunnel": {"underlay": ["e0"], "ttl": 32},
        })
    }

    fn obtain(&mut self, host: usize) -> Value {
        let request = self.request(host);
        self.hosts[host].ok("broker-request", request)
    }

    fn status(&mut self) -> Value {
        self.broker.ok("broker-status", json!({}))
    }

    /// A connection from a host, with nothing said.
    fn connect(&self, host: usize) -> TcpStream {
        let port = self.port.as_u64().and_then(|port| u16::try_from(port).ok()).expect("a port");
        within(&self.hosts[host], move || TcpStream::connect((BROKER, port)).expect("a connection"))
    }
}

fn start() -> Value {
    json!({
        "address": BROKER, "clients": ["10.0.0.2", "10.0.1.2"], "token": TOKEN, "pool": "2001:db8:b00::/48",
        "tunnel": {"mtu_bytes": 1480, "underlay": ["e0", "e1", "e2"]},
    })
}

fn has_device(node: &mut Agent, device: &str) -> bool {
    node.shell("ip -o link show").contains(&format!(" {device}@"))
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn a_client_gets_a_tunnel_keeps_it_and_gives_it_back() {
    let Some(mut star) = Star::build(json!({})) else { return };
    let given = star.obtain(0);
    assert_eq!((&given["device"], &given["address"]), (&json!("sb0"), &json!("2001:db8:b00::2/64")));
    assert_eq!(
        (&given["server"], &given["mtu_bytes"], &given["lifetime_s"]),
        (&json!("2001:db8:b00::1"), &json!(1480), &json!(300))
    );
    star.hosts[0].shell("ping -c 3 -i 0.01 -W 5 2001:db8:b00::1");

    // Another host's address is next to it, and they reach each other.
    assert_eq!(star.obtain(1)["address"], "2001:db8:b00:1::2/64");
    star.hosts[0].shell("ip -6 route add default dev sb0");
    star.hosts[1].shell("ip -6 route add default dev sb0; ping -c 3 -i 0.01 -W 5 -s 1432 -M do 2001:db8:b00::2");

    // A second request gets the same lease.
    let mut again = star.obtain(0);
    again["took_ns"] = given["took_ns"].clone();
    assert_eq!(again, given);
    let mut elsewhere = star.request(0);
    elsewhere["device"] = json!("sb1");
    assert_eq!(star.hosts[0].error("broker-request", elsewhere)["code"], "service-exists");
    let status = star.status();
    let leases = status["leases"].as_array().expect("a list");
    assert_eq!(leases.len(), 2, "{status}");
    assert_eq!((&leases[0]["client"], &leases[0]["device"]), (&json!("10.0.0.2"), &json!("sbb0")));
    assert_eq!(
        (&leases[1]["prefix"], &leases[1]["server"]),
        (&json!("2001:db8:b00:1::/64"), &json!("2001:db8:b00:1::1"))
    );
    assert!(leases[0]["expires_in_s"].as_u64() <= Some(300));
    let counters = star.broker.ok("tunnel-counters", json!({}));
    assert!(counters["tunnels"]["sbb1"]["decapsulated"]["packets"].as_u64() > Some(0), "{counters}");

    let released = star.hosts[0].ok("broker-release", json!({"device": "sb0"}));
    assert_eq!(released, json!({"renewals": 0, "failed_renewals": 0}));
    assert!(!has_device(&mut star.hosts[0], "sb0") && !has_device(&mut star.broker, "sbb0"));
    assert_eq!(star.hosts[0].error("broker-release", json!({"device": "sb0"}))["code"], "no-service");
    // Its prefix is free again, also for the same one.
    assert_eq!(star.obtain(0)["address"], "2001:db8:b00::2/64");

    let last = star.broker.ok("broker-stop", json!({}));
    assert_eq!((last["leases"].as_array().map(Vec::len), &last["refused"]), (Some(2), &json!({})));
    assert!(last.get("last_failure").is_none(), "{last}");
    assert!(!has_device(&mut star.broker, "sbb0") && !has_device(&mut star.broker, "sbb1"));
    assert_eq!(star.broker.error("broker-status", json!({}))["code"], "no-service");
    // The broker is gone; the device goes all the same.
    assert_eq!(star.hosts[0].error("broker-release", json!({"device": "sb0"}))["code"], "system");
    assert!(!has_device(&mut star.hosts[0], "sb0"));
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn strangers_and_liars_are_refused_and_counted() {
    let Some(mut star) = Star::build(json!({"pool": "2001:db8:b00::/64"})) else { return };
    let request = star.request(2);
    assert_eq!(star.hosts[2].error("broker-request", request)["code"], "peer-lost");
    let mut request = star.request(0);
    request["token"] = json!("10112233445566778899aabbccddeeff");
    let error = star.hosts[0].error("broker-request", request);
    assert_eq!((&error["code"], &error["context"]["reason"]), (&json!("refused"), &json!("wrong-token")));
    star.obtain(0);
    let request = star.request(1);
    let error = star.hosts[1].error("broker-request", request);
    assert_eq!((&error["code"], &error["context"]["reason"]), (&json!("refused"), &json!("no-room")));
    assert!(!has_device(&mut star.hosts[1], "sb0"));

    let mut answer = String::new();
    let mut connection = star.connect(1);
    connection.write_all(b"{\"action\":\"create\"}\n").expect("sent");
    connection.read_to_string(&mut answer).expect("an answer");
    assert_eq!(answer, "{\"refused\":\"malformed\"}\n");
    answer.clear();
    let release = format!("{{\"action\":\"release\",\"token\":\"{TOKEN}\"}}\n");
    let mut connection = star.connect(1);
    connection.write_all(release.as_bytes()).expect("sent");
    connection.read_to_string(&mut answer).expect("an answer");
    assert_eq!(answer, "{\"refused\":\"no-lease\"}\n");
    // The broker does not answer a request that is too long, nor a client that says nothing. It may close with bytes
    // unread, which resets the connection.
    let mut connection = star.connect(1);
    connection.write_all(&[b'x'; 4097]).expect("sent");
    let _ = connection.read_to_end(&mut Vec::new());
    assert_eq!(star.connect(1).read(&mut [0]).expect("it closes"), 0);
    let refused = json!({
        "stranger": 1, "wrong-token": 1, "no-room": 1, "malformed": 1, "no-lease": 1, "too-long": 1, "deadline": 1,
    });
    assert_eq!(star.status()["refused"], refused);
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn a_lease_lives_as_long_as_its_client() {
    let Some(mut star) = Star::build(json!({"lifetime_s": 6})) else { return };
    star.obtain(0);
    star.obtain(1);
    star.hosts[1].kill();
    star.hosts[1].wait();
    // The kernel tells when the device is gone: that of the one who lives is still there then, renewed.
    star.broker.shell("while ip link show sbb1 >/dev/null 2>&1; do :; done");
    let status = star.status();
    assert_eq!(status["leases"].as_array().map(Vec::len), Some(1), "{status}");
    assert_eq!(status["leases"][0]["client"], "10.0.0.2");
    star.hosts[0].shell("ping -c 1 -W 5 2001:db8:b00::1");
    let released = star.hosts[0].ok("broker-release", json!({"device": "sb0"}));
    assert!(released["renewals"].as_u64() > Some(0), "{released}");
}

/// The changes that make a broker one that leases addresses, of which it has one.
fn one_address() -> Value {
    let end_points = json!({"10.0.0.2": "2001:db8::1", "10.0.1.2": "2001:db8::9"});
    let addresses =
        json!({"first": "192.0.2.2", "last": "192.0.2.2", "gateway": "192.0.2.1", "end_points": end_points});
    json!({"pool": null, "tunnel": null, "addresses": addresses})
}

#[test]
fn an_address_is_leased_without_a_tunnel() {
    let Some(mut star) = Star::build(one_address()) else { return };
    let requests = [0, 1].map(|host| with(star.request(host), json!({"tunnel": null})));
    let given = star.hosts[0].ok("broker-request", requests[0].clone());
    assert_eq!((&given["address"], &given["server"]), (&json!("192.0.2.2/32"), &json!("192.0.2.1")));
    assert_eq!((&given["remote"], given.get("mtu_bytes")), (&json!("2001:db8::1"), None));
    assert!(!has_device(&mut star.hosts[0], "sb0") && !has_device(&mut star.broker, "sbb0"));
    let error = star.hosts[1].error("broker-request", requests[1].clone());
    assert_eq!((&error["code"], &error["context"]["reason"]), (&json!("refused"), &json!("no-room")));
    assert!(error["message"].as_str().is_some_and(|text| text.ends_with("no-room (all its leases are taken)")));
    let status = star.status();
    assert_eq!(status["leases"][0]["prefix"], "192.0.2.2/32", "{status}");
    assert_eq!((status["leases"][0].get("device"), &status["refused"]["no-room"]), (None, &json!(1)));

    star.hosts[0].ok("broker-release", json!({"device": "sb0"}));
    let given = star.hosts[1].ok("broker-request", requests[1].clone());
    assert_eq!((&given["address"], &given["remote"]), (&json!("192.0.2.2/32"), &json!("2001:db8::9")));
    // A request for a tunnel gets none here, and keeps no lease.
    star.hosts[1].ok("broker-release", json!({"device": "sb0"}));
    let request = star.request(0);
    assert_eq!(star.hosts[0].error("broker-request", request)["code"], "peer-lost");
    assert_eq!(star.status()["leases"], json!([]));
}

#[test]
fn brokers_are_refused_with_reasons() {
    let Some(mut agent) = Agent::node() else { return };
    agent.shell(&format!("ip address add {BROKER}/32 dev lo"));
    let cases = [
        ("address", json!("192.0.2.1"), "system"),
        ("clients", json!([]), "bad-params"),
        ("clients", json!([BROKER]), "bad-params"),
        ("token", json!("00"), "bad-request"),
        ("pool", json!("2001:db8::/65"), "bad-params"),
        ("pool", json!("2001:db8::/31"), "bad-params"),
        ("tunnel", json!({"underlay": ["e0"]}), "bad-params"),
        ("tunnel", json!({"underlay": ["e0"], "mtu_bytes": 1279}), "bad-params"),
        ("tunnel", json!({"underlay": ["e0"], "mtu_bytes": 1480, "local": BROKER}), "bad-params"),
        ("device_prefix", json!("long-name-"), "bad-params"),
        ("lifetime_s", json!(0), "bad-params"),
        ("max_clients", json!(257), "bad-params"),
        ("pool", Value::Null, "bad-params"),
        ("addresses", one_address()["addresses"].clone(), "bad-params"),
    ];
    agent.refuses("broker-start", start, cases);
    agent.ok("broker-start", start());
    assert_eq!(agent.error("broker-start", start())["code"], "service-exists");
}
