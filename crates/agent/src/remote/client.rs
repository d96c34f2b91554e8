//! The conversation with one client: it may do less than a node's, and all that it began ends with it.

use std::fs;
use std::io::{self, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sixbench_measure::cpu;
use sixbench_packet::LocalAddress;
use sixbench_remote::{Channel, Reader, Visit};
use sixbench_traffic::Load;

use super::flows::{ClientFlows, Flows};
use super::limits::{self, Limits};
use super::listening::Listening;
use crate::answers::Answers;
use crate::conversation::{self, Asker, Reply};
use crate::error::{Code, Error, Outcome};
use crate::lines::{Line, Lines};
use crate::protocol::{Hello, Request};
use crate::sessions::{self, Programs, Sessions};
use crate::{counters, hello, workloads};

/// The longest request of a client.
const MAX_REQUEST_BYTES: usize = 64 << 10;
/// A client that has no session and asks nothing is closed after this.
const IDLE_TIME: Duration = Duration::from_secs(60);
/// Interval between two looks for sessions and clients that have lasted too long.
const TICK: Duration = Duration::from_millis(500);

/// The state that all clients share.
pub struct Host {
    /// The name in the answer to `hello`.
    pub name: String,
    /// The addresses that sessions are bound to.
    pub listening: Listening,
    /// The limits on their requests.
    pub limits: Limits,
    /// The flows that they have at a time, and the limits on these.
    pub flows: Arc<Flows>,
}

/// The host's name, as it calls itself.
pub fn host_name() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").map_or_else(|_| "server".to_owned(), |name| name.trim().to_owned())
}

/// Serves a client until it has gone.
pub fn serve(channel: Channel, visit: &mut Visit, host: &Arc<Host>) {
    let (Ok(ours), Ok(theirs)) = (channel.stream.local_addr(), channel.stream.peer_addr()) else { return };
    let Channel { reader, writer, stream } = channel;
    let shared = Arc::new(Shared {
        answers: Answers::to(writer),
        sessions: Sessions::new(workloads::find, Programs::None, limits::MAX_SESSIONS),
        flows: host.flows.of_client(),
        began: Instant::now(),
        heard_ms: AtomicU64::new(0),
    });
    let mut client = Client { host, shared: &shared, visit, ours, theirs };
    let (gone, end) = mpsc::channel::<()>();
    let tended = Arc::clone(&shared);
    let max_age = host.limits.max_age();
    let tend = move || {
        while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(TICK) {
            tended.sessions.cancel_older_than(max_age);
            if tended.sessions.is_empty() && tended.idle() >= IDLE_TIME {
                // The other thread sees its end. It may have ended already.
                let _ = stream.shutdown(std::net::Shutdown::Both);
            }
        }
    };
    if thread::Builder::new().name("tend".to_owned()).spawn(tend).is_err() {
        return;
    }
    client.converse(Lines::new(BufReader::new(reader), MAX_REQUEST_BYTES));
    if client.visit.is_client() {
        eprintln!("sixbench-agent: {theirs} has disconnected");
    }
    drop(gone);
    shared.sessions.cancel_older_than(Duration::ZERO);
}

/// The state that the threads that do a client's jobs use as well.
struct Shared {
    answers: Answers,
    sessions: Sessions,
    flows: ClientFlows,
    began: Instant,
    /// Time of its last request, in milliseconds since it began.
    heard_ms: AtomicU64,
}

struct Client<'a> {
    host: &'a Host,
    shared: &'a Arc<Shared>,
    visit: &'a mut Visit,
    /// The ends of the control connection.
    ours: SocketAddr,
    theirs: SocketAddr,
}

impl Client<'_> {
    fn converse(&mut self, mut lines: Lines<BufReader<Reader<std::net::TcpStream>>>) {
        // A failure to read is the client's end as well.
        while let Ok(Some(line)) = lines.next_within() {
            self.shared.note_heard();
            let is_over = conversation::take(self.shared, &line, |request| self.reply(request)).is_err();
            // Whoever begins with anything but `hello` is no client of ours.
            if is_over || matches!(line, Line::TooLong) || !self.visit.is_client() {
                return;
            }
        }
    }

    fn reply(&mut self, request: Request) -> Result<Reply, Error> {
        let (sessions, op) = (&self.shared.sessions, request.op());
        let value = match request {
            Request::Hello(hello) => self.greet(&hello)?,
            _ if !self.visit.is_client() => {
                return Err(Error::new(Code::NotGreeted, format!("{op} arrived before hello")));
            }
            Request::Cpu {} => json!(cpu::sample()),
            Request::Counters {} => counters::read(None)?,
            Request::Serve(serve) => self.serve(serve)?,
            Request::Finish(finish) => return sessions.finish(&finish).map(Reply::Later),
            Request::Progress { session } => sessions.progress(&session)?,
            Request::Cancel { session } => match sessions.cancel(&session)? {
                Some(job) => return Ok(Reply::Later(job)),
                None => json!({}),
            },
            _ => {
                let message = format!(
                    "{op} is not for clients on other machines; they may ask for hello, serve, progress, finish, cancel, cpu, counters"
                );
                return Err(Error::new(Code::Refused, message));
            }
        };
        Ok(Reply::Now(value))
    }

    fn greet(&mut self, hello: &Hello) -> Outcome {
        let mut answer = hello::answer(hello, &self.host.name)?;
        let was_client = self.visit.is_client();
        self.visit.stay().map_err(|full| {
            let message = format!(
                "{} clients are connected already; try again later, or start the server with a larger --max-clients",
                full.max_clients
            );
            Error::new(Code::Busy, message)
        })?;
        if !was_client {
            eprintln!(
                "sixbench-agent: {} has connected with sixbench {:.20}",
                self.theirs,
                hello.version.escape_debug().to_string()
            );
        }
        answer["served"] = json!({
            "client_address": self.theirs.ip(),
            "server_address": self.ours.ip(),
            "max_rate_bps": self.host.limits.max_rate_bps,
            "max_duration_ns": self.host.limits.max_duration_ns(),
            "max_sessions": limits::MAX_SESSIONS,
            "max_client_flows": self.host.flows.most_of_client(),
        });
        Ok(answer)
    }

    fn serve(&self, serve: sessions::Serve) -> Outcome {
        let (serve, load) = self.admit(serve)?;
        let held = self.shared.flows.take(&serve.workload, load.flows)?;
        self.shared.sessions.serve(serve, Some(Box::new(held)))
    }

    /// The request with the address to bind, and its load, if it is within the limits.
    fn admit(&self, mut serve: sessions::Serve) -> Result<(sessions::Serve, Load), Error> {
        if serve.peer.is_some() {
            return Err(Error::bad_request(
                "`peer` must be absent here: a client is known by its token, and by a cookie",
            ));
        }
        if !serve.also.is_empty() {
            return Err(Error::bad_request("`also` must be absent here: a client is served at one address"));
        }
        let load = workloads::find(&serve.workload)?.load(&Value::Object(serve.params.clone()))?;
        self.host.limits.check(&serve.workload, &serve.params, &load)?;
        serve.address = self.bind(serve.address.ip())?;
        if serve.workload == "pmtu" {
            // The kernel's knowledge of paths is for all its destinations.
            serve.params.insert("forget".to_owned(), json!(false));
        }
        Ok((serve, load))
    }

    fn bind(&self, wanted: IpAddr) -> Result<LocalAddress, Error> {
        self.host.listening.bind(wanted, self.ours.into())
    }
}

impl Asker for Shared {
    const MAX_REQUEST_BYTES: usize = MAX_REQUEST_BYTES;

    fn answers(&self) -> &Answers {
        &self.answers
    }

    /// Its reader sees its end.
    fn note_gone(&self, _: &io::Error) {}
}

impl Shared {
    fn note_heard(&self) {
        self.heard_ms.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    fn idle(&self) -> Duration {
        self.began.elapsed().saturating_sub(Duration::from_millis(self.heard_ms.load(Ordering::Relaxed)))
    }
}
