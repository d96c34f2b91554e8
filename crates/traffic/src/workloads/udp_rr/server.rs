//! The answering side of `udp-rr`.

use std::net::{SocketAddr, UdpSocket};

use nix::errno::Errno;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};
use socket2::SockRef;

use super::{NAME, Settings, pause};
use crate::datagram::{HEADER_BYTES, Header, Phase};
use crate::datagram_socket::{self, is_momentary};
use crate::session::{Cancel, Endpoint, Server};
use crate::socket::GrantedBuffers;
use crate::strays::Strays;
use crate::workloads::guard::Guard;
use crate::workloads::opening::{self, Begins};
use crate::workloads::server_span::{QUIET, ServerSpan};
use crate::workloads::tcp::io::pattern;
use crate::workloads::thread_server::{Control, Order, ThreadServer};
use crate::{Error, Result};

pub fn serve(endpoint: &Endpoint, settings: Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let socket = datagram_socket::udp(endpoint.address, settings.buffers, settings.df)?;
    datagram_socket::remove_receive_patience(&socket)?;
    if settings.busy_poll {
        datagram_socket::never_wait(&socket)?;
    }
    let port = datagram_socket::local_port(&socket)?;
    let answering = Answering {
        socket: socket.into(),
        endpoint: endpoint.clone(),
        message_bytes: settings.message_bytes,
        busy_poll: settings.busy_poll,
        request: vec![0; settings.message_bytes + 1],
        answer: pattern(settings.response_bytes),
        transactions: 0,
        unanswered: 0,
        strays: 0,
        span: ServerSpan::start()?,
    };
    ThreadServer::start(NAME, port, cancel, move |control| answering.begin(control))
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
    span: ServerSpan,
}

impl Answering {
    fn begin(mut self, control: &Control) -> Result<ServerResult> {
        let opened = opening::meet(&self.socket, &self.endpoint, Begins::Client, control)?;
        (self.endpoint, self.strays) = (opened.endpoint, opened.strays);
        self.work(control)
    }

    fn work(mut self, control: &Control) -> Result<ServerResult> {
        // It wakes this thread after a silence of one to two times that.
        let guard = Guard::start(QUIET, control.stop())?;
        let mut idle_since_ns = None;
        loop {
            control.check()?;
            if let Some(order) = control.order() {
                return self.finish(order, control);
            }
            if self.receive()? {
                guard.note_progress();
                idle_since_ns = None;
                continue;
            }
            if self.busy_poll {
                let now_ns = clock::monotonic_ns();
                let idle_ns = now_ns - *idle_since_ns.get_or_insert(now_ns);
                if idle_ns < QUIET.as_nanos() as u64 {
                    pause(idle_ns);
                    continue;
                }
                // To ask on would only heat the machine.
                datagram_socket::wait_for_datagram(&self.socket, QUIET);
            }
            self.span.note_quiet();
        }
    }

    /// The client has its result by now: what it has not asked is not coming, and what it has asked is there.
    fn finish(mut self, order: &Order, control: &Control) -> Result<ServerResult> {
        datagram_socket::never_wait(&SockRef::from(&self.socket))?;
        while self.receive()? && !order.is_overdue(clock::monotonic_ns()) {
            control.check()?;
        }
        Ok(self.result())
    }

    /// Waits for a request and answers it; `false` where none came.
    #[inline]
    fn receive(&mut self) -> Result<bool> {
        match self.socket.recv_from(&mut self.request) {
            Ok((bytes, from)) => {
                self.take(bytes, from);
                Ok(true)
            }
            Err(e) if is_momentary(e.raw_os_error().map_or(Errno::UnknownErrno, Errno::from_raw)) => Ok(false),
            Err(e) => Err(Error::system(format!("receiving requests of {NAME}"), "recvfrom", e)),
        }
    }

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

    fn result(mut self) -> ServerResult {
        self.span.note_quiet();
        ServerResult {
            transactions: self.transactions,
            unanswered: self.unanswered,
            strays: Strays::of_datagrams(self.strays),
            socket: GrantedBuffers::of(&SockRef::from(&self.socket)),
            cpu: self.span.end(),
        }
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
