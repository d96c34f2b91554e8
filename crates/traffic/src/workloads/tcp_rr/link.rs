//! The connection of either side, and the waiting of its calls.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use crate::workloads::tcp::io as tcp_io;
use crate::{Error, Result};

/// Calls in vain, after which the caller looks whether it should go on: somewhat under a millisecond.
const CALLS_IN_VAIN: usize = 1_000;

/// A connection.
pub enum Link {
    /// Its calls block until they are interrupted.
    Blocking(TcpStream),
    /// Its calls are made again and again.
    Spinning(TcpStream),
}

impl Link {
    /// A link of a connection that was just opened.
    pub fn new(stream: TcpStream, busy_poll: bool) -> Result<Self> {
        if busy_poll {
            stream.set_nonblocking(true).map_err(|e| Error::system("having a connection not block", "fcntl", e))?;
            return Ok(Link::Spinning(stream));
        }
        tcp_io::remove_timeouts(&stream)
            .map_err(|e| Error::system("letting a connection block", "setsockopt(SO_RCVTIMEO, SO_SNDTIMEO)", e))?;
        Ok(Link::Blocking(stream))
    }

    /// The connection.
    pub fn stream(&self) -> &TcpStream {
        let (Link::Blocking(stream) | Link::Spinning(stream)) = self;
        stream
    }
}

impl Read for Link {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Blocking(stream) => stream.read(buffer),
            Link::Spinning(stream) => spin(|| stream.read(buffer)),
        }
    }
}

impl Write for Link {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Link::Blocking(stream) => stream.write(bytes),
            Link::Spinning(stream) => spin(|| stream.write(bytes)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Calls until it does not have to wait; `Interrupted` where it always had to.
#[inline]
fn spin(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    for _ in 0..CALLS_IN_VAIN {
        match call() {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => std::hint::spin_loop(),
            other => return other,
        }
    }
    Err(io::ErrorKind::Interrupted.into())
}
