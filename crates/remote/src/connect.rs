//! The client's end: finds the server, and greets it.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use sixbench_packet::LocalAddress;
use sixbench_wire::family::Family;
use socket2::{Domain, Protocol, Socket, Type};

use crate::channel::Channel;
use crate::cookie::{Cookie, NO_COOKIE};
use crate::greeting::{self, Ciphers, Refusal};
use crate::key::Key;
use crate::tcp;
use crate::{Error, Result};

/// Time limit of finding, connecting and greeting together.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Pause before the next attempt at a server that had no place; twice as long each time, so that clients that wait are
/// no flood.
const FIRST_PAUSE: Duration = Duration::from_millis(25);

/// The server to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// A name or an address.
    pub host: String,
    /// Port of the control connections.
    pub port: u16,
    /// The local address.
    pub bind: Option<LocalAddress>,
    /// The only addresses of the host that may be used; absent: those of both families.
    pub family: Option<Family>,
}

/// Connects to the first of the host's addresses that answers. A server under load is asked again.
///
/// # Errors
/// `System` where none can be reached, `Peer` where it is no agent, has another key, or is under load all the time.
pub fn connect(target: &Target, key: Option<&Key>) -> Result<Channel> {
    connect_within(target, key, TIMEOUT)
}

fn connect_within(target: &Target, key: Option<&Key>, timeout: Duration) -> Result<Channel> {
    let deadline = Instant::now() + timeout;
    let mut last = None;
    for address in resolve(target)? {
        match open(address, target.bind, deadline) {
            Ok(stream) => return Caller { address, bind: target.bind, key, deadline }.call(stream),
            Err(error) => last = Some(no_connection(address, &error)),
        }
    }
    Err(last.unwrap_or_else(|| {
        let wanted = match target.family {
            None => "",
            Some(Family::Ipv4) => "IPv4 ",
            Some(Family::Ipv6) => "IPv6 ",
        };
        Error::peer(format!("looking for {}", target.host), format!("the name has no {wanted}address"))
    }))
}

/// The error where nobody was reached, with what would help.
fn no_connection(address: SocketAddr, error: &io::Error) -> Error {
    let what = match error.kind() {
        io::ErrorKind::ConnectionRefused => "no server listens there; start `sixbench serve` on that machine (with -B for other addresses than loopback), or give its port with -p".to_owned(),
        io::ErrorKind::TimedOut => format!(
            "the machine did not answer within {} s; check that it is on, and that firewalls let port {} through",
            TIMEOUT.as_secs(),
            address.port()
        ),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            format!(
                "the server cannot be reached ({error}); check the address, and the routes and neighbours of this machine"
            )
        }
        io::ErrorKind::PermissionDenied => format!("this machine refuses to connect ({error}); check its firewall"),
        io::ErrorKind::AddrNotAvailable => format!("{error}; give an address of this machine with -B"),
        _ => error.to_string(),
    };
    Error::peer(format!("connecting to {address}"), what)
}

fn resolve(target: &Target) -> Result<Vec<SocketAddr>> {
    let found = (target.host.as_str(), target.port)
        .to_socket_addrs()
        .map_err(|e| Error::system(format!("looking for {}", target.host), e))?;
    let is_wanted = |address: &SocketAddr| target.family.is_none_or(|family| family == Family::of(address.ip()));
    let is_of_bind = |address: &SocketAddr| target.bind.is_none_or(|bind| bind.is_ipv4() == address.is_ipv4());
    Ok(found.filter(|address| is_wanted(address) && is_of_bind(address)).collect())
}

fn open(address: SocketAddr, bind: Option<LocalAddress>, deadline: Instant) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(bind) = bind {
        socket.bind(&bind.at(0).into())?;
    }
    socket.connect_timeout(&address.into(), left(deadline))?;
    let stream = TcpStream::from(socket);
    tcp::prepare(&stream)?;
    Ok(stream)
}

/// A client of one address.
struct Caller<'a> {
    address: SocketAddr,
    bind: Option<LocalAddress>,
    key: Option<&'a Key>,
    deadline: Instant,
}

impl Caller<'_> {
    /// Greets in this connection, and in others where the server asks for that.
    fn call(&self, mut stream: TcpStream) -> Result<Channel> {
        let (mut cookie, mut pause) = (NO_COOKIE, FIRST_PAUSE);
        loop {
            let refusal = match self.greet(&mut stream, &cookie)? {
                Ok(ciphers) => return Channel::new(stream, ciphers).map_err(|e| self.system(e)),
                Err(refusal) => refusal,
            };
            // The first cookie is brought at once.
            let wait = if cookie == NO_COOKIE && matches!(refusal, Refusal::Retry(_)) { Duration::ZERO } else { pause };
            if !refusal.may_pass() || Instant::now() + wait >= self.deadline {
                return Err(Error::peer(self.doing(), refusal.to_string()));
            }
            if let Refusal::Retry(given) = refusal {
                cookie = given;
            }
            if !wait.is_zero() {
                thread::sleep(wait);
                pause *= 2;
            }
            stream = open(self.address, self.bind, self.deadline).map_err(|e| {
                Error::system(format!("connecting to {} again, after it was under load", self.address), e)
            })?;
        }
    }

    fn greet(&self, stream: &mut TcpStream, cookie: &Cookie) -> Result<std::result::Result<Ciphers, Refusal>> {
        stream.set_read_timeout(Some(left(self.deadline))).map_err(|e| self.system(e))?;
        match greeting::greet(stream, self.key, cookie) {
            Err(Refusal::Ended(error)) if error.kind() == io::ErrorKind::WouldBlock => Err(Error::peer(
                self.doing(),
                format!(
                    "the server accepted the connection and sent nothing for {} s; it may be under load, or another program uses that port: try again later, or give the port of `sixbench serve` with -p",
                    TIMEOUT.as_secs()
                ),
            )),
            Err(refusal) => Ok(Err(refusal)),
            Ok(ciphers) => {
                stream.set_read_timeout(None).map_err(|e| self.system(e))?;
                Ok(Ok(ciphers))
            }
        }
    }

    fn doing(&self) -> String {
        format!("greeting {}", self.address)
    }

    fn system(&self, error: io::Error) -> Error {
        Error::system(self.doing(), error)
    }
}

/// The time that is left, at least a moment: no time at all would be for ever.
fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    fn error_at(host: &str, port: u16, timeout: Duration) -> String {
        let target = Target { host: host.to_owned(), port, bind: None, family: None };
        match connect_within(&target, None, timeout) {
            Ok(_) => panic!("nobody is there"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn where_nobody_listens_the_error_says_what_to_start() {
        // It has the port, so that nobody else gets it, and does not listen.
        let holder = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        holder.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).expect("a port");
        let port = holder.local_addr().ok().and_then(|local| local.as_socket()).expect("its address").port();
        let error = error_at("127.0.0.1", port, TIMEOUT);
        assert!(
            error.starts_with(&format!(
                "connecting to 127.0.0.1:{port}: no server listens there; start `sixbench serve`"
            )),
            "{error}"
        );
    }

    #[test]
    fn a_program_that_says_nothing_may_be_another_one() {
        let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = silent.local_addr().expect("its address").port();
        let message = error_at("127.0.0.1", port, Duration::from_millis(50));
        assert!(message.contains("or another program uses that port"), "{message}");
    }

    #[test]
    fn each_failure_to_connect_says_what_would_help() {
        let at = SocketAddr::from(([192, 0, 2, 1], 5210));
        for (kind, help) in [
            (io::ErrorKind::TimedOut, "check that it is on, and that firewalls let port 5210 through"),
            (io::ErrorKind::HostUnreachable, "check the address, and the routes"),
            (io::ErrorKind::NetworkUnreachable, "check the address, and the routes"),
            (io::ErrorKind::PermissionDenied, "check its firewall"),
            (io::ErrorKind::AddrNotAvailable, "give an address of this machine with -B"),
        ] {
            let message = no_connection(at, &kind.into()).to_string();
            assert!(message.contains(help), "{message}");
        }
    }
}
