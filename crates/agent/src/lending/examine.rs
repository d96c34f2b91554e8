//! An interface at home: all that it has there.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde::Serialize;
use serde_json::Value;
use sixbench_packet::stamping::{self, Abilities, Setting};

use super::ask::output_of;
use super::hardware_clock;
use super::objections::{Objections, Uses};
use super::record::Record;

/// `INFINITY_LIFE_TIME` of `linux/if_addr.h` users: an address without an end.
const FOR_EVER: u64 = u32::MAX as u64;
/// The names of the offloads that a node may switch: those of `ethtool -k`, and those of `ethtool -K`.
const OFFLOADS: [(&str, &str); 5] = [
    ("tcp-segmentation-offload", "tso"),
    ("generic-segmentation-offload", "gso"),
    ("generic-receive-offload", "gro"),
    ("tx-udp-segmentation", "tx-udp-segmentation"),
    ("rx-vlan-filter", "rx-vlan-filter"),
];
/// The words of `ip route` for a route's present state, which is no part of the route.
const STATES: [&str; 4] = ["linkdown", "dead", "offload", "trap"];

/// An interface of the machine, as it is listed for people who look for one to borrow.
#[derive(Debug, Serialize)]
pub struct ListedInterface {
    interface: String,
    #[serde(flatten)]
    objections: Objections,
    is_up: bool,
    /// True if another machine is at its cable's other end, as far as is known now.
    has_carrier: bool,
    /// The device of its hardware clock, or `none`; absent where that is not known.
    hardware_clock: Option<String>,
    /// The frames that the hardware stamps; absent where that is not known.
    hardware_stamps: Option<Stamps>,
}

/// The frames that an interface stamps by hardware: those that it sends, and all that it receives.
#[derive(Debug, Serialize)]
struct Stamps {
    sends: bool,
    receives: bool,
}

/// Lists all interfaces. Nothing is touched.
pub fn look() -> Result<Vec<ListedInterface>, String> {
    let uses = Uses::look()?;
    let listed = |link: &Value| {
        let interface = link["ifname"].as_str()?.to_owned();
        Some(ListedInterface {
            objections: uses.against(&interface),
            is_up: has_flag(link, "UP"),
            has_carrier: has_flag(link, "LOWER_UP"),
            hardware_clock: hardware_clock::of(&interface),
            hardware_stamps: stamping::abilities(&interface)
                .ok()
                .map(|Abilities { sends, receives, .. }| Stamps { sends, receives }),
            interface,
        })
    };
    Ok(uses.links.iter().filter_map(listed).collect())
}

/// The state of an interface. The error says why it is not borrowed. `even_in_use`: one that is in use is borrowed all
/// the same.
pub fn examine(interface: &str, even_in_use: bool) -> Result<Record, String> {
    record(interface, even_in_use).map_err(|why| format!("borrowing {interface}: {why}"))
}

fn record(interface: &str, even_in_use: bool) -> Result<Record, String> {
    let uses = Uses::look()?;
    let Objections { refused, in_use, has: _ } = uses.against(interface);
    if let Some(why) = refused.or_else(|| in_use.filter(|_| !even_in_use)) {
        return Err(why);
    }
    let link = uses.find(interface)?;
    Ok(Record {
        interface: interface.to_owned(),
        address: link["address"].as_str().unwrap_or_default().to_owned(),
        settings: settings(interface),
        offloads: offloads(interface),
        stamps: stamping::setting(interface).ok().map(Setting::words),
        lines: lines(interface, link)?,
    })
}

fn has_flag(link: &Value, flag: &str) -> bool {
    link["flags"].as_array().is_some_and(|flags| flags.iter().any(|set| set == flag))
}

fn settings(interface: &str) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for family in ["ipv4", "ipv6"] {
        let folder = format!("{family}/conf/{interface}");
        for entry in fs::read_dir(format!("/proc/sys/net/{folder}")).into_iter().flatten().flatten() {
            // Some can only be written.
            if let Ok(value) = fs::read_to_string(entry.path()) {
                settings
                    .insert(format!("{folder}/{}", entry.file_name().to_string_lossy()), value.trim_end().to_owned());
            }
        }
    }
    settings
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
fn lines(interface: &str, link: &Value) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    if let Some(mode) = link["inet6_addr_gen_mode"].as_str() {
        lines.push(format!("link set dev {interface} addrgenmode {mode}"));
    }
    let state = if has_flag(link, "UP") { "up" } else { "down" };
    let segments = link["gso_max_segs"].as_u64().map(|most| format!(" gso_max_segs {most}")).unwrap_or_default();
    lines.push(format!("link set dev {interface} mtu {}{segments} {state}", link["mtu"]));
    for address in link["addr_info"].as_array().into_iter().flatten() {
        lines.extend(address_line(interface, address));
    }
    for family in ["-4", "-6"] {
        let text = output_of("ip", &["-o", family, "route", "show", "table", "all", "dev", interface])?;
        lines.extend(text.lines().filter_map(|line| route_line(interface, line)));
    }
    Ok(lines)
}

/// The line that restores an address. `None` for one that the kernel makes by itself.
fn address_line(interface: &str, address: &Value) -> Option<String> {
    let is = |flag: &str| address[flag] == true;
    if is("temporary") {
        return None;
    }
    let text = |key: &str| address[key].as_str();
    let prefix = format!("{}/{}", text("local")?, address["prefixlen"]);
    // If the address has a peer, the length is the peer's.
    let mut line = match text("address") {
        Some(peer) => format!("address replace {} peer {peer}/{}", text("local")?, address["prefixlen"]),
        None => format!("address replace {prefix}"),
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
    // The origin, where this machine's `ip` tells it: an address that the kernel made, for example.
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

/// The line that restores a route. `None` for one that the kernel makes by itself, and for one that a router will
/// advertise again.
fn route_line(interface: &str, line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().filter(|word| !STATES.contains(word)).collect();
    let by = words.windows(2).find(|pair| pair[0] == "proto").map(|pair| pair[1]);
    if matches!(by, Some("kernel" | "ra")) || words.contains(&"expires") || words.is_empty() {
        return None;
    }
    Some(format!("route replace {} dev {interface}", words.join(" ")))
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
        let expected = "address replace 192.0.2.1/24 broadcast 192.0.2.255 scope global label eth1:0 dev eth1";
        assert_eq!(with(four).as_deref(), Some(expected));
        let peer = json!({"local": "192.0.2.1", "address": "192.0.2.2", "prefixlen": 32, "scope": "global"});
        assert_eq!(with(peer).as_deref(), Some("address replace 192.0.2.1 peer 192.0.2.2/32 scope global dev eth1"));
        let six = json!({"local": "2001:db8::1", "prefixlen": 64, "scope": "global", "valid_life_time": 300, "preferred_life_time": 0, "noprefixroute": true});
        let expected =
            "address replace 2001:db8::1/64 scope global valid_lft 300 preferred_lft 0 noprefixroute dev eth1";
        assert_eq!(with(six).as_deref(), Some(expected));
        assert_eq!(with(json!({"local": "2001:db8::2", "prefixlen": 64, "temporary": true})), None);
    }

    #[test]
    fn routes_of_the_kernel_and_of_routers_come_by_themselves() {
        let line = |text| route_line("eth1", text);
        assert_eq!(line("192.0.2.0/24 proto kernel scope link src 192.0.2.1 linkdown"), None);
        assert_eq!(line("2001:db8::/64 proto ra metric 100 expires 86300sec pref medium"), None);
        assert_eq!(
            line("198.51.100.0/24 via 192.0.2.9 proto static metric 7 linkdown").as_deref(),
            Some("route replace 198.51.100.0/24 via 192.0.2.9 proto static metric 7 dev eth1")
        );
    }
}
