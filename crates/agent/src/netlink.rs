//! Rtnetlink: dumps, which are the kernel's messages with their attributes, and requests that change something.

use std::io::{self, Read, Write};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

/// The kernel answers within the call that asks; this is for the case that it does not.
const PATIENCE: Duration = Duration::from_secs(1);
/// The kernel writes a dump in pieces of at most 32 KiB (`netlink_recvmsg`).
const PIECE_BYTES: usize = 32 << 10;
/// A device has a few disciplines and a node some devices.
const MAX_PIECES: usize = 4096;

/// `linux/netlink.h`, `linux/rtnetlink.h`.
const HEADER_BYTES: usize = 16;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST_DUMP: u16 = 0x301;
const REQUEST_ACKNOWLEDGED: u16 = 0x5;

/// Asks for a dump in the namespace of this thread, and gives the body of every message of the wanted kind to `each`.
///
/// `request` is the kind of the request. A body of zeros asks for everything.
pub fn dump(request: u16, body: &[u8], wanted: u16, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut socket = open()?;
    socket.write_all(&message_of(request, REQUEST_DUMP, body))?;
    let mut piece = vec![0; PIECE_BYTES];
    for _ in 0..MAX_PIECES {
        let length = socket.read(&mut piece)?;
        let mut messages = &piece[..length];
        while let Some((kind, body, rest)) = message(messages) {
            messages = rest;
            match kind {
                DONE => return Ok(()),
                ERROR => return Err(refusal(body)),
                _ if kind == wanted => each(body),
                _ => {}
            }
        }
    }
    Err(io::Error::other("the dump has no end"))
}

/// Asks, in the namespace of this thread, for a change, and waits until it is made or refused.
pub fn change(request: u16, body: &[u8]) -> io::Result<()> {
    let mut socket = open()?;
    socket.write_all(&message_of(request, REQUEST_ACKNOWLEDGED, body))?;
    let mut piece = vec![0; PIECE_BYTES];
    let length = socket.read(&mut piece)?;
    match message(&piece[..length]) {
        // The kernel acknowledges by an error message of the number 0.
        Some((ERROR, body, _)) if word(body, 0) == Some(0) => Ok(()),
        Some((ERROR, body, _)) => Err(refusal(body)),
        _ => Err(io::Error::other("the answer is no acknowledgement")),
    }
}

fn open() -> io::Result<Socket> {
    let protocol = Protocol::from(libc::NETLINK_ROUTE);
    let socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(protocol))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// `struct nlmsghdr`, and the body.
fn message_of(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut request = ((HEADER_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
    request.extend(kind.to_ne_bytes());
    request.extend(flags.to_ne_bytes());
    // Sequence number and port: there is one request a socket.
    request.extend([0; 8]);
    request.extend(body);
    request
}

/// The first message of some: its kind, its body, and those behind it.
fn message(data: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = word(data, 0)? as usize;
    let body = data.get(HEADER_BYTES..length)?;
    Some((half(data, 4)?, body, data.get(aligned(length)..).unwrap_or_default()))
}

fn refusal(body: &[u8]) -> io::Error {
    match word(body, 0) {
        Some(code) => io::Error::from_raw_os_error((code as i32).wrapping_neg()),
        None => io::Error::other("an error message without a number"),
    }
}

/// The value of the first attribute of that kind.
pub fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(half(attributes, 0)?);
        let value = attributes.get(4..length)?;
        // The two highest bits say how the value is written.
        if half(attributes, 2)? & 0x3fff == wanted {
            return Some(value);
        }
        attributes = attributes.get(aligned(length)..)?;
    }
}

/// The length with the padding behind it.
pub fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

/// Four bytes as a number.
pub fn word(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

fn half(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_follow_each_other() {
        let first = [20_u32.to_ne_bytes().as_slice(), &DONE.to_ne_bytes(), &[0; 10], &[1, 2, 3, 4], &[9]].concat();
        assert_eq!(message(&first), Some((DONE, [1, 2, 3, 4].as_slice(), [9].as_slice())));
        assert_eq!(message(&[0; 16]), None);
    }

    #[test]
    fn what_the_kernel_does_not_know_is_an_error() {
        const NO_SUCH_DUMP: u16 = 1000;
        assert!(dump(NO_SUCH_DUMP, &[0; 16], NO_SUCH_DUMP, |_| ()).is_err());
        assert!(change(NO_SUCH_DUMP, &[0; 16]).is_err());
    }
}
