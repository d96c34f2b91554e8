//! The few requests of bpf(2) that frames need: small programs, which are written out here, in place of a loader.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `linux/bpf.h`.
const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const LINK_CREATE: libc::c_long = 28;
const TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;

/// A map of AF_XDP sockets.
const MAP_XSK: u32 = 17;

/// Attach mode of a program that the interface's driver runs on received frames. [`ON_BUFFERS`] is the mode in which
/// the kernel runs it on socket buffers, for any driver.
pub const BY_DRIVER: u32 = 1 << 2;
/// See [`BY_DRIVER`].
pub const ON_BUFFERS: u32 = 1 << 1;

/// `struct bpf_insn`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// One instruction: its code, destination, source, offset and immediate value.
pub const fn op(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers: (from << 4) | to, offset, immediate }
}

/// The two instructions that load a map.
pub fn load_map(to: u8, map: &OwnedFd) -> [Instruction; 2] {
    const PSEUDO_MAP: u8 = 1;
    [op(0x18, to, PSEUDO_MAP, 0, map.as_raw_fd()), op(0, 0, 0, 0, 0)]
}

/// Makes a map of this many sockets.
pub fn map_of_sockets(entries: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Create {
        kind: u32,
        key_bytes: u32,
        value_bytes: u32,
        entries: u32,
        flags: u32,
    }
    let mut request = Create { kind: MAP_XSK, key_bytes: 4, value_bytes: 4, entries, flags: 0 };
    // SAFETY: the request has no pointers.
    unsafe { descriptor(MAP_CREATE, &mut request) }
}

/// Puts a socket into a map of sockets.
pub fn put(map: &OwnedFd, key: u32, socket: &OwnedFd) -> io::Result<()> {
    #[repr(C)]
    struct Update {
        map: u32,
        padding: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    let value = socket.as_raw_fd() as u32;
    let mut request = Update {
        map: map.as_raw_fd() as u32,
        padding: 0,
        key: (&raw const key) as u64,
        value: (&raw const value) as u64,
        flags: 0,
    };
    // SAFETY: key and value outlive the call and have the four bytes that such a map's have.
    unsafe { call(MAP_UPDATE, &mut request) }.map(|_| ())
}

/// Loads a program for XDP.
pub fn load(instructions: &[Instruction]) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Load {
        kind: u32,
        count: u32,
        instructions: u64,
        license: u64,
        log_level: u32,
        log_bytes: u32,
        log: u64,
        kernel: u32,
        flags: u32,
        name: [u8; 16],
        ifindex: u32,
        attach_type: u32,
    }
    let mut request = Load {
        kind: TYPE_XDP,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: c"Apache-2.0".as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        kernel: 0,
        flags: 0,
        name: *b"sixbench_frames\0",
        ifindex: 0,
        attach_type: ATTACH_XDP,
    };
    // SAFETY: instructions and licence outlive the call; the first are as many as it says, the other ends with a zero.
    unsafe { descriptor(PROG_LOAD, &mut request) }
}

/// Attaches a program to what an interface receives, for as long as what is returned lives. Linux 5.9.
pub fn attach(program: &OwnedFd, ifindex: u32, mode: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Create {
        program: u32,
        ifindex: u32,
        attach_type: u32,
        flags: u32,
    }
    let mut request = Create { program: program.as_raw_fd() as u32, ifindex, attach_type: ATTACH_XDP, flags: mode };
    // SAFETY: the request has no pointers.
    unsafe { descriptor(LINK_CREATE, &mut request) }
}

/// Calls for something that is a descriptor.
///
/// # Safety
/// As [`call`].
unsafe fn descriptor<T>(command: libc::c_long, request: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: the caller sees to what the request points to; what is returned is a descriptor that nobody else owns.
    unsafe { call(command, request).map(|fd| OwnedFd::from_raw_fd(fd)) }
}

/// # Safety
/// The memory to which the request points must be as long as it says, and outlive the call.
unsafe fn call<T>(command: libc::c_long, request: &mut T) -> io::Result<libc::c_int> {
    // SAFETY: the length is that of the request; the caller sees to the rest.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, request as *mut T, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as libc::c_int) }
}
