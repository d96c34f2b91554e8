//! The connecting side of `tcp-connect` and `tcp-crr`.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt};
use serde_json::{Map, Value, json};
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};

use super::{Kind, TransactionParams, request, response};
use crate::histogram::Times;
use crate::series::Series;
use crate::workloads::tcp::{PATIENCE, Preamble, Role, STALL_NS, Stop, connect, io as tcp_io, options};
use crate::{Endpoint, Error, Result, clock, cpu};

/// After a failure, so that one which comes at once (no port left, nobody listening) does not make the loop spin.
const BACK_OFF: Duration = Duration::from_millis(1);

/// Proves itself, warms up, measures.
pub fn run(endpoint: &Endpoint, params: &TransactionParams, stop: &Stop) -> Result<Value> {
    let preamble = Preamble { role: Role::Proof, index: 0 };
    let (mut proof, _) = connect::connect_with_preamble(endpoint, &params.options, preamble, params.timeout_ns, stop)?;
    let mut accepted = [0];
    tcp_io::read_message(&mut proof, &mut accepted, 1, params.timeout_ns, stop)
        .map_err(|failure| failure.explain(&format!("proving ourselves to {}", endpoint.peer), params.timeout_ns))?;
    let connecting = Connecting::new(endpoint, params, stop)?;
    let mut result = connecting.run()?;
    result.insert("socket".into(), params.options.granted(SockRef::from(&proof)));
    Ok(Value::Object(result))
}

struct Connecting<'a> {
    params: &'a TransactionParams,
    stop: &'a Stop,
    domain: Domain,
    local: SockAddr,
    peer: SockAddr,
    /// Names the peer in errors.
    peer_address: SocketAddr,
    request: u8,
    response: u8,
    /// Whether a new socket has another congestion control than is asked for.
    sets_congestion: bool,
}

/// Monotonic times of a transaction.
struct Transaction {
    connect_ns: u64,
    transaction_ns: u64,
    ended_ns: u64,
}

/// Of a transaction or a part of it.
type Attempt<T> = std::result::Result<T, Failed>;

/// Why a transaction failed.
enum Failed {
    Io(io::Error),
    Timeout,
    /// The peer closed instead of answering.
    Closed,
    WrongResponse,
}

impl<'a> Connecting<'a> {
    fn new(endpoint: &Endpoint, params: &'a TransactionParams, stop: &'a Stop) -> Result<Self> {
        let peer_address = SocketAddr::new(endpoint.peer, endpoint.port);
        let domain = if endpoint.address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        let new = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))
            .map_err(|e| Error::system("opening a socket", "socket", e))?;
        Ok(Self {
            params,
            stop,
            domain,
            local: SocketAddr::new(endpoint.address, 0).into(),
            peer: peer_address.into(),
            peer_address,
            request: request(&endpoint.token),
            response: response(&endpoint.token),
            sets_congestion: options::congestion_of(&new).is_none_or(|name| name != params.options.congestion),
        })
    }

    fn run(&self) -> Result<Map<String, Value>> {
        let mut patience = Patience::new(self);
        let warmup_transactions = self.warm_up(&mut patience)?;
        let mut failed = BTreeMap::<String, u64>::new();
        let mut attempts = 0;
        let mut connect = Times::default();
        let mut transaction = Times::default();
        let mut series = Series::<u64>::of_window(self.params.interval_ns, self.params.limit.duration_ns());
        let from = cpu::sample();
        let started_ns = clock::monotonic_ns();
        let mut ended_ns = started_ns;
        // A failure is one of the count as well: else a count would have no end where nothing succeeds.
        while !self.params.limit.is_reached(attempts, ended_ns - started_ns) {
            attempts += 1;
            match self.transaction() {
                Ok(done) => {
                    ended_ns = done.ended_ns;
                    connect.record(done.connect_ns);
                    transaction.record(done.transaction_ns);
                    *series.at(ended_ns - started_ns) += 1;
                    patience.succeeded(ended_ns);
                }
                Err(failure) => {
                    ended_ns = patience.failed(&failure)?;
                    *failed.entry(failure.reason()).or_default() += 1;
                }
            }
            self.stop.check()?;
        }
        let cpu = cpu::Span { from, to: cpu::sample() };
        let measured_ns = ended_ns - started_ns;
        series.close(measured_ns);
        let mut result = Map::new();
        let mut put = |name: &str, value: Value| result.insert(name.to_owned(), value);
        put("transactions", json!(connect.count()));
        put("warmup_transactions", json!(warmup_transactions));
        put("failed", json!(failed));
        put("measured_ns", json!(measured_ns));
        put("started_ns", json!(started_ns));
        put("ended_ns", json!(ended_ns));
        put("connect", connect.to_json());
        if self.params.kind == Kind::RequestResponse {
            put("transaction", transaction.to_json());
        }
        put("cpu", json!(cpu));
        put("series", json!({"t_ns": series.ends_ns(measured_ns), "transactions": series.slots()}));
        Ok(result)
    }

    fn warm_up(&self, patience: &mut Patience) -> Result<u64> {
        let ends_ns = clock::monotonic_ns().saturating_add(self.params.warmup_ns);
        let mut transactions = 0;
        let mut now_ns = clock::monotonic_ns();
        while now_ns < ends_ns {
            match self.transaction() {
                Ok(done) => {
                    transactions += 1;
                    now_ns = done.ended_ns;
                    patience.succeeded(now_ns);
                }
                Err(failure) => now_ns = patience.failed(&failure)?,
            }
            self.stop.check()?;
        }
        Ok(transactions)
    }

    #[inline]
    fn transaction(&self) -> Attempt<Transaction> {
        let started_ns = clock::monotonic_ns();
        let socket = Socket::new(self.domain, Type::STREAM, Some(Protocol::TCP))?;
        // The port is chosen in connect, where only the 4-tuple has to be free.
        setsockopt(&socket, sockopt::IpBindAddressNoPort, &true).map_err(io::Error::from)?;
        socket.bind(&self.local)?;
        if self.sets_congestion {
            socket.set_tcp_congestion(self.params.options.congestion.as_bytes())?;
        }
        socket.set_write_timeout(Some(PATIENCE))?;
        let connecting_ns = clock::monotonic_ns();
        let deadline_ns = connecting_ns.saturating_add(self.params.timeout_ns);
        connect::wait_for_connect(&socket, &self.peer, deadline_ns, self.stop)?;
        let connected_ns = clock::monotonic_ns();
        if self.params.kind == Kind::RequestResponse {
            socket.set_read_timeout(Some(PATIENCE))?;
            self.ask(socket.into())?;
        } else {
            drop(socket);
        }
        let ended_ns = clock::monotonic_ns();
        Ok(Transaction { connect_ns: connected_ns - connecting_ns, transaction_ns: ended_ns - started_ns, ended_ns })
    }

    /// One byte there, one byte back, close.
    fn ask(&self, mut stream: TcpStream) -> Attempt<()> {
        stream.write_all(&[self.request])?;
        let mut answer = [0];
        let mut deadline_ns = None;
        loop {
            match stream.read(&mut answer) {
                Ok(0) => return Err(Failed::Closed),
                Ok(_) if answer[0] == self.response => return Ok(()),
                Ok(_) => return Err(Failed::WrongResponse),
                Err(e) if tcp_io::is_pause(&e) => {
                    // The clock is read only where the answer took long.
                    let now_ns = clock::monotonic_ns();
                    let left_ns = self.params.timeout_ns.saturating_sub(PATIENCE.as_nanos() as u64);
                    if self.stop.is_raised() || now_ns >= *deadline_ns.get_or_insert(now_ns.saturating_add(left_ns)) {
                        return Err(Failed::Timeout);
                    }
                }
                Err(e) => return Err(e.into()),
            }
        }
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::TimedOut { Failed::Timeout } else { Failed::Io(error) }
    }
}

impl Failed {
    /// The key in `failed`: an errno's name, or a word of ours.
    fn reason(&self) -> String {
        match self {
            Failed::Io(error) => error.raw_os_error().map_or_else(
                || error.kind().to_string(),
                // The variants are named as the numbers are.
                |number| format!("{:?}", Errno::from_raw(number)),
            ),
            Failed::Timeout => "timeout".to_owned(),
            Failed::Closed => "closed".to_owned(),
            Failed::WrongResponse => "wrong-response".to_owned(),
        }
    }
}

/// How long nothing has succeeded.
struct Patience {
    peer: SocketAddr,
    limit_ns: u64,
    succeeded_ns: u64,
}

impl Patience {
    fn new(connecting: &Connecting<'_>) -> Self {
        Self {
            peer: connecting.peer_address,
            limit_ns: STALL_NS.saturating_add(connecting.params.timeout_ns),
            succeeded_ns: clock::monotonic_ns(),
        }
    }

    #[inline]
    fn succeeded(&mut self, now_ns: u64) {
        self.succeeded_ns = now_ns;
    }

    /// Backs off, and gives up where nothing has succeeded for too long. Returns the time.
    #[cold]
    fn failed(&self, failure: &Failed) -> Result<u64> {
        thread::sleep(BACK_OFF);
        let now_ns = clock::monotonic_ns();
        if now_ns.saturating_sub(self.succeeded_ns) > self.limit_ns {
            let doing = format!("connecting to {} (last failure: {})", self.peer, failure.reason());
            return Err(Error::Timeout { doing, after_ns: self.limit_ns });
        }
        Ok(now_ns)
    }
}
