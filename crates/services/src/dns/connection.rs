//! A connection of a client: messages after their lengths, one answered after the other (RFC 7766 section 8).

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use nix::poll::PollFlags;

/// A client that says nothing for so long has gone: RFC 7766 section 6.2.3 asks for a few seconds.
const IDLE: Duration = Duration::from_secs(10);
const LENGTH_BYTES: usize = 2;
const CHUNK_BYTES: usize = 4096;

/// A client and what it is in the middle of.
#[derive(Debug)]
pub struct Connection {
    pub stream: TcpStream,
    /// Not yet a whole message: at most the longest one and a chunk.
    inbox: Vec<u8>,
    /// Answers that the client has not taken yet. Until it has, nothing more is read of it.
    outbox: Vec<u8>,
    pub deadline: Instant,
}

/// Whether a connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Stays,
    Ends,
}

impl Connection {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, inbox: Vec::new(), outbox: Vec::new(), deadline: Instant::now() + IDLE }
    }

    /// What it waits for.
    pub fn events(&self) -> PollFlags {
        if self.outbox.is_empty() { PollFlags::POLLIN } else { PollFlags::POLLOUT }
    }

    /// Goes on as far as it can without waiting. `answer`: of a message; `None` ends the connection.
    pub fn go_on(&mut self, mut answer: impl FnMut(&[u8]) -> Option<Vec<u8>>) -> Progress {
        self.deadline = Instant::now() + IDLE;
        if self.outbox.is_empty() && self.read() == Progress::Ends {
            return Progress::Ends;
        }
        loop {
            if self.write() == Progress::Ends {
                return Progress::Ends;
            }
            if !self.outbox.is_empty() {
                return Progress::Stays;
            }
            let Some(message) = take_message(&mut self.inbox) else { return Progress::Stays };
            let Some(answer) = answer(&message) else { return Progress::Ends };
            self.outbox.extend((answer.len() as u16).to_be_bytes());
            self.outbox.extend(answer);
        }
    }

    fn read(&mut self) -> Progress {
        let mut chunk = [0; CHUNK_BYTES];
        match self.stream.read(&mut chunk) {
            Ok(0) => Progress::Ends,
            Ok(length) => {
                self.inbox.extend_from_slice(&chunk[..length]);
                Progress::Stays
            }
            Err(error) => of_error(error.kind()),
        }
    }

    fn write(&mut self) -> Progress {
        while !self.outbox.is_empty() {
            match self.stream.write(&self.outbox) {
                Ok(0) => return Progress::Ends,
                Ok(length) => drop(self.outbox.drain(..length)),
                Err(error) => return of_error(error.kind()),
            }
        }
        Progress::Stays
    }
}

fn of_error(kind: ErrorKind) -> Progress {
    if matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted) { Progress::Stays } else { Progress::Ends }
}

fn take_message(inbox: &mut Vec<u8>) -> Option<Vec<u8>> {
    let &[high, low] = inbox.first_chunk()?;
    let end = LENGTH_BYTES + usize::from(u16::from_be_bytes([high, low]));
    let message = inbox.get(LENGTH_BYTES..end)?.to_vec();
    inbox.drain(..end);
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_any_pieces() {
        let mut inbox = Vec::new();
        let mut taken = Vec::new();
        for byte in [0, 3, 1, 2, 3, 0, 0, 0, 1, 9, 0] {
            inbox.push(byte);
            taken.extend(take_message(&mut inbox));
        }
        assert_eq!(taken, [&[1, 2, 3][..], &[], &[9]]);
        assert_eq!(inbox, [0]);
    }
}
