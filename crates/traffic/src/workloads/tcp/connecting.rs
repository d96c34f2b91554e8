//! A connection attempt that does not block.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;

use nix::sys::socket::{setsockopt, sockopt};
use sixbench_packet::LocalAddress;
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};

use super::connect::is_in_progress;
use super::options;
use crate::{Error, Result};

/// The addresses and the port of a connection, and its congestion control.
pub struct Route {
    domain: Domain,
    local: SockAddr,
    peer: SockAddr,
    /// The congestion control, where a new socket has another one.
    congestion: Option<String>,
}

impl Route {
    /// Fails where there are no sockets of that family.
    pub fn new(local: LocalAddress, peer: SocketAddr, congestion: &str) -> Result<Self> {
        let domain = if local.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        let new = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))
            .map_err(|e| Error::system("opening a socket", "socket", e))?;
        Ok(Self {
            domain,
            local: local.at(0).into(),
            peer: peer.into(),
            congestion: options::congestion_of(&new)
                .is_none_or(|name| name != congestion)
                .then(|| congestion.to_owned()),
        })
    }

    /// A socket for a connection, whose calls do not wait.
    pub fn open(&self) -> io::Result<TcpStream> {
        let socket = Socket::new(self.domain, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        // The port is chosen in connect, where only the 4-tuple has to be free.
        setsockopt(&socket, sockopt::IpBindAddressNoPort, &true).map_err(io::Error::from)?;
        socket.bind(&self.local)?;
        if let Some(name) = &self.congestion {
            socket.set_tcp_congestion(name.as_bytes())?;
        }
        Ok(socket.into())
    }

    /// Begins to connect, or goes on with it. Returns true if it is connected.
    pub fn connect(&self, stream: &impl AsFd) -> io::Result<bool> {
        match SockRef::from(stream).connect(&self.peer) {
            Err(e) if is_in_progress(&e) => Ok(false),
            Err(e) if e.raw_os_error() != Some(libc::EISCONN) => Err(e),
            _ => Ok(true),
        }
    }
}

/// The reason why it could not connect: an errno's name, or `timeout`.
pub fn reason(error: &io::Error) -> String {
    match error.raw_os_error() {
        _ if error.kind() == io::ErrorKind::TimedOut => "timeout".to_owned(),
        // The variants are named as the numbers are.
        Some(number) => format!("{:?}", nix::errno::Errno::from_raw(number)),
        None => error.kind().to_string(),
    }
}
