//! A packet socket for IPv4 of one device.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{MsgFlags, recv, send};
use sixbench_wire::ethernet::ethertype;

use crate::discovery::{Mac, addresses};
use crate::{Error, Result};

/// The socket, and who speaks through it. It never blocks.
#[derive(Debug)]
pub struct Link {
    socket: OwnedFd,
    pub mac: Mac,
}

impl Link {
    /// Hears all IPv4 that comes in on the device.
    pub fn open(device: &str) -> Result<Self> {
        let failed =
            |call, error: io::Error| Error::system(format!("opening a packet socket on {device}"), call, error);
        let ifindex = if_nametoindex(device).map_err(|errno| failed("if_nametoindex", errno.into()))?;
        let (_, mac) = addresses(device).map_err(|error| failed("getifaddrs", error))?;
        let missing = || io::Error::new(io::ErrorKind::AddrNotAvailable, "it has no Ethernet address");
        // That of the loopback device is all zeros.
        let mac = mac.filter(|mac| *mac != Mac::default());
        let mac = mac.ok_or_else(|| failed("getifaddrs", missing()))?;
        let socket = sixbench_packet::open().map_err(|error| failed("socket", error))?;
        sixbench_packet::bind(&socket, ifindex, ethertype::IPV4).map_err(|error| failed("bind", error))?;
        Ok(Self { socket, mac })
    }

    /// The next frame; `None` when there is none.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
        match recv(self.socket.as_raw_fd(), buffer, MsgFlags::empty()) {
            Ok(length) => Ok(buffer.get(..length)),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Sends a frame as it is.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        send(self.socket.as_raw_fd(), frame, MsgFlags::empty())?;
        Ok(())
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
