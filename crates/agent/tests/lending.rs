//! Interfaces that a node borrows are home again, as they were, however it ends. These need permission to make
//! namespaces.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{Agent, PATIENCE, in_namespace_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// A namespace that plays a machine, with a cable between its interfaces e1 and e2.
fn machine() -> Option<Agent> {
    let mut machine = Agent::node()?;
    let lines = "link add e1 address 02:00:00:00:00:e1 type veth peer name e2
        link set e2 up
        link set e1 mtu 1400 up
        address add 192.0.2.1/24 dev e1
        address add 192.0.2.7 peer 192.0.2.8/32 dev e1
        address add 2001:db8::1/64 dev e1 valid_lft 3000 preferred_lft 2000 nodad
        route add 198.51.100.0/24 via 192.0.2.9 metric 7 dev e1";
    let answer = machine.ok("exec", json!({"argv": ["ip", "-batch", "-"], "stdin": format!("{lines}\n")}));
    assert_eq!(answer["exit"], 0, "{answer}");
    machine.ok("sysctl", json!({"set": {"net.ipv4.conf.e1.arp_ignore": "2"}}));
    Some(machine)
}

fn begin(machine: &Agent, interface: &str) -> Agent {
    Agent::spawn(in_namespace_of(machine).args(["node", "--name", "n2", "--borrow", interface]))
}

fn names(node: &mut Agent) -> Vec<String> {
    let links: Value = serde_json::from_str(&node.exec(&["ip", "-j", "link"])).expect("JSON");
    let name = |link: &Value| link["ifname"].as_str().map(str::to_owned);
    links.as_array().expect("a list").iter().filter_map(name).collect()
}

/// The state of an interface, except for what changes by itself.
fn state(machine: &mut Agent) -> (Value, String, String) {
    let mut found: Value =
        serde_json::from_str(&machine.exec(&["ip", "-j", "-d", "address", "show", "dev", "e1"])).expect("JSON");
    let one = &mut found[0];
    for address in one["addr_info"].as_array_mut().expect("a list") {
        // The kernel looks for duplicates of it, and has looked a second later.
        address.as_object_mut().expect("an address").remove("tentative");
        // Seconds that pass meanwhile.
        for key in ["valid_life_time", "preferred_life_time"] {
            let seconds = address[key].as_u64().expect("a number");
            address[key] = json!(seconds == u64::from(u32::MAX) || seconds.div_ceil(1000) == 3);
        }
    }
    let kept = ["ifname", "mtu", "flags", "addr_info", "address", "gso_max_segs"].map(|key| one[key].take());
    let routes = machine.exec(&["ip", "route", "show", "dev", "e1"]);
    let setting = machine.ok("sysctl", json!({"get": ["net.ipv4.conf.e1.arp_ignore"]}));
    (json!(kept), routes, setting.to_string())
}

fn keeper_of(node: &Agent) -> Pid {
    let path = format!("/proc/{0}/task/{0}/children", node.pid());
    let text = fs::read_to_string(path).expect("it runs");
    Pid::from_raw(text.split_whitespace().next().expect("a child").parse().expect("a number"))
}

fn wait_for_end(pid: Pid) {
    let until = Instant::now() + PATIENCE;
    let is_there = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    };
    while Path::new(&format!("/proc/{pid}")).exists() && is_there() {
        assert!(Instant::now() < until, "{pid} has not ended");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A node has e1, changes it, and ends by what `end` does to it and its keeper.
fn borrowed_until(end: impl FnOnce(&mut Agent, Pid)) {
    let Some(mut machine) = machine() else { return };
    let before = state(&mut machine);
    let mut node = begin(&machine, "e1").greeted();
    let keeper = keeper_of(&node);
    assert_eq!(names(&mut node), ["lo", "e1"]);
    assert_eq!(names(&mut machine), ["lo", "e2"]);
    node.exec(&["ip", "link", "set", "e1", "mtu", "1280", "gso_max_segs", "1", "up"]);
    node.exec(&["ip", "address", "add", "203.0.113.1/24", "dev", "e1"]);
    node.exec(&[
        "tc", "qdisc", "replace", "dev", "e1", "root", "tbf", "rate", "1mbit", "burst", "3000", "limit", "9000",
    ]);
    end(&mut node, keeper);
    node.wait();
    wait_for_end(keeper);
    assert_eq!(state(&mut machine), before);
    // Nobody has it any more.
    let mut next = begin(&machine, "e1").greeted();
    assert_eq!(names(&mut next), ["lo", "e1"]);
    next.close_stdin();
    next.wait();
    assert_eq!(state(&mut machine), before);
}

#[test]
#[ignore = "needs root: it enters the namespaces of other processes"]
fn they_are_home_when_the_node_has_ended() {
    borrowed_until(|node, _| node.close_stdin());
}

#[test]
#[ignore = "needs root: it enters the namespaces of other processes"]
fn they_are_home_when_the_node_was_killed() {
    borrowed_until(|node, _| node.kill());
}

#[test]
#[ignore = "needs root: it enters the namespaces of other processes"]
fn they_are_home_when_their_keeper_was_killed() {
    borrowed_until(|_, keeper| kill(keeper, Signal::SIGKILL).expect("it runs"));
}

#[test]
#[ignore = "needs root: it enters the namespaces of other processes"]
fn they_are_home_when_nobody_says_anything_any_more() {
    let Some(mut machine) = machine() else { return };
    let before = state(&mut machine);
    let mut command = in_namespace_of(&machine);
    let mut node = Agent::spawn(command.args(["node", "--name", "n2", "--borrow", "e1", "--end-after-silence", "1"]));
    // Its input stays open, as it does at the end of a connection that was cut.
    assert_eq!(node.wait().code(), Some(1));
    assert_eq!(state(&mut machine), before);
}

#[test]
#[ignore = "needs root: it enters the namespaces of other processes"]
fn what_the_kernel_gave_back_is_restored() {
    let Some(mut machine) = machine() else { return };
    let before = state(&mut machine);
    let mut node = begin(&machine, "e1").greeted();
    let keeper = keeper_of(&node);
    let stopped = Pid::from_raw(node.pid() as i32);
    // Neither process can do anything about the other's end.
    kill(stopped, Signal::SIGSTOP).expect("it runs");
    kill(keeper, Signal::SIGKILL).expect("it runs");
    node.kill();
    node.wait();
    // A real interface comes home, without what it had. A veth goes some time later, and is made anew here.
    let until = Instant::now() + PATIENCE;
    while names(&mut machine) != ["lo"] {
        assert!(Instant::now() < until, "the namespace of the node is still there");
        thread::sleep(Duration::from_millis(5));
    }
    machine.exec(&["ip", "link", "add", "e1", "address", "02:00:00:00:00:e1", "type", "veth", "peer", "name", "e2"]);
    machine.exec(&["ip", "link", "set", "e2", "up"]);
    assert_ne!(state(&mut machine), before);
    assert_eq!(machine.exec(&[env!("CARGO_BIN_EXE_sixbench-agent"), "mend-lent"]), "e1\n");
    assert_eq!(state(&mut machine), before);
    assert_eq!(machine.exec(&[env!("CARGO_BIN_EXE_sixbench-agent"), "mend-lent"]), "");
}

#[test]
#[ignore = "needs root: it enters the namespaces of other processes"]
fn what_the_machine_needs_is_refused() {
    let Some(mut machine) = machine() else { return };
    let refused = |machine: &Agent, interface: &str, ssh: &str| {
        let mut command = in_namespace_of(machine);
        command.args(["node", "--name", "n2", "--borrow", interface]).env("SSH_CONNECTION", ssh);
        let output = command.output().expect("the agent starts");
        assert_eq!(output.status.code(), Some(3));
        String::from_utf8(output.stderr).expect("text")
    };
    let before = state(&mut machine);
    let message = refused(&machine, "e9", "");
    assert_eq!(
        message,
        "sixbench-agent: borrowing e9: this machine has no such interface, or another run has it; it has e1, e2\n"
    );
    assert!(refused(&machine, "lo", "").contains("borrowing lo: it is not an Ethernet interface"));
    for (client, server) in [("192.0.2.5", "203.0.113.1"), ("203.0.113.9", "192.0.2.1"), ("2001:db8::5", "2001:db8::9")]
    {
        let message = refused(&machine, "e1", &format!("{client} 50000 {server} 22"));
        assert!(message.contains("the connection to this machine uses it"), "{message}");
    }
    machine.exec(&["ip", "link", "add", "br5", "type", "bridge"]);
    machine.exec(&["ip", "link", "set", "e2", "master", "br5"]);
    assert!(refused(&machine, "e2", "").contains("borrowing e2: it is a port of br5"));
    let interfaces: Value =
        serde_json::from_str(&machine.exec(&[env!("CARGO_BIN_EXE_sixbench-agent"), "lendable"])).expect("JSON");
    let of = |interface: &str| interfaces.as_array().expect("a list").iter().find(|one| one["interface"] == interface);
    assert_eq!(
        of("e1"),
        Some(&json!({
            "interface": "e1", "refused": null, "in_use": null, "has": "it has the address 192.0.2.1; remove that address",
            "is_up": true, "has_carrier": true, "hardware_clock": "none",
            "hardware_stamps": {"sends": false, "receives": false},
        }))
    );
    assert!(of("e2").expect("told")["refused"].as_str().expect("text").starts_with("it is a port of br5"));
    assert_eq!(state(&mut machine), before);
    machine.exec(&["ip", "route", "add", "default", "via", "192.0.2.9"]);
    assert!(refused(&machine, "e1", "").contains("it has the machine's default route"));
}

/// The error of a node that wants e1 of a machine, which keeps it as it was.
fn refused_e1(machine: &mut Agent) -> String {
    let before = state(machine);
    let output = in_namespace_of(machine).args(["node", "--name", "n2", "--borrow", "e1"]).output();
    let output = output.expect("the agent starts");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(state(machine), before);
    String::from_utf8(output.stderr).expect("text")
}

#[test]
#[ignore = "needs root: it enters the namespaces of other processes"]
fn what_others_need_is_refused() {
    let cases = [
        ("link add vx0 type vxlan id 5 dev e1 dstport 4789", "vx0 is built on it"),
        ("link add vx0 type vxlan id 5 local 192.0.2.1 remote 192.0.2.9 dstport 4789", "vx0 is built on it"),
        (
            "route add 203.0.113.0/24 nexthop via 192.0.2.9 dev e1 nexthop via 192.0.2.10 dev e1",
            "it is one of the ways of the route to 203.0.113.0/24, which has several next hops",
        ),
        ("route add default via 192.0.2.9 dev e1 table 100", "it has the machine's default route"),
    ];
    for (command, words) in cases {
        let Some(mut machine) = machine() else { return };
        let argv: Vec<&str> = ["ip"].into_iter().chain(command.split(' ')).collect();
        machine.exec(&argv);
        let message = refused_e1(&mut machine);
        assert!(message.starts_with(&format!("sixbench-agent: borrowing e1: {words}")), "{message}");
    }
}

#[test]
#[ignore = "needs root: it enters the namespaces of other processes"]
fn what_a_program_listens_at_is_refused() {
    let Some(mut machine) = machine() else { return };
    let mut listens = Command::new("nsenter");
    listens.arg(format!("--net=/proc/{}/ns/net", machine.pid()));
    // It would give the file to the user that it becomes, and the file is the machine's device.
    listens.args(["tcpdump", "-Z", "root", "-i", "e1", "-w", "/dev/null"]);
    let mut listening = listens.stderr(Stdio::null()).spawn().expect("it starts");
    let until = Instant::now() + PATIENCE;
    while !machine.exec(&["ss", "-H", "-n", "-0"]).contains(":e1 ") {
        assert!(Instant::now() < until, "tcpdump does not listen");
        thread::sleep(Duration::from_millis(5));
    }
    let message = refused_e1(&mut machine);
    let _ = (listening.kill(), listening.wait());
    let words = "a socket of tcpdump is bound to it; end that program, or name another one";
    assert_eq!(message, format!("sixbench-agent: borrowing e1: {words}\n"));
}

#[test]
#[ignore = "needs root: it enters the namespaces of other processes"]
fn one_run_has_it_at_a_time() {
    let Some(machine) = machine() else { return };
    let _node = begin(&machine, "e1").greeted();
    let mut second = begin(&machine, "e1");
    assert_eq!(second.wait().code(), Some(3));
}
