//! An interface at home: whether it may be borrowed, and all that it has there.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde::Serialize;
use serde_json::Value;

use super::record::Record;

/// Where the connection of SSH is told, as sshd(8) does: client's address and port, server's address and port.
pub const SSH: &str = "SSH_CONNECTION";
/// `INFINITY_LIFE_TIME` of `linux/if_addr.h` users: an address without an end.
const FOR_EVER: u64 = u32::MAX as u64;
/// What `ethtool -k` calls the offloads that a node may switch, and what `ethtool -K` does.
const OFFLOADS: [(&str, &str); 5] = [
    ("tcp-segmentation-offload", "tso"),
    ("generic-segmentation-offload", "gso"),
    ("generic-receive-offload", "gro"),
    ("tx-udp-segmentation", "tx-udp-segmentation"),
    ("rx-vlan-filter", "rx-vlan-filter"),
];
/// What `ip route` says of a route's present state, which is no part of it.
const STATES: [&str; 4] = ["linkdown", "dead", "offload", "trap"];

/// An interface of the machine, as it is told to people who look for one to borrow.
#[derive(Debug, Serialize)]
pub struct Told {
    interface: String,
    /// Why it cannot be borrowed; absent where it can.
    refused: Option<String>,
    /// Whether another machine is at its cable's other end, as far as is known now.
    has_carrier: bool,
}

/// All interfaces but loopbacks. Nothing is touched.
pub fn look() -> Result<Vec<Told>, String> {
    let all = ip(&["-j", "link", "show"])?;
    let all = all.as_array().map(Vec::as_slice).unwrap_or_default();
    let others = all.iter().filter(|one| one["link_type"] != "loopback");
    let told = |one: &Value| {
        let interface = one["ifname"].as_str()?.to_owned();
        let has_carrier = one["flags"].as_array().is_some_and(|flags| flags.iter().any(|flag| flag == "LOWER_UP"));
        let refused = examine(&interface, false).err();
        Some(Told { refused: refused.map(|why| without_doing(&why, &interface)), interface, has_carrier })
    };
    Ok(others.filter_map(told).collect())
}

fn without_doing(why: &str, interface: &str) -> String {
    why.strip_prefix(&format!("borrowing {interface}: ")).unwrap_or(why).to_owned()
}

/// What an interface has. The error says why it cannot be borrowed. `even_in_use`: one with a default route can.
pub fn examine(interface: &str, even_in_use: bool) -> Result<Record, String> {
    let refuse = |why: String| format!("borrowing {interface}: {why}");
    let all = ip(&["-j", "-d", "address", "show"]).map_err(refuse)?;
    let all = all.as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(found) = all.iter().find(|one| one["ifname"] == interface) else {
        return Err(refuse(format!("this machine has no such interface; it has {}", names(all))));
    };
    if let Some(why) = unfit(interface, found, all) {
        return Err(refuse(why));
    }
    for family in ["-4", "-6"] {
        let routes = ip(&["-j", family, "route", "show", "default"]).map_err(refuse)?;
        if !even_in_use
            && routes.as_array().is_some_and(|routes| routes.iter().any(|route| leads_over(route, interface)))
        {
            return Err(refuse("it has the machine's default route; borrow another one".to_owned()));
        }
    }
    if let Some(ssh) = std::env::var(SSH).ok().filter(|ssh| is_way_of(ssh, interface, found)) {
        let server = ssh.split(' ').nth(2).unwrap_or_default().to_owned();
        return Err(refuse(format!("the connection to this machine comes over it ({server}); borrow another one")));
    }
    Ok(Record {
        interface: interface.to_owned(),
        address: found["address"].as_str().unwrap_or_default().to_owned(),
        settings: settings(interface),
        offloads: offloads(interface),
        lines: lines(interface, found).map_err(refuse)?,
    })
}

fn names(all: &[Value]) -> String {
    let mut names: Vec<&str> =
        all.iter().filter_map(|one| one["ifname"].as_str()).filter(|name| *name != "lo").collect();
    names.sort_unstable();
    names.join(", ")
}

/// Why an interface is none to borrow.
fn unfit(interface: &str, found: &Value, all: &[Value]) -> Option<String> {
    if found["link_type"] != "ether" {
        return Some(format!("it is no Ethernet interface but {}", found["link_type"]));
    }
    if let Some(master) = found["master"].as_str() {
        return Some(format!("it is a port of {master}; borrow one that is in use for nothing else"));
    }
    // A veth names its peer so, which does not stand on it.
    let is_above = |one: &&Value| {
        one["link"] == interface && one["link_netnsid"].is_null() && one["linkinfo"]["info_kind"] != "veth"
    };
    let above = all.iter().find(is_above)?;
    Some(format!("{} stands on it; borrow one that is in use for nothing else", above["ifname"].as_str()?))
}

fn leads_over(route: &Value, interface: &str) -> bool {
    let hops = route["nexthops"].as_array().map(Vec::as_slice).unwrap_or_default();
    route["dev"] == interface || hops.iter().any(|hop| hop["dev"] == interface)
}

/// Whether the connection's packets arrive or leave there.
fn is_way_of(ssh: &str, interface: &str, found: &Value) -> bool {
    let words: Vec<&str> = ssh.split(' ').collect();
    let [client, _, server, _] = words[..] else { return false };
    let addresses = found["addr_info"].as_array().map(Vec::as_slice).unwrap_or_default();
    let back = ip(&["-j", "route", "get", client]).unwrap_or_default();
    addresses.iter().any(|address| address["local"] == server) || back[0]["dev"] == interface
}

fn settings(interface: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for family in ["ipv4", "ipv6"] {
        let folder = format!("{family}/conf/{interface}");
        for entry in fs::read_dir(format!("/proc/sys/net/{folder}")).into_iter().flatten().flatten() {
            // Some can only be written.
            if let Ok(value) = fs::read_to_string(entry.path()) {
                found.insert(format!("{folder}/{}", entry.file_name().to_string_lossy()), value.trim_end().to_owned());
            }
        }
    }
    found
}

fn offloads(interface: &str) -> Vec<String> {
    let output = Command::new("ethtool").args(["-k", interface]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let state_of = |feature: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(feature)?.strip_prefix(": "))?;
        // "on [fixed]" cannot be switched.
        ["on", "off"].into_iter().find(|state| line == *state)
    };
    OFFLOADS
        .iter()
        .filter_map(|(feature, name)| Some([(*name).to_owned(), state_of(feature)?.to_owned()]))
        .flatten()
        .collect()
}

/// The lines for `ip -batch` that bring it into its state.
fn lines(interface: &str, found: &Value) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    if let Some(mode) = found["inet6_addr_gen_mode"].as_str() {
        lines.push(format!("link set dev {interface} addrgenmode {mode}"));
    }
    let is_up = found["flags"].as_array().is_some_and(|flags| flags.iter().any(|flag| flag == "UP"));
    let state = if is_up { "up" } else { "down" };
    let segments = found["gso_max_segs"].as_u64().map(|most| format!(" gso_max_segs {most}")).unwrap_or_default();
    lines.push(format!("link set dev {interface} mtu {}{segments} {state}", found["mtu"]));
    for address in found["addr_info"].as_array().into_iter().flatten() {
        lines.extend(address_line(interface, address));
    }
    for family in ["-4", "-6"] {
        let text = output(&["-o", family, "route", "show", "table", "all", "dev", interface])?;
        lines.extend(text.lines().filter_map(|line| route_line(interface, line)));
    }
    Ok(lines)
}

/// `None` for what the kernel makes by itself.
fn address_line(interface: &str, address: &Value) -> Option<String> {
    let is = |flag: &str| address[flag] == true;
    if is("temporary") {
        return None;
    }
    let text = |key: &str| address[key].as_str();
    let own = format!("{}/{}", text("local")?, address["prefixlen"]);
    // With a peer, the length is the peer's.
    let mut line = match text("address") {
        Some(peer) => format!("address replace {} peer {peer}/{}", text("local")?, address["prefixlen"]),
        None => format!("address replace {own}"),
    };
    for (key, word) in [("broadcast", "broadcast"), ("scope", "scope"), ("label", "label")] {
        if let Some(value) = text(key) {
            line += &format!(" {word} {value}");
        }
    }
    for (key, word) in [("valid_life_time", "valid_lft"), ("preferred_life_time", "preferred_lft")] {
        if let Some(seconds) = address[key].as_u64().filter(|seconds| *seconds < FOR_EVER) {
            line += &format!(" {word} {seconds}");
        }
    }
    if let Some(metric) = address["metric"].as_u64() {
        line += &format!(" metric {metric}");
    }
    // Who made it, where this machine's `ip` tells that: an address that the kernel made, for example.
    if let Some(protocol) = address["protocol"].as_str() {
        line += &format!(" proto {protocol}");
    }
    for flag in ["home", "mngtmpaddr", "nodad", "noprefixroute", "autojoin"] {
        if is(flag) {
            line += &format!(" {flag}");
        }
    }
    Some(line + &format!(" dev {interface}"))
}

/// `None` for what the kernel makes by itself, and for what a router will advertise again.
fn route_line(interface: &str, told: &str) -> Option<String> {
    let words: Vec<&str> = told.split_whitespace().filter(|word| !STATES.contains(word)).collect();
    let by = words.windows(2).find(|pair| pair[0] == "proto").map(|pair| pair[1]);
    if matches!(by, Some("kernel" | "ra")) || words.contains(&"expires") || words.is_empty() {
        return None;
    }
    Some(format!("route replace {} dev {interface}", words.join(" ")))
}

fn ip(arguments: &[&str]) -> Result<Value, String> {
    let text = output(arguments)?;
    // Where there is nothing to tell, `ip` may print nothing at all.
    let text = if text.trim().is_empty() { "[]" } else { &text };
    serde_json::from_str(text).map_err(|error| format!("reading what ip {} says: {error}", arguments.join(" ")))
}

fn output(arguments: &[&str]) -> Result<String, String> {
    let doing = |what: String| format!("running ip {}: {what}", arguments.join(" "));
    let output = Command::new("ip").args(arguments).output().map_err(|error| doing(error.to_string()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(doing(String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_are_given_as_they_were() {
        let for_ever = json!({"valid_life_time": FOR_EVER, "preferred_life_time": FOR_EVER});
        let with = |more: Value| {
            let mut address = for_ever.clone();
            address.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            address_line("eth1", &address)
        };
        let four = json!({"local": "192.0.2.1", "prefixlen": 24, "broadcast": "192.0.2.255", "scope": "global", "label": "eth1:0"});
        let said = "address replace 192.0.2.1/24 broadcast 192.0.2.255 scope global label eth1:0 dev eth1";
        assert_eq!(with(four).as_deref(), Some(said));
        let peer = json!({"local": "192.0.2.1", "address": "192.0.2.2", "prefixlen": 32, "scope": "global"});
        assert_eq!(with(peer).as_deref(), Some("address replace 192.0.2.1 peer 192.0.2.2/32 scope global dev eth1"));
        let six = json!({"local": "2001:db8::1", "prefixlen": 64, "scope": "global", "valid_life_time": 300, "preferred_life_time": 0, "noprefixroute": true});
        let said = "address replace 2001:db8::1/64 scope global valid_lft 300 preferred_lft 0 noprefixroute dev eth1";
        assert_eq!(with(six).as_deref(), Some(said));
        assert_eq!(with(json!({"local": "2001:db8::2", "prefixlen": 64, "temporary": true})), None);
    }

    #[test]
    fn routes_of_the_kernel_and_of_routers_come_by_themselves() {
        let line = |told| route_line("eth1", told);
        assert_eq!(line("192.0.2.0/24 proto kernel scope link src 192.0.2.1 linkdown"), None);
        assert_eq!(line("2001:db8::/64 proto ra metric 100 expires 86300sec pref medium"), None);
        assert_eq!(
            line("198.51.100.0/24 via 192.0.2.9 proto static metric 7 linkdown").as_deref(),
            Some("route replace 198.51.100.0/24 via 192.0.2.9 proto static metric 7 dev eth1")
        );
    }

    #[test]
    fn what_is_in_use_is_refused() {
        let ether = |more: Value| {
            let mut link = json!({"ifname": "eth1", "link_type": "ether"});
            link.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            link
        };
        let why = |found: &Value, all: &[Value]| unfit("eth1", found, all).unwrap_or_default();
        assert_eq!(unfit("eth1", &ether(json!({})), &[]), None);
        assert!(why(&ether(json!({"master": "br0"})), &[]).contains("a port of br0"));
        assert!(why(&json!({"ifname": "ppp0", "link_type": "ppp"}), &[]).contains("no Ethernet"));
        let vlan = json!({"ifname": "eth1.5", "link": "eth1", "linkinfo": {"info_kind": "vlan"}});
        assert!(why(&ether(json!({})), &[vlan]).contains("eth1.5 stands on it"));
        let peer = json!({"ifname": "v1", "link": "eth1", "linkinfo": {"info_kind": "veth"}});
        assert_eq!(unfit("eth1", &ether(json!({})), &[peer]), None);
    }
}
