//! Sends probes of a size and a hop limit, and receives the answers: acknowledgements, and ICMP errors.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;
use sixbench_packet::ReceiveBatch;
use socket2::Socket;

use super::message::{Kind, MESSAGE_BYTES, Message, header_bytes};
use crate::cancel::Stop;
use crate::cookie::{Doorkeeper, Verdict};
use crate::datagram_socket;
use crate::df::Df;
use crate::error_queue::{self, IcmpError, Queued};
use crate::session::Endpoint;
use crate::socket::Buffers;
use crate::workloads::tcp::io::pattern;
use crate::{Error, Result};

/// Hop limit of all probes but those that are to expire on their way: the default of Linux, so that they live as long
/// as other packets do.
pub const HOP_LIMIT: u8 = 64;
/// The largest datagram that either family has.
const MAX_DATAGRAM_BYTES: usize = 65_535;
/// A call that fails for the errors of earlier probes is made again; so often, each of them can have had one.
const MAX_ATTEMPTS: usize = 100;

/// A UDP socket between two ends of a session, in one direction at a time: it probes, or it answers.
pub struct Prober {
    socket: Socket,
    address: IpAddr,
    peer: IpAddr,
    token: u64,
    stop: Stop,
    receive: ReceiveBatch,
    payload: Vec<u8>,
    number: u64,
    /// The hop limit that the socket is set to.
    hop_limit: Option<u8>,
    /// Events that were read while something else was to be done.
    waiting: VecDeque<Event>,
    /// The cost of all probes.
    pub spent: Spent,
    errors: BTreeMap<&'static str, u64>,
    strays: u64,
    answered: u64,
    /// True if the socket is connected to the peer's port.
    is_connected: bool,
    /// At a server that does not know its peer: it answers only addresses that have echoed a cookie.
    door: Option<Doorkeeper>,
}

/// The cost of probing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Spent {
    /// Packets that were sent.
    pub probes: u64,
    /// Their sizes together.
    pub probe_bytes: u64,
}

/// An answer to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Number of the probe; absent where an error quotes too little to tell.
    pub number: Option<u64>,
    /// The answer.
    pub what: What,
}

/// The kinds of answers to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It arrived, with this hop limit.
    Acknowledged { packet_bytes: u32, hop_limit: Option<u8> },
    /// Its hop limit was over.
    Expired { from: Option<IpAddr> },
    /// It was too big for a link with this MTU.
    TooBig { from: Option<IpAddr>, mtu_bytes: u32 },
}

/// The result of an attempt to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It has this number.
    Probe(u64),
    /// The kernel refused it: the MTU is this.
    Refused { mtu_bytes: Option<u32> },
}

impl Prober {
    /// The socket of a prober, bound to this port, or to one of the kernel's choice.
    pub fn open(endpoint: &Endpoint, port: u16) -> Result<Socket> {
        let socket = datagram_socket::udp_at(endpoint.address, port, Buffers::default(), Df::Clear)?;
        error_queue::ask_for_errors(&socket, endpoint.address.ip())?;
        datagram_socket::note_hop_limits(&socket, endpoint.address.ip())?;
        Ok(socket)
    }

    /// Answers by that socket. It is made in the thread that uses it.
    pub fn new(socket: Socket, endpoint: &Endpoint, stop: &Stop) -> Self {
        Self {
            socket,
            address: endpoint.address.ip(),
            peer: endpoint.peer,
            token: endpoint.token.short(),
            stop: stop.clone(),
            receive: ReceiveBatch::new(1, MAX_DATAGRAM_BYTES + 1),
            payload: Vec::new(),
            number: 0,
            hop_limit: None,
            waiting: VecDeque::new(),
            spent: Spent::default(),
            errors: BTreeMap::new(),
            strays: 0,
            answered: 0,
            is_connected: false,
            door: None,
        }
    }

    /// Connects to the peer's port. An answering socket does so by itself, to where the first probe comes from: behind
    /// a NAT that is no port that the peer would know.
    pub fn connect(&mut self, port: u16) -> Result<()> {
        datagram_socket::connect(&self.socket, (self.peer, port))?;
        self.is_connected = true;
        Ok(())
    }

    /// Answers this address from now on, and only where it has echoed a cookie.
    pub fn demand_cookie(&mut self, peer: IpAddr) -> Result<()> {
        (self.peer, self.door) = (peer, Some(Doorkeeper::new(self.token)?));
        Ok(())
    }

    /// True if it knows where to probe.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// True if the family is IPv4.
    pub fn is_ipv4(&self) -> bool {
        self.address.is_ipv4()
    }

    /// Sets the policy for fragmenting the probes, or the answers, from here on.
    pub fn set_df(&self, df: Df) -> Result<()> {
        df.apply(&self.socket, self.address)
    }

    /// The socket, for waiting on it together with something else.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Sends a probe of this size.
    pub fn send(&mut self, packet_bytes: u32, hop_limit: u8) -> Result<Sent> {
        self.set_hop_limit(hop_limit)?;
        let payload_bytes = packet_bytes.saturating_sub(header_bytes(self.is_ipv4())) as usize;
        let message = Message { token: self.token, number: self.number + 1, kind: Kind::Probe, packet_bytes };
        if self.payload.len() < payload_bytes {
            self.payload = pattern(payload_bytes);
        }
        let Some(payload) = self.payload.get_mut(..payload_bytes.max(MESSAGE_BYTES)) else {
            return Ok(Sent::Refused { mtu_bytes: None });
        };
        if let Some(head) = payload.first_chunk_mut::<MESSAGE_BYTES>() {
            *head = message.encode();
        }
        let mut last = None;
        for _ in 0..MAX_ATTEMPTS {
            match self.socket.send(&self.payload[..payload_bytes]) {
                Ok(_) => {
                    self.number += 1;
                    self.spent.probes += 1;
                    self.spent.probe_bytes += u64::from(packet_bytes);
                    return Ok(Sent::Probe(self.number));
                }
                Err(e) => {
                    self.stop.check()?;
                    let refused = self.read_errors();
                    if refused.is_some() {
                        return Ok(Sent::Refused { mtu_bytes: refused });
                    }
                    last = Some(e);
                }
            }
        }
        let error = last.unwrap_or_else(|| std::io::ErrorKind::Other.into());
        if error.raw_os_error() == Some(libc::EMSGSIZE) {
            return Ok(Sent::Refused { mtu_bytes: None });
        }
        Err(Error::system(format!("sending probes to {}", self.peer), "send", error))
    }

    /// The next answer to a probe, until then; nothing where there was none.
    pub fn wait(&mut self, until_ns: u64) -> Result<Option<Event>> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            self.stop.check()?;
            let is_over = clock::monotonic_ns() >= until_ns;
            self.read_errors();
            self.read_datagram()?;
            if self.waiting.is_empty() {
                if is_over {
                    return Ok(None);
                }
                datagram_socket::wait_until(&self.socket, until_ns);
            }
        }
    }

    /// Acknowledges the probes that are there.
    pub fn answer(&mut self) -> Result<()> {
        // A flood must not keep this from looking at anything else.
        for _ in 0..MAX_ATTEMPTS {
            self.read_errors();
            let Some((message, from_port, hop_limit)) = self.read_message()? else { return Ok(()) };
            if message.kind != Kind::Probe {
                continue;
            }
            if !self.is_connected {
                if self.door.is_some() {
                    self.strays += 1;
                    continue;
                }
                self.connect(from_port)?;
            }
            self.set_hop_limit(HOP_LIMIT)?;
            let answer = Message { kind: Kind::Acknowledgement { hop_limit }, ..message }.encode();
            // The error of an earlier one makes it fail once. What cannot be sent is lost, and the peer sees that.
            if self.socket.send(&answer).is_ok() || self.socket.send(&answer).is_ok() {
                self.answered += 1;
            }
        }
        Ok(())
    }

    /// Forgets the answers to probes so far: from here on only new ones count.
    pub fn clear(&mut self) -> Result<()> {
        self.read_errors();
        self.read_datagram()?;
        self.waiting.clear();
        Ok(())
    }

    /// ICMP errors by name: `errors` of the results.
    pub fn errors(&self) -> &BTreeMap<&'static str, u64> {
        &self.errors
    }

    /// Probes of the peer that were acknowledged.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// Datagrams that were not of this session.
    pub fn strays(&self) -> u64 {
        self.strays
    }

    fn open_to(&mut self, from: SocketAddr, verdict: Verdict) -> Result<()> {
        let answer = match verdict {
            Verdict::Stray => {
                self.strays += 1;
                return Ok(());
            }
            Verdict::Answer(cookie) => cookie,
            Verdict::Admit(welcome) => {
                if !self.is_connected {
                    self.connect(from.port())?;
                }
                welcome
            }
        };
        // An answer that cannot be sent is lost; the client asks again.
        let _ = self.socket.send_to(&answer.encode(), &from.into());
        Ok(())
    }

    fn set_hop_limit(&mut self, hop_limit: u8) -> Result<()> {
        if self.hop_limit == Some(hop_limit) {
            return Ok(());
        }
        let set = match self.address {
            IpAddr::V4(_) => self.socket.set_ttl_v4(hop_limit.into()),
            IpAddr::V6(_) => self.socket.set_unicast_hops_v6(hop_limit.into()),
        };
        set.map_err(|e| Error::system("setting the hop limit of probes", "setsockopt(TTL, UNICAST_HOPS)", e))?;
        self.hop_limit = Some(hop_limit);
        Ok(())
    }

    /// Takes the errors that are there; the MTU where this host refused a datagram.
    fn read_errors(&mut self) -> Option<u32> {
        let mut refused = None;
        while let Some(queued) = error_queue::next(&self.socket) {
            match queued {
                Queued::Refused { mtu_bytes } => refused = Some(mtu_bytes),
                Queued::Icmp(error) => self.take_error(&error),
            }
        }
        refused
    }

    fn take_error(&mut self, error: &IcmpError) {
        *self.errors.entry(error.name()).or_default() += 1;
        let what = match (error.name(), error.mtu_bytes) {
            ("time-exceeded", _) => What::Expired { from: error.from },
            (_, Some(mtu_bytes)) => What::TooBig { from: error.from, mtu_bytes },
            _ => return,
        };
        // A quote that is long enough and not ours is of an answer, or of nothing that we sent.
        let quoted = Message::quoted(&error.quote, self.token);
        if quoted.is_some() || error.quote.len() < MESSAGE_BYTES {
            self.waiting.push_back(Event { number: quoted.map(|(number, _)| number), what });
        }
    }

    fn read_datagram(&mut self) -> Result<()> {
        let Some((message, _, _)) = self.read_message()? else { return Ok(()) };
        let Kind::Acknowledgement { hop_limit } = message.kind else { return Ok(()) };
        if (1..=self.number).contains(&message.number) {
            let what = What::Acknowledged { packet_bytes: message.packet_bytes, hop_limit };
            self.waiting.push_back(Event { number: Some(message.number), what });
        }
        Ok(())
    }

    /// The next datagram of the session that is there, the port that it came from, and its hop limit.
    fn read_message(&mut self) -> Result<Option<(Message, u16, Option<u8>)>> {
        for _ in 0..MAX_ATTEMPTS {
            if self.receive.receive_ready(self.socket.as_fd()).is_err() {
                // Nothing is there, or an error that is in the queue.
                return Ok(None);
            }
            // The batch is of one datagram.
            let Some(datagram) = self.receive.datagrams().next() else { continue };
            let source = datagram.source.filter(|source| *source == self.peer);
            let from = source.map(|source| SocketAddr::new(source, datagram.source_port));
            let message = Message::decode(datagram.bytes, self.token);
            match (message, &self.door, from) {
                (Some(message), _, Some(from)) => return Ok(Some((message, from.port(), datagram.notes.hop_limit))),
                (None, Some(door), Some(from)) => {
                    let verdict = door.take(datagram.bytes, from);
                    self.open_to(from, verdict)?;
                }
                _ => self.strays += 1,
            }
            self.stop.check()?;
        }
        Ok(None)
    }
}
