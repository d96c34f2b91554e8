//! The only `unsafe` of this crate: promises about structures that the kernel shares, and system calls that no crate wraps.

use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::abi;

// SAFETY: plain integers and arrays of them, without padding (asserted by the sizes and offsets in `abi`): every pattern of bits is a value.
unsafe impl aya::Pod for abi::Tunnel {}
// SAFETY: as above.
unsafe impl aya::Pod for abi::Count {}
// SAFETY: as above.
unsafe impl aya::Pod for abi::State {}

/// BPF_PROG_TEST_RUN.
const PROG_TEST_RUN: libc::c_int = 10;

/// The part of `union bpf_attr` that BPF_PROG_TEST_RUN uses (Linux 5.10).
#[repr(C)]
#[derive(Default)]
struct TestRunAttributes {
    prog_fd: u32,
    retval: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    ctx_size_in: u32,
    ctx_size_out: u32,
    ctx_in: u64,
    ctx_out: u64,
    flags: u32,
    cpu: u32,
    batch_size: u32,
    padding: u32,
}

/// What a test run gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestRun {
    /// What the program returned.
    pub action: i32,
    /// The packet after it.
    pub packet: Vec<u8>,
    /// Mean time of a run.
    pub duration_ns: u32,
}

/// `struct __sk_buff`'s size, and where it has what a test may set.
const SK_BUFF_BYTES: usize = 192;
const SK_BUFF_IFINDEX: usize = 40;

/// Runs a traffic control program `repeat` times on a packet that came in on the device, Ethernet header first.
pub fn test_run(program: BorrowedFd<'_>, packet: &[u8], ifindex: u32, repeat: u32) -> io::Result<TestRun> {
    let mut out = vec![0_u8; packet.len() + 256];
    let mut context = [0_u8; SK_BUFF_BYTES];
    context[SK_BUFF_IFINDEX..SK_BUFF_IFINDEX + 4].copy_from_slice(&ifindex.to_ne_bytes());
    let mut attributes = TestRunAttributes {
        prog_fd: program.as_raw_fd() as u32,
        data_size_in: packet.len() as u32,
        data_size_out: out.len() as u32,
        data_in: packet.as_ptr() as u64,
        data_out: out.as_mut_ptr() as u64,
        repeat,
        ctx_size_in: context.len() as u32,
        ctx_in: context.as_ptr() as u64,
        ..TestRunAttributes::default()
    };
    // SAFETY: the structure is as long as it says, and the buffers that it points to have the lengths it names; all live through the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            PROG_TEST_RUN,
            &raw mut attributes,
            mem::size_of::<TestRunAttributes>() as libc::c_uint,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    out.truncate(attributes.data_size_out as usize);
    Ok(TestRun { action: attributes.retval as i32, packet: out, duration_ns: attributes.duration })
}

/// `struct virtio_net_hdr`, which comes before every packet of a [`FarSocket`].
pub const VIRTUAL_HEADER_BYTES: usize = 10;

/// Not in the `libc` crate's Linux constants everywhere: `linux/if_packet.h`.
const PACKET_VNET_HDR: libc::c_int = 15;
/// Linux 4.20.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// A packet socket on the far end of a tunnel's device. It never blocks.
#[derive(Debug)]
pub struct FarSocket(OwnedFd);

impl FarSocket {
    /// Opens it: it has every packet that comes out of the far end.
    pub fn open(ifindex: u32, buffer_bytes: usize) -> io::Result<Self> {
        let flags = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the call takes numbers; what it returns is a descriptor that nobody else owns.
        let socket = unsafe {
            match libc::socket(libc::AF_PACKET, flags, 0) {
                -1 => return Err(io::Error::last_os_error()),
                fd => OwnedFd::from_raw_fd(fd),
            }
        };
        set_option(&socket, libc::SOL_PACKET, PACKET_VNET_HDR, 1)?;
        set_option(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
        set_receive_buffer(&socket, buffer_bytes)?;
        // SAFETY: all zeros is a valid `sockaddr_ll`.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = ifindex as i32;
        // SAFETY: the pointer and the length are those of `address`, which lives through the call.
        let result = unsafe {
            libc::bind(socket.as_raw_fd(), (&raw const address).cast(), mem::size_of_val(&address) as libc::socklen_t)
        };
        check(result as isize).map(|_| Self(socket))
    }

    /// The next packet's length in `buffer`, virtual header included; `None` when there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: `buffer` is writable for its length.
        let result = unsafe { libc::read(self.0.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        none_when_empty(check(result))
    }

    /// Sends a frame, virtual header first, into the far end: it comes in at the near end.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: `frame` is readable for its length.
        let result = unsafe { libc::write(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len()) };
        check(result).map(|_| ())
    }
}

impl AsFd for FarSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What a raw socket received.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedRaw {
    /// Of the datagram: with the IP header for IPv4, without for IPv6.
    pub length: usize,
    /// Who sent it.
    pub source: abi::Address,
    /// Of an IPv6 packet, where the socket was asked to tell.
    pub traffic_class: u8,
}

/// Room for a few control messages, aligned as the kernel writes them.
#[repr(C, align(8))]
struct Control([u8; 128]);

/// The next datagram of a raw socket; `None` when there is none.
pub fn receive_raw(socket: &impl AsFd, buffer: &mut [u8]) -> io::Result<Option<ReceivedRaw>> {
    // SAFETY: all zeros are valid values of both structures.
    let (mut source, mut message): (libc::sockaddr_in6, libc::msghdr) = unsafe { mem::zeroed() };
    let mut control = Control([0; 128]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    message.msg_name = (&raw mut source).cast();
    message.msg_namelen = mem::size_of_val(&source) as u32;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: every pointer in `message` is to a local or to `buffer`, with its length, and all live through the call.
    let result = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, 0) };
    let Some(length) = none_when_empty(check(result))? else { return Ok(None) };
    let mut traffic_class = 0;
    // SAFETY: the kernel has filled in `message`, and `control`, which it points to, is still there. A message of this type holds an int.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::IPPROTO_IPV6 && (*header).cmsg_type == libc::IPV6_TCLASS {
                traffic_class = libc::CMSG_DATA(header).cast::<libc::c_int>().read_unaligned() as u8;
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok(Some(ReceivedRaw { length, source: abi::Address(source.sin6_addr.s6_addr), traffic_class }))
}

/// Who told of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ErrorOrigin {
    Icmp,
    Icmpv6,
    Other,
}

/// An error of a packet that was sent.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedError {
    /// How much of the packet's payload is quoted.
    pub length: usize,
    /// Who told.
    pub origin: ErrorOrigin,
    /// The ICMP type.
    pub kind: u8,
    /// The ICMP code.
    pub code: u8,
}

/// Lets the socket keep the errors that its packets met.
pub fn set_receive_errors(socket: &impl AsFd, is_ipv6: bool) -> io::Result<()> {
    match is_ipv6 {
        true => set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1),
        false => set_option(socket, libc::IPPROTO_IP, libc::IP_RECVERR, 1),
    }
}

/// The next error, with the packet's payload in `buffer`; `None` when there is none.
pub fn receive_error(socket: &impl AsFd, buffer: &mut [u8]) -> io::Result<Option<ReceivedError>> {
    // SAFETY: all zeros is a valid value.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    let mut control = Control([0; 128]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: every pointer in `message` is to a local or to `buffer`, with its length, and all live through the call.
    let result = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, libc::MSG_ERRQUEUE) };
    let Some(length) = none_when_empty(check(result))? else { return Ok(None) };
    let mut received = ReceivedError { length, origin: ErrorOrigin::Other, kind: 0, code: 0 };
    // SAFETY: the kernel has filled in `message`, and `control`, which it points to, is still there. A message of these types begins with
    // that structure.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            let kind = ((*header).cmsg_level, (*header).cmsg_type);
            if kind == (libc::IPPROTO_IP, libc::IP_RECVERR) || kind == (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) {
                let error = libc::CMSG_DATA(header).cast::<libc::sock_extended_err>().read_unaligned();
                received.origin = match error.ee_origin {
                    libc::SO_EE_ORIGIN_ICMP => ErrorOrigin::Icmp,
                    libc::SO_EE_ORIGIN_ICMP6 => ErrorOrigin::Icmpv6,
                    _ => ErrorOrigin::Other,
                };
                (received.kind, received.code) = (error.ee_type, error.ee_code);
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok(Some(received))
}

/// Lets the kernel hold so many bytes that were not read yet, beyond `net.core.rmem_max` where that is permitted.
pub fn set_receive_buffer(socket: &impl AsFd, bytes: usize) -> io::Result<()> {
    let bytes = bytes as libc::c_int;
    set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes)
        .or_else(|_| set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes))
}

/// Sets DF on what the IPv4 socket sends, or lets the kernel fragment it.
pub fn set_dont_fragment(socket: &impl AsFd, is_set: bool) -> io::Result<()> {
    let value = if is_set { libc::IP_PMTUDISC_DO } else { libc::IP_PMTUDISC_DONT };
    set_option(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, value)
}

/// What the kernel knows of the path's MTU to there.
pub fn path_mtu_bytes(destination: IpAddr) -> io::Result<u32> {
    let (local, level, name): (IpAddr, _, _) = match destination {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), libc::IPPROTO_IP, libc::IP_MTU),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), libc::IPPROTO_IPV6, libc::IPV6_MTU),
    };
    let socket = UdpSocket::bind((local, 0))?;
    socket.connect((destination, 9))?; // Nothing is sent.
    let mut value: libc::c_int = 0;
    let mut length = mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `value`, of which every pattern is valid.
    let result = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length) };
    check(result as isize).map(|_| value as u32)
}

fn set_option(socket: &impl AsFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of `value`, which lives through the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            mem::size_of_val(&value) as libc::socklen_t,
        )
    };
    check(result as isize).map(|_| ())
}

fn check(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn none_when_empty(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(length) => Ok(Some(length)),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}
