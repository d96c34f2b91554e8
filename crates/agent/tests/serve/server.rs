//! A server under test, and clients of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::common::{Agent, PATIENCE, session, with};

pub struct Server {
    child: Child,
    pub address: IpAddr,
    pub port: u16,
    key: Option<PathBuf>,
}

impl Server {
    pub fn start(arguments: &[&str], key: Option<&Path>) -> Self {
        Self::start_as(Command::new(env!("CARGO_BIN_EXE_sixbench-agent")), arguments, key)
    }

    /// Starts a server by a command that runs the agent somewhere else.
    pub fn start_as(mut command: Command, arguments: &[&str], key: Option<&Path>) -> Self {
        command.args(["serve", "--port", "0"]).args(arguments);
        if let Some(key) = key {
            command.arg("--key").arg(key);
        }
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let started: Value = serde_json::from_str(&line).expect("JSON");
        let first = &started["listening"][0];
        assert_eq!(started["key"], key.is_some());
        let text = first["address"].as_str().expect("an address");
        let address = text.split('%').next().and_then(|plain| plain.parse().ok()).expect("an address");
        let port = first["port"].as_u64().and_then(|port| port.try_into().ok()).expect("a port");
        Self { child, address, port, key: key.map(Path::to_owned) }
    }

    /// A connection that speaks for itself.
    pub fn dial(&self) -> TcpStream {
        let stream = TcpStream::connect(SocketAddr::new(self.address, self.port)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream
    }

    /// `sixbench-agent connect`, to be spoken to as to a local agent.
    pub fn connect(&self) -> Agent {
        let (host, port) = (self.address.to_string(), self.port.to_string());
        let mut arguments = vec!["connect", &host, &port];
        if let Some(key) = &self.key {
            arguments.extend(["--key", key.to_str().expect("UTF-8")]);
        }
        Agent::start(&arguments)
    }

    /// The most memory that it has had, in KiB.
    pub fn peak_memory_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux");
        line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
    }

    /// Waits for the end of the server. Returns its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().expect("it is our child").code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A key file, until this is dropped.
pub struct KeyFile(pub PathBuf);

impl KeyFile {
    pub fn new(digit: char) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("sixbench-serve-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).expect("a file");
        std::io::Write::write_all(&mut file, digit.to_string().repeat(64).as_bytes()).expect("a file");
        Self(path)
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// `run` against what `serve` answered.
pub fn run(name: &str, workload: &str, address: &str, served: &Value, params: &Value) -> Value {
    let found = json!({
        "peer": address, "port": served["port"], "cookie": served["cookie"], "certificate": served["certificate"],
    });
    with(session(name, workload, address, params), found)
}

/// A trial with the server, over its own address: the results of both.
pub fn trial(remote: &mut Agent, local: &mut Agent, workload: &str, address: &str, params: &Value) -> (Value, Value) {
    let served = remote.ok("serve", session("s", workload, address, params));
    assert_eq!(served["cookie"], true);
    let result = local.ok("run", run("c", workload, address, &served, params));
    let sent = result.get("forward_sender").unwrap_or(&result)["sent"].clone();
    let finished = remote.ok("finish", json!({"session": "s", "sent": sent, "timeout_ns": 20_000_000_000_u64}));
    (result, finished)
}
