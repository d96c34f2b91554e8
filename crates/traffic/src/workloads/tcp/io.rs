//! Reading and writing whole messages on blocking sockets whose calls give up every [`PATIENCE`], or are interrupted by
//! a [`Guard`](crate::workloads::guard::Guard).

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use sixbench_measure::clock;
use socket2::SockRef;

use crate::Error;
use crate::cancel::{PATIENCE, Stop};
use crate::error::{cancelled, peer_lost, timeout};

/// The largest buffer for data that is generated or discarded.
pub const MAX_BUFFER_BYTES: usize = 1 << 20;

/// The reason why a message did not come through.
#[derive(Debug)]
pub enum Failure {
    /// The session was stopped.
    Stopped,
    /// It took longer than it may.
    Late,
    /// The peer closed the connection before a message's first byte.
    Closed,
    /// The system's error; a close in the middle of a message is `UnexpectedEof`.
    Io(io::Error),
}

impl Failure {
    /// The error of what was being done.
    pub fn explain(self, doing: &str, timeout_ns: u64) -> Error {
        match self {
            Failure::Stopped => cancelled(),
            Failure::Late => timeout(doing, timeout_ns),
            Failure::Closed => lost(doing, &io::ErrorKind::UnexpectedEof.into()),
            Failure::Io(error) => lost(doing, &error),
        }
    }
}

/// `peer-lost` for an error of an established connection.
pub fn lost(doing: &str, error: &io::Error) -> Error {
    let what = match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "reset the connection".to_owned(),
        io::ErrorKind::UnexpectedEof => "closed the connection".to_owned(),
        _ => format!("was lost: {error}"),
    };
    peer_lost(doing, what)
}

/// True if a blocking call merely ran into its timeout or a signal.
pub fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Has calls block until they are interrupted: a [`Guard`](crate::workloads::guard::Guard) must be there.
pub fn remove_timeouts(stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)
}

/// Writes all of it. `Late` when nothing could be written for `timeout_ns`.
#[inline]
pub fn send_all(stream: &mut impl Write, mut bytes: &[u8], timeout_ns: u64, stop: &Stop) -> Result<(), Failure> {
    let mut waiting = Waiting::new(timeout_ns);
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(n) => {
                bytes = bytes.get(n..).unwrap_or_default();
                waiting.over();
            }
            Err(e) => waiting.after(e, stop)?,
        }
    }
    Ok(())
}

/// Writes a message of this length, made of repetitions of the chunk.
#[inline]
pub fn send_message(
    stream: &mut impl Write,
    chunk: &[u8],
    mut bytes: usize,
    timeout_ns: u64,
    stop: &Stop,
) -> Result<(), Failure> {
    while bytes > 0 {
        let piece = chunk.get(..bytes.min(chunk.len())).unwrap_or(chunk);
        send_all(stream, piece, timeout_ns, stop)?;
        bytes -= piece.len();
        if bytes > 0 {
            stop.check().map_err(|_| Failure::Stopped)?;
        }
    }
    Ok(())
}

/// Reads a message of this length and discards it. `Late` when nothing came for `timeout_ns`.
#[inline]
pub fn read_message(
    stream: &mut impl Read,
    buffer: &mut [u8],
    bytes: usize,
    timeout_ns: u64,
    stop: &Stop,
) -> Result<(), Failure> {
    let mut waiting = Waiting::new(timeout_ns);
    let mut left = bytes;
    while left > 0 {
        let space = left.min(buffer.len());
        match stream.read(&mut buffer[..space]) {
            Ok(0) if left == bytes => return Err(Failure::Closed),
            Ok(0) => return Err(Failure::Io(io::ErrorKind::UnexpectedEof.into())),
            Ok(n) => {
                left = left.saturating_sub(n);
                waiting.over();
            }
            Err(e) => waiting.after(e, stop)?,
        }
    }
    Ok(())
}

/// Bytes that neither compress nor repeat within a page.
pub fn pattern(bytes: usize) -> Vec<u8> {
    let mut pattern = vec![0; bytes];
    fill_pattern(&mut pattern);
    pattern
}

/// [`pattern`], in place.
pub fn fill_pattern(bytes: &mut [u8]) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for word in bytes.chunks_mut(8) {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_le_bytes()[..word.len()]);
    }
}

/// Closes a connection at once, with a reset, dropping what is still queued.
pub fn reset(stream: TcpStream) {
    reset_on_close(&stream);
}

/// Makes the close of this connection a reset, whoever closes it last.
pub fn reset_on_close(stream: &TcpStream) {
    // A failure leaves an orderly close, which ends the connection as well.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// Time in which nothing has moved. The clock is read only when a call has already waited in vain.
struct Waiting {
    timeout_ns: u64,
    since_ns: Option<u64>,
}

impl Waiting {
    fn new(timeout_ns: u64) -> Self {
        Self { timeout_ns, since_ns: None }
    }

    #[inline]
    fn over(&mut self) {
        self.since_ns = None;
    }

    #[cold]
    fn after(&mut self, error: io::Error, stop: &Stop) -> Result<(), Failure> {
        stop.check().map_err(|_| Failure::Stopped)?;
        let waited_ns = match error.kind() {
            // Since when it waited is not known.
            io::ErrorKind::Interrupted => 0,
            // The call that ended in vain began one patience ago.
            io::ErrorKind::WouldBlock => self.timeout_ns.min(PATIENCE.as_nanos() as u64),
            _ => return Err(Failure::Io(error)),
        };
        let now_ns = clock::monotonic_ns();
        let since_ns = *self.since_ns.get_or_insert(now_ns.saturating_sub(waited_ns));
        if now_ns.saturating_sub(since_ns) >= self.timeout_ns { Err(Failure::Late) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_has_its_length_and_does_not_repeat() {
        for bytes in [0, 1, 8, 1_001] {
            assert_eq!(pattern(bytes).len(), bytes);
        }
        let page = pattern(8_192);
        assert_ne!(page[..4_096], page[4_096..]);
    }
}
