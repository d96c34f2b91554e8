//! Servers that lease IPv4 addresses, or tell clients to do without.

use serde_json::{Value, json};

use crate::common::{Agent, join};

fn pair() -> Option<(Agent, Agent)> {
    let (mut host, mut router) = (Agent::node()?, Agent::node()?);
    join((&mut host, "e0", &[]), (&mut router, "e0", &[]));
    Some((host, router))
}

fn serve(v6only_wait_s: Option<u32>) -> Value {
    let mut request = json!({
        "device": "e0", "server": "198.18.0.2", "prefix_bits": 24, "first": "198.18.0.1", "last": "198.18.0.1",
    });
    if let Some(wait_s) = v6only_wait_s {
        request["v6only_wait_s"] = json!(wait_s);
    }
    request
}

#[test]
fn a_host_that_can_do_without_ipv4_is_told_to() {
    let Some((mut host, mut router)) = pair() else { return };
    assert_eq!(router.ok("dhcp-serve", serve(Some(1800))), json!({}));
    assert_eq!(router.error("dhcp-serve", serve(None))["code"], "service-exists");
    // Twice: it takes no address.
    for _ in 0..2 {
        let answer = host.ok("dhcp-ask", json!({"device": "e0"}));
        assert_eq!(
            (&answer["server"], &answer["offered"], &answer["wait_s"]),
            (&json!("198.18.0.2"), &json!("198.18.0.1"), &json!(1800))
        );
        assert!(answer["asked"].as_u64() > Some(0) && answer["took_ns"].as_u64() > Some(0), "{answer}");
    }
    let counters = router.ok("dhcp-stop", json!({"device": "e0"}));
    assert_eq!((&counters["v6only"], &counters["messages"]["offer"]), (&json!(2), &json!(2)), "{counters}");
    assert_eq!(counters["ignored"], json!({}), "{counters}");
    let error = host.error("dhcp-ask", json!({"device": "e0", "timeout_ns": 1_000_000}));
    assert_eq!(error["code"], "timeout", "{error}");
    assert_eq!(router.error("dhcp-stop", json!({"device": "e0"}))["code"], "no-service");
}

#[test]
fn a_link_whose_hosts_need_ipv4_says_so() {
    let Some((mut host, mut router)) = pair() else { return };
    router.ok("dhcp-serve", serve(None));
    let error = host.error("dhcp-ask", json!({"device": "e0"}));
    assert_eq!(error["code"], "peer-lost", "{error}");
    assert!(error["message"].as_str().is_some_and(|words| words.contains("without option 108")), "{error}");
    // A short time is as long as RFC 8925 section 3.4 has it at least.
    router.ok("dhcp-stop", json!({"device": "e0"}));
    router.ok("dhcp-serve", serve(Some(7)));
    assert_eq!(host.ok("dhcp-ask", json!({"device": "e0"}))["wait_s"], json!(300));
}

#[test]
fn servers_are_refused_with_reasons() {
    let Some((_host, mut router)) = pair() else { return };
    let cases = [
        ("device", json!("e9"), "system"),
        ("device", json!("lo"), "system"),
        ("prefix_bits", json!(32), "bad-params"),
        ("last", json!("198.18.1.1"), "bad-params"),
        ("last", json!("198.18.0.0"), "bad-params"),
        ("last", json!("198.18.0.9"), "bad-params"),
        ("lease_s", json!(0), "bad-params"),
        ("pool", json!(1), "bad-request"),
    ];
    router.refuses("dhcp-serve", || serve(None), cases);
}
