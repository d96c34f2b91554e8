//! Router discovery over a link, and through a tunnel.

use std::net::{Ipv6Addr, SocketAddrV6};

use serde_json::{Value, json};
use socket2::{Domain, Protocol, Socket, Type};

use crate::common::{Agent, join, within};

fn prefix() -> Value {
    json!({"prefix": "2001:db8:5::/64", "on_link": true, "autonomous": true, "valid_s": 86400, "preferred_s": 14400})
}

fn pair() -> Option<(Agent, Agent)> {
    let (mut host, mut router) = (Agent::node()?, Agent::node()?);
    join((&mut host, "e0", &["10.0.0.1/24", "fe80::1/64"]), (&mut router, "e0", &["10.0.0.2/24", "fe80::2/64"]));
    for node in [&mut host, &mut router] {
        // The one that the kernel chose, so that it is known which is used, and its own solicitations.
        node.shell("sysctl -qw net.ipv6.conf.e0.router_solicitations=0; ip -6 address show dev e0 | grep -o 'fe80::[^ ]*:[^ ]*:[^ ]*' | while read a; do ip address del $a dev e0; done",
        );
    }
    Some((host, router))
}

#[test]
fn a_router_answers_who_asks() {
    let Some((mut host, mut router)) = pair() else { return };
    let advertise = json!({
        "device": "e0", "prefixes": [{"prefix": "2001:db8:5::/64"}, {"prefix": "2001:db8:6::/56", "on_link": false, "autonomous": false, "valid_s": 7, "preferred_s": 0}],
        "router_lifetime_s": 900, "mtu_bytes": 1400, "hop_limit": 32,
    });
    assert_eq!(router.ok("router-advertise", advertise), json!({}));
    let mut answer = host.ok("router-solicit", json!({"device": "e0"}));
    assert!(answer["solicitations"].as_u64() > Some(0) && answer["took_ns"].as_u64() > Some(0), "{answer}");
    answer["solicitations"] = json!(0);
    answer["took_ns"] = json!(0);
    let other =
        json!({"prefix": "2001:db8:6::/56", "on_link": false, "autonomous": false, "valid_s": 7, "preferred_s": 0});
    assert_eq!(
        answer,
        json!({
            "router": "fe80::2", "router_lifetime_s": 900, "mtu_bytes": 1400, "hop_limit": 32, "prefixes": [prefix(), other],
            "solicitations": 0, "took_ns": 0,
        })
    );
    let counters = router.ok("advertise-stop", json!({"device": "e0"}));
    assert!(counters["advertisements"].as_u64() > Some(0), "{counters}");
    assert_eq!((&counters["solicitations"], &counters["ignored"]), (&counters["advertisements"], &json!({})));

    let error = host.error("router-solicit", json!({"device": "e0", "timeout_ns": 1}));
    assert_eq!(error["code"], "timeout", "{error}");
}

#[test]
fn solicitations_of_strangers_are_ignored_and_counted() {
    let Some((mut host, mut router)) = pair() else { return };
    router.ok("router-advertise", json!({"device": "e0", "prefixes": []}));
    let index: u32 = host.shell("ip -o link show e0 | cut -d: -f1").trim().parse().expect("a number");
    let socket = within(&host, || Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6)).expect("a socket"));
    let to = SocketAddrV6::new(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2), 0, 0, index);
    let send = |hop_limit: u32, message: &[u8]| {
        socket.set_multicast_hops_v6(hop_limit).expect("a socket");
        socket.send_to(message, &to.into()).expect("sent");
    };
    send(64, &[133, 0, 0, 0, 0, 0, 0, 0]);
    send(255, &[133, 1, 0, 0, 0, 0, 0, 0]);
    send(255, &[133, 0, 0, 0, 0, 0]);
    send(255, &[133, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    // These solicitations came before this one, which is answered.
    host.ok("router-solicit", json!({"device": "e0"}));
    let counters = router.ok("advertise-stop", json!({"device": "e0"}));
    assert_eq!(counters["ignored"], json!({"hop-limit": 1, "code": 1, "length": 1, "option-length": 1}), "{counters}");
}

/// A host and a router of ISATAP, which advertises.
fn isatap() -> Option<(Agent, Agent)> {
    let (mut host, mut router) = pair()?;
    let tunnel = |local: &str, routers: &[&str]| {
        json!({
            "device": "sb0", "mtu_bytes": 1480, "outer": "ipv4", "payload": "ipv6", "local": local, "underlay": ["e0"],
            "mapping": {"kind": "isatap", "routers": routers},
        })
    };
    host.ok("tunnel-add", tunnel("10.0.0.1", &["10.0.0.2"]));
    router.ok("tunnel-add", tunnel("10.0.0.2", &[]));
    router.ok("router-advertise", json!({"device": "sb0", "prefixes": [prefix()]}));
    Some((host, router))
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn hosts_of_isatap_ask_their_router() {
    let Some((mut host, mut router)) = isatap() else { return };
    // The question is sent by unicast: RFC 5214 section 8.3.4.
    let answer = host.ok("router-solicit", json!({"device": "sb0", "destination": "fe80::5efe:10.0.0.2"}));
    assert_eq!((&answer["router"], &answer["prefixes"]), (&json!("fe80::5efe:a00:2"), &json!([prefix()])));
    assert!(answer.get("mtu_bytes").is_none() && answer.get("hop_limit").is_none(), "{answer}");
    let counters = router.ok("advertise-stop", json!({"device": "sb0"}));
    assert_eq!((&counters["advertisements"], &counters["ignored"]), (&json!(1), &json!({})), "{counters}");
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn hosts_of_isatap_find_their_router() {
    let Some((mut host, _router)) = isatap() else { return };
    // The ping makes the next hop known, so that the fast path takes the packets.
    host.shell("ping -c 1 -W 5 10.0.0.2");
    assert_eq!(host.ok("router-solicit", json!({"device": "sb0"}))["router"], "fe80::5efe:a00:2");
}

#[test]
fn routers_are_refused_with_reasons() {
    let Some((mut host, _router)) = pair() else { return };
    let request = || json!({"device": "e0", "prefixes": []});
    let cases = [
        ("device", json!("e9"), "system"),
        ("device", json!("lo"), "system"),
        ("mtu_bytes", json!(1279), "bad-params"),
        ("prefixes", json!([{"prefix": "2001:db8::/64", "valid_s": 1}]), "bad-params"),
        ("prefixes", json!([{"prefix": "2001:db8::1/64"}]), "bad-request"),
        ("router_lifetime_s", json!(65_536), "bad-request"),
    ];
    host.refuses("router-advertise", request, cases);
    host.ok("router-advertise", request());
    assert_eq!(host.error("router-advertise", request())["code"], "service-exists");
    host.ok("advertise-stop", json!({"device": "e0"}));
    assert_eq!(host.error("advertise-stop", json!({"device": "e0"}))["code"], "no-service");
}
