//! The interface by which frames to the peer leave, and the Ethernet address that they go to, as the kernel knows them.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use sixbench_netlink::{Client, Link};
use socket2::Socket;

use super::NAME;
use super::layout::FrameAddresses;
use crate::error::{bad_params, timeout};
use crate::session::Endpoint;
use crate::{Error, Result, sys};

/// The kernel is asked so often for the neighbour, to which datagrams have just been sent, ...
const ATTEMPTS: usize = 20;
/// ... this long apart.
const PAUSE: Duration = Duration::from_millis(50);

/// The way to the peer of an endpoint, and the index of the interface.
pub fn towards(endpoint: &Endpoint, socket: &Socket) -> Result<(FrameAddresses, u32)> {
    let doing = || format!("asking for the next hop of frames to {}", endpoint.peer);
    let failed = |error: io::Error| Error::system(doing(), "rtnetlink", error);
    let mut client = Client::open().map_err(failed)?;
    let route =
        client.route(endpoint.peer, Some(endpoint.address.ip()), endpoint.address.interface()).map_err(failed)?;
    let route = route.ok_or_else(|| failed(io::Error::from_raw_os_error(libc::EHOSTUNREACH)))?;
    let index = route.link.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    let link = client.link(index).map_err(failed)?;
    let source_ethernet = ethernet_of(&link, endpoint.peer)?;
    let next_hop = route.gateway.unwrap_or(endpoint.peer);
    let addresses = |destination_ethernet| FrameAddresses {
        source_ethernet,
        destination_ethernet,
        source: endpoint.address.ip(),
        destination: endpoint.peer,
        hop_limit: hop_limit(socket, endpoint.peer),
    };
    for _ in 0..ATTEMPTS {
        if let Some(destination_ethernet) = client.neighbour(next_hop, index).map_err(failed)? {
            return Ok((addresses(destination_ethernet), index));
        }
        std::thread::sleep(PAUSE);
    }
    let doing = format!("waiting for the Ethernet address of {next_hop} on {}", link.name);
    Err(timeout(doing, (ATTEMPTS * PAUSE.as_nanos() as usize) as u64))
}

fn ethernet_of(link: &Link, peer: IpAddr) -> Result<[u8; 6]> {
    link.ethernet.ok_or_else(|| {
        bad_params(
            NAME,
            format!(
                "packets to {peer} leave by {}, which is no Ethernet interface: frames need one at both hosts",
                link.name
            ),
        )
    })
}

/// The TTL or hop limit that the kernel gives packets of a connected socket.
fn hop_limit(socket: &Socket, peer: IpAddr) -> u8 {
    /// RFC 1700: where the kernel does not tell.
    const RECOMMENDED: u8 = 64;
    let (level, name) = match peer {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TTL),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS),
    };
    let mut value = [0; 4];
    let read = sys::socket_option(socket, level, name, &mut value).ok();
    read.and_then(|_| u8::try_from(i32::from_ne_bytes(value)).ok()).unwrap_or(RECOMMENDED)
}
