//! An agent under test: the real binary, spoken to over its pipes.
#![allow(dead_code)] // Each file of tests uses a part.

pub mod chain;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, setns};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};

/// Longer than anything here takes, however busy the machine is: a test that hangs fails.
pub const PATIENCE: Duration = Duration::from_secs(300);

pub struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
}

impl Agent {
    /// An agent in the namespace of the test: needs no permissions.
    pub fn here() -> Self {
        Self::start(&["node", "--name", "here", "--here"])
    }

    /// A greeted agent in a namespace of its own. `None`, with the reason printed, where the machine does not permit
    /// it; a failure where it is expected to.
    pub fn in_own_namespace() -> Option<Self> {
        let mut agent = Self::start(&["node", "--name", "n1"]);
        let hello = b"{\"id\": 0, \"op\": \"hello\", \"protocol\": 1, \"version\": \"test\"}\n";
        // If the agent has given up already, its end tells why.
        let _ = agent.stdin.as_mut().expect("a pipe").write_all(hello);
        match agent.lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                let response: Value = serde_json::from_str(&line).expect("a response is JSON");
                assert_eq!(response["id"], 0);
                assert_eq!(response["ok"]["name"], "n1");
                Some(agent)
            }
            Err(RecvTimeoutError::Timeout) => panic!("no answer to hello"),
            Err(RecvTimeoutError::Disconnected) => {
                let mut reason = String::new();
                let stderr = agent.child.stderr.take().expect("a pipe");
                BufReader::new(stderr).read_to_string(&mut reason).expect("text");
                assert_eq!(agent.wait().code(), Some(3), "{reason}");
                let is_expected = std::env::var("SIXBENCH_EXPECT_LAB").is_ok_and(|value| value == "1");
                assert!(!is_expected, "SIXBENCH_EXPECT_LAB=1, but: {reason}");
                println!("skipped: {reason}");
                None
            }
        }
    }

    /// A greeted agent in a namespace that others made for it, without some capabilities, as setpriv(1) writes them.
    /// `None` where the machine does not permit it.
    pub fn in_own_namespace_without(capabilities: &str) -> Option<Self> {
        Self::in_own_namespace()?;
        let mut command = Command::new("unshare");
        command.args(["--net", "setpriv", "--bounding-set", capabilities, "--inh-caps", capabilities]);
        command.args([env!("CARGO_BIN_EXE_sixbench-agent"), "node", "--name", "here", "--here"]);
        Some(Self::spawn(&mut command).greeted())
    }

    /// A node whose addresses can be used at once.
    pub fn node() -> Option<Self> {
        let mut node = Self::in_own_namespace()?;
        node.shell(
            "ip link set lo up; sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.default.accept_ra=0",
        );
        Some(node)
    }

    pub fn start(arguments: &[&str]) -> Self {
        Self::spawn(Command::new(env!("CARGO_BIN_EXE_sixbench-agent")).args(arguments))
    }

    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines() {
                if sender.send(line.expect("UTF-8")).is_err() {
                    break;
                }
            }
        });
        Self { child, stdin, lines, next_id: 0 }
    }

    pub fn greeted(mut self) -> Self {
        self.ok("hello", json!({"protocol": 1, "version": "test"}));
        self
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("standard input is open");
        stdin.write_all(bytes).expect("the agent reads");
    }

    /// Sends a request and returns its number.
    pub fn send(&mut self, op: &str, parameters: Value) -> u64 {
        self.next_id += 1;
        let mut request = parameters;
        request["id"] = json!(self.next_id);
        request["op"] = json!(op);
        self.send_raw(format!("{request}\n").as_bytes());
        self.next_id
    }

    /// The next response, whichever request it answers.
    pub fn receive(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("a response");
        serde_json::from_str(&line).expect("a response is JSON")
    }

    /// Sends a request and returns the next response, which must answer it.
    pub fn ask(&mut self, op: &str, parameters: Value) -> Value {
        let id = self.send(op, parameters);
        let response = self.receive();
        assert_eq!(response["id"], id, "{response}");
        response
    }

    /// The result of a request that succeeds.
    pub fn ok(&mut self, op: &str, parameters: Value) -> Value {
        let mut response = self.ask(op, parameters);
        assert!(response.get("error").is_none(), "{op}: {response}");
        response["ok"].take()
    }

    /// The error of a request that fails.
    pub fn error(&mut self, op: &str, parameters: Value) -> Value {
        let mut response = self.ask(op, parameters);
        assert!(response.get("ok").is_none(), "{op}: {response}");
        response["error"].take()
    }

    /// Runs a command that must succeed and returns its standard output.
    pub fn exec(&mut self, argv: &[&str]) -> String {
        let answer = self.ok("exec", json!({"argv": argv}));
        assert_eq!(answer["exit"], 0, "{argv:?}: {answer}");
        answer["stdout"].as_str().expect("text").to_owned()
    }

    /// Runs commands; the first failure ends the test.
    pub fn shell(&mut self, commands: &str) -> String {
        self.exec(&["sh", "-ec", commands])
    }

    /// An operation is refused with these codes where a key of its request, which is good otherwise, has these values.
    pub fn refuses<const N: usize>(&mut self, op: &str, good: impl Fn() -> Value, cases: [(&str, Value, &str); N]) {
        for (key, value, code) in cases {
            let error = self.error(op, with(good(), json!({key: value})));
            assert_eq!(error["code"], code, "{key}: {error}");
        }
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("it runs");
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("it is our child")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An object with other values of some keys.
pub fn with(mut object: Value, changes: Value) -> Value {
    object.as_object_mut().expect("an object").extend(changes.as_object().expect("an object").clone());
    object
}

/// Joins two nodes by a link; each end is a name and addresses.
pub fn join(
    (one, one_name, one_addresses): (&mut Agent, &str, &[&str]),
    (other, other_name, other_addresses): (&mut Agent, &str, &[&str]),
) {
    let pid = other.pid();
    one.shell(&format!("ip link add {one_name} type veth peer name {other_name} netns {pid}"));
    for (node, name, addresses) in [(&mut *one, one_name, one_addresses), (&mut *other, other_name, other_addresses)] {
        node.shell(&format!("ip link set {name} up"));
        for address in addresses {
            // Nobody can use an address before duplicate address detection is over.
            let nodad = if address.contains(':') { "nodad" } else { "" };
            node.shell(&format!("ip address add {address} dev {name} {nodad}"));
        }
    }
    // The kernel gives an interface its queue some time after its link is up, and drops what is sent before.
    for (node, name) in [(one, one_name), (other, other_name)] {
        node.shell(&format!("until ip link show {name} | grep -q 'state UP'; do sleep 0.01; done"));
    }
}

/// The value that `make` returns, made in a node's namespace: a socket stays there.
pub fn within<T: Send + 'static>(node: &Agent, make: impl FnOnce() -> T + Send + 'static) -> T {
    let namespace = File::open(format!("/proc/{}/ns/net", node.pid())).expect("the agent lives");
    let maker = thread::spawn(move || {
        setns(namespace, CloneFlags::CLONE_NEWNET).expect("we may enter it");
        make()
    });
    maker.join().expect("no panic")
}

/// The agent in the network namespace of another.
pub fn in_namespace_of(node: &Agent) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/proc/{}/ns/net", node.pid())).arg(env!("CARGO_BIN_EXE_sixbench-agent"));
    command
}

/// The token of all sessions of the tests.
pub const TOKEN: &str = "00112233445566778899aabbccddeeff";

/// The request `serve` of a workload, for any client that has the token.
pub fn session(name: &str, workload: &str, address: &str, params: &Value) -> Value {
    json!({"session": name, "workload": workload, "address": address, "token": TOKEN, "params": params})
}

/// A trial between addresses of two nodes, client first; the server knows its peer by the address at which it sees it.
/// The results of both.
pub fn trial(
    nodes: &mut [Agent],
    [client, server]: [usize; 2],
    workload: &str,
    [from, to]: [&str; 2],
    seen: &str,
    params: &Value,
) -> (Value, Value) {
    let side = |address, peer| with(session("s", workload, address, params), json!({"peer": peer}));
    let served = nodes[server].ok("serve", side(to, seen));
    let result = nodes[client].ok("run", with(side(from, to), json!({"port": served["port"]})));
    let finish = json!({"session": "s", "sent": result["sent"], "timeout_ns": 10_000_000_000_u64});
    (result, nodes[server].ok("finish", finish))
}

/// A named pipe: who holds its other end, and until when, is known without asking again and again.
pub struct Fifo(PathBuf);

impl Fifo {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("sixbench-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        mkfifo(&path, Mode::S_IRWXU).expect("the folder for temporary files takes a FIFO");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn text(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }

    /// Waits until a process writes a line, and returns a handle that ends when all writers are gone.
    pub fn first_line(&self) -> (String, Receiver<()>) {
        let path = self.0.clone();
        let (line_sender, line) = channel();
        let (end_sender, end) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(File::open(path).expect("a FIFO"));
            let mut text = String::new();
            reader.read_line(&mut text).expect("text");
            let _ = line_sender.send(text.trim_end().to_owned());
            let _ = reader.read_to_string(&mut String::new());
            let _ = end_sender.send(());
        });
        (line.recv_timeout(PATIENCE).expect("somebody writes a line"), end)
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
