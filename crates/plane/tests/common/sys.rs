//! The only `unsafe` of these tests: runs of a program that is loaded, on a packet.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};

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
