//! An ICMPv6 socket of one device, for one type of message.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddrV6};
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::MsgFlags;
use sixbench_packet::{MessageReader, Notes, SentControl, send_with};
use socket2::{Domain, Protocol, Socket, Type};

use super::messages::{Arrived, HOP_LIMIT, Mac};
use crate::{Error, Result};

/// ICMPV6_FILTER of `linux/icmpv6.h`: a bit for each type that is not wanted.
const ICMPV6_FILTER: libc::c_int = 1;

/// The socket, and who speaks through it. It never blocks.
#[derive(Debug)]
pub struct LinkSocket {
    socket: Socket,
    ifindex: u32,
    link_local: Ipv6Addr,
    /// Ethernet address of a device that has neighbours.
    pub mac: Option<Mac>,
}

impl LinkSocket {
    /// Receives messages of type `wanted` that come in on the device; on request also those to all routers.
    pub fn open(device: &str, wanted: u8, is_router: bool) -> Result<Self> {
        let failed =
            |call, error: io::Error| Error::system(format!("opening an ICMPv6 socket on {device}"), call, error);
        let ifindex = if_nametoindex(device).map_err(|errno| failed("if_nametoindex", errno.into()))?;
        let (link_local, mac) = addresses(device).map_err(|error| failed("getifaddrs", error))?;
        let missing = || io::Error::new(io::ErrorKind::AddrNotAvailable, "it has no link-local address");
        let link_local = link_local.ok_or_else(|| failed("getifaddrs", missing()))?;
        let socket =
            Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6)).map_err(|error| failed("socket", error))?;
        let mut unwanted = [u32::MAX; 8];
        unwanted[usize::from(wanted >> 5)] &= !(1 << (wanted & 31));
        let unwanted: Vec<u8> = unwanted.iter().flat_map(|word| word.to_ne_bytes()).collect();
        sixbench_packet::set_option_bytes(&socket, libc::IPPROTO_ICMPV6, ICMPV6_FILTER, &unwanted)
            .and_then(|()| socket.bind_device(Some(device.as_bytes())))
            .and_then(|()| socket.set_recv_hoplimit_v6(true))
            .and_then(|()| socket.set_unicast_hops_v6(HOP_LIMIT.into()))
            .and_then(|()| socket.set_multicast_hops_v6(HOP_LIMIT.into()))
            .and_then(|()| socket.set_multicast_loop_v6(false))
            .and_then(|()| socket.set_nonblocking(true))
            .map_err(|error| failed("setsockopt", error))?;
        if is_router {
            socket
                .join_multicast_v6(&all_routers(), ifindex)
                .map_err(|error| failed("setsockopt(IPV6_ADD_MEMBERSHIP)", error))?;
        }
        Ok(Self { socket, ifindex, link_local, mac })
    }

    /// The next message; `None` when there is none, or none that is whole.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<Arrived<'a>>> {
        let mut reader = MessageReader::default();
        let reading = match reader.read(self, buffer, MsgFlags::empty()) {
            Ok(reading) => reading,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let hop_limit = Notes::of(reader.control_words()).hop_limit;
        let (Some(IpAddr::V6(source)), Some(hop_limit), false) =
            (reader.name().address().map(|address| address.ip()), hop_limit, reading.is_cut)
        else {
            return Ok(None);
        };
        Ok(buffer.get(..reading.bytes).map(|message| Arrived { message, source, hop_limit }))
    }

    /// Sends a message from the device's link-local address.
    pub fn send(&self, message: &[u8], destination: Ipv6Addr) -> io::Result<()> {
        let to = SocketAddrV6::new(destination, 0, 0, self.ifindex);
        let control = SentControl::from_interface(self.link_local, self.ifindex);
        send_with(self, message, to.into(), control)?;
        Ok(())
    }
}

impl AsFd for LinkSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// RFC 4291 section 2.7.1.
pub fn all_routers() -> Ipv6Addr {
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2)
}

/// The device's link-local address, and its Ethernet address if it has neighbours.
pub fn addresses(device: &str) -> io::Result<(Option<Ipv6Addr>, Option<Mac>)> {
    let (mut link_local, mut mac) = (None, None);
    for found in getifaddrs()?.filter(|found| found.interface_name == device) {
        let Some(address) = found.address else { continue };
        if let Some(address) = address.as_sockaddr_in6() {
            link_local = link_local.or(Some(address.ip()).filter(Ipv6Addr::is_unicast_link_local));
        }
        if let Some(address) = address.as_link_addr().filter(|_| !found.flags.contains(InterfaceFlags::IFF_NOARP)) {
            mac = address.addr().filter(|_| address.halen() == 6);
        }
    }
    Ok((link_local, mac))
}
