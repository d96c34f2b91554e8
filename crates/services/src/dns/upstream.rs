//! The server that is asked for forwarded names: questions that wait for it, and its answers.
//!
//! An answer counts only if it comes from the server's address and port to the port that asked, with the identifier and
//! the question (RFC 5452 section 9.1). The kernel checks the addresses and ports, because the sockets are connected.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::PollFlags;
use sixbench_measure::random::Secrets;
use sixbench_wire::dns::{ForeignAnswer, Found, Learned, OUR_UDP_BYTES, Question, answer_in};
use socket2::{Domain, Protocol, Socket, Type};

use super::connection::{Connection, Heard};
use crate::asking::connected;
use crate::{Error, Result};

/// The ports that ask, which the kernel chooses. Each question is of one of them at random, with a random identifier
/// (RFC 5452 section 9.2).
const PORTS: usize = 16;
/// Questions that wait at once. More fail at once.
const MAX_WAITING: usize = 8192;
/// Questions for one message of a client, those for aliases among them.
const MAX_QUESTIONS: usize = 8;
const MAX_STREAMS: usize = 16;
/// Time limit of an answer, and number of attempts. RFC 1035 section 4.2.1 has 2 to 5 s for servers that are far away.
const PATIENCE: Duration = Duration::from_millis(500);
const ATTEMPTS: u32 = 2;
/// Time limit of a connection to the server, with its answer.
const STREAM_PATIENCE: Duration = Duration::from_secs(1);
const ANSWERS_AT_ONCE: usize = 64;

/// A port and an identifier.
type Key = (usize, u16);

/// A client's message that waits: its client, and the records learned for it.
#[derive(Debug)]
pub struct Case<C> {
    pub client: C,
    pub message: Vec<u8>,
    pub learned: Vec<Learned>,
}

impl<C> Case<C> {
    /// A case for which nothing was asked yet.
    pub fn new(client: C, message: &[u8]) -> Self {
        Self { client, message: message.to_vec(), learned: Vec::new() }
    }
}

/// A question that was asked.
#[derive(Debug)]
struct Waiting<C> {
    case: Case<C>,
    question: Question,
    attempts: u32,
    /// Distinguishes it from an earlier one of the same key.
    serial: u64,
}

/// The server, and what it was asked.
#[derive(Debug)]
pub struct Upstream<C> {
    server: SocketAddr,
    ports: Vec<UdpSocket>,
    random: Secrets,
    waiting: HashMap<Key, Waiting<C>>,
    /// Times at which questions are asked again or given up, in order.
    due: VecDeque<(Instant, Key, u64)>,
    serial: u64,
    /// Questions whose answers did not fit a datagram.
    streams: Vec<(Connection, u16, Waiting<C>)>,
    /// Counts of its questions.
    pub tally: Tally,
}

/// Counts of the questions to the server and of their outcomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Questions, with those that were asked again.
    pub asked: u64,
    /// Questions that it did not answer.
    pub unanswered: u64,
    /// Messages that answer no question that waits.
    pub strays: u64,
}

impl<C> Upstream<C> {
    pub fn open(server: SocketAddr) -> Result<Self> {
        let failed =
            |call| move |error: io::Error| Error::system(format!("asking the server {server} for names"), call, error);
        let ports = (0..PORTS).map(|_| connected(server)).collect::<io::Result<_>>().map_err(failed("connect"))?;
        Ok(Self {
            server,
            ports,
            random: Secrets::open().map_err(failed("open(/dev/urandom)"))?,
            waiting: HashMap::new(),
            due: VecDeque::new(),
            serial: 0,
            streams: Vec::new(),
            tally: Tally::default(),
        })
    }

    /// The descriptors and the events that it waits for.
    pub fn awaited(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let ports = self.ports.iter().map(|port| (port.as_fd(), PollFlags::POLLIN));
        ports.chain(self.streams.iter().map(|(stream, ..)| (stream.stream.as_fd(), stream.events())))
    }

    /// The time when something is overdue.
    pub fn deadline(&self) -> Option<Instant> {
        let of_streams = self.streams.iter().map(|(stream, ..)| stream.deadline);
        self.due.front().map(|&(due, ..)| due).into_iter().chain(of_streams).min()
    }

    /// Asks a question. If that is impossible, the case comes back with a failure.
    pub fn ask(&mut self, case: Case<C>, question: Question) -> Option<Case<C>> {
        let waiting = Waiting { case, question, attempts: 0, serial: 0 };
        if waiting.case.learned.len() >= MAX_QUESTIONS {
            return Some(waiting.failed());
        }
        self.send(waiting)
    }

    /// Reads what has come, and looks at what is overdue. Returns the cases that go on. `ready`: one flag for each of
    /// `awaited`, in that order.
    pub fn go_on(&mut self, ready: &[bool]) -> Vec<Case<C>> {
        let mut done = Vec::new();
        let (of_ports, of_streams) = ready.split_at(PORTS.min(ready.len()));
        self.hear_streams(of_streams, &mut done);
        for (port, _) in of_ports.iter().enumerate().filter(|(_, ready)| **ready) {
            self.hear_port(port, &mut done);
        }
        self.give_up(Instant::now(), &mut done);
        done
    }

    fn send(&mut self, mut waiting: Waiting<C>) -> Option<Case<C>> {
        let Some(key) = self.free_key() else { return Some(waiting.failed()) };
        // An error is that of an earlier question, or one that passes: the question is asked again.
        let _ = self.ports[key.0].send(&waiting.question.asked(key.1));
        self.tally.asked += 1;
        self.serial += 1;
        (waiting.serial, waiting.attempts) = (self.serial, waiting.attempts + 1);
        self.waiting.insert(key, waiting);
        self.due.push_back((Instant::now() + PATIENCE, key, self.serial));
        None
    }

    /// A port and an identifier of which no answer is waited for.
    fn free_key(&mut self) -> Option<Key> {
        if self.waiting.len() >= MAX_WAITING {
            return None;
        }
        loop {
            let number = self.random.number().ok()?;
            let key = ((number >> 16) as usize % PORTS, number as u16);
            if !self.waiting.contains_key(&key) {
                return Some(key);
            }
        }
    }

    fn hear_port(&mut self, port: usize, done: &mut Vec<Case<C>>) {
        let mut buffer = [0; OUR_UDP_BYTES as usize];
        for _ in 0..ANSWERS_AT_ONCE {
            let length = match self.ports[port].recv(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The server does not listen: its questions are asked again.
                Err(_) => continue,
            };
            let message = &buffer[..length];
            let id = message.first_chunk().map_or(0, |id| u16::from_be_bytes(*id));
            let asked = self.waiting.get(&(port, id));
            match asked.and_then(|waiting| answer_in(message, id, &waiting.question)) {
                Some(answer) => {
                    if let Some(waiting) = self.waiting.remove(&(port, id)) {
                        match answer {
                            ForeignAnswer::Found(found) => done.push(waiting.learned(found)),
                            ForeignAnswer::Truncated => done.extend(self.ask_by_stream(waiting)),
                        }
                    }
                }
                None => self.tally.strays += 1,
            }
        }
    }

    fn give_up(&mut self, now: Instant, done: &mut Vec<Case<C>>) {
        while let Some(&(due, key, serial)) = self.due.front() {
            let is_answered = self.waiting.get(&key).is_none_or(|waiting| waiting.serial != serial);
            if !is_answered && due > now {
                return;
            }
            self.due.pop_front();
            let Some(waiting) = (if is_answered { None } else { self.waiting.remove(&key) }) else { continue };
            if waiting.attempts < ATTEMPTS {
                done.extend(self.send(waiting));
            } else {
                self.tally.unanswered += 1;
                done.push(waiting.failed());
            }
        }
    }

    fn ask_by_stream(&mut self, waiting: Waiting<C>) -> Option<Case<C>> {
        let id = self.random.number().map(|number| number as u16);
        let (Ok(id), true) = (id, self.streams.len() < MAX_STREAMS) else { return Some(waiting.failed()) };
        let Ok(stream) = connecting(self.server) else { return Some(waiting.failed()) };
        let connection =
            Connection::asking(stream.into(), &waiting.question.asked(id), Instant::now() + STREAM_PATIENCE);
        self.tally.asked += 1;
        self.streams.push((connection, id, waiting));
        None
    }

    fn hear_streams(&mut self, ready: &[bool], done: &mut Vec<Case<C>>) {
        let now = Instant::now();
        let streams = std::mem::take(&mut self.streams);
        for (index, (mut connection, id, waiting)) in streams.into_iter().enumerate() {
            let is_ready = ready.get(index).is_some_and(|ready| *ready);
            let heard = if is_ready { connection.hear() } else { Heard::NotYet };
            match heard {
                Heard::NotYet if connection.deadline > now => self.streams.push((connection, id, waiting)),
                Heard::NotYet | Heard::End => {
                    self.tally.unanswered += 1;
                    done.push(waiting.failed());
                }
                Heard::Message(message) => done.push(match answer_in(&message, id, &waiting.question) {
                    Some(ForeignAnswer::Found(found)) => waiting.learned(found),
                    Some(ForeignAnswer::Truncated) | None => waiting.failed(),
                }),
            }
        }
    }
}

impl<C> Waiting<C> {
    fn learned(self, found: Found) -> Case<C> {
        let mut case = self.case;
        case.learned.push(Learned { question: self.question, found });
        case
    }

    fn failed(self) -> Case<C> {
        self.learned(Found::Failed)
    }
}

/// A connection that is on its way.
fn connecting(server: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(server), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    match socket.connect(&server.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::EINPROGRESS as i32) => Err(error),
        _ => Ok(socket),
    }
}
