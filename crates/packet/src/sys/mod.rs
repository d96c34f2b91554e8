//! The only `unsafe` of this crate, here and in the modules below.

mod batch;
mod message;

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

pub use batch::{Destination, LentReceiveBatch, Message, ReceiveBatch, Received, SendBatch, With};
pub use message::{MessageReader, Reading, send_with};

/// Opens a socket for whole frames, which has no interface and sees nothing yet. It never blocks.
pub fn open() -> io::Result<OwnedFd> {
    let flags = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call takes numbers; what it returns is a descriptor that nobody else owns.
    unsafe {
        match libc::socket(libc::AF_PACKET, flags, 0) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Switches an option of packet sockets on.
pub fn enable(socket: &impl AsFd, option: libc::c_int) -> io::Result<()> {
    set_option(socket, libc::SOL_PACKET, option, 1)
}

/// Sets an option of any socket that is a number.
pub fn set_option(socket: &impl AsFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    set_option_bytes(socket, level, name, &value.to_ne_bytes())
}

/// Sets an option whose value has that layout in memory.
pub fn set_option_bytes(socket: &impl AsFd, level: libc::c_int, name: libc::c_int, value: &[u8]) -> io::Result<()> {
    let (fd, length) = (socket.as_fd().as_raw_fd(), length_of(value));
    // SAFETY: the pointer and the length are those of `value`, which lives through the call; the kernel only reads it.
    check(unsafe { libc::setsockopt(fd, level, name, value.as_ptr().cast(), length) })
}

/// Reads an option as the bytes that the kernel gives, and how many these are.
pub fn option_bytes(socket: &impl AsFd, level: libc::c_int, name: libc::c_int, value: &mut [u8]) -> io::Result<usize> {
    let (fd, mut length) = (socket.as_fd().as_raw_fd(), length_of(value));
    // SAFETY: `value` is writable for `length` bytes, and the kernel writes no more than `length` says.
    check(unsafe { libc::getsockopt(fd, level, name, value.as_mut_ptr().cast(), &raw mut length) })?;
    Ok((length as usize).min(value.len()))
}

/// Lets a program of classic BPF choose which socket of a group (`SO_REUSEPORT`) takes a connection, by its number in
/// the group (Linux 4.6). The program sees the packet from the end of its TCP header on, and its IP header from
/// `SKF_NET_OFF` on.
pub fn attach_group_program(socket: &impl AsFd, program: &[libc::sock_filter]) -> io::Result<()> {
    let length = libc::c_ushort::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let filter = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    let (fd, name) = (socket.as_fd().as_raw_fd(), libc::SO_ATTACH_REUSEPORT_CBPF);
    let size = mem::size_of::<libc::sock_fprog>() as libc::socklen_t;
    // SAFETY: the pointers are those of `filter` and of `program`, which live through the call; the kernel only reads
    // them.
    check(unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, name, (&raw const filter).cast(), size) })
}

fn length_of(value: &[u8]) -> libc::socklen_t {
    libc::socklen_t::try_from(value.len()).unwrap_or(libc::socklen_t::MAX)
}

/// Lets the kernel hold this many bytes that were not read yet, beyond `net.core.rmem_max` where that is permitted.
pub fn set_receive_buffer(socket: &impl AsFd, bytes: usize) -> io::Result<()> {
    set_either(socket, [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF], bytes)
}

/// Lets the socket have this many bytes under way, beyond `net.core.wmem_max` where that is permitted.
pub fn set_send_buffer(socket: &impl AsFd, bytes: usize) -> io::Result<()> {
    set_either(socket, [libc::SO_SNDBUFFORCE, libc::SO_SNDBUF], bytes)
}

fn set_either(socket: &impl AsFd, [name, other]: [libc::c_int; 2], bytes: usize) -> io::Result<()> {
    let set = |name| set_option(socket, libc::SOL_SOCKET, name, bytes as libc::c_int);
    set(name).or_else(|_| set(other))
}

/// Packets that found the buffer of a packet socket full, since this was last asked.
pub fn drops(socket: &impl AsFd) -> io::Result<u64> {
    // `struct tpacket_stats`: how many came, and how many of these were dropped.
    let mut counts = [0; 8];
    option_bytes(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut counts)?;
    let [_, _, _, _, dropped @ ..] = counts;
    Ok(u32::from_ne_bytes(dropped).into())
}

/// Binds a socket to an interface: it sends by it, and sees packets of that protocol that pass it.
pub fn bind(socket: &impl AsFd, ifindex: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: all zeros is a valid `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = ifindex as i32;
    let length = mem::size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `address`, which lives through the call.
    check(unsafe { libc::bind(socket.as_fd().as_raw_fd(), (&raw const address).cast(), length) })
}

/// Asks the kernel about an interface, by its name in this namespace: `words` are the structure that the request takes,
/// and which the kernel changes.
pub fn interface_request<const N: usize>(interface: &str, request: u64, words: &mut [u32; N]) -> io::Result<()> {
    // SAFETY: all zeros is a valid `ifreq`.
    let mut asked: libc::ifreq = unsafe { mem::zeroed() };
    // The last byte stays 0, which ends the name.
    let Some(name) = asked.ifr_name.get_mut(..interface.len()).filter(|name| name.len() < libc::IFNAMSIZ) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    for (to, from) in name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    asked.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    let socket = open()?;
    // SAFETY: the request reads and writes `asked` and the structure that it points to, whose size goes with the
    // request; both outlive the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), request as _, &raw mut asked) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
