//! The client's end: finds the server, and greets it.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

use crate::channel::Channel;
use crate::greeting::{self, Refusal};
use crate::key::Key;
use crate::tcp;
use crate::{Error, Result};

/// For finding, connecting and greeting together.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Which addresses of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Either.
    Any,
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Who is to be connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// A name or an address.
    pub host: String,
    /// Of the control connections.
    pub port: u16,
    /// The local address.
    pub bind: Option<IpAddr>,
    /// Which of the host's addresses.
    pub family: Family,
}

/// Connects to the first of the host's addresses that answers.
///
/// # Errors
/// `System` where none can be reached, `Peer` where it is no agent, or has another key.
pub fn connect(target: &Target, key: Option<&Key>) -> Result<Channel> {
    let deadline = Instant::now() + TIMEOUT;
    let mut last = None;
    for address in resolve(target)? {
        match open(address, target.bind, deadline) {
            Ok(stream) => return greet(stream, address, key, deadline),
            Err(error) => last = Some(Error::system(format!("connecting to {address}"), error)),
        }
    }
    Err(last.unwrap_or_else(|| {
        let wanted = match target.family {
            Family::Any => "",
            Family::V4 => " of IPv4",
            Family::V6 => " of IPv6",
        };
        Error::peer(format!("looking for {}", target.host), format!("it has no address{wanted}"))
    }))
}

fn resolve(target: &Target) -> Result<Vec<SocketAddr>> {
    let found = (target.host.as_str(), target.port)
        .to_socket_addrs()
        .map_err(|e| Error::system(format!("looking for {}", target.host), e))?;
    let is_wanted = |address: &SocketAddr| match target.family {
        Family::Any => true,
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
    };
    let is_of_bind = |address: &SocketAddr| target.bind.is_none_or(|bind| bind.is_ipv4() == address.is_ipv4());
    Ok(found.filter(|address| is_wanted(address) && is_of_bind(address)).collect())
}

fn open(address: SocketAddr, bind: Option<IpAddr>, deadline: Instant) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(bind) = bind {
        socket.bind(&SocketAddr::new(bind, 0).into())?;
    }
    socket.connect_timeout(&address.into(), left(deadline))?;
    let stream = TcpStream::from(socket);
    tcp::prepare(&stream)?;
    Ok(stream)
}

fn greet(mut stream: TcpStream, address: SocketAddr, key: Option<&Key>, deadline: Instant) -> Result<Channel> {
    let doing = || format!("greeting {address}");
    let system = |error: io::Error| Error::system(doing(), error);
    stream.set_read_timeout(Some(left(deadline))).map_err(system)?;
    let ciphers = greeting::greet(&mut stream, key).map_err(|refusal| match refusal {
        Refusal::Ended(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Error::peer(doing(), format!("it has said nothing for {} s", TIMEOUT.as_secs()))
        }
        other => Error::peer(doing(), other.to_string()),
    })?;
    stream.set_read_timeout(None).map_err(system)?;
    Channel::new(stream, ciphers).map_err(system)
}

/// At least a moment: no time at all would be for ever.
fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}
