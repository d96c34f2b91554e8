//! The client's part in opening a connection.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use sixbench_measure::clock;
use socket2::{Protocol, SockAddr, Socket, Type};

use super::{Preamble, TcpOptions, io as tcp_io};
use crate::cancel::{PATIENCE, Stop};
use crate::error::{cancelled, timeout};
use crate::{Endpoint, Error, Result, socket};

/// Connects with these options from the endpoint's address to its peer. Returns the connection, whose calls give up
/// after [`PATIENCE`], and how long the handshake took.
pub fn connect(endpoint: &Endpoint, options: &TcpOptions, timeout_ns: u64, stop: &Stop) -> Result<(TcpStream, u64)> {
    let socket = socket::open(endpoint.address.ip(), Type::STREAM, Some(Protocol::TCP))?;
    options.apply(&socket)?;
    set_patience(&socket, timeout_ns)?;
    bind_without_port(&socket, endpoint)?;
    let peer = SocketAddr::new(endpoint.peer, endpoint.port);
    let started_ns = clock::monotonic_ns();
    let deadline_ns = started_ns.saturating_add(timeout_ns);
    match wait_for_connect(&socket, &peer.into(), deadline_ns, stop) {
        Ok(()) => {}
        Err(_) if stop.is_raised() => return Err(cancelled()),
        Err(e) if e.kind() == io::ErrorKind::TimedOut => {
            return Err(timeout(format!("connecting to {peer}"), timeout_ns));
        }
        Err(e) => return Err(Error::system(format!("connecting to {peer}"), "connect", e)),
    }
    let connect_ns = clock::monotonic_ns() - started_ns;
    set_patience(&socket, u64::MAX)?;
    Ok((socket.into(), connect_ns))
}

/// [`connect`], then the preamble.
pub fn connect_with_preamble(
    endpoint: &Endpoint,
    options: &TcpOptions,
    preamble: Preamble,
    timeout_ns: u64,
    stop: &Stop,
) -> Result<(TcpStream, u64)> {
    let (mut stream, connect_ns) = connect(endpoint, options, timeout_ns, stop)?;
    let doing = format!("opening {:?} stream {} to {}", preamble.role, preamble.index, endpoint.peer);
    tcp_io::send_all(&mut stream, &preamble.emit(&endpoint.token), timeout_ns, stop)
        .map_err(|e| e.explain(&doing, timeout_ns))?;
    Ok((stream, connect_ns))
}

/// Binds the address and leaves the port to connect, which then only needs the 4-tuple to be free (since Linux 4.2).
pub fn bind_without_port(socket: &Socket, endpoint: &Endpoint) -> Result<()> {
    setsockopt(socket, sockopt::IpBindAddressNoPort, &true).map_err(|e| {
        Error::system(format!("binding to {}", endpoint.address), "setsockopt(IP_BIND_ADDRESS_NO_PORT)", e)
    })?;
    socket::bind(socket, endpoint.address, 0)
}

/// Makes blocking calls return after [`PATIENCE`], or earlier where no more time is left.
fn set_patience(socket: &Socket, left_ns: u64) -> Result<()> {
    // A timeout under a microsecond would be none at all.
    let patience = PATIENCE.min(Duration::from_nanos(left_ns.max(1_000)));
    socket
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| socket.set_write_timeout(Some(patience)))
        .map_err(|e| Error::system("setting the timeouts of a connection", "setsockopt(SO_RCVTIMEO, SO_SNDTIMEO)", e))
}

/// A blocking connect on a socket with a send timeout: each time that passes, connect is called again to wait on.
/// `TimedOut` at the deadline; a stop ends it too.
pub fn wait_for_connect(socket: &Socket, peer: &SockAddr, deadline_ns: u64, stop: &Stop) -> io::Result<()> {
    loop {
        match socket.connect(peer) {
            Ok(()) => return Ok(()),
            Err(e) if is_in_progress(&e) => {
                if stop.is_raised() || clock::monotonic_ns() >= deadline_ns {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            // It was established between two waits.
            Err(e) if e.raw_os_error() == Some(libc::EISCONN) => return Ok(()),
            Err(e) => return Err(e),
        }
    }
}

/// True if a connection is not established yet.
pub fn is_in_progress(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EALREADY | libc::EINTR))
}
