//! Sends echo requests when they are due and takes the answers, in one thread: the kernel notes the time of each
//! answer, so sending disturbs no measurement.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt};
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock::{self, PreciseTimers};
use sixbench_packet::ReceiveBatch;
use socket2::{SockAddr, Socket};

use super::account::{Account, AccountTally, Received};
use super::packet::{self, ECHO_HEADER_BYTES, Mark, Requests};
use super::{NAME, Settings};
use crate::cancel::Cancel;
use crate::datagram::Phase;
use crate::datagram_socket::{self, is_momentary};
use crate::df::Df;
use crate::session::Endpoint;
use crate::socket::Buffers;
use crate::workloads::pacing::{Flow, Interval, Pace, SendFailures};
use crate::workloads::sending::{Sender, SentTally, send_phases};
use crate::workloads::tcp::io::pattern;
use crate::{Error, Result, sys};

/// `linux/icmp.h`, at level `SOL_RAW`; and `linux/icmpv6.h`.
const ICMP_FILTER: i32 = 1;
const SOL_RAW: i32 = 255;
const ICMPV6_FILTER: i32 = 1;
/// Room for answers that come while this thread waits for a core.
const RCVBUF_BYTES: usize = 4 << 20;
/// Messages taken by one system call.
const AT_ONCE: usize = 8;
/// The longest header that IPv4 packets come with.
const MAX_IPV4_HEADER_BYTES: usize = 60;
/// Room for an ICMP error with its quote (RFC 4443 section 2.4 (c): up to the IPv6 minimum MTU).
const MIN_BUFFER_BYTES: usize = 1280;

pub fn run(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<ClientResult> {
    let socket = open(endpoint, settings.df)?;
    let token = endpoint.token.short();
    // Two pings in one namespace differ in their tokens; what has the same identifier by chance has another token.
    let identifier = (token as u16) ^ std::process::id() as u16;
    let buffer_bytes = MAX_IPV4_HEADER_BYTES + ECHO_HEADER_BYTES + settings.payload_bytes + 1;
    let _timers = PreciseTimers::new();
    let mut pinging = Pinging {
        socket: &socket,
        endpoint,
        to: SockAddr::from(SocketAddr::new(endpoint.peer, 0)),
        settings,
        cancel,
        identifier,
        requests: Requests::new(endpoint.peer.is_ipv4(), identifier, pattern(settings.payload_bytes)),
        batch: ReceiveBatch::new(AT_ONCE, buffer_bytes.max(MIN_BUFFER_BYTES)),
        account: Account::new(token, settings.timeout_ns, 0),
        failures: SendFailures::default(),
        doing: format!("sending echo requests to {}", endpoint.peer),
        first: 0,
    };
    let schedule = Interval::of_ns(settings.interval_ns).of_payload_bytes(settings.payload_bytes);
    let flow = |count, duration_ns| Flow::new(Pace::Scheduled(Box::new(schedule.clone())), 1, count, duration_ns);
    let warm_up = (settings.warmup_ns > 0).then(|| flow(None, Some(settings.warmup_ns)));
    let measured = flow(settings.limit.count(), settings.limit.duration_ns());
    let mut sent = send_phases(&mut pinging, warm_up, measured)?;
    Ok(ClientResult {
        account: pinging.account.tally(sent.flow.sent()),
        refused: (settings.df != Df::Clear).then(|| sent.flow.refused()),
        sent: sent.tally(&pinging.failures),
    })
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    #[serde(flatten)]
    sent: SentTally,
    #[serde(flatten)]
    account: AccountTally,
    /// Requests that the kernel refused for their size; absent where DF is clear.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<u64>,
}

struct Pinging<'a> {
    socket: &'a Socket,
    endpoint: &'a Endpoint,
    to: SockAddr,
    settings: &'a Settings,
    cancel: &'a Cancel,
    identifier: u16,
    requests: Requests,
    batch: ReceiveBatch,
    account: Account,
    failures: SendFailures,
    doing: String,
    /// Number of the first measured request.
    first: u64,
}

impl Sender for Pinging<'_> {
    fn send(&mut self, _: Phase, flow: &mut Flow, _: u64) -> Result<()> {
        let now_ns = clock::monotonic_ns();
        let mark = Mark {
            token: self.endpoint.token.short(),
            number: self.first + flow.sent(),
            sent_realtime_ns: clock::realtime_ns(),
        };
        match self.socket.send_to(self.requests.request(mark), &self.to) {
            Ok(_) => {
                self.failures.end();
                flow.note_sent(1, now_ns);
            }
            Err(e) => {
                let errno = e.raw_os_error().map_or(Errno::UnknownErrno, Errno::from_raw);
                if self.settings.df != Df::Clear && errno == Errno::EMSGSIZE {
                    flow.refuse();
                } else if self.failures.note(errno, now_ns, &self.doing)? {
                    flow.skip();
                }
            }
        }
        Ok(())
    }

    fn wait_until(&mut self, due_ns: u64) {
        datagram_socket::wait_until(self.socket, due_ns);
    }

    fn check(&self) -> Result<()> {
        self.cancel.check()
    }

    fn take_answers(&mut self, flow: &Flow) -> Result<()> {
        match self.batch.receive_ready(self.socket.as_fd()) {
            Ok(_) => {}
            Err(errno) if is_momentary(errno) => return Ok(()),
            Err(e) => return Err(Error::system(format!("receiving answers of {NAME}"), "recvmmsg", e)),
        }
        for datagram in self.batch.datagrams() {
            let times = match datagram.notes.realtime_ns {
                Some(ns) => Received::Kernel(ns),
                None => Received::User(clock::realtime_ns()),
            };
            let peer = self.endpoint.peer;
            let message = packet::parse(datagram.bytes, peer, self.identifier, self.settings.payload_bytes);
            // An error may come from any router, an answer from the peer only.
            let message =
                message.filter(|message| matches!(message, packet::Message::Error(_)) || datagram.source == Some(peer));
            self.account.enter(message, datagram.notes.hop_limit, times, flow.sent());
        }
        Ok(())
    }

    fn forget(&mut self, warmup_sent: u64) {
        self.first = warmup_sent;
        self.failures.forget();
        self.account = Account::new(self.endpoint.token.short(), self.settings.timeout_ns, warmup_sent);
    }

    /// Waits until all are answered or the last one has had its time.
    fn drain(&mut self, flow: &Flow) -> Result<()> {
        let Some(last_ns) = flow.last_ns() else { return Ok(()) };
        let ends_ns = last_ns.saturating_add(self.settings.timeout_ns);
        loop {
            self.take_answers(flow)?;
            if self.account.has_all(flow.sent()) || clock::monotonic_ns() >= ends_ns {
                return Ok(());
            }
            self.cancel.check()?;
            datagram_socket::wait_until(self.socket, ends_ns);
        }
    }
}

/// A raw socket that gets only what [`packet::parse`] knows.
pub fn open(endpoint: &Endpoint, df: Df) -> Result<Socket> {
    let socket = datagram_socket::raw_icmp(
        endpoint.address,
        Buffers { rcvbuf_bytes: Some(RCVBUF_BYTES), ..Buffers::default() },
        df,
    )?;
    datagram_socket::note_receive_times(&socket)?;
    let types = packet::types_of_interest(endpoint.address.is_ipv4());
    // A set bit blocks the type (for ICMPv6: RFC 3542 section 3.2).
    let mut blocked = [u32::MAX; 8];
    for kind in types {
        blocked[usize::from(kind / 32)] &= !(1 << (kind % 32));
    }
    let (level, name) =
        if endpoint.address.is_ipv4() { (SOL_RAW, ICMP_FILTER) } else { (libc::IPPROTO_ICMPV6, ICMPV6_FILTER) };
    let bytes: Vec<u8> = blocked.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let length = if endpoint.address.is_ipv4() { 4 } else { bytes.len() };
    sys::set_socket_option_bytes(&socket, level, name, &bytes[..length])
        .map_err(|e| Error::system("choosing the ICMP messages to receive", "setsockopt(ICMP_FILTER)", e))?;
    if endpoint.address.is_ipv6() {
        setsockopt(&socket, sockopt::Ipv6RecvHopLimit, &true)
            .map_err(|e| Error::system("asking for hop limits", "setsockopt(IPV6_RECVHOPLIMIT)", e))?;
    }
    Ok(socket)
}
