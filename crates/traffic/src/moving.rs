//! A client that moves to its next address where it loses the present one.
//!
//! A connection of QUIC goes on from there (RFC 9000 section 9); one of TCP does not, and is made anew. Both notice the
//! loss alike: the kernel tells of each change of links and addresses (rtnetlink(7)), and after each the client looks
//! whether an interface that is up still has its address.

use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, SockaddrStorage, bind, recv, socket,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cancel::PATIENCE;
use crate::datagram_socket::wait_for_datagram;
use crate::error::bad_params;
use crate::{Endpoint, Error, Result, only};

/// The kernel's notices of links and addresses: `linux/rtnetlink.h`.
const GROUPS: u32 = (libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR) as u32;

/// A move of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Move {
    /// Time since the client began to send at which it went on from the other address.
    pub t_ns: u64,
    /// The address that it lost.
    pub from: IpAddr,
    /// The address from which it went on.
    pub to: IpAddr,
}

/// A move of a client as its server sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeenMove {
    /// Time since the first byte at which the first one arrived after the move.
    pub t_ns: u64,
    /// The client's address before.
    pub from: IpAddr,
    /// Its address since then.
    pub to: IpAddr,
    /// Time without a byte: from the last read before the move to the first one after it.
    pub outage_ns: u64,
}

/// Checks the endpoints of a server: one, or where the client moves several of its addresses and one of the server.
///
/// # Errors
/// `bad-params` where there are others.
pub fn check_server(workload: &'static str, endpoints: &[Endpoint], moves: bool) -> Result<()> {
    if !moves {
        return only(workload, endpoints).map(drop);
    }
    let [first, further @ ..] = endpoints else { return Err(refuse(workload)) };
    let is_moving = |other: &Endpoint| other.address == first.address && !other.is_open();
    if further.is_empty() || first.is_open() || !further.iter().all(is_moving) {
        return Err(refuse(workload));
    }
    Ok(())
}

fn refuse(workload: &'static str) -> Error {
    bad_params(workload, "a client that moves needs its further addresses in `also`, all with the same server")
}

/// The endpoint of a client at first, and its places where it moves.
///
/// # Errors
/// `bad-params` where there are others.
pub fn client_places<'a>(
    workload: &'static str,
    endpoints: &'a [Endpoint],
    moves: bool,
) -> Result<(&'a Endpoint, Option<Places>)> {
    if !moves {
        return Ok((only(workload, endpoints)?, None));
    }
    let places = Places::of_client(workload, endpoints)?;
    Ok((&endpoints[0], Some(places)))
}

/// The addresses of a client that moves, in the order in which it takes them.
#[derive(Clone)]
pub struct Places {
    endpoints: Vec<Endpoint>,
    at: usize,
}

impl Places {
    /// The client's places, the first of which it takes at first.
    ///
    /// # Errors
    /// `bad-params` where there is one alone, or where they are not those of the same server.
    fn of_client(workload: &'static str, endpoints: &[Endpoint]) -> Result<Self> {
        let [first, further @ ..] = endpoints else { return Err(refuse(workload)) };
        if further.is_empty() || further.iter().any(|other| other.peer != first.peer) {
            return Err(refuse(workload));
        }
        // Certificate, logs and the like are the session's.
        let here = |other: &Endpoint| Endpoint { address: other.address, ..first.clone() };
        Ok(Self { endpoints: endpoints.iter().map(here).collect(), at: 0 })
    }

    /// The present place.
    pub fn present(&self) -> &Endpoint {
        &self.endpoints[self.at]
    }

    /// Goes to the next place that this machine has, if the present one is lost and there is such a place. Returns the
    /// address that was lost then.
    pub fn leave_lost(&mut self) -> Option<IpAddr> {
        self.leave_where(is_present)
    }

    fn leave_where(&mut self, is_present: impl Fn(IpAddr) -> bool) -> Option<IpAddr> {
        let lost = self.present().address.ip();
        if is_present(lost) {
            return None;
        }
        let is_next = |endpoint: &Endpoint| is_present(endpoint.address.ip());
        self.at = (self.at + 1..self.endpoints.len()).find(|&index| is_next(&self.endpoints[index]))?;
        Some(lost)
    }
}

/// True if an interface that is up, and has a carrier, has this address.
fn is_present(address: IpAddr) -> bool {
    // Where the kernel does not tell, nothing is known to be lost.
    let Ok(mut interfaces) = getifaddrs() else { return true };
    let works = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
    interfaces.any(|item| item.flags.contains(works) && item.address.as_ref().and_then(ip_of) == Some(address))
}

fn ip_of(address: &SockaddrStorage) -> Option<IpAddr> {
    let ipv4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    ipv4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}

/// Watches the links and addresses of this namespace, in a thread of its own.
///
/// # Arguments
/// - `look`: is called at once, and then after each notice and each [`PATIENCE`], with whether there was a notice. The
///   thread ends when it returns false.
///
/// # Errors
/// `system`.
pub fn watch_addresses(mut look: impl FnMut(bool) -> bool + Send + 'static) -> Result<()> {
    let changes = AddressChanges::open()?;
    let watch = move || {
        let mut is_changed = false;
        while look(is_changed) {
            is_changed = changes.wait(PATIENCE);
        }
    };
    thread::Builder::new()
        .name("address-watch".into())
        .spawn(watch)
        .map(drop)
        .map_err(|e| Error::system("starting to watch the addresses of a client", "clone", e))
}

/// The kernel's notices of changes of this namespace's links and addresses.
struct AddressChanges(OwnedFd);

impl AddressChanges {
    /// Asks for notices from now on.
    ///
    /// # Errors
    /// `system`.
    fn open() -> Result<Self> {
        let doing = "asking for changes of addresses";
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let fd = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)
            .map_err(|errno| Error::system(doing, "socket", errno))?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, GROUPS)).map_err(|errno| Error::system(doing, "bind", errno))?;
        Ok(Self(fd))
    }

    /// Waits for a notice, which is read. Returns false where none came in time.
    fn wait(&self, patience: Duration) -> bool {
        wait_for_datagram(&self.0, patience) && self.take()
    }

    /// Reads all notices that are there. Returns true if there were any, also where the kernel had no room for them.
    fn take(&self) -> bool {
        let (mut buffer, mut are_any) = ([0; 4_096], false);
        loop {
            match recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Ok(_) | Err(Errno::ENOBUFS) => are_any = true,
                Err(Errno::EINTR) => {}
                Err(_) => return are_any,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn places(hosts: &[u8]) -> Result<Places> {
        let here = |host: &u8| Endpoint {
            peer: Ipv4Addr::new(192, 0, 2, 99).into(),
            ..Endpoint::on_loopback(Ipv4Addr::new(192, 0, 2, *host).into())
        };
        Places::of_client("quic-stream", &hosts.iter().map(here).collect::<Vec<_>>())
    }

    fn ip(host: u8) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, host).into()
    }

    #[test]
    fn a_lost_address_is_left_for_the_next_that_is_there() {
        let mut places = places(&[1, 2, 3]).unwrap();
        assert_eq!(places.leave_where(|_| true), None);
        assert_eq!(places.leave_where(|address| address == ip(3)), Some(ip(1)));
        assert_eq!(places.present().address.ip(), ip(3));
        assert_eq!(places.leave_where(|_| false), None);
        assert_eq!(places.present().address.ip(), ip(3));
    }

    #[test]
    fn one_address_alone_is_no_place_to_move_to() {
        assert!(places(&[1]).is_err());
        let error = check_server("quic-stream", &[Endpoint::on_loopback(ip(1))], true).unwrap_err();
        assert_eq!(
            error.to_string(),
            "parameters of quic-stream: a client that moves needs its further addresses in `also`, all with the same \
             server"
        );
    }

    #[test]
    fn this_machine_has_the_address_of_loopback_and_not_one_of_documentation() {
        assert!(is_present(Ipv4Addr::LOCALHOST.into()));
        assert!(!is_present(ip(1)));
    }
}
