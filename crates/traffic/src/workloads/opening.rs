//! The opening of a flow of datagrams to a server that does not know its peer: the ends find each other by the echo of
//! a cookie.

use std::io::IoSliceMut;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use nix::sys::socket::{MsgFlags, SockaddrStorage, recvmsg};
use sixbench_measure::clock;
use socket2::{SockRef, Socket};

use super::thread_server::Control;
use crate::cancel::{Cancel, PATIENCE};
use crate::cookie::{COOKIE_BYTES, Doorkeeper, Kind, Message, Verdict};
use crate::datagram::HEADER_BYTES;
use crate::datagram_socket::{self, wait_for_datagram};
use crate::df::Df;
use crate::error::timeout;
use crate::session::Endpoint;
use crate::socket::Buffers;
use crate::{Result, error_queue};

/// The first wait for an answer; each is twice the one before.
const FIRST_WAIT_NS: u64 = 100_000_000;
const LONGEST_WAIT_NS: u64 = 1_000_000_000;
/// Longest wait for a welcome.
const TIMEOUT_NS: u64 = 5_000_000_000;
/// A server that has to finish waits this long for a client that never came.
const FINISH_PATIENCE_NS: u64 = 2_000_000_000;

/// The side that sends the first datagram after the exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// The client; its datagram is left to be received.
    Client,
    /// This side, as soon as it may.
    Server,
}

/// The result of waiting at the door.
pub struct Opened {
    /// The endpoint, with the peer's address and port.
    pub endpoint: Endpoint,
    /// Datagrams that were not of the exchange.
    pub strays: u64,
}

/// The server's side: gives out cookies until one comes back, and connects the socket to where it came from. A server
/// that knows its peer and only listens need not do so, and is open at once.
pub fn meet(socket: &impl AsFd, endpoint: &Endpoint, begins: Begins, control: &Control) -> Result<Opened> {
    let mut opened = Opened { endpoint: endpoint.clone(), strays: 0 };
    if begins == Begins::Client && !endpoint.is_open() {
        return Ok(opened);
    }
    let door = Doorkeeper::new(endpoint.token.short())?;
    let mut peer = None;
    loop {
        control.check()?;
        check_order(control, endpoint)?;
        let Some((bytes, from)) = peek(socket, PATIENCE) else { continue };
        if peer == Some(from) && Message::decode(&bytes, endpoint.token.short()).is_none() {
            return Ok(opened);
        }
        discard(socket);
        match door.take(&bytes, from) {
            _ if peer.is_some_and(|peer| peer != from) || !endpoint.admits(from.ip()) => opened.strays += 1,
            Verdict::Stray => opened.strays += 1,
            Verdict::Answer(cookie) => answer(socket, &cookie, from),
            Verdict::Admit(welcome) => {
                datagram_socket::connect(socket, from)?;
                peer = Some(from);
                (opened.endpoint.peer, opened.endpoint.port) = (from.ip(), from.port());
                answer(socket, &welcome, from);
                if begins == Begins::Server {
                    return Ok(opened);
                }
            }
        }
    }
}

/// A client's UDP socket: connected to the server, which takes what comes from here. Where `df` is not clear, errors
/// are asked for.
pub fn connected(endpoint: &Endpoint, buffers: Buffers, df: Df, cancel: &Cancel) -> Result<Socket> {
    let socket = datagram_socket::udp(endpoint.address, buffers, df)?;
    if df != Df::Clear {
        error_queue::ask_for_errors(&socket, endpoint.address.ip())?;
    }
    datagram_socket::connect(&socket, (endpoint.peer, endpoint.port))?;
    if endpoint.cookie {
        ask(&socket, endpoint, || cancel.check())?;
    }
    Ok(socket)
}

/// The client's side, on a socket that is connected to the server: returns when the server takes what comes from here.
/// Other datagrams that came meanwhile are left to be received.
pub fn ask(socket: &impl AsFd, endpoint: &Endpoint, check: impl Fn() -> Result<()>) -> Result<()> {
    let mut message = Message { token: endpoint.token.short(), cookie: [0; COOKIE_BYTES], kind: Kind::Ask };
    let started_ns = clock::monotonic_ns();
    let (mut wait_ns, mut again_ns) = (FIRST_WAIT_NS, started_ns);
    loop {
        check()?;
        let now_ns = clock::monotonic_ns();
        if now_ns - started_ns >= TIMEOUT_NS {
            let doing = format!("asking {} port {} for a cookie by UDP", endpoint.peer, endpoint.port);
            return Err(timeout(doing, TIMEOUT_NS));
        }
        if now_ns >= again_ns {
            // A datagram that cannot be sent is lost; it is sent again.
            let _ = SockRef::from(socket).send(&message.encode());
            again_ns = now_ns + wait_ns;
            wait_ns = (2 * wait_ns).min(LONGEST_WAIT_NS);
        }
        let patience = PATIENCE.min(Duration::from_nanos(again_ns.saturating_sub(now_ns)));
        let Some((bytes, _)) = peek(socket, patience) else { continue };
        match Message::decode(&bytes, endpoint.token.short()) {
            None if message.kind == Kind::Echo => return Ok(()),
            Some(Message { cookie, kind: Kind::Cookie, .. }) => {
                discard(socket);
                if message.kind == Kind::Ask {
                    message = Message { cookie, kind: Kind::Echo, ..message };
                    (wait_ns, again_ns) = (FIRST_WAIT_NS, 0);
                }
            }
            Some(Message { cookie, kind: Kind::Welcome, .. }) if cookie == message.cookie => {
                discard(socket);
                return Ok(());
            }
            _ => discard(socket),
        }
    }
}

fn check_order(control: &Control, endpoint: &Endpoint) -> Result<()> {
    let Some(order) = control.order() else { return Ok(()) };
    let now_ns = clock::monotonic_ns();
    let waited_ns = now_ns.saturating_sub(order.given_ns);
    if waited_ns < FINISH_PATIENCE_NS && !order.is_overdue(now_ns) {
        return Ok(());
    }
    let doing = format!("waiting at {} for a client that echoes a cookie", endpoint.address);
    Err(timeout(doing, waited_ns))
}

/// The next datagram, which stays in the socket, with all its bytes where it may be of the exchange; nothing where none
/// comes in that time.
fn peek(socket: &impl AsFd, patience: Duration) -> Option<(Vec<u8>, SocketAddr)> {
    if !wait_for_datagram(socket, patience) {
        return None;
    }
    let mut buffer = [0; HEADER_BYTES + 1];
    let mut parts = [IoSliceMut::new(&mut buffer)];
    let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
    let Ok(received) = recvmsg::<SockaddrStorage>(socket.as_fd().as_raw_fd(), &mut parts, None, flags) else {
        // An ICMP error about what was sent: it makes one call fail, and may be in the queue of errors.
        while error_queue::next(socket).is_some() {}
        return None;
    };
    let (bytes, from) = (received.bytes, received.address?);
    let from = match (from.as_sockaddr_in(), from.as_sockaddr_in6()) {
        (Some(from), _) => SocketAddr::new(from.ip().into(), from.port()),
        (_, Some(from)) => SocketAddr::V6((*from).into()),
        _ => return None,
    };
    Some((buffer[..bytes.min(buffer.len())].to_vec(), from))
}

fn discard(socket: &impl AsFd) {
    let mut byte = [0];
    let mut parts = [IoSliceMut::new(&mut byte)];
    // It is there: it was looked at just now.
    let _ = recvmsg::<SockaddrStorage>(socket.as_fd().as_raw_fd(), &mut parts, None, MsgFlags::MSG_DONTWAIT);
}

fn answer(socket: &impl AsFd, message: &Message, to: SocketAddr) {
    // An answer that cannot be sent is lost; the client asks again.
    let _ = SockRef::from(socket).send_to(&message.encode(), &to.into());
}
