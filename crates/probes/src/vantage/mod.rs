//! `vantage`: where this machine stands: its addresses and interfaces, its routes, its resolvers, the prefix of a NAT64
//! and the variables that name proxies. No packet is sent but the question for the prefix.

pub mod kind;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sixbench_netlink::{Client, Link, Route, RouteKind};
use sixbench_packet::{Error, Result};
use sixbench_wire::dns::{WELL_KNOWN_NAME, prefixes_of};

use self::kind::Kind;
use crate::limits::{self, SECOND_NS};
use crate::outcome::{Ending, Outcome};
use crate::pacing::Pacer;
use crate::resolve::message::Type;
use crate::resolve::{self, AskedResolver, ResolveRequest};

const DEFAULT_TIMEOUT_NS: u64 = 2 * SECOND_NS;
/// Addresses to which routes are looked up.
const MAX_TOWARDS: u64 = 256;
/// Addresses and interfaces that are told: a machine with more is no vantage point but a router.
const MAX_ENTRIES: usize = 1_024;
/// Addresses for documents (RFC 5737, RFC 3849), to which packets go as they go to any other network.
const DOCUMENTATION: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))];
/// The variables by which programs are told of proxies. Some take them in capitals, too.
const PROXY_VARIABLES: [&str; 5] = ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"];

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VantageRequest {
    towards: Option<Vec<IpAddr>>,
    resolver: Option<AskedResolver>,
    timeout_ns: Option<u64>,
    #[serde(default = "yes")]
    ask_nat64: bool,
}

fn yes() -> bool {
    true
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VantageResult {
    addresses: Vec<InterfaceAddress>,
    interfaces: Vec<Interface>,
    routes: Vec<RouteTowards>,
    resolvers: Vec<IpAddr>,
    /// The prefix of a NAT64, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    nat64: Option<Nat64>,
    /// Names of variables of the environment that are set.
    proxies: Vec<String>,
}

/// An address of this machine.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InterfaceAddress {
    interface: String,
    address: IpAddr,
    prefix_bits: u8,
    scope: &'static str,
    temporary: bool,
    deprecated: bool,
    tentative: bool,
    kind: Kind,
}

/// An interface of this machine.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Interface {
    interface: String,
    is_up: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    mtu_bytes: Option<u32>,
    /// The kernel's name for a device that it makes; absent of hardware.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// The number of its link layer (`ARPHRD_`).
    #[serde(rename = "type")]
    hardware_type: u16,
}

/// The route of packets to an address.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RouteTowards {
    towards: IpAddr,
    outcome: RouteOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interface: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<IpAddr>,
    /// MTU of the route, or else of its interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    mtu_bytes: Option<u32>,
}

/// The kind of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RouteOutcome {
    /// Packets leave.
    Route,
    /// The address is this machine's own.
    Local,
    /// Packets are not sent.
    NoRoute,
}

/// The prefix of a NAT64, as a resolver makes addresses with it (RFC 7050).
#[derive(Debug, Serialize, JsonSchema)]
pub struct Nat64 {
    #[serde(flatten)]
    ending: Ending,
    /// The prefixes; none where the resolver makes no addresses.
    prefixes: Vec<String>,
}

/// Looks around.
///
/// # Errors
/// `bad-params` of a request that is out of bounds, `system` where the kernel does not tell.
pub fn run(request: &VantageRequest, pacer: &Pacer) -> Result<VantageResult> {
    let timeout_ns = limits::timeout_ns(request.timeout_ns, DEFAULT_TIMEOUT_NS)?;
    let towards = request.towards.as_deref().unwrap_or(&DOCUMENTATION);
    limits::within("towards", towards.len() as u64, 0..=MAX_TOWARDS)?;
    let failed = |error: io::Error| Error::system("asking for addresses, interfaces and routes", "rtnetlink", error);
    let mut client = Client::open().map_err(failed)?;
    let links: BTreeMap<u32, Link> =
        client.links().map_err(failed)?.into_iter().take(MAX_ENTRIES).map(|link| (link.index, link)).collect();
    let addresses = client.addresses().map_err(failed)?;
    let routes = towards.iter().map(|&to| route(&mut client, &links, to)).collect::<io::Result<_>>().map_err(failed)?;
    let named = |one: sixbench_netlink::Address| {
        Some(InterfaceAddress {
            interface: links.get(&one.link)?.name.clone(),
            address: one.address,
            prefix_bits: one.prefix_bits,
            scope: scope(one.scope),
            temporary: one.is_temporary,
            deprecated: one.is_deprecated,
            tentative: one.is_tentative,
            kind: Kind::of(one.address),
        })
    };
    Ok(VantageResult {
        addresses: addresses.into_iter().filter_map(named).take(MAX_ENTRIES).collect(),
        interfaces: links.values().map(Interface::of).collect(),
        routes,
        resolvers: resolve::system_resolvers()?,
        nat64: if request.ask_nat64 { Some(nat64(request.resolver, timeout_ns, pacer)?) } else { None },
        proxies: proxies(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())),
    })
}

/// The route that the kernel has for packets to an address.
///
/// # Errors
/// That of the kernel.
fn route(client: &mut Client, links: &BTreeMap<u32, Link>, towards: IpAddr) -> io::Result<RouteTowards> {
    let found = match client.route(towards, None, None) {
        // The kernel has no such family.
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => None,
        found => found?,
    };
    let outcome = match found.map(|route| route.kind) {
        Some(RouteKind::Unicast) => RouteOutcome::Route,
        Some(RouteKind::Local) => RouteOutcome::Local,
        Some(RouteKind::Other) | None => RouteOutcome::NoRoute,
    };
    let used: Option<Route> = found.filter(|_| outcome != RouteOutcome::NoRoute);
    let link = used.and_then(|route| links.get(&route.link?));
    Ok(RouteTowards {
        towards,
        outcome,
        source: used.and_then(|route| route.source),
        interface: link.map(|link| link.name.clone()),
        gateway: used.and_then(|route| route.gateway),
        mtu_bytes: used.and_then(|route| route.mtu_bytes).or_else(|| link.and_then(|link| link.mtu_bytes)),
    })
}

/// MTU of the route to an address, or else of its interface.
pub fn route_mtu(towards: IpAddr) -> Option<u32> {
    let mut client = Client::open().ok()?;
    let route = client.route(towards, None, None).ok()??;
    let of_link = route.link.and_then(|index| client.link(index).ok()?.mtu_bytes);
    // A smaller one that was learned by ICMP is a result, and no bound.
    of_link.or(route.mtu_bytes)
}

impl Interface {
    fn of(link: &Link) -> Self {
        Self {
            interface: link.name.clone(),
            is_up: link.is_up,
            mtu_bytes: link.mtu_bytes,
            kind: link.kind.clone(),
            hardware_type: link.hardware_type,
        }
    }
}

/// The name of a scope (`ip address` has the same).
fn scope(number: u8) -> &'static str {
    match number {
        libc::RT_SCOPE_UNIVERSE => "global",
        libc::RT_SCOPE_SITE => "site",
        libc::RT_SCOPE_LINK => "link",
        libc::RT_SCOPE_HOST => "host",
        _ => "other",
    }
}

fn nat64(resolver: Option<AskedResolver>, timeout_ns: u64, pacer: &Pacer) -> Result<Nat64> {
    let request = ResolveRequest::of(WELL_KNOWN_NAME, Type::Aaaa, resolver, timeout_ns);
    let answers = resolve::run(&request, pacer)?.answers;
    let Some(answer) = answers.into_iter().next() else {
        return Ok(Nat64 { ending: Ending::of(Outcome::Silence), prefixes: Vec::new() });
    };
    let addresses: Vec<Ipv6Addr> = answer
        .answer
        .map(|answer| answer.addresses)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|address| if let IpAddr::V6(six) = address { Some(six) } else { None })
        .collect();
    Ok(Nat64 { ending: answer.ending, prefixes: prefixes_of(&addresses).iter().map(ToString::to_string).collect() })
}

/// The variables that are set, in small letters or in capitals.
fn proxies(is_set: impl Fn(&str) -> bool) -> Vec<String> {
    let both = PROXY_VARIABLES.iter().flat_map(|name| [(*name).to_owned(), name.to_uppercase()]);
    both.filter(|name| is_set(name)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn this_machine_has_a_loopback() {
        let request = json!({"ask_nat64": false, "towards": ["127.0.0.1"]});
        let result = json!(run(&serde_json::from_value(request).unwrap(), &Pacer::default()).unwrap());
        let addresses = result["addresses"].as_array().unwrap();
        let loopback = addresses.iter().find(|one| one["address"] == "127.0.0.1").unwrap();
        assert_eq!((&loopback["interface"], &loopback["scope"]), (&json!("lo"), &json!("host")));
        assert_eq!((&loopback["kind"], &loopback["prefix_bits"]), (&json!("loopback"), &json!(8)));
        let interfaces = result["interfaces"].as_array().unwrap();
        assert!(
            interfaces.iter().any(|one| one["interface"] == "lo" && one["mtu_bytes"] == 65_536 && one["type"] == 772)
        );
        assert_eq!(
            (&result["routes"][0]["outcome"], &result["routes"][0]["interface"]),
            (&json!("local"), &json!("lo"))
        );
        assert!(result["nat64"].is_null());
        assert!(!result["resolvers"].as_array().unwrap().is_empty());
    }

    #[test]
    fn proxies_are_told_by_name_alone() {
        assert_eq!(proxies(|name| name == "HTTPS_PROXY" || name == "no_proxy"), ["HTTPS_PROXY", "no_proxy"]);
    }

    #[test]
    fn requests_are_bounded() {
        let request = json!({"towards": vec!["192.0.2.1"; 257]});
        assert!(run(&serde_json::from_value(request).unwrap(), &Pacer::default()).is_err());
    }
}
