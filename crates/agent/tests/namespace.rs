//! Tests of nodes with namespaces of their own. These need permission to make one.

mod common;

use common::{Agent, with};
use serde_json::{Value, json};

#[test]
fn a_node_has_a_network_of_its_own() {
    let Some(mut agent) = Agent::in_own_namespace() else { return };
    let links: Value = serde_json::from_str(&agent.exec(&["ip", "-j", "link"])).expect("JSON");
    let names: Vec<&str> =
        links.as_array().expect("a list").iter().filter_map(|link| link["ifname"].as_str()).collect();
    assert_eq!(names, ["lo"]);
    let hello = agent.ok("hello", json!({"protocol": 1, "version": "test"}));
    let own = agent.exec(&["readlink", "/proc/self/ns/net"]);
    assert_eq!(own.trim_end(), format!("net:[{}]", hello["netns_inode"]));
    let ours = std::fs::read_link("/proc/self/ns/net").expect("Linux");
    assert_ne!(own.trim_end(), ours.to_string_lossy());
}

#[test]
fn sysctls_are_those_of_the_node() {
    let Some(mut agent) = Agent::in_own_namespace() else { return };
    let (dotted, with_slashes) = ("net.ipv4.ip_forward", "net/ipv4/conf/v0.1/forwarding");
    agent.exec(&["ip", "link", "add", "v0.1", "type", "veth", "peer", "name", "v1"]);
    let before = agent.ok("sysctl", json!({"get": [dotted, with_slashes]}));
    assert_eq!(before, json!({"values": {dotted: "0", with_slashes: "0"}}));
    let after = agent.ok("sysctl", json!({"set": {dotted: "1"}, "get": [dotted, with_slashes]}));
    assert_eq!(after, json!({"values": {dotted: "1", with_slashes: "1"}}));
    // The order counts: setting all of them last would switch the one off again.
    let set = r#"{"id": 900, "op": "sysctl", "set": {"net.ipv4.conf.all.forwarding": "0", "net/ipv4/conf/v0.1/forwarding": "1"}}"#;
    agent.send_raw(format!("{set}\n").as_bytes());
    assert_eq!(agent.receive(), json!({"id": 900, "ok": {"values": {}}}));
    assert_eq!(agent.ok("sysctl", json!({"get": [with_slashes]}))["values"][with_slashes], "1");

    assert_eq!(agent.error("sysctl", json!({"get": ["kernel.hostname"]}))["code"], "bad-request");
    assert_eq!(agent.error("sysctl", json!({"get": ["net/../kernel/hostname"]}))["code"], "bad-request");
    let error = agent.error("sysctl", json!({"set": {"net.ipv4.no_such_thing": "1"}}));
    assert_eq!((&error["code"], &error["context"]["errno"]), (&json!("system"), &json!("ENOENT")));
    let error = agent.error("sysctl", json!({"set": {dotted: "many"}}));
    assert_eq!((&error["code"], &error["context"]["errno"]), (&json!("system"), &json!("EINVAL")));
}

/// Sends one UDP datagram of 4 bytes over the loopback.
fn send_datagram(agent: &mut Agent) {
    agent.exec(&["bash", "-c", "echo -n ping > /dev/udp/127.0.0.1/7"]);
}

#[test]
fn counters_count() {
    let Some(mut agent) = Agent::in_own_namespace() else { return };
    agent.exec(&["ip", "link", "set", "lo", "up"]);
    let before = agent.ok("counters", json!({}));
    send_datagram(&mut agent);
    let after = agent.ok("counters", json!({}));
    let grown = |pointer: &str| {
        let value = |counters: &Value| counters.pointer(pointer).and_then(Value::as_i64).expect(pointer);
        value(&after) - value(&before)
    };
    assert!(grown("/interfaces/lo/tx_packets") >= 1);
    assert!(grown("/interfaces/lo/rx_bytes") >= 4 + 8 + 20);
    assert_eq!(grown("/snmp/Udp/OutDatagrams"), 1);
    assert_eq!(grown("/snmp/Udp/NoPorts"), 1);
    assert_eq!(grown("/snmp/Icmp/OutDestUnreachs"), 1);
    assert!(grown("/snmp/Ip/OutRequests") >= 1);
    assert!(grown("/clock_ns") > 0);
    assert_eq!(after["snmp"]["Tcp"]["MaxConn"], -1);
    assert!(after["snmp"]["Ip6"]["InReceives"].is_u64());
    assert!(after["tcpext"]["SyncookiesSent"].is_u64());
    assert!(after["snmp"].as_object().expect("an object").keys().all(|group| !group.starts_with("UdpLite")));
}

fn capture(name: &str, changes: Value) -> Value {
    let start = json!({"capture": name, "interface": "lo", "max_packets": 10, "max_ns": 60_000_000_000_u64, "snaplen_bytes": 96});
    with(start, changes)
}

#[test]
fn a_capture_keeps_the_first_bytes_and_tells_the_layers() {
    let Some(mut agent) = Agent::in_own_namespace() else { return };
    agent.exec(&["ip", "link", "set", "lo", "up"]);
    assert_eq!(agent.ok("capture-start", capture("all", json!({"snaplen_bytes": 42}))), json!({}));
    agent.ok("capture-start", capture("none", json!({"addresses": ["192.0.2.1", "2001:db8::1"]})));
    agent.ok("capture-start", capture("two", json!({"addresses": ["127.0.0.1"], "max_packets": 2})));
    send_datagram(&mut agent);

    // Over the loopback each packet is seen twice, and the datagram is answered with a port unreachable.
    let all = agent.ok("capture-stop", json!({"capture": "all"}));
    assert_eq!((&all["matched"], &all["other_packets"], &all["dropped"]), (&json!(4), &json!(0), &json!(0)));
    assert_eq!(all["ended"], "stopped");
    assert!(all["started_ns"].as_u64() < all["ended_ns"].as_u64());
    let packets = all["packets"].as_array().expect("a list");
    let [sent, received] = [&packets[0], &packets[1]];
    assert_eq!((&sent["outgoing"], &received["outgoing"]), (&json!(true), &json!(false)));
    assert_eq!(sent["wire_bytes"], 14 + 20 + 8 + 4);
    assert_eq!(sent["data"].as_str().map(str::len), Some(2 * 42));
    assert!(sent["realtime_ns"].as_u64() > Some(1_700_000_000_000_000_000));
    let layers = &sent["layers"];
    assert_eq!(layers[0], json!({"kind": "ethernet", "bytes": 14}));
    assert_eq!((&layers[1]["source"], &layers[1]["total_bytes"]), (&json!("127.0.0.1"), &json!(32)));
    assert_eq!((&layers[2]["destination_port"], &layers[2]["payload_bytes"]), (&json!(7), &json!(4)));
    assert_eq!(packets[2]["layers"][2]["kind"], "icmp");
    assert_eq!(packets[2]["layers"][2]["type"], 3);

    let none = agent.ok("capture-stop", json!({"capture": "none"}));
    assert_eq!((&none["matched"], &none["other_packets"], &none["packets"]), (&json!(0), &json!(4), &json!([])));
    let two = agent.ok("capture-stop", json!({"capture": "two"}));
    assert_eq!((&two["matched"], &two["ended"]), (&json!(2), &json!("packets")));
    assert_eq!(two["packets"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_frame_is_sent_byte_for_byte() {
    let Some(mut agent) = Agent::in_own_namespace() else { return };
    agent.exec(&["ip", "link", "set", "lo", "up"]);
    agent.ok("capture-start", capture("a", json!({})));
    // An Ethernet header, and an IPv4 header whose checksum is wrong.
    let frame = format!("0200000000010200000000020800{}", "45000014000000004011beefc6336401c6336402");
    assert_eq!(agent.ok("packet-send", json!({"interface": "lo", "frame": frame})), json!({}));
    let record = agent.ok("capture-stop", json!({"capture": "a"}));
    assert_eq!(record["packets"][0]["data"], frame);
    for (interface, frame, code) in
        [("eth9", &frame[..], "system"), ("lo", &frame[..26], "bad-request"), ("lo", "0", "bad-request")]
    {
        let error = agent.error("packet-send", json!({"interface": interface, "frame": frame}));
        assert_eq!(error["code"], code, "{error}");
    }
}

#[test]
fn a_capture_ends_when_its_time_is_over_or_before_it_began() {
    let Some(mut agent) = Agent::in_own_namespace() else { return };
    agent.exec(&["ip", "link", "set", "lo", "up"]);
    agent.ok("capture-start", capture("short", json!({"max_ns": 0})));
    agent.ok("capture-start", capture("late", json!({"after_ns": u64::MAX})));
    send_datagram(&mut agent);
    let late = agent.ok("capture-stop", json!({"capture": "late"}));
    assert_eq!((&late["ended"], &late["matched"]), (&json!("stopped"), &json!(0)));
    assert!(late.get("started_ns").is_none());
    assert_eq!(agent.error("capture-stop", json!({"capture": "late"}))["code"], "no-capture");
    let short = agent.ok("capture-stop", json!({"capture": "short"}));
    assert_eq!(short["ended"], "time");
}

#[test]
fn a_capture_ends_when_the_interface_goes_down() {
    let Some(mut agent) = Agent::in_own_namespace() else { return };
    let error = agent.error("capture-start", capture("a", json!({})));
    assert_eq!((&error["code"], &error["context"]["errno"]), (&json!("system"), &json!("ENETDOWN")));
    agent.exec(&["ip", "link", "set", "lo", "up"]);
    agent.ok("capture-start", capture("a", json!({})));
    send_datagram(&mut agent);
    agent.exec(&["ip", "link", "set", "lo", "down"]);
    let record = agent.ok("capture-stop", json!({"capture": "a"}));
    assert_eq!((&record["ended"], &record["matched"]), (&json!("interface-down"), &json!(4)));
}

#[test]
fn captures_are_refused_with_reasons() {
    let Some(mut agent) = Agent::in_own_namespace() else { return };
    agent.exec(&["ip", "link", "set", "lo", "up"]);
    let error = agent.error("capture-start", capture("a", json!({"interface": "eth9"})));
    assert_eq!((&error["code"], &error["context"]["errno"]), (&json!("system"), &json!("ENODEV")));
    let cases = [("max_packets", 0), ("max_packets", 4097), ("snaplen_bytes", 0), ("snaplen_bytes", 65_536)];
    let cases = cases.map(|(key, value)| (key, json!(value), "bad-request"));
    agent.refuses("capture-start", || capture("a", json!({})), cases);
    for number in 0..16 {
        agent.ok("capture-start", capture(&number.to_string(), json!({})));
    }
    assert_eq!(agent.error("capture-start", capture("0", json!({})))["code"], "capture-exists");
    assert_eq!(agent.error("capture-start", capture("16", json!({})))["code"], "busy");
    for number in 0..16 {
        agent.ok("capture-stop", json!({"capture": number.to_string()}));
    }
}

#[test]
fn a_namespace_ends_with_its_agent() {
    let (Some(mut one), Some(mut other)) = (Agent::in_own_namespace(), Agent::in_own_namespace()) else { return };
    let pid = other.pid().to_string();
    one.exec(&["ip", "link", "add", "here", "type", "veth", "peer", "name", "there", "netns", &pid]);
    other.exec(&["ip", "link", "show", "there"]);
    other.kill();
    other.wait();
    // The kernel takes the namespace down in its own time; `ip monitor` would tell, but may start too late, so the link
    // is used: a veth without its peer is gone.
    let gone = one.ok("exec", json!({"argv": ["sh", "-c", "while ip link show here >/dev/null 2>&1; do :; done"]}));
    assert_eq!(gone["exit"], 0);
}
