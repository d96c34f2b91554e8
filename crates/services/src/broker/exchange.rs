//! Lines over TCP, each within a deadline and broken off by the order to stop.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Instant;

use nix::poll::PollFlags;
use socket2::{Domain, Protocol, Socket, Type};

use super::messages::{self, Answer, MAX_LINE_BYTES, Question};
use crate::error::refused;
use crate::worker::{Stop, Woken, wait};
use crate::{Error, Result};

/// The reason why a line was not read or written.
#[derive(Debug)]
pub enum Trouble {
    /// It has more than [`MAX_LINE_BYTES`].
    TooLong,
    /// It took too long.
    Late,
    /// The thread is to stop.
    Stopped,
    /// The other side closed before its end.
    Closed,
    /// A system call failed.
    System(&'static str, io::Error),
}

/// Limits of the time that a line may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience<'a> {
    /// Time at which the wait ends; `None`: never.
    pub deadline: Option<Instant>,
    /// The order that ends the wait.
    pub stop: Option<&'a Stop>,
}

impl Patience<'_> {
    fn wait(self, socket: &Socket, events: PollFlags) -> std::result::Result<(), Trouble> {
        match wait(Some((socket.as_fd(), events)), self.stop, self.deadline) {
            Ok(Woken::Ready) => Ok(()),
            Ok(Woken::Stopped) => Err(Trouble::Stopped),
            Ok(Woken::Late) => Err(Trouble::Late),
            Err(error) => Err(Trouble::System("ppoll", error)),
        }
    }
}

/// Reads a line, and returns it without its end. Bytes behind it are not looked at. The socket must not block.
pub fn read_line(mut socket: &Socket, patience: Patience<'_>) -> std::result::Result<Vec<u8>, Trouble> {
    let mut line = vec![0; MAX_LINE_BYTES + 1];
    let mut length = 0;
    loop {
        patience.wait(socket, PollFlags::POLLIN)?;
        let count = match socket.read(&mut line[length..]) {
            Ok(0) => return Err(Trouble::Closed),
            Ok(count) => count,
            Err(error) if is_for_later(&error) => continue,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Err(Trouble::Closed),
            Err(error) => return Err(Trouble::System("read", error)),
        };
        let end = line[length..length + count].iter().position(|&byte| byte == b'\n');
        length += count;
        match end {
            Some(end) => {
                line.truncate(length - count + end);
                return Ok(line);
            }
            None if length == line.len() => return Err(Trouble::TooLong),
            None => (),
        }
    }
}

/// Writes a line. The socket must not block.
pub fn write_line(mut socket: &Socket, line: &[u8], patience: Patience<'_>) -> std::result::Result<(), Trouble> {
    let mut rest = line;
    while !rest.is_empty() {
        patience.wait(socket, PollFlags::POLLOUT)?;
        match socket.write(rest) {
            Ok(count) => rest = &rest[count..],
            Err(error) if is_for_later(&error) => (),
            Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {
                return Err(Trouble::Closed);
            }
            Err(error) => return Err(Trouble::System("write", error)),
        }
    }
    Ok(())
}

/// Asks a broker, from a local address.
pub fn ask(local: IpAddr, broker: SocketAddr, question: &Question, patience: Patience<'_>) -> Result<Answer> {
    let line = exchange(local, broker, question, patience).map_err(|trouble| {
        let doing = format!("asking the tunnel broker {broker}");
        match trouble {
            Trouble::System(call, error) => Error::system(doing, call, error),
            Trouble::Late => Error::timeout(format!("{doing}: no answer in time")),
            Trouble::Stopped => Error::timeout(format!("{doing}: it was interrupted")),
            Trouble::Closed => Error::peer_lost(format!("{doing}: it closed the connection without an answer")),
            Trouble::TooLong => Error::peer_lost(format!("{doing}: its answer is longer than {MAX_LINE_BYTES} bytes")),
        }
    })?;
    match messages::read(&line) {
        Some(Answer::Refused(reason)) => Err(refused(broker, reason)),
        Some(answer) => Ok(answer),
        None => {
            Err(Error::peer_lost(format!("asking the tunnel broker {broker}: its answer does not follow the protocol")))
        }
    }
}

fn exchange(
    local: IpAddr,
    broker: SocketAddr,
    question: &Question,
    patience: Patience<'_>,
) -> std::result::Result<Vec<u8>, Trouble> {
    let socket = Socket::new(Domain::for_address(broker), Type::STREAM, Some(Protocol::TCP))
        .map_err(|error| Trouble::System("socket", error))?;
    socket.set_nonblocking(true).map_err(|error| Trouble::System("fcntl", error))?;
    socket.bind(&SocketAddr::new(local, 0).into()).map_err(|error| Trouble::System("bind", error))?;
    match socket.connect(&broker.into()) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(Trouble::System("connect", error)),
        _ => patience.wait(&socket, PollFlags::POLLOUT)?,
    }
    match socket.take_error() {
        Ok(None) => (),
        Ok(Some(error)) | Err(error) => return Err(Trouble::System("connect", error)),
    }
    write_line(&socket, &messages::line(question), patience)?;
    read_line(&socket, patience)
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::worker::deadline;

    fn read(parts: &[&[u8]]) -> std::result::Result<Vec<u8>, Trouble> {
        let (one, other) = Socket::pair(Domain::UNIX, Type::STREAM, None).expect("a pair");
        one.set_nonblocking(true).expect("a socket");
        for part in parts {
            assert_eq!((&other).write(part).expect("there is room"), part.len());
        }
        drop(other);
        read_line(&one, Patience { deadline: deadline(Duration::from_secs(60)), stop: None })
    }

    #[test]
    fn lines_have_an_end_and_a_greatest_length() {
        assert_eq!(read(&[b"ab", b"c\nd"]).expect("a line"), b"abc");
        assert!(matches!(read(&[b"abc"]), Err(Trouble::Closed)));
        let longest = [b'x'; MAX_LINE_BYTES];
        assert_eq!(read(&[&longest, b"\n"]).expect("a line"), longest);
        assert!(matches!(read(&[&longest, b"x\n"]), Err(Trouble::TooLong)));
    }

    #[test]
    fn who_says_nothing_is_late() {
        let (one, _other) = Socket::pair(Domain::UNIX, Type::STREAM, None).expect("a pair");
        one.set_nonblocking(true).expect("a socket");
        let patience = Patience { deadline: Some(Instant::now()), stop: None };
        assert!(matches!(read_line(&one, patience), Err(Trouble::Late)));
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..5000)) {
            let _ = read(&[&bytes]);
        }
    }
}
