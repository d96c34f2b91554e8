//! Objections to borrowing an interface, for cables between hosts and for ports at equipment alike.

use std::env;

use serde::Serialize;
use serde_json::Value;

use super::ask::{ip, output_of};

/// The variable with the connection of SSH, by sshd(8): client's address and port, server's address and port.
const SSH: &str = "SSH_CONNECTION";
/// The advice of most objections.
const ANOTHER: &str = "name another one";
/// The origins of routes that nobody has to give back: the kernel, which makes them from addresses, and routers.
const BY_THEMSELVES: [&str; 2] = ["kernel", "ra"];

/// The objections to borrowing an interface, as sentences about it with what would help. Each is absent where there is
/// none.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Objections {
    /// The reason why it cannot be borrowed at all.
    pub refused: Option<String>,
    /// The user that would miss it: it is borrowed only if that is asked for.
    pub in_use: Option<String>,
    /// The configuration that it has. It gets this back, but does not have it meanwhile.
    pub has: Option<String>,
}

/// The facts that decide it, about one machine at one time.
#[derive(Default)]
pub struct Uses {
    /// The output of `ip` about each interface and its addresses.
    pub links: Vec<Value>,
    routes: Vec<Value>,
    /// The output of `ss` about sockets, one a line.
    sockets: Vec<String>,
    ssh: Option<SshConnection>,
}

struct SshConnection {
    /// The address at which the connection arrives.
    server: String,
    /// The interface over which answers leave.
    leaves: Option<String>,
}

impl Uses {
    /// Looks at this machine, and touches nothing.
    pub fn look() -> Result<Self, String> {
        let mut routes = Vec::new();
        for family in ["-4", "-6"] {
            routes.extend(listed(ip(&["-j", family, "route", "show", "table", "all"])?));
        }
        Ok(Self {
            links: listed(ip(&["-j", "-d", "address", "show"])?),
            routes,
            sockets: sockets("-0")?.into_iter().chain(sockets("-tua")?).collect(),
            ssh: env::var(SSH).ok().and_then(|value| SshConnection::read(&value)),
        })
    }

    /// The interface of that name.
    pub fn find(&self, interface: &str) -> Result<&Value, String> {
        let missing = || {
            let mut names: Vec<&str> = self.links.iter().filter_map(name).filter(|name| *name != "lo").collect();
            names.sort_unstable();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("this machine has no such interface, or another run has it; it has {there}")
        };
        self.links.iter().find(|link| name(link) == Some(interface)).ok_or_else(missing)
    }

    /// The objections to an interface.
    pub fn against(&self, interface: &str) -> Objections {
        match self.find(interface) {
            Err(refused) => Objections { refused: Some(refused), ..Objections::default() },
            Ok(link) => Objections {
                refused: self.unfit(link).or_else(|| self.needed(interface)).or_else(|| self.carries_ssh(link)),
                in_use: self.default_route(interface).or_else(|| self.bound(interface)),
                has: self.kept(link),
            },
        }
    }

    fn unfit(&self, link: &Value) -> Option<String> {
        let kind = link["link_type"].as_str().unwrap_or("unknown");
        if kind != "ether" {
            return Some(format!("it is not an Ethernet interface but {kind}; {ANOTHER}"));
        }
        if let Some(master) = link["master"].as_str() {
            return Some(format!("it is a port of {master}; remove it from {master}, or {ANOTHER}"));
        }
        let above = self.links.iter().find(|other| stands_on(other, link)).and_then(name)?;
        Some(format!("{above} is built on it and would not survive a move; remove {above}, or {ANOTHER}"))
    }

    /// The reason why the machine's routes need it in a way that could not be given back.
    fn needed(&self, interface: &str) -> Option<String> {
        let is_hop = |route: &&Value| hops(route).iter().any(|hop| hop["dev"] == interface);
        let route = destination(self.routes.iter().find(is_hop)?);
        let why = "has several next hops and could not be given back";
        Some(format!("it is one of the ways of the route to {route}, which {why}; remove that route, or {ANOTHER}"))
    }

    fn carries_ssh(&self, link: &Value) -> Option<String> {
        let SshConnection { server, leaves } = self.ssh.as_ref()?;
        let is_way = addresses(link).any(|address| address["local"] == *server) || leaves.as_deref() == name(link);
        is_way.then(|| format!("the connection to this machine uses it ({server}); {ANOTHER}"))
    }

    fn default_route(&self, interface: &str) -> Option<String> {
        let is_way = |route: &Value| route["dev"] == interface && route["dst"] == "default";
        self.routes.iter().any(is_way).then(|| format!("it has the machine's default route; {ANOTHER}"))
    }

    fn bound(&self, interface: &str) -> Option<String> {
        let line = self.sockets.iter().find(|line| is_bound(line, interface))?;
        let whose = program(line).map(|program| format!(" of {program}")).unwrap_or_default();
        Some(format!("a socket{whose} is bound to it; end that program, or {ANOTHER}"))
    }

    fn kept(&self, link: &Value) -> Option<String> {
        let kept =
            addresses(link).find(|address| address["scope"] != "link").and_then(|address| address["local"].as_str());
        if let Some(kept) = kept {
            return Some(format!("it has the address {kept}; remove that address"));
        }
        let leads = |route: &&Value| route["dev"].as_str() == name(link) && !comes_by_itself(route);
        let route = destination(self.routes.iter().find(leads)?);
        Some(format!("the route to {route} leads over it; remove that route"))
    }
}

impl SshConnection {
    fn read(ssh_connection: &str) -> Option<Self> {
        let words: Vec<&str> = ssh_connection.split(' ').collect();
        let [client, _, server, _] = words[..] else { return None };
        let back = ip(&["-j", "route", "get", client]).unwrap_or_default();
        Some(Self { server: server.to_owned(), leaves: back[0]["dev"].as_str().map(str::to_owned) })
    }
}

/// True if an interface is made of another one, or of an address of it, as VLANs and tunnels are. A veth names its peer
/// in the same place, but is not made of it.
fn stands_on(above: &Value, link: &Value) -> bool {
    let about = &above["linkinfo"]["info_data"];
    let is_on = |below: &Value| below.is_string() && *below == link["ifname"];
    let is_at = |address: &Value| address["local"].is_string() && address["local"] == about["local"];
    let is_peer = above["linkinfo"]["info_kind"] == "veth" || !above["link_netnsid"].is_null();
    (is_on(&above["link"]) && !is_peer) || is_on(&about["link"]) || addresses(link).any(is_at)
}

/// True if a socket is bound to an interface: `*:eth1` of packets, `0.0.0.0%eth1:68` of others.
fn is_bound(line: &str, interface: &str) -> bool {
    // Sockets of packets have no state, so that the local end is a word earlier.
    let mut ends = line.split_whitespace().skip(3).take(2);
    let (of_packets, of_others) = (format!(":{interface}"), format!("%{interface}:"));
    ends.any(|end| end.ends_with(&of_packets) || end.contains(&of_others))
}

/// The first program that has a socket, where `ss` may tell.
fn program(line: &str) -> Option<&str> {
    line.split_once("users:((\"")?.1.split('"').next().filter(|name| !name.is_empty())
}

fn sockets(which: &str) -> Result<Vec<String>, String> {
    Ok(output_of("ss", &["-H", "-n", "-p", which])?.lines().map(str::to_owned).collect())
}

fn listed(answer: Value) -> Vec<Value> {
    let Value::Array(all) = answer else { return Vec::new() };
    all.into_iter().filter(|entry| entry.as_object().is_some_and(|entry| !entry.is_empty())).collect()
}

fn name(link: &Value) -> Option<&str> {
    link["ifname"].as_str()
}

fn addresses(link: &Value) -> impl Iterator<Item = &Value> {
    link["addr_info"].as_array().into_iter().flatten()
}

fn hops(route: &Value) -> &[Value] {
    route["nexthops"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn comes_by_itself(route: &Value) -> bool {
    route["protocol"].as_str().is_some_and(|by| BY_THEMSELVES.contains(&by))
}

fn destination(route: &Value) -> &str {
    route["dst"].as_str().unwrap_or("an unknown destination")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(mut link: Value, more: &Value) -> Value {
        link.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        link
    }

    fn ether(more: &Value) -> Value {
        with(
            json!({"ifname": "eth1", "link_type": "ether", "addr_info": [{"local": "192.0.2.1", "scope": "global"}]}),
            more,
        )
    }

    fn refused(link: Value, other: Value) -> Option<String> {
        Uses { links: vec![link, other], ..Uses::default() }.against("eth1").refused
    }

    #[test]
    fn what_is_part_of_something_else_is_refused() {
        let refused = |link: Value| refused(link, json!({})).expect("a reason");
        assert_eq!(
            refused(ether(&json!({"master": "br0"}))),
            "it is a port of br0; remove it from br0, or name another one"
        );
        let loopback = refused(ether(&json!({"link_type": "loopback"})));
        assert_eq!(loopback, "it is not an Ethernet interface but loopback; name another one");
    }

    #[test]
    fn what_others_stand_on_is_refused() {
        let above = |more: Value| refused(ether(&json!({})), with(json!({"ifname": "up"}), &more));
        let reason = Some("up is built on it and would not survive a move; remove up, or name another one".to_owned());
        assert_eq!(above(json!({"link": "eth1", "linkinfo": {"info_kind": "vlan"}})), reason);
        assert_eq!(above(json!({"linkinfo": {"info_kind": "vxlan", "info_data": {"link": "eth1"}}})), reason);
        assert_eq!(above(json!({"linkinfo": {"info_kind": "gre", "info_data": {"local": "192.0.2.1"}}})), reason);
        assert_eq!(above(json!({"linkinfo": {"info_kind": "gre", "info_data": {"local": "192.0.2.9"}}})), None);
        assert_eq!(above(json!({"linkinfo": {"info_kind": "vxlan", "info_data": {"id": 5}}})), None);
        assert_eq!(above(json!({"link": "eth1", "linkinfo": {"info_kind": "veth"}})), None);
        assert_eq!(above(json!({"link": "eth1", "link_netnsid": 3, "linkinfo": {"info_kind": "macvlan"}})), None);
    }

    #[test]
    fn what_routes_need_is_refused_or_in_use_or_kept() {
        let against = |route: Value| {
            let link = ether(&json!({"addr_info": []}));
            Uses { links: vec![link], routes: vec![route], ..Uses::default() }.against("eth1")
        };
        let several = against(json!({"dst": "default", "nexthops": [{"dev": "eth1"}, {"dev": "eth2"}]}));
        assert_eq!(
            several.refused.as_deref(),
            Some(
                "it is one of the ways of the route to default, which has several next hops and could not be given back; \
                 remove that route, or name another one"
            )
        );
        let way_out = against(json!({"dst": "default", "dev": "eth1", "protocol": "ra", "table": "100"}));
        let reason = "it has the machine's default route; name another one";
        assert_eq!(way_out, Objections { in_use: Some(reason.to_owned()), ..Objections::default() });
        let objections = against(json!({"dst": "203.0.113.0/24", "dev": "eth1"}));
        let reason = "the route to 203.0.113.0/24 leads over it; remove that route";
        assert_eq!(objections, Objections { has: Some(reason.to_owned()), ..Objections::default() });
        assert_eq!(against(json!({"dst": "192.0.2.0/24", "dev": "eth1", "protocol": "kernel"})), Objections::default());
        assert_eq!(against(json!({"dst": "203.0.113.0/24", "dev": "eth2"})), Objections::default());
    }

    #[test]
    fn a_socket_that_is_bound_to_it_is_a_use() {
        let in_use = |line: &str| {
            Uses { links: vec![ether(&json!({}))], sockets: vec![line.to_owned()], ..Uses::default() }
                .against("eth1")
                .in_use
        };
        assert_eq!(
            in_use(r#"p_raw 0 0 *:eth1 * users:(("tcpdump",pid=7,fd=3))"#).as_deref(),
            Some("a socket of tcpdump is bound to it; end that program, or name another one")
        );
        assert_eq!(
            in_use("udp UNCONN 0 0 0.0.0.0%eth1:68 0.0.0.0:*").as_deref(),
            Some("a socket is bound to it; end that program, or name another one")
        );
        assert_eq!(in_use("udp UNCONN 0 0 0.0.0.0%eth10:68 0.0.0.0:*"), None);
        assert_eq!(in_use("p_raw 0 0 *:veth1 *"), None);
        assert_eq!(in_use("tcp ESTAB 0 0 192.0.2.9:22 192.0.2.1:eth1"), None);
    }

    #[test]
    fn the_way_of_ssh_is_refused() {
        let refused = |server: &str, leaves: Option<&str>| {
            let ssh = Some(SshConnection { server: server.to_owned(), leaves: leaves.map(str::to_owned) });
            Uses { links: vec![ether(&json!({}))], ssh, ..Uses::default() }.against("eth1").refused
        };
        let reason = |server| Some(format!("the connection to this machine uses it ({server}); name another one"));
        assert_eq!(refused("192.0.2.1", None), reason("192.0.2.1"));
        assert_eq!(refused("198.51.100.1", Some("eth1")), reason("198.51.100.1"));
        assert_eq!(refused("198.51.100.1", Some("eth0")), None);
    }
}
