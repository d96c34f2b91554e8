//! The ways by which a sender gives bytes to the kernel.

use std::io::{self, IoSlice, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice, vmsplice};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, send};
use nix::unistd::pipe2;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_packet::error_queue;

use super::params::SendMode;
use crate::cancel::PATIENCE;
use crate::{Error, Result, sys};

/// Completions are looked for after this many sends. The kernel gathers those that follow each other into one.
const SENDS_BETWEEN_LOOKS: u64 = 16;
/// Constants of `linux/errqueue.h`, since Linux 4.14.
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;
const SO_EE_CODE_ZEROCOPY_COPIED: u8 = 1;
/// The largest pipe that the kernel gives to everybody (`fs.pipe-max-size`, pipe(7)).
const MAX_PIPE_BYTES: usize = 1 << 20;

/// The way out of one stream.
pub enum Output {
    /// [`SendMode::Copy`].
    Copy,
    /// [`SendMode::Zerocopy`].
    Zerocopy(Completions),
    /// [`SendMode::Splice`].
    Splice(Pipe),
}

/// The kernel's notices about sends with `MSG_ZEROCOPY`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Completions {
    /// Calls that took something.
    pub sends: u64,
    /// Calls whose memory the kernel has given back.
    pub completed: u64,
    /// Calls among these whose data it has copied after all (`SO_EE_CODE_ZEROCOPY_COPIED`).
    pub copied: u64,
}

/// A pipe between memory and a socket.
pub struct Pipe {
    from: OwnedFd,
    to: OwnedFd,
    filled_bytes: usize,
}

impl Output {
    /// The way out of a stream in that mode.
    pub fn new(mode: SendMode, stream: &TcpStream, message_bytes: usize) -> Result<Self> {
        match mode {
            SendMode::Copy => Ok(Output::Copy),
            SendMode::Zerocopy => {
                sys::set_socket_option(stream, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1)
                    .map_err(|e| Error::system("sending without a copy", "setsockopt(SO_ZEROCOPY)", e))?;
                Ok(Output::Zerocopy(Completions::default()))
            }
            SendMode::Splice => Pipe::new(message_bytes).map(Output::Splice),
        }
    }

    /// Gives the kernel some of these bytes, which stay as they are. Returns the number that it took.
    #[inline]
    pub fn send(&mut self, mut stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Copy => stream.write(bytes),
            Output::Zerocopy(completions) => completions.send(stream, bytes),
            Output::Splice(pipe) => pipe.send(stream, bytes),
        }
    }

    /// Counts of sends with `MSG_ZEROCOPY` and of their completions by now.
    pub fn completions(&mut self, stream: &TcpStream) -> Option<Completions> {
        let Output::Zerocopy(completions) = self else { return None };
        completions.collect(stream);
        Some(*completions)
    }
}

impl Completions {
    /// Adds those of another stream.
    pub fn add(&mut self, other: &Self) {
        self.sends += other.sends;
        self.completed += other.completed;
        self.copied += other.copied;
    }

    fn send(&mut self, stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        match send(stream.as_raw_fd(), bytes, MsgFlags::from_bits_retain(libc::MSG_ZEROCOPY | libc::MSG_NOSIGNAL)) {
            Ok(taken) => {
                self.sends += 1;
                if self.sends % SENDS_BETWEEN_LOOKS == 0 {
                    self.collect(stream);
                }
                Ok(taken)
            }
            // No room for more notices (`net.core.optmem_max`), until some are read.
            Err(Errno::ENOBUFS) => {
                if !self.collect(stream) {
                    let mut fds = [PollFd::new(stream.as_fd(), PollFlags::empty())];
                    let _ = poll(&mut fds, PollTimeout::from(PATIENCE.as_millis() as u16));
                }
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(e) => {
                self.collect(stream);
                Err(e.into())
            }
        }
    }

    /// Reads the notices that are there. Returns true if there were any.
    fn collect(&mut self, stream: &TcpStream) -> bool {
        let before = self.completed;
        while let Ok(entry) = error_queue::next(stream, &mut []) {
            let Some(notice) = entry.error.filter(|error| error.origin == SO_EE_ORIGIN_ZEROCOPY) else { continue };
            // From the first send to the last one, by their number, which wraps around.
            let sends = u64::from(notice.data.wrapping_sub(notice.info)) + 1;
            self.completed += sends;
            if notice.code == SO_EE_CODE_ZEROCOPY_COPIED {
                self.copied += sends;
            }
        }
        self.completed > before
    }
}

impl Pipe {
    fn new(message_bytes: usize) -> Result<Self> {
        let (from, to) =
            pipe2(OFlag::O_CLOEXEC).map_err(|e| Error::system("opening a pipe to a socket", "pipe2", e))?;
        // A message that does not fit goes in several parts, also where a larger pipe is refused.
        let _ = fcntl(&to, FcntlArg::F_SETPIPE_SZ(message_bytes.min(MAX_PIPE_BYTES) as i32));
        Ok(Self { from, to, filled_bytes: 0 })
    }

    /// Sends what is left in the pipe first: it is of the same memory, so that only its length matters.
    fn send(&mut self, stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        if self.filled_bytes == 0 {
            self.filled_bytes = vmsplice(&self.to, &[IoSlice::new(bytes)], SpliceFFlags::empty())?;
        }
        let most = self.filled_bytes.min(bytes.len());
        let taken = splice(&self.from, None, stream, None, most, SpliceFFlags::empty())?;
        self.filled_bytes -= taken;
        Ok(taken)
    }
}
