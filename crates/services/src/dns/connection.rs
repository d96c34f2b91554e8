//! A connection of a client, or one to a server: messages after their lengths, one answered after the other (RFC 7766
//! section 8).

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use nix::poll::PollFlags;

/// A client that is silent for this long has gone: RFC 7766 section 6.2.3 asks for a few seconds.
const IDLE: Duration = Duration::from_secs(10);
const LENGTH_BYTES: usize = 2;
const CHUNK_BYTES: usize = 4096;

/// The other side and its present work.
#[derive(Debug)]
pub struct Connection {
    pub stream: TcpStream,
    /// Bytes that are not yet a whole message: at most the longest one and a chunk.
    inbox: Vec<u8>,
    /// Bytes that the other side has not taken yet. Until it has, nothing more is read from it.
    outbox: Vec<u8>,
    /// True while an answer is waited for. Until it is there, nothing more is read from the client.
    is_waiting: bool,
    pub deadline: Instant,
}

/// The reply to a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Response {
    /// The answer to the message.
    Now(Vec<u8>),
    /// The answer is given to [`Connection::deliver`] later.
    Later,
    /// The bytes are no message, which ends the connection.
    Nothing,
}

/// Tells if a connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Stays,
    Ends,
}

/// Answer of a server that was asked.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    Message(Vec<u8>),
    NotYet,
    End,
}

impl Connection {
    pub fn new(stream: TcpStream) -> Self {
        let deadline = Instant::now() + IDLE;
        Self { stream, inbox: Vec::new(), outbox: Vec::new(), is_waiting: false, deadline }
    }

    /// A connection to a server, which may still be on its way, with the question that is sent by it.
    pub fn asking(stream: TcpStream, question: &[u8], deadline: Instant) -> Self {
        let mut connection = Self { deadline, ..Self::new(stream) };
        connection.deliver(question);
        connection
    }

    /// The events that the connection waits for. The end of the other side is reported in any case.
    pub fn events(&self) -> PollFlags {
        match (self.outbox.is_empty(), self.is_waiting) {
            (false, _) => PollFlags::POLLOUT,
            (true, true) => PollFlags::empty(),
            (true, false) => PollFlags::POLLIN,
        }
    }

    /// Has a message sent: the answer that was waited for.
    pub fn deliver(&mut self, message: &[u8]) {
        self.is_waiting = false;
        self.outbox.extend((message.len() as u16).to_be_bytes());
        self.outbox.extend_from_slice(message);
    }

    /// Goes on with what a server was asked.
    pub fn hear(&mut self) -> Heard {
        let ends = if self.outbox.is_empty() { self.read() } else { self.write() } == Progress::Ends;
        match take_message(&mut self.inbox) {
            Some(message) => Heard::Message(message),
            None if ends => Heard::End,
            None => Heard::NotYet,
        }
    }

    /// Goes on as far as it can without waiting. `answer` gives the reply to a message.
    pub fn go_on(&mut self, mut answer: impl FnMut(&[u8]) -> Response) -> Progress {
        self.deadline = Instant::now() + IDLE;
        if self.outbox.is_empty() && self.read() == Progress::Ends {
            return Progress::Ends;
        }
        loop {
            if self.write() == Progress::Ends {
                return Progress::Ends;
            }
            if !self.outbox.is_empty() || self.is_waiting {
                return Progress::Stays;
            }
            let Some(message) = take_message(&mut self.inbox) else { return Progress::Stays };
            match answer(&message) {
                Response::Now(answer) => self.deliver(&answer),
                Response::Later => self.is_waiting = true,
                Response::Nothing => return Progress::Ends,
            }
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
