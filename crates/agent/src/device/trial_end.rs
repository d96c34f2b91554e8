//! Somebody else's program as one end of a trial: a server or a client in the place of ours.
//!
//! It runs as a device does, but for the time of one session. The files of the trial's certificates are in its private
//! directory alone, which is in memory and goes with it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sixbench_applications::certificates::{self, Chain};
use sixbench_applications::name;
use sixbench_measure::clock;
use sixbench_packet::LocalAddress;
use sixbench_traffic::cancel::PATIENCE;
use sixbench_traffic::{Cancel, Certificate, Endpoint, Finish, Result, Server};

use super::hosted::Hosted;
use super::listening::{self, Listens, Transport};
use super::{Start, is_file_name};
use crate::error::Error;

/// Ports that are tried for one that is free for both TCP and UDP.
const ATTEMPTS: usize = 20;
/// Most words and files of a program.
const MAX_WORDS: usize = 4_096;
const MAX_FILES: usize = 32;
/// Longest time for a server to listen: the node answers nothing else meanwhile.
const LONGEST_READY: Duration = Duration::from_secs(20);

const CERTIFICATE_FILE: &str = "certificate.pem";
const KEY_FILE: &str = "key.pem";
const AUTHORITY_FILE: &str = "authority.pem";

/// A program that is to be one end. In its words and files, `{address}` and others stand for what is known when it
/// starts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The program and its arguments. It must stay in the foreground.
    argv: Vec<String>,
    /// Its name in messages.
    name: String,
    /// The content of its private directory, by name.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Memory limit of each of its processes, in bytes (RLIMIT_DATA).
    memory_bytes: u64,
    /// The transport at whose port it listens, of a server.
    listens: Option<Transport>,
    /// Time for that, in nanoseconds.
    #[serde(default)]
    ready_timeout_ns: u64,
    /// Length of the chain of certificates that is made for it, of a server. Left out: it gets none.
    chain_bytes: Option<usize>,
    /// Time after which it is ended, of a client. Left out: it ends by itself.
    limit_ns: Option<u64>,
}

/// The end of a program, or its state before it was ended.
#[derive(Debug, Serialize)]
struct ProgramResult {
    /// The message about its end. Left out: it ran until it was ended with its trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
    /// Its exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<i32>,
    ran_ns: u64,
    cpu_ns: u64,
    peak_memory_bytes: u64,
    processes: u64,
    /// The sockets of its node that waited for others.
    listening: Vec<String>,
    /// The end of its output.
    output: String,
    /// Bytes of output before that.
    omitted_bytes: u64,
}

impl Program {
    /// Starts a server, with a certificate that is made now where it needs one. It listens when this returns.
    pub fn serve(&self, endpoint: &Endpoint) -> Result<Box<dyn Server>> {
        self.check()?;
        let Some(transport) = self.listens else {
            return Err(Error::bad_request("a server that is a program listens for tcp or udp"));
        };
        let name = name::of_trial(&endpoint.token);
        let port = free_port(endpoint.address)?;
        let chain = self.chain_bytes.map(|bytes| certificates::chain(&name, bytes)).transpose()?;
        let mut start = self.start(endpoint, port, chain.as_ref().map(Chain::authority_pem));
        if let Some(chain) = &chain {
            start.files.insert(CERTIFICATE_FILE.to_owned(), chain.certificates_pem());
            start.secrets.insert(KEY_FILE.to_owned(), chain.key_pem());
        }
        start.listens = Some(Listens { transport, port });
        let running = Running::start(self, start)?;
        Ok(Box::new(ProgramServer { running, port, certificate: chain.map(|chain| chain.authority) }))
    }

    /// Runs a client to its end, or until its time is over.
    pub fn run(&self, endpoint: &Endpoint, cancel: &Cancel) -> Result<Value> {
        self.check()?;
        let authority = endpoint.certificate.as_ref().map(certificates::pem);
        let running = Running::start(self, self.start(endpoint, endpoint.port, authority))?;
        while !running.hosted.wait_for_end(PATIENCE) {
            cancel.check()?;
            if self.limit_ns.is_some_and(|limit_ns| running.ran_ns() >= limit_ns) {
                break;
            }
        }
        running.end()
    }

    fn check(&self) -> Result<()> {
        let words = || self.argv.iter().chain(self.files.keys()).chain(self.files.values());
        let reserved = [CERTIFICATE_FILE, KEY_FILE, AUTHORITY_FILE];
        if self.argv.is_empty() || self.argv.len() > MAX_WORDS || self.files.len() > MAX_FILES {
            return Err(Error::bad_request("a program has 1 to 4096 words and at most 32 files"));
        }
        if words().any(|word| word.contains('\0')) {
            return Err(Error::bad_request("a word or a file of a program has a zero byte"));
        }
        if let Some(name) = self.files.keys().find(|name| !is_file_name(name) || reserved.contains(&name.as_str())) {
            return Err(Error::bad_request(format!("a file of a program cannot be named {name:?}")));
        }
        Ok(())
    }

    fn start(&self, endpoint: &Endpoint, port: u16, authority: Option<String>) -> Start {
        let words = words(endpoint, port);
        let mut files: BTreeMap<_, _> =
            self.files.iter().map(|(name, content)| (name.clone(), filled(content, &words))).collect();
        if let Some(authority) = authority {
            files.insert(AUTHORITY_FILE.to_owned(), authority);
        }
        Start {
            argv: self.argv.iter().map(|word| filled(word, &words)).collect(),
            ready: Vec::new(),
            ready_timeout_ns: self.ready_timeout_ns.min(LONGEST_READY.as_nanos() as u64),
            memory_bytes: self.memory_bytes,
            files,
            name: Some(self.name.clone()),
            secrets: BTreeMap::new(),
            listens: None,
        }
    }
}

/// A program that runs. It ends with this.
struct Running {
    hosted: Arc<Hosted>,
    began_ns: u64,
}

impl Running {
    fn start(program: &Program, start: Start) -> Result<Self> {
        let running = Self { hosted: Hosted::new(program.name.clone()), began_ns: clock::monotonic_ns() };
        running.hosted.start(start)?;
        Ok(running)
    }

    fn ran_ns(&self) -> u64 {
        clock::monotonic_ns() - self.began_ns
    }

    /// Ends it if it has not ended. What those that hold it say of that is none of its output.
    fn end(self) -> Result<Value> {
        let failed = |error| Error::system("reading what a program used", "read", error);
        let (used, listening) = (self.hosted.used(false).map_err(failed)?, listening::read().map_err(failed)?);
        let ended = self.hosted.ended();
        let ran_ns = self.ran_ns();
        let (output, omitted_bytes) = self.hosted.log_after(0);
        self.hosted.stop();
        let account = if ended.is_some() { self.hosted.account().unwrap_or_default() } else { Default::default() };
        Ok(json!(ProgramResult {
            ended,
            exit: account.exit,
            ran_ns: account.ran_ns.unwrap_or(ran_ns),
            cpu_ns: account.cpu_ns.unwrap_or(used.cpu_ns),
            peak_memory_bytes: account.peak_memory_bytes.unwrap_or(used.peak_memory_bytes),
            processes: used.processes,
            listening,
            output,
            omitted_bytes,
        }))
        .map(|program| json!({ "program": program }))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.hosted.stop();
    }
}

/// A server that is a program.
struct ProgramServer {
    running: Running,
    port: u16,
    certificate: Option<Certificate>,
}

impl Server for ProgramServer {
    fn port(&self) -> u16 {
        self.port
    }

    fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    fn finish(self: Box<Self>, _: &Finish) -> Result<Value> {
        self.running.end()
    }
}

/// A port that is free for both TCP and UDP. The node is the trial's alone, so nobody else takes it meanwhile.
fn free_port(address: LocalAddress) -> Result<u16> {
    let failed = |error| Error::system(format!("looking for a free port at {address}"), "bind", error);
    let mut attempts = 0;
    loop {
        attempts += 1;
        let listener = std::net::TcpListener::bind(address.at(0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        match std::net::UdpSocket::bind(address.at(port)) {
            Ok(_) => return Ok(port),
            Err(_) if attempts < ATTEMPTS => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

/// The words that stand for what is known when a program starts.
fn words(endpoint: &Endpoint, port: u16) -> BTreeMap<&'static str, String> {
    let host = |address: IpAddr| match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    };
    let directory = super::init::DIRECTORY;
    BTreeMap::from([
        ("address", endpoint.address.ip().to_string()),
        ("host", host(endpoint.address.ip())),
        ("peer", endpoint.peer.to_string()),
        ("peer-host", host(endpoint.peer)),
        ("port", port.to_string()),
        ("name", name::of_trial(&endpoint.token)),
        ("dir", directory.to_owned()),
        ("certificate", format!("{directory}/{CERTIFICATE_FILE}")),
        ("key", format!("{directory}/{KEY_FILE}")),
        ("authority", format!("{directory}/{AUTHORITY_FILE}")),
    ])
}

/// The text with what these names in braces stand for. Other braces are as they are.
fn filled(text: &str, words: &BTreeMap<&'static str, String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        filled.push_str(&rest[..open]);
        rest = &rest[open..];
        let word = rest.find('}').and_then(|close| Some((words.get(&rest[1..close])?, close)));
        match word {
            Some((word, close)) => {
                filled.push_str(word);
                rest = &rest[close + 1..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use sixbench_traffic::{ConnectionLogs, Progress};
    use sixbench_wire::token::Token;

    use super::*;
    use crate::error::Code;

    fn endpoint(address: &str) -> Endpoint {
        let address: IpAddr = address.parse().expect("an address");
        Endpoint {
            address: address.into(),
            peer: address,
            port: 0,
            token: Token([7; 16]),
            cookie: false,
            certificate: None,
            progress: Progress::default(),
            logs: ConnectionLogs::default(),
        }
    }

    fn program(fields: Value) -> Program {
        let mut given = json!({"argv": ["true"], "name": "a program", "memory_bytes": 1 << 30});
        given.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
        serde_json::from_value(given).expect("a program")
    }

    #[test]
    fn names_in_braces_are_filled_and_other_braces_stay() {
        let words = words(&endpoint("2001:db8::1"), 4433);
        for (text, expected) in [
            ("listen {host}:{port};", "listen [2001:db8::1]:4433;"),
            ("{address}@{port}", "2001:db8::1@4433"),
            ("http { server { root {dir}; } }", "http { server { root /run/device; } }"),
            ("{nobody} {", "{nobody} {"),
            ("{{port}}", "{4433}"),
            ("%{time_total}", "%{time_total}"),
        ] {
            assert_eq!(filled(text, &words), expected);
        }
    }

    #[test]
    fn files_of_the_trial_are_nobody_elses() {
        for name in ["", "..", "a/b", KEY_FILE, CERTIFICATE_FILE, AUTHORITY_FILE] {
            let refused = program(json!({"files": {name: ""}})).check().expect_err(name);
            assert_eq!(refused.code, Code::BadRequest, "{name:?}");
        }
        program(json!({"files": {"Caddyfile": ""}})).check().expect("a file");
    }

    #[test]
    fn a_server_that_says_nothing_of_its_socket_is_refused() {
        let refused = program(json!({})).serve(&endpoint("127.0.0.1")).map(drop).expect_err("no socket");
        assert_eq!(refused.code, Code::BadRequest);
    }
}
