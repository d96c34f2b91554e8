//! A connection after its greeting: bytes in and bytes out, in the clear or sealed.
//!
//! Sealed bytes are Noise transport messages, each after its length (u16, big endian). Their numbers are counted on
//! both sides, so that a message that is repeated, left out or changed ends the connection.

use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use snow::StatelessTransportState;

use crate::greeting::Ciphers;

/// The longest Noise message (section 3 of its specification), and what sealing adds.
const MAX_MESSAGE_BYTES: usize = 65_535;
const TAG_BYTES: usize = 16;
const MAX_PLAIN_BYTES: usize = MAX_MESSAGE_BYTES - TAG_BYTES;

/// Both directions of a connection.
pub struct Channel {
    /// Reads from the other end.
    pub reader: Reader<TcpStream>,
    /// Writes to the other end.
    pub writer: Writer<TcpStream>,
    /// Socket by which both directions are ended.
    pub stream: TcpStream,
}

impl Channel {
    pub(crate) fn new(stream: TcpStream, ciphers: Ciphers) -> io::Result<Self> {
        Ok(Self {
            reader: Reader::new(stream.try_clone()?, ciphers.clone()),
            writer: Writer::new(stream.try_clone()?, ciphers),
            stream,
        })
    }

    /// Ends both directions, for all that hold a part of it.
    pub fn close(&self) {
        // It may have ended already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Reads what the other end wrote.
pub struct Reader<S> {
    stream: S,
    unsealing: Option<Unsealing>,
}

struct Unsealing {
    ciphers: Arc<StatelessTransportState>,
    number: u64,
    sealed: Vec<u8>,
    plain: Vec<u8>,
    /// The unread part of `plain`.
    start: usize,
    end: usize,
}

impl<S: Read> Reader<S> {
    pub(crate) fn new(stream: S, ciphers: Ciphers) -> Self {
        let unsealing = ciphers.map(|ciphers| Unsealing {
            ciphers,
            number: 0,
            sealed: vec![0; MAX_MESSAGE_BYTES],
            plain: vec![0; MAX_MESSAGE_BYTES],
            start: 0,
            end: 0,
        });
        Self { stream, unsealing }
    }
}

impl<S: Read> Read for Reader<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(unsealing) = &mut self.unsealing else { return self.stream.read(buffer) };
        if unsealing.start == unsealing.end && !unsealing.next(&mut self.stream)? {
            return Ok(0);
        }
        let ready = unsealing.plain.get(unsealing.start..unsealing.end).unwrap_or_default();
        let count = ready.len().min(buffer.len());
        buffer[..count].copy_from_slice(&ready[..count]);
        unsealing.start += count;
        Ok(count)
    }
}

impl Unsealing {
    /// Opens the next message; `false` at the end.
    fn next(&mut self, stream: &mut impl Read) -> io::Result<bool> {
        let mut length = [0; 2];
        if !read_first(stream, &mut length)? {
            return Ok(false);
        }
        let length = usize::from(u16::from_be_bytes(length));
        if length <= TAG_BYTES {
            return Err(Error::new(ErrorKind::InvalidData, "a sealed message without content"));
        }
        let sealed = &mut self.sealed[..length];
        stream.read_exact(sealed)?;
        let opened = self.ciphers.read_message(self.number, sealed, &mut self.plain);
        self.end = opened.map_err(|_| Error::new(ErrorKind::InvalidData, "a sealed message that does not open"))?;
        self.start = 0;
        self.number += 1;
        Ok(true)
    }
}

/// Fills the buffer; `false` where the stream ends before its first byte.
fn read_first(stream: &mut impl Read, buffer: &mut [u8; 2]) -> io::Result<bool> {
    loop {
        match stream.read(buffer) {
            Ok(0) => return Ok(false),
            Ok(count) => return stream.read_exact(buffer.get_mut(count..).unwrap_or_default()).map(|()| true),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// Writes what the other end reads. Each call is sent at once.
pub struct Writer<S> {
    stream: S,
    sealing: Option<Sealing>,
}

struct Sealing {
    ciphers: Arc<StatelessTransportState>,
    number: u64,
    /// A length and a message.
    frame: Vec<u8>,
}

impl<S: Write> Writer<S> {
    pub(crate) fn new(stream: S, ciphers: Ciphers) -> Self {
        let sealing = ciphers.map(|ciphers| Sealing { ciphers, number: 0, frame: vec![0; 2 + MAX_MESSAGE_BYTES] });
        Self { stream, sealing }
    }
}

impl<S: Write> Write for Writer<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(sealing) = &mut self.sealing else { return self.stream.write(bytes) };
        let part = &bytes[..bytes.len().min(MAX_PLAIN_BYTES)];
        if part.is_empty() {
            return Ok(0);
        }
        let sealed = sealing.ciphers.write_message(sealing.number, part, &mut sealing.frame[2..]);
        let length = sealed.map_err(|error| Error::other(format!("sealing a message: {error}")))?;
        sealing.number += 1;
        sealing.frame[..2].copy_from_slice(&(length as u16).to_be_bytes());
        self.stream.write_all(&sealing.frame[..2 + length])?;
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
