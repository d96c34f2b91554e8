//! The socket at the far end of a tunnel's device.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::{check, set_option, set_receive_buffer};

/// `struct virtio_net_hdr`, which comes before every packet of a [`FarSocket`].
pub const VIRTUAL_HEADER_BYTES: usize = 10;

/// Not in the `libc` crate's Linux constants everywhere: `linux/if_packet.h`.
const PACKET_VNET_HDR: libc::c_int = 15;
/// Linux 4.20.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// A packet socket on the far end of a tunnel's device: what it sends into the far end comes in at the near end. It never blocks.
#[derive(Debug)]
pub struct FarSocket(OwnedFd);

impl FarSocket {
    /// Opens one that has every packet which comes out of the far end.
    pub fn open(ifindex: u32, buffer_bytes: usize) -> io::Result<Self> {
        let far = Self::create(libc::ETH_P_ALL as u16, ifindex)?;
        set_option(&far.0, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
        set_receive_buffer(&far.0, buffer_bytes)?;
        Ok(far)
    }

    /// Opens one that only sends.
    pub fn open_to_send(ifindex: u32) -> io::Result<Self> {
        Self::create(0, ifindex)
    }

    fn create(protocol: u16, ifindex: u32) -> io::Result<Self> {
        let flags = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the call takes numbers; what it returns is a descriptor that nobody else owns.
        let socket = unsafe {
            match libc::socket(libc::AF_PACKET, flags, 0) {
                -1 => return Err(io::Error::last_os_error()),
                fd => OwnedFd::from_raw_fd(fd),
            }
        };
        set_option(&socket, libc::SOL_PACKET, PACKET_VNET_HDR, 1)?;
        // SAFETY: all zeros is a valid `sockaddr_ll`.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = ifindex as i32;
        // SAFETY: the pointer and the length are those of `address`, which lives through the call.
        let result = unsafe {
            libc::bind(socket.as_raw_fd(), (&raw const address).cast(), mem::size_of_val(&address) as libc::socklen_t)
        };
        check(result as isize).map(|_| Self(socket))
    }
}

impl AsFd for FarSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
