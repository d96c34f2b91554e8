//! Memory that is shared with the kernel.

use std::io;
use std::ptr;

/// A mapping, for as long as it lives.
#[derive(Debug)]
pub struct Mapping {
    memory: *mut u8,
    bytes: usize,
}

// SAFETY: the memory belongs to this value alone; it is not bound to the thread that mapped it.
unsafe impl Send for Mapping {}
// SAFETY: all that a reference gives is where the memory is; whoever reads or writes there sees to it that nobody else
// does.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the memory of a descriptor from that offset on, which others change too.
    pub fn shared(fd: libc::c_int, offset: libc::off_t, bytes: usize) -> io::Result<Self> {
        Self::new(fd, offset, bytes, libc::MAP_SHARED)
    }

    /// Maps new memory. Every byte is 0.
    pub fn anonymous(bytes: usize) -> io::Result<Self> {
        Self::new(-1, 0, bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS)
    }

    fn new(fd: libc::c_int, offset: libc::off_t, bytes: usize, flags: libc::c_int) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of that length, wherever the kernel puts it.
        let memory = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, fd, offset) };
        if memory == libc::MAP_FAILED {
            Err(io::Error::last_os_error())
        } else {
            Ok(Self { memory: memory.cast(), bytes })
        }
    }

    /// The address of its first byte.
    pub fn start(&self) -> *mut u8 {
        self.memory
    }

    /// Its length.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nobody has a reference into it any more.
        unsafe { libc::munmap(self.memory.cast(), self.bytes) };
    }
}
