//! Datagram sockets for the workloads: bound, with the requested buffers and DF policy, and with the kernel's notes on
//! received datagrams.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use sixbench_measure::clock;
use sixbench_packet::LocalAddress;
use socket2::{Protocol, SockRef, Socket, Type};

use crate::cancel::PATIENCE;
use crate::df::Df;
use crate::socket::{self, Buffers};
use crate::{Error, Result, sys};

/// `linux/socket.h` and `linux/sock_diag.h`: the uses of a socket's memory (since Linux 4.12).
const SO_MEMINFO: i32 = 55;
const SK_MEMINFO_DROPS: usize = 8;

/// A UDP socket bound to a port of the kernel's choice.
pub fn udp(address: impl Into<LocalAddress>, buffers: Buffers, df: Df) -> Result<Socket> {
    udp_at(address, 0, buffers, df)
}

/// A UDP socket bound to this port; 0 lets the kernel choose.
pub fn udp_at(address: impl Into<LocalAddress>, port: u16, buffers: Buffers, df: Df) -> Result<Socket> {
    bound(address.into(), port, (Type::DGRAM, Protocol::UDP), buffers, df)
}

/// A raw socket of ICMP or ICMPv6, bound to an address.
pub fn raw_icmp(address: LocalAddress, buffers: Buffers, df: Df) -> Result<Socket> {
    let protocol = if address.is_ipv4() { Protocol::ICMPV4 } else { Protocol::ICMPV6 };
    bound(address, 0, (Type::RAW, protocol), buffers, df)
}

/// A raw socket that sends IPv6 packets with the headers they are given, and receives none (`IPPROTO_RAW`; raw(7)).
pub fn raw_ipv6(address: LocalAddress, buffers: Buffers) -> Result<Socket> {
    bound(address, 0, (Type::RAW, Protocol::from(libc::IPPROTO_RAW)), buffers, Df::Clear)
}

/// Connects to the peer, so that only its datagrams are received and each send needs no address.
pub fn connect(socket: &impl AsFd, to: impl Into<SocketAddr>) -> Result<()> {
    let to = to.into();
    SockRef::from(socket)
        .connect(&to.into())
        .map_err(|e| Error::system(format!("connecting a datagram socket to {to}"), "connect", e))
}

/// The port a socket is bound to.
pub fn local_port(socket: &Socket) -> Result<u16> {
    let address = socket.local_addr().map_err(|e| Error::system("asking for a socket's port", "getsockname", e))?;
    Ok(address.as_socket().map_or(0, |address| address.port()))
}

/// The longest that a receiving call waits.
pub fn set_receive_patience(socket: &Socket, patience: Duration) -> Result<()> {
    socket
        .set_read_timeout(Some(patience))
        .map_err(|e| Error::system("limiting the wait for datagrams", "setsockopt(SO_RCVTIMEO)", e))
}

/// Has receiving calls wait until something comes, or they are interrupted.
pub fn remove_receive_patience(socket: &Socket) -> Result<()> {
    socket
        .set_read_timeout(None)
        .map_err(|e| Error::system("letting a datagram socket block", "setsockopt(SO_RCVTIMEO)", e))
}

/// Has calls return at once where they would wait.
pub fn never_wait(socket: &Socket) -> Result<()> {
    socket.set_nonblocking(true).map_err(|e| Error::system("having a datagram socket never wait", "ioctl(FIONBIO)", e))
}

/// Waits for a datagram or an error. Returns true if there is one within this time and before a signal.
pub fn wait_for_datagram(socket: &impl AsFd, wait: Duration) -> bool {
    wait_for_any(&[socket.as_fd()], wait)
}

/// Waits for a datagram or an error of one of several sockets, as [`wait_for_datagram`].
pub fn wait_for_any(sockets: &[BorrowedFd<'_>], wait: Duration) -> bool {
    let mut fds: Vec<_> = sockets.iter().map(|&socket| PollFd::new(socket, PollFlags::POLLIN)).collect();
    // Where this fails otherwise than by a signal, the next receiving call will tell.
    !matches!(ppoll(&mut fds, Some(TimeSpec::from_duration(wait)), None), Ok(0) | Err(Errno::EINTR))
}

/// Waits as [`wait_for_datagram`] until that time of the monotonic clock, and no longer than [`PATIENCE`].
pub fn wait_until(socket: &impl AsFd, monotonic_ns: u64) -> bool {
    let left_ns = monotonic_ns.saturating_sub(clock::monotonic_ns());
    wait_for_datagram(socket, PATIENCE.min(Duration::from_nanos(left_ns)))
}

/// Has the kernel note when it receives each datagram, on the realtime clock.
pub fn note_receive_times(socket: &Socket) -> Result<()> {
    setsockopt(socket, sockopt::ReceiveTimestampns, &true)
        .map_err(|e| Error::system("asking for receive timestamps", "setsockopt(SO_TIMESTAMPNS)", e))
}

/// Has the kernel note the hop limit that each datagram comes with.
pub fn note_hop_limits(socket: &Socket, address: IpAddr) -> Result<()> {
    let (level, name) = match address {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_RECVTTL),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT),
    };
    sys::set_socket_option(socket, level, name, 1)
        .map_err(|e| Error::system("asking for hop limits", "setsockopt(RECVTTL, RECVHOPLIMIT)", e))
}

/// Has the kernel note with each datagram how many it had dropped before, for want of space.
pub fn note_drops(socket: &Socket) -> Result<()> {
    setsockopt(socket, sockopt::RxqOvfl, &1)
        .map_err(|e| Error::system("asking for the count of drops", "setsockopt(SO_RXQ_OVFL)", e))
}

/// Has the kernel give super-packets whole, with the size of the datagrams in them (`UDP_GRO`, since Linux 5.0).
pub fn take_super_packets(socket: &Socket) -> Result<()> {
    sys::set_socket_option(socket, libc::SOL_UDP, libc::UDP_GRO, 1)
        .map_err(|e| Error::system("asking for super-packets", "setsockopt(UDP_GRO)", e))
}

/// Datagrams the socket has dropped so far, modulo 2^32; absent where the kernel does not report it.
pub fn drops(socket: &Socket) -> Option<u32> {
    let mut values = [0; 4 * (SK_MEMINFO_DROPS + 1)];
    let filled = sys::socket_option(socket, libc::SOL_SOCKET, SO_MEMINFO, &mut values).ok()?;
    let drops = values.get(..filled)?.get(4 * SK_MEMINFO_DROPS..)?;
    Some(u32::from_ne_bytes(*drops.first_chunk()?))
}

/// True if a call only has to be made again: nothing came in time, or a signal did.
pub fn is_momentary(errno: Errno) -> bool {
    matches!(errno, Errno::EAGAIN | Errno::EINTR)
}

fn bound(
    address: LocalAddress,
    port: u16,
    (kind, protocol): (Type, Protocol),
    buffers: Buffers,
    df: Df,
) -> Result<Socket> {
    let socket = socket::open(address.ip(), kind, Some(protocol))?;
    df.apply(&socket, address.ip())?;
    set_receive_patience(&socket, PATIENCE)?;
    socket
        .set_write_timeout(Some(PATIENCE))
        .map_err(|e| Error::system("limiting the wait for space", "setsockopt(SO_SNDTIMEO)", e))?;
    buffers.apply(&socket)?;
    socket::bind(&socket, address, port)?;
    Ok(socket)
}
