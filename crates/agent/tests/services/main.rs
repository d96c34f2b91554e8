//! Services of nodes: real namespaces, real packets.

mod broker;
#[path = "../common/mod.rs"]
mod common;
mod dhcp;
mod discovery;
mod dns;
mod multicast;
mod relay;

use std::fs::File;
use std::thread;

use common::Agent;
use nix::sched::{CloneFlags, setns};

/// Runs commands in a node; the first failure ends the test.
fn shell(node: &mut Agent, commands: &str) -> String {
    node.exec(&["sh", "-ec", commands])
}

/// A node whose addresses can be used at once.
fn node() -> Option<Agent> {
    let mut node = Agent::in_own_namespace()?;
    shell(
        &mut node,
        "ip link set lo up; sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.default.accept_ra=0",
    );
    Some(node)
}

/// Joins two nodes by a link; each end is a name and addresses.
fn join(
    (one, one_name, one_addresses): (&mut Agent, &str, &[&str]),
    (other, other_name, other_addresses): (&mut Agent, &str, &[&str]),
) {
    let pid = other.pid();
    shell(one, &format!("ip link add {one_name} type veth peer name {other_name} netns {pid}"));
    for (node, name, addresses) in [(one, one_name, one_addresses), (other, other_name, other_addresses)] {
        shell(node, &format!("ip link set {name} up"));
        for address in addresses {
            // Nobody can use an address before duplicate address detection is over.
            let nodad = if address.contains(':') { "nodad" } else { "" };
            shell(node, &format!("ip address add {address} dev {name} {nodad}"));
        }
    }
}

/// What `make` returns, made in a node's namespace: a socket stays there.
fn within<T: Send + 'static>(node: &Agent, make: impl FnOnce() -> T + Send + 'static) -> T {
    let namespace = File::open(format!("/proc/{}/ns/net", node.pid())).expect("the agent lives");
    let made = thread::spawn(move || {
        setns(namespace, CloneFlags::CLONE_NEWNET).expect("we may enter it");
        make()
    });
    made.join().expect("no panic")
}
