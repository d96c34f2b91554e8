//! This machine's end of an attempt.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use nix::ifaddrs::getifaddrs;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_packet::{Error, LocalAddress, Result};
use socket2::{Domain, Protocol, Socket, Type};

/// Any address and port of this machine.
pub const ANY_4: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
/// The same of IPv6.
pub const ANY_6: SocketAddr = SocketAddr::V6(SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, 0, 0, 0));

/// This end of an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LocalEnd {
    /// The address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<IpAddr>,
    /// The port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_port: Option<u16>,
    /// The interface that has the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}

impl LocalEnd {
    /// The end that a connected socket has.
    pub fn of(socket: &Socket) -> Self {
        let Some(address) = socket.local_addr().ok().and_then(|address| address.as_socket()) else {
            return Self::default();
        };
        let is_bound = !address.ip().is_unspecified();
        Self {
            source: Some(address.ip()).filter(|_| is_bound),
            source_port: Some(address.port()).filter(|port| *port != 0),
            interface: is_bound.then(|| interface_of(address)).flatten(),
        }
    }
}

/// The interface that has an address. Several may have a link-local one; it is that of the scope then.
pub fn interface_of(address: SocketAddr) -> Option<String> {
    let addresses = getifaddrs().ok()?;
    let has = |socket: nix::sys::socket::SockaddrStorage| match address {
        SocketAddr::V4(wanted) => socket.as_sockaddr_in().is_some_and(|its| its.ip() == *wanted.ip()),
        SocketAddr::V6(wanted) => socket.as_sockaddr_in6().is_some_and(|its| {
            let is_in_scope = wanted.scope_id() == 0 || its.scope_id() == wanted.scope_id();
            its.ip() == *wanted.ip() && is_in_scope
        }),
    };
    addresses.into_iter().find(|one| one.address.is_some_and(has)).map(|one| one.interface_name)
}

/// The server's address with a port. A link-local one has the interface of the source.
pub fn peer(address: IpAddr, port: u16, source: Option<LocalAddress>) -> SocketAddr {
    match address {
        IpAddr::V6(six) if six.is_unicast_link_local() => {
            let scope = source.map(|source| source.at(0));
            let scope_id = scope.map_or(0, |at| if let SocketAddr::V6(at) = at { at.scope_id() } else { 0 });
            SocketAddrV6::new(six, port, 0, scope_id).into()
        }
        address => SocketAddr::new(address, port),
    }
}

/// As [`check_host`], and the source of a link-local address has the link, which the address alone does not tell.
///
/// # Errors
/// `bad-params` where it is not, or has none.
pub fn check_address(address: IpAddr, source: Option<LocalAddress>) -> Result<()> {
    check_host(address, source)?;
    let is_of_link = |ip: IpAddr| matches!(ip, IpAddr::V6(six) if six.is_unicast_link_local());
    if is_of_link(address) && source.is_none_or(|source| !is_of_link(source.ip())) {
        return Err(Error::bad_params(format!(
            "`address` {address} is of one link: add a link-local `source` with its interface, as in fe80::1%eth0"
        )));
    }
    Ok(())
}

/// The address is that of one host, and a source is of its family.
///
/// # Errors
/// `bad-params` where it is not.
pub fn check_host(address: IpAddr, source: Option<LocalAddress>) -> Result<()> {
    let is_broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    let is_mapped = matches!(address, IpAddr::V6(six) if six.to_ipv4_mapped().is_some());
    if address.is_unspecified() || address.is_multicast() || is_broadcast || is_mapped {
        return Err(Error::bad_params(format!("`address` {address} is not that of one host")));
    }
    match source {
        Some(source) if source.is_ipv4() != address.is_ipv4() => {
            Err(Error::bad_params(format!("`source` {source} and `address` {address} are of different families")))
        }
        _ => Ok(()),
    }
}

/// A socket that calls never wait for, bound to the source where there is one. An error inside says that this machine
/// has no such family or address: it is an outcome, not a failure of the agent.
///
/// # Errors
/// `system` where the kernel refuses the means.
pub fn open(
    address: IpAddr,
    (kind, protocol): (Type, Protocol),
    source: Option<LocalAddress>,
    port: u16,
) -> Result<io::Result<Socket>> {
    let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let doing = || format!("opening a socket to probe {address}");
    let socket = match Socket::new(domain, kind, Some(protocol)) {
        Ok(socket) => socket,
        Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => return Ok(Err(error)),
        Err(error) => return Err(Error::system(doing(), "socket", error)),
    };
    socket.set_nonblocking(true).map_err(|e| Error::system(doing(), "fcntl", e))?;
    if source.is_some() || port != 0 {
        let any = if address.is_ipv4() { ANY_4 } else { ANY_6 };
        let local = source.map_or_else(|| SocketAddr::new(any.ip(), port), |source| source.at(port));
        match socket.bind(&local.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EADDRNOTAVAIL) => return Ok(Err(error)),
            Err(error) => return Err(Error::system(format!("binding a socket to {local}"), "bind", error)),
        }
    }
    Ok(Ok(socket))
}

/// A socket that was opened, connected to a peer.
///
/// # Errors
/// That of the opening or of the connecting.
pub fn connected(opened: io::Result<Socket>, peer: SocketAddr) -> io::Result<Socket> {
    let socket = opened?;
    socket.connect(&peer.into())?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn loopback_has_its_address() {
        assert_eq!(interface_of("127.0.0.1:7".parse().unwrap()).as_deref(), Some("lo"));
        assert_eq!(interface_of("192.0.2.77:7".parse().unwrap()), None);
    }

    #[test]
    fn an_address_is_that_of_one_host_and_a_source_of_its_family() {
        let source: LocalAddress = IpAddr::from(Ipv4Addr::LOCALHOST).into();
        assert!(check_address("::1".parse().unwrap(), Some(source)).is_err());
        assert!(check_address("::1".parse().unwrap(), None).is_ok());
        let of_link: IpAddr = "fe80::1".parse().unwrap();
        let error = check_address(of_link, Some(IpAddr::from(Ipv6Addr::LOCALHOST).into())).unwrap_err();
        assert!(error.message.contains("`source` with its interface"), "{error}");
        assert!(check_address(of_link, None).is_err() && check_host(of_link, None).is_ok());
        assert!(check_address(of_link, Some("fe80::2%lo".parse().unwrap())).is_ok());
        for group in ["255.255.255.255", "224.0.0.1", "ff02::1", "0.0.0.0", "::", "::ffff:192.0.2.1"] {
            assert!(check_address(group.parse().unwrap(), None).is_err(), "{group}");
        }
    }
}
