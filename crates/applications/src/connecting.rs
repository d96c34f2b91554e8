//! Connections of TCP between the trial's addresses.

use std::io;
use std::net::SocketAddr;

use nix::sys::socket::{setsockopt, sockopt};
use sixbench_traffic::{Endpoint, Error, Result};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Connections that wait to be accepted, at most.
const BACKLOG: i32 = 1_024;

/// A connection from the endpoint's address to its peer. It sends at once, as clients of TLS do.
pub async fn connect(endpoint: &Endpoint) -> io::Result<TcpStream> {
    let domain = if endpoint.address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    // The port is chosen in connect, where only the 4-tuple has to be free.
    setsockopt(&socket, sockopt::IpBindAddressNoPort, &true).map_err(io::Error::from)?;
    socket.bind(&endpoint.address.at(0).into())?;
    socket.set_tcp_nodelay(true)?;
    let socket = TcpSocket::from_std_stream(socket.into());
    socket.connect(SocketAddr::new(endpoint.peer, endpoint.port)).await
}

/// A socket that listens at the endpoint's address, and its port.
pub fn listen(endpoint: &Endpoint) -> Result<(std::net::TcpListener, u16)> {
    let socket = sixbench_traffic::socket::open(endpoint.address.ip(), Type::STREAM, Some(Protocol::TCP))?;
    sixbench_traffic::socket::bind(&socket, endpoint.address, 0)?;
    let doing = || format!("listening on {}", endpoint.address);
    socket.listen(BACKLOG).map_err(|e| Error::system(doing(), "listen", e))?;
    socket.set_nonblocking(true).map_err(|e| Error::system(doing(), "fcntl", e))?;
    let listener = std::net::TcpListener::from(socket);
    let port = listener.local_addr().map_err(|e| Error::system(doing(), "getsockname", e))?.port();
    Ok((listener, port))
}

/// The same socket for this thread's runtime.
pub fn listener(listener: std::net::TcpListener) -> Result<TcpListener> {
    TcpListener::from_std(listener).map_err(|e| Error::system("listening", "epoll_ctl", e))
}

/// Closes a connection by a reset, so that nothing of it is left.
pub fn reset(stream: &TcpStream) {
    // One that cannot be reset is closed when it is dropped.
    let _ = socket2::SockRef::from(stream).set_linger(Some(std::time::Duration::ZERO));
}
