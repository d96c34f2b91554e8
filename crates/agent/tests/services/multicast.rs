//! Multicast through two routers.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, UdpSocket};

use serde_json::{Value, json};

use crate::common::{Agent, PATIENCE, join, within};

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 192, 0, 1);
const OTHER_GROUP: Ipv4Addr = Ipv4Addr::new(239, 193, 0, 1);
const PORT: u16 = 5000;

/// A host, two routers with two links between them, a host.
struct Ring {
    host_1: Agent,
    router_1: Agent,
    router_2: Agent,
    host_2: Agent,
}

impl Ring {
    fn build() -> Option<Self> {
        let mut ring =
            Self { host_1: Agent::node()?, router_1: Agent::node()?, router_2: Agent::node()?, host_2: Agent::node()? };
        let Self { host_1, router_1, router_2, host_2 } = &mut ring;
        join((host_1, "e0", &["10.1.0.2/24"]), (router_1, "e0", &["10.1.0.1/24"]));
        join((router_1, "e1", &["10.0.1.1/24"]), (router_2, "e1", &["10.0.1.2/24"]));
        join((router_1, "e2", &["10.0.2.1/24"]), (router_2, "e2", &["10.0.2.2/24"]));
        join((router_2, "e0", &["10.2.0.1/24"]), (host_2, "e0", &["10.2.0.2/24"]));
        host_1.shell("ip route add default via 10.1.0.1");
        host_2.shell("ip route add default via 10.2.0.1");
        router_1.shell("sysctl -qw net.ipv4.ip_forward=1; ip route add 10.2.0.0/24 via 10.0.1.2");
        router_2.shell("sysctl -qw net.ipv4.ip_forward=1; ip route add 10.1.0.0/24 via 10.0.1.1");
        Some(ring)
    }

    fn forward(&mut self) {
        for router in [&mut self.router_1, &mut self.router_2] {
            assert_eq!(router.ok("multicast-forward", json!({"interfaces": ["e0", "e1", "e2"]})), json!({}));
        }
    }
}

fn sender(node: &Agent) -> UdpSocket {
    within(node, || UdpSocket::bind("0.0.0.0:0").expect("a socket"))
}

fn receiver(node: &Agent) -> UdpSocket {
    within(node, || {
        let socket = UdpSocket::bind(("0.0.0.0", PORT)).expect("a socket");
        for group in [GROUP, OTHER_GROUP] {
            socket.join_multicast_v4(&group, &Ipv4Addr::new(10, 2, 0, 2)).expect("a member");
        }
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        socket
    })
}

fn send(sender: &UdpSocket, group: Ipv4Addr, ttl: u32, text: &str) {
    sender.set_multicast_ttl_v4(ttl).expect("a socket");
    sender.send_to(text.as_bytes(), (group, PORT)).expect("sent");
}

fn receive(receiver: &UdpSocket) -> String {
    let mut buffer = [0; 100];
    let length = receiver.recv(&mut buffer).expect("a datagram");
    String::from_utf8_lossy(&buffer[..length]).into_owned()
}

#[test]
fn multicast_is_forwarded_once_and_never_in_circles() {
    let Some(mut ring) = Ring::build() else { return };
    ring.forward();
    let (sender, receiver) = (sender(&ring.host_1), receiver(&ring.host_2));
    // Neither of these may arrive.
    send(&sender, GROUP, 2, "dies at the second router");
    send(&sender, OTHER_GROUP, 8, "of another group");
    let expected: BTreeSet<String> = (0..20).map(|number| format!("number {number}")).collect();
    for (sent, text) in expected.iter().enumerate() {
        send(&sender, GROUP, 8, text);
        if sent == 0 {
            // While the first one waits for the router's word, the kernel has room for three more.
            assert_eq!(receive(&receiver), *text);
        }
    }
    let mut received: Vec<String> = (1..expected.len()).map(|_| receive(&receiver)).collect();
    // A second copy of one of them would have come before this.
    send(&sender, GROUP, 8, "last");
    while received.last().is_some_and(|text| text != "last") {
        received.push(receive(&receiver));
    }
    received.sort();
    assert_eq!(received.len(), expected.len());
    assert!(received.iter().filter(|text| *text != "last").all(|text| expected.contains(text)), "{received:?}");

    let bytes: u64 = 28 * 22
        + (expected.iter().map(String::len).sum::<usize>() + "last".len() + "dies at the second router".len()) as u64;
    let first = ring.router_1.ok("multicast-counters", json!({}));
    assert_eq!((&first["packets"], &first["bytes"], &first["sources"]), (&json!(22), &json!(bytes), &json!(1)));
    assert_eq!(first["copies"], 2 * 22);
    // Both routers got everything twice: the second router from the first one, the first from the second.
    let second = ring.router_2.ok("multicast-stop", json!({}));
    assert_eq!((&second["packets"], &second["wrong_interface"]), (&json!(22), &json!(22)));
    assert_eq!(second["copies"], 2 * 21);
    assert_eq!(first["wrong_interface"], 21);

    // The kernel's table is gone together with the service.
    assert_eq!(ring.router_2.error("multicast-counters", json!({}))["code"], "no-service");
    assert_eq!(
        ring.router_2.shell("tail -n +2 /proc/net/ip_mr_cache /proc/net/ip_mr_vif | grep -c : || true").trim(),
        "0"
    );
    let forwarding = ring.router_2.ok("sysctl", json!({"get": ["net.ipv4.conf.all.mc_forwarding"]}));
    assert_eq!(forwarding["values"]["net.ipv4.conf.all.mc_forwarding"], "0");
}

#[test]
fn a_router_follows_the_route_to_the_source() {
    let Some(mut ring) = Ring::build() else { return };
    ring.forward();
    let (sender, receiver) = (sender(&ring.host_1), receiver(&ring.host_2));
    send(&sender, GROUP, 8, "before");
    assert_eq!(receive(&receiver), "before");
    // From now on, the right packets are those that come by the other link: the kernel tells the router with the next
    // ones.
    ring.router_2.shell("ip route replace 10.1.0.0/24 via 10.0.2.1");
    ring.router_1.shell("ip link set e1 down");
    receiver.set_nonblocking(true).expect("a socket");
    let started = std::time::Instant::now();
    let mut buffer = [0; 100];
    while receiver.recv(&mut buffer).is_err() {
        assert!(started.elapsed() < PATIENCE, "{}", ring.router_2.ok("multicast-counters", json!({})));
        send(&sender, GROUP, 8, "after");
        std::thread::yield_now();
    }
    assert!(buffer.starts_with(b"after"));
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn neighbours_of_6over4_find_each_other_through_routers() {
    let Some(mut ring) = Ring::build() else { return };
    ring.forward();
    for (host, number) in [(&mut ring.host_1, 1), (&mut ring.host_2, 2)] {
        let local = format!("10.{number}.0.2");
        host.ok(
            "tunnel-add",
            json!({
                "device": "sb0", "mtu_bytes": 1480, "outer": "ipv4", "payload": "ipv6", "local": local,
                "underlay": ["e0"], "mapping": {"kind": "6over4"},
            }),
        );
    }
    ring.host_1.shell("ping -c 3 -i 0.01 -W 5 fe80::a02:2%sb0");
    let neighbours = ring.host_1.shell("ip -6 neighbour show dev sb0");
    assert!(neighbours.contains("fe80::a02:2 lladdr 00:00:0a:02:00:02"), "{neighbours}");
}

#[test]
fn forwarding_is_refused_with_reasons() {
    let Some(mut agent) = Agent::node() else { return };
    let refused = |agent: &mut Agent, request: Value| agent.error("multicast-forward", request)["code"].clone();
    assert_eq!(refused(&mut agent, json!({"interfaces": ["lo"]})), "bad-params");
    assert_eq!(refused(&mut agent, json!({"interfaces": ["lo", "lo"]})), "bad-params");
    assert_eq!(refused(&mut agent, json!({"interfaces": ["lo", "e9"]})), "system");
    assert_eq!(refused(&mut agent, json!({"interfaces": ["lo", "e9"], "groups": ["10.0.0.0/8"]})), "bad-request");
    assert_eq!(agent.error("multicast-stop", json!({}))["code"], "no-service");
    agent.shell("ip link add d0 type veth peer name d1");
    agent.ok("multicast-forward", json!({"interfaces": ["d0", "d1"]}));
    assert_eq!(refused(&mut agent, json!({"interfaces": ["d0", "d1"]})), "service-exists");
    let counters = agent.ok("multicast-stop", json!({}));
    assert_eq!(counters, json!({"packets": 0, "bytes": 0, "copies": 0, "wrong_interface": 0, "sources": 0}));
}
