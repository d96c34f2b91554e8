//! The answering side of `udp-rr`.

use std::net::{SocketAddr, UdpSocket};

use nix::errno::Errno;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};
use socket2::SockRef;

use super::{NAME, Settings, pause};
use crate::cancel::Cancel;
use crate::datagram::{HEADER_BYTES, Header, Phase};
use crate::datagram_socket::{self, is_momentary};
use crate::session::{Endpoint, Server};
use crate::socket::GrantedBuffers;
use crate::strays::Strays;
use crate::workloads::guard::Guard;
use crate::workloads::opening::{self, Begins};
use crate::workloads::receiving::{Receiver, receive_until_ordered};
use crate::workloads::server_span::{QUIET, ServerSpan};
use crate::workloads::tcp::io::pattern;
use crate::workloads::thread_server::{Order, ThreadServer};
use crate::{Error, Result};

pub fn serve(endpoint: &Endpoint, settings: Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let socket = datagram_socket::udp(endpoint.address, settings.buffers, settings.df)?;
    datagram_socket::remove_receive_patience(&socket)?;
    if settings.busy_poll {
        datagram_socket::never_wait(&socket)?;
    }
    let port = datagram_socket::local_port(&socket)?;
    let (socket, endpoint) = (UdpSocket::from(socket), endpoint.clone());
    ThreadServer::start(NAME, port, cancel, move |control| {
        let opened = opening::meet(&socket, &endpoint, Begins::Client, control)?;
        let answering = Answering {
            socket,
            endpoint: opened.endpoint,
            message_bytes: settings.message_bytes,
            busy_poll: settings.busy_poll,
            request: vec![0; settings.message_bytes + 1],
            answer: pattern(settings.response_bytes),
            transactions: 0,
            unanswered: 0,
            strays: opened.strays,
            idle_since_ns: None,
            order: None,
            span: ServerSpan::start()?,
            // It wakes this thread after a silence of one to two times that.
            guard: Guard::start(QUIET, control.stop())?,
        };
        receive_until_ordered(answering, control)
    })
}

struct Answering {
    socket: UdpSocket,
    endpoint: Endpoint,
    message_bytes: usize,
    busy_poll: bool,
    /// A byte longer than a request may be, so that a longer one is seen as such.
    request: Vec<u8>,
    answer: Vec<u8>,
    transactions: u64,
    /// Requests whose answer could not be sent.
    unanswered: u64,
    strays: u64,
    /// Time since which nothing has come, where it asks again and again.
    idle_since_ns: Option<u64>,
    /// The order to finish.
    order: Option<Order>,
    span: ServerSpan,
    guard: Guard,
}

impl Answering {
    #[inline]
    fn take(&mut self, bytes: usize, from: SocketAddr) {
        let is_of_the_peer = from.ip() == self.endpoint.peer && bytes == self.message_bytes;
        let header = Header::decode(&self.request).filter(|header| header.token == self.endpoint.token.short());
        let Some(header) = header.filter(|_| is_of_the_peer) else {
            self.strays += 1;
            return;
        };
        if let (Some(head), Some(asked)) =
            (self.answer.first_chunk_mut::<HEADER_BYTES>(), self.request.first_chunk::<HEADER_BYTES>())
        {
            *head = *asked;
        }
        let is_sent = self.socket.send_to(&self.answer, from).is_ok();
        self.span.go_on();
        if header.phase == Phase::WarmUp {
            return;
        }
        if !is_sent {
            self.unanswered += 1;
            return;
        }
        self.transactions += 1;
        if self.transactions == 1 {
            self.span.begin();
        }
    }
}

impl Receiver for Answering {
    type Tally = ServerResult;

    #[inline]
    fn receive(&mut self) -> Result<bool> {
        if self.receive_ready()? {
            self.guard.note_progress();
            self.idle_since_ns = None;
            return Ok(true);
        }
        if !self.busy_poll {
            return Ok(false);
        }
        let now_ns = clock::monotonic_ns();
        let idle_ns = now_ns - *self.idle_since_ns.get_or_insert(now_ns);
        if idle_ns < QUIET.as_nanos() as u64 {
            pause(idle_ns);
            return Ok(true);
        }
        // To ask on would only heat the machine.
        self.wait();
        Ok(false)
    }

    /// Answers a request, for which it waits until it is to finish, unless it asks again and again.
    #[inline]
    fn receive_ready(&mut self) -> Result<bool> {
        match self.socket.recv_from(&mut self.request) {
            Ok((bytes, from)) => {
                self.take(bytes, from);
                Ok(true)
            }
            Err(e) if is_momentary(e.raw_os_error().map_or(Errno::UnknownErrno, Errno::from_raw)) => Ok(false),
            Err(e) => Err(Error::system(format!("receiving requests of {NAME}"), "recvfrom", e)),
        }
    }

    fn wait(&mut self) -> bool {
        datagram_socket::wait_for_datagram(&self.socket, QUIET)
    }

    fn note_silence(&mut self) {
        self.span.note_quiet();
    }

    /// The client has its result by now: what it has not asked is not coming, and what it has asked is there.
    fn note_order(&mut self, order: &Order) -> Result<()> {
        self.order = Some(*order);
        datagram_socket::never_wait(&SockRef::from(&self.socket))
    }

    fn is_over(&mut self, is_empty: bool) -> bool {
        is_empty || self.order.is_some_and(|order| order.is_overdue(clock::monotonic_ns()))
    }

    fn tally(self) -> Result<ServerResult> {
        Ok(ServerResult {
            transactions: self.transactions,
            unanswered: self.unanswered,
            strays: Strays::of_datagrams(self.strays),
            socket: GrantedBuffers::of(&SockRef::from(&self.socket)),
            cpu: self.span.end(),
        })
    }
}

/// The server's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerResult {
    transactions: u64,
    /// Requests whose answer the kernel did not send.
    unanswered: u64,
    strays: Strays,
    socket: GrantedBuffers,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<cpu::Span>,
}
