//! The only `unsafe` of this crate, here and in the modules below: promises about structures that the kernel shares,
//! and system calls that no crate wraps.

use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use aya::programs::{ProgramId, ProgramInfo};
use sixbench_packet::set_option;

use crate::abi;

mod far;

pub use far::FarSocket;
pub use sixbench_packet::{set_receive_buffer, set_send_buffer};

// SAFETY: plain integers and arrays of them, without padding (asserted by the sizes and offsets in `abi`): every
// pattern of bits is a value.
unsafe impl aya::Pod for abi::Tunnel {}
// SAFETY: as above.
unsafe impl aya::Pod for abi::Count {}
// SAFETY: as above.
unsafe impl aya::Pod for abi::State {}
// SAFETY: as above.
unsafe impl aya::Pod for abi::Translator {}
// SAFETY: as above.
unsafe impl aya::Pod for abi::Row {}

/// The number of a program that the kernel has.
pub fn program_id(program: &ProgramInfo) -> ProgramId {
    // SAFETY: the kernel gave the number with the program.
    unsafe { ProgramId::new(program.id()) }
}

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

/// The result of a test run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestRun {
    /// The program's return value.
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
    // SAFETY: the structure is as long as it says, and the buffers that it points to have the lengths it names; all
    // live through the call.
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

/// Lets the kernel fragment what the socket sends (over IPv4 by DF clear), or forbids it: then too long a packet is
/// EMSGSIZE.
pub fn set_dont_fragment(socket: &impl AsFd, is_ipv6: bool, is_set: bool) -> io::Result<()> {
    let (level, name, value) = match (is_ipv6, is_set) {
        (false, false) => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DONT),
        (false, true) => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO),
        (true, false) => (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_WANT),
        // IPV6_DONTFRAG is for UDP and ICMPv6 only (net/ipv6/ip6_output.c, __ip6_append_data).
        (true, true) => (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DO),
    };
    set_option(socket, level, name, value)
}

/// Sends flow label 0, as the programs do, and not the kernel's hash of the addresses.
pub fn clear_flow_label(socket: &impl AsFd) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, 0)
}

/// `linux/in6.h`; not in the `libc` crate.
const IPV6_AUTOFLOWLABEL: libc::c_int = 70;

/// The kernel's knowledge of the path's MTU to a destination, in bytes.
pub fn path_mtu_bytes(destination: IpAddr) -> io::Result<u32> {
    let (local, level, name): (IpAddr, _, _) = match destination {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), libc::IPPROTO_IP, libc::IP_MTU),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), libc::IPPROTO_IPV6, libc::IPV6_MTU),
    };
    let socket = UdpSocket::bind((local, 0))?;
    socket.connect((destination, 9))?; // Nothing is sent.
    let mut value = [0; 4];
    sixbench_packet::option_bytes(&socket, level, name, &mut value)?;
    Ok(u32::from_ne_bytes(value))
}
