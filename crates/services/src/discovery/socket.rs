//! An ICMPv6 socket of one device, for one type of message.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Ipv6Addr, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, SockaddrIn6, recvmsg, sendmsg};
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
        let mut control = cmsg_space!(i32);
        let mut parts = [IoSliceMut::new(buffer)];
        let flags = MsgFlags::empty();
        let (length, source, hop_limit) =
            match recvmsg::<SockaddrIn6>(self.socket.as_raw_fd(), &mut parts, Some(&mut control), flags) {
                Ok(received) => {
                    let hop_limit = received.cmsgs()?.find_map(|message| match message {
                        ControlMessageOwned::Ipv6HopLimit(hop_limit) => u8::try_from(hop_limit).ok(),
                        _ => None,
                    });
                    let is_whole = !received.flags.contains(MsgFlags::MSG_TRUNC);
                    (Some(received.bytes).filter(|_| is_whole), received.address, hop_limit)
                }
                Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            };
        let whole = length.zip(source).zip(hop_limit);
        Ok(whole.and_then(|((length, source), hop_limit)| {
            Some(Arrived { message: buffer.get(..length)?, source: source.ip(), hop_limit })
        }))
    }

    /// Sends a message from the device's link-local address.
    pub fn send(&self, message: &[u8], destination: Ipv6Addr) -> io::Result<()> {
        let from = libc::in6_pktinfo {
            ipi6_addr: libc::in6_addr { s6_addr: self.link_local.octets() },
            ipi6_ifindex: self.ifindex,
        };
        let to = SockaddrIn6::from(SocketAddrV6::new(destination, 0, 0, self.ifindex));
        let control = [ControlMessage::Ipv6PacketInfo(&from)];
        sendmsg(self.socket.as_raw_fd(), &[IoSlice::new(message)], &control, MsgFlags::empty(), Some(&to))?;
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
