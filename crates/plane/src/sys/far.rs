//! The socket at the far end of a tunnel's device.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::set_receive_buffer;

/// A packet socket on the far end of a tunnel's device: frames that it sends into the far end come in at the near end.
/// It never blocks.
#[derive(Debug)]
pub struct FarSocket(OwnedFd);

impl FarSocket {
    /// Opens one that has every packet which comes out of the far end.
    pub fn open(ifindex: u32, buffer_bytes: usize) -> io::Result<Self> {
        let far = Self::create(sixbench_packet::ALL_PROTOCOLS, ifindex)?;
        sixbench_packet::enable(&far, sixbench_packet::IGNORE_OUTGOING)?;
        set_receive_buffer(&far.0, buffer_bytes)?;
        Ok(far)
    }

    /// Opens one that only sends.
    pub fn open_to_send(ifindex: u32) -> io::Result<Self> {
        Self::create(sixbench_packet::NO_PROTOCOL, ifindex)
    }

    fn create(protocol: u16, ifindex: u32) -> io::Result<Self> {
        let socket = sixbench_packet::open()?;
        sixbench_packet::enable(&socket, sixbench_packet::VIRTUAL_HEADER)?;
        sixbench_packet::bind(&socket, ifindex, protocol)?;
        Ok(Self(socket))
    }
}

impl AsFd for FarSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
