//! Packet sockets with times of arrival.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use sixbench_measure::clock::BothClocks;
use sixbench_packet::Notes;

/// Limit of the socket's buffers for packets that have arrived, and for packets on their way out.
const SOCKET_BUFFER_BYTES: usize = 32 << 20;

/// A socket that has every packet which comes in by an interface, and sends out by it. It never blocks.
#[derive(Debug)]
pub struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// Opens one.
    pub fn open(ifindex: u32) -> io::Result<Self> {
        let socket = Self(sixbench_packet::open()?);
        for option in [sixbench_packet::VIRTUAL_HEADER, sixbench_packet::QUEUE_BYPASS, sixbench_packet::IGNORE_OUTGOING]
        {
            sixbench_packet::enable(&socket, option)?;
        }
        sixbench_packet::set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        sixbench_packet::set_receive_buffer(&socket, SOCKET_BUFFER_BYTES)?;
        sixbench_packet::set_send_buffer(&socket, SOCKET_BUFFER_BYTES)?;
        sixbench_packet::bind(&socket, ifindex, sixbench_packet::ALL_PROTOCOLS)?;
        Ok(socket)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A packet that has come.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Length with the virtual header.
    pub length: usize,
    /// Time at which the kernel saw it.
    pub monotonic_ns: u64,
    /// True if the kernel gave no time, so that it is the time at which the packet was read.
    pub is_user_time: bool,
}

impl Arrival {
    /// The arrival of a packet with the kernel's notes. The clocks are read after it was received, so that it has not
    /// come later than now.
    pub fn new(length: usize, notes: &Notes, clocks: &BothClocks) -> Self {
        let noted_ns = notes.realtime_ns.map(|time| clocks.to_monotonic_ns(time).min(clocks.monotonic_ns));
        Self { length, monotonic_ns: noted_ns.unwrap_or(clocks.monotonic_ns), is_user_time: noted_ns.is_none() }
    }
}
