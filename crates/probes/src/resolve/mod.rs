//! `resolve`: the addresses of a name, and its service bindings, by the system's resolver or a given one.

pub mod message;
pub mod resolv_conf;

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, SocketAddrV6, TcpStream};
use std::time::Duration;
use std::{panic, thread};

use hickory_proto::rr::Name;
use nix::net::if_::if_nametoindex;
use nix::poll::PollFlags;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sixbench_measure::{clock, random};
use sixbench_packet::{Error, LocalAddress, Result, error_queue as packet_errors};
use socket2::{Protocol, Socket, Type as SocketType};

use self::message::{ALL_TYPES, Answer, Question, Type, Verdict};
use self::resolv_conf::Listed;
use crate::error_queue::last_failure;
use crate::limits::{self, SECOND_NS};
use crate::local;
use crate::outcome::{Ending, Outcome};
use crate::pacing::Pacer;
use crate::stream::{self, wait_for};

const DEFAULT_TIMEOUT_NS: u64 = 5 * SECOND_NS;
const DEFAULT_PORT: u16 = 53;
/// A question that is not answered is asked again after this time, then after twice as long, and so on.
const FIRST_INTERVAL_NS: u64 = SECOND_NS;
/// Time between two questions to one resolver, in the mean.
const GAP_NS: u64 = SECOND_NS / 20;
/// Messages that may come for a question: whoever floods us does not keep us.
const MAX_MESSAGES: usize = 1_024;
/// The longest message of DNS.
const MAX_MESSAGE_BYTES: usize = 65_535;
/// Stack of a thread that reads answers. hickory follows each pointer in a name (RFC 1035 section 4.1.4) by a call of
/// itself, of 1 KiB in a debug build, and a message has room for 8,190 pointers of which each leads to the one before.
const STACK_BYTES: usize = 16 << 20;

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResolveRequest {
    name: String,
    types: Option<Vec<Type>>,
    resolver: Option<AskedResolver>,
    source: Option<LocalAddress>,
    timeout_ns: Option<u64>,
}

/// A resolver as a request names it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedResolver {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: Option<u16>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ResolveResult {
    /// The resolver that was asked.
    pub resolver: Resolver,
    /// An answer for each type, in the order in which the request has them.
    pub answers: Vec<ResolveAnswer>,
}

/// A resolver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Resolver {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// Index of the interface of a link-local address that the system has; 0 of all others.
    #[serde(skip)]
    scope_id: u32,
}

/// The answer for one type.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResolveAnswer {
    /// The type.
    #[serde(rename = "type")]
    pub kind: Type,
    /// Time at which it was asked for.
    pub begun_ns: u64,
    /// Its end.
    #[serde(flatten)]
    pub ending: Ending,
    /// Time until the answer, or the failure; absent in silence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ns: Option<u64>,
    /// Number of questions that were sent.
    pub asked: u64,
    /// True if it was asked for by TCP after all.
    pub truncated: bool,
    /// Messages that answer another question.
    pub strays: u64,
    /// The contents.
    #[serde(flatten)]
    pub answer: Option<Answer>,
}

/// Asks for all types at the same time, after those of requests at the same resolver before it.
///
/// # Errors
/// `bad-params` of a request that is out of bounds, `system` where the kernel refuses the means.
pub fn run(request: &ResolveRequest, pacer: &Pacer) -> Result<ResolveResult> {
    let timeout_ns = limits::timeout_ns(request.timeout_ns, DEFAULT_TIMEOUT_NS)?;
    let types = request.types.as_deref().unwrap_or(&ALL_TYPES);
    limits::within("types", types.len() as u64, 1..=ALL_TYPES.len() as u64)?;
    let name = message::name(&request.name).map_err(Error::bad_params)?;
    let resolver = Resolver::chosen(request.resolver)?;
    local::check_host(resolver.address, request.source)?;
    pacer.wait_for_packet(resolver.address, types.len() as u64 * GAP_NS, false);
    let asking = Asking { resolver, source: request.source, timeout_ns };
    let answers = thread::scope(|scope| {
        let (asking, name) = (&asking, &name);
        let start = |kind| {
            let builder = thread::Builder::new().name("resolve".to_owned()).stack_size(STACK_BYTES);
            let started = builder.spawn_scoped(scope, move || asking.ask(name, kind));
            started.map_err(|e| Error::system("starting a thread that asks a resolver", "clone", e))
        };
        let threads = types.iter().map(|&kind| start(kind)).collect::<Result<Vec<_>>>()?;
        // A fault of this program is no result of the resolver's.
        let ended = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|fault| panic::resume_unwind(fault)));
        ended.collect::<Result<Vec<_>>>()
    })?;
    Ok(ResolveResult { resolver, answers })
}

impl ResolveRequest {
    /// The request for one type.
    pub fn of(name: &str, kind: Type, resolver: Option<AskedResolver>, timeout_ns: u64) -> Self {
        let (name, types) = (name.to_owned(), Some(vec![kind]));
        Self { name, types, resolver, source: None, timeout_ns: Some(timeout_ns) }
    }
}

impl Resolver {
    /// The given resolver, or the first one of the system.
    ///
    /// # Errors
    /// `bad-params` where its port is none, `system` where the file cannot be read.
    pub fn chosen(asked: Option<AskedResolver>) -> Result<Self> {
        if let Some(AskedResolver { address, port }) = asked {
            return Ok(Self { address, port: limits::port(port.unwrap_or(DEFAULT_PORT))?, scope_id: 0 });
        }
        let Listed { address, zone } = listed()?.swap_remove(0);
        let index = |zone: String| if_nametoindex(zone.as_str()).ok().or_else(|| zone.parse().ok());
        Ok(Self { address, port: DEFAULT_PORT, scope_id: zone.and_then(index).unwrap_or(0) })
    }
}

/// The resolvers of this machine. At least one.
///
/// # Errors
/// `system` where the file cannot be read.
pub fn system_resolvers() -> Result<Vec<IpAddr>> {
    Ok(listed()?.into_iter().map(|resolver| resolver.address).collect())
}

fn listed() -> Result<Vec<Listed>> {
    let text = match std::fs::read(resolv_conf::PATH) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(Error::system(format!("reading the resolvers in {}", resolv_conf::PATH), "read", error));
        }
    };
    Ok(resolv_conf::resolvers(&text))
}

/// The way of asking.
struct Asking {
    resolver: Resolver,
    source: Option<LocalAddress>,
    timeout_ns: u64,
}

/// The state of a question.
struct Exchange {
    question: Question,
    begun_ns: u64,
    end_ns: u64,
    asked: u64,
    truncated: bool,
    strays: u64,
}

impl Asking {
    fn peer(&self) -> SocketAddr {
        let Resolver { address, port, scope_id } = self.resolver;
        match address {
            IpAddr::V6(six) if scope_id != 0 => SocketAddrV6::new(six, port, 0, scope_id).into(),
            address => local::peer(address, port, self.source),
        }
    }

    fn ask(&self, name: &Name, kind: Type) -> Result<ResolveAnswer> {
        // RFC 5452 section 4.3.
        let id = random::secret().map_err(|e| Error::system("choosing the number of a question", "read", e))?;
        let question = Question::new(u16::from_ne_bytes(id), name, kind).map_err(Error::bad_params)?;
        let begun_ns = clock::monotonic_ns();
        let end_ns = begun_ns.saturating_add(self.timeout_ns);
        let mut exchange = Exchange { question, begun_ns, end_ns, asked: 0, truncated: false, strays: 0 };
        let mut answered = self.by_udp(&mut exchange)?;
        if matches!(&answered, Ok(Some(answer)) if answer.is_format_error()) {
            exchange.question = exchange.question.without_edns().map_err(Error::bad_params)?;
            // Where nothing better comes, that was the answer.
            answered = self.by_udp(&mut exchange)?.or(answered);
        }
        if let Ok(None) = answered {
            exchange.truncated = true;
            answered = self.by_tcp(&mut exchange)?;
        }
        let elapsed_ns = clock::monotonic_ns() - begun_ns;
        let (ending, answer) = match answered {
            Ok(Some(answer)) => (Ending::of(Outcome::Answered), Some(answer)),
            Ok(None) => (Ending::because(Outcome::Protocol, "a truncated answer by TCP"), None),
            Err(ending) => (ending, None),
        };
        let elapsed_ns = (ending.outcome != Outcome::Silence).then_some(elapsed_ns);
        let Exchange { asked, truncated, strays, begun_ns, .. } = exchange;
        Ok(ResolveAnswer { kind, begun_ns, ending, elapsed_ns, asked, truncated, strays, answer })
    }

    /// The answer by UDP; absent where it is truncated.
    fn by_udp(&self, exchange: &mut Exchange) -> Result<std::result::Result<Option<Answer>, Ending>> {
        let kind = (SocketType::DGRAM, Protocol::UDP);
        let socket = match local::open(self.resolver.address, kind, self.source, 0)? {
            Ok(socket) => socket,
            Err(error) => return Ok(Err(Ending::unsent(&error))),
        };
        let _ = packet_errors::enable(&socket, self.resolver.address.is_ipv6());
        // Only the resolver's datagrams are received.
        if let Err(error) = socket.connect(&self.peer().into()) {
            return Ok(Err(Ending::unsent(&error)));
        }
        let (mut next_ns, mut interval_ns) = (exchange.begun_ns, FIRST_INTERVAL_NS);
        let mut buffer = vec![0; MAX_MESSAGE_BYTES];
        for _ in 0..MAX_MESSAGES {
            let now_ns = clock::monotonic_ns();
            if now_ns >= exchange.end_ns {
                return Ok(Err(Ending::of(Outcome::Silence)));
            }
            if now_ns >= next_ns {
                if let Err(error) = socket.send(&exchange.question.message) {
                    return Ok(Err(failed(&socket, &error, exchange.asked)));
                }
                exchange.asked += 1;
                next_ns = now_ns + interval_ns;
                interval_ns *= 2;
            }
            if !wait_for(&socket, PollFlags::POLLIN, next_ns.min(exchange.end_ns)) {
                continue;
            }
            let received = (&socket).read(&mut buffer);
            let bytes = match received {
                Ok(bytes) => &buffer[..bytes],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Ok(Err(failed(&socket, &error, exchange.asked))),
            };
            match exchange.question.verdict(bytes, false) {
                Verdict::Answer(answer) => return Ok(Ok(Some(answer))),
                Verdict::Truncated => return Ok(Ok(None)),
                Verdict::Other => exchange.strays += 1,
                Verdict::Malformed(reason) => return Ok(Err(Ending::because(Outcome::Protocol, reason))),
            }
        }
        Ok(Err(Ending::because(Outcome::Protocol, format!("{MAX_MESSAGES} messages, and no answer among them"))))
    }

    /// The answer by TCP (RFC 7766).
    fn by_tcp(&self, exchange: &mut Exchange) -> Result<std::result::Result<Option<Answer>, Ending>> {
        let left_ns = exchange.end_ns.saturating_sub(clock::monotonic_ns());
        let socket = match stream::connect(self.peer(), self.source, left_ns)?.socket {
            Ok(socket) => socket,
            Err(ending) => return Ok(Err(ending)),
        };
        socket
            .set_nonblocking(false)
            .map_err(|e| Error::system("letting a connection to a resolver block", "fcntl", e))?;
        exchange.asked += 1;
        let message = match framed(socket.into(), &exchange.question.message, exchange.end_ns) {
            Ok(message) => message,
            Err(error) => return Ok(Err(Ending::of_error(&error))),
        };
        Ok(match exchange.question.verdict(&message, true) {
            Verdict::Answer(answer) => Ok(Some(answer)),
            Verdict::Truncated => Ok(None),
            Verdict::Other => Err(Ending::because(Outcome::Protocol, "the answer to another question")),
            Verdict::Malformed(reason) => Err(Ending::because(Outcome::Protocol, reason)),
        })
    }
}

/// The end of an exchange by an error of its socket.
fn failed(socket: &Socket, error: &io::Error, asked: u64) -> Ending {
    match last_failure(socket) {
        Some((icmp, meaning)) => Ending::by_icmp(icmp, meaning),
        None if asked == 0 => Ending::unsent(error),
        None => Ending::of_error(error),
    }
}

/// Sends a message after its length, and reads one.
fn framed(mut stream: TcpStream, question: &[u8], end_ns: u64) -> io::Result<Vec<u8>> {
    let mut message = (question.len() as u16).to_be_bytes().to_vec();
    message.extend_from_slice(question);
    limit(&stream, end_ns)?;
    stream.write_all(&message)?;
    let mut length = [0; 2];
    read_whole(&mut stream, &mut length, end_ns)?;
    let mut answer = vec![0; u16::from_be_bytes(length).into()];
    read_whole(&mut stream, &mut answer, end_ns)?;
    Ok(answer)
}

fn read_whole(stream: &mut TcpStream, mut buffer: &mut [u8], end_ns: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        limit(stream, end_ns)?;
        match stream.read(buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => buffer = &mut buffer[bytes..],
        }
    }
    Ok(())
}

/// Has the next call wait no longer than until that time.
fn limit(stream: &TcpStream, end_ns: u64) -> io::Result<()> {
    let left_ns = end_ns.saturating_sub(clock::monotonic_ns());
    if left_ns == 0 {
        return Err(io::Error::from_raw_os_error(libc::ETIMEDOUT));
    }
    // A time of less than a microsecond would be none.
    let left = Some(Duration::from_nanos(left_ns.max(1_000)));
    stream.set_read_timeout(left)?;
    stream.set_write_timeout(left)
}
