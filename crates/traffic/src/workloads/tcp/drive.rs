//! The connections of one thread: a single one blocks in its calls, several are in one epoll set. The same code serves
//! both.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use sixbench_measure::clock;

use crate::cancel::{PATIENCE, Stop};
use crate::error::cancelled;
use crate::{Error, Result, sys};

/// Calls made on a connection that is ready before the others have their turn.
const CALLS_IN_TURN: usize = 4;
/// Most connections that one wait reports; the next wait reports the others.
const EVENTS: usize = 256;

/// The result of a call on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advance {
    /// Something moved.
    Moved,
    /// Nothing can move now.
    Waiting,
    /// It waits for the other direction from now on.
    Turned,
    /// It is over.
    Over,
}

/// A connection of a thread.
pub trait Driven {
    /// State that all connections of the thread share.
    type Shared;

    /// The connection.
    fn socket(&self) -> &TcpStream;

    /// True if it waits to read, false if to write.
    fn is_reading(&self) -> bool;

    /// Makes one call.
    fn advance(&mut self, shared: &mut Self::Shared) -> Result<Advance>;

    /// True if it is over, although nothing moves. Asked about every [`PATIENCE`], and when another connection is over.
    fn look(&mut self) -> Result<bool>;
}

/// The connections of a thread, which its [`Joiner`] adds.
pub struct Driver<S> {
    /// Absent for a single connection.
    epoll: Option<Arc<Epoll>>,
    expected: usize,
    joining: mpsc::Receiver<S>,
}

/// Gives a thread its connections.
pub struct Joiner<S> {
    epoll: Option<Arc<Epoll>>,
    joined: u64,
    streams: mpsc::Sender<S>,
}

/// The two ends of a driver for a thread of this many connections.
pub fn driver<S: Driven>(expected: usize) -> io::Result<(Joiner<S>, Driver<S>)> {
    let epoll = if expected > 1 { Some(Arc::new(Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?)) } else { None };
    let (streams, joining) = mpsc::channel();
    Ok((Joiner { epoll: epoll.clone(), joined: 0, streams }, Driver { epoll, expected, joining }))
}

impl<S: Driven> Joiner<S> {
    /// Adds a connection; it is at work as soon as its thread runs.
    pub fn join(&mut self, stream: S) -> io::Result<()> {
        if let Some(epoll) = &self.epoll {
            stream.socket().set_nonblocking(true)?;
            epoll.add(stream.socket(), EpollEvent::new(interest(&stream), self.joined))?;
        }
        self.joined += 1;
        // The thread may have ended, by a failure that it tells itself.
        let _ = self.streams.send(stream);
        Ok(())
    }
}

impl<S: Driven> Driver<S> {
    /// Works until all are over. Gives back those that came, in that order, however it ended.
    pub fn run(self, shared: &mut S::Shared, stop: &Stop) -> (Vec<S>, Result<()>) {
        let mut streams = Vec::with_capacity(self.expected);
        let outcome = match &self.epoll {
            None => self.run_one(&mut streams, shared, stop),
            Some(epoll) => self.run_many(epoll, &mut streams, shared, stop),
        };
        (streams, outcome)
    }

    fn run_one(&self, streams: &mut Vec<S>, shared: &mut S::Shared, stop: &Stop) -> Result<()> {
        loop {
            stop.check()?;
            let Some(stream) = streams.first_mut() else {
                match self.joining.recv_timeout(PATIENCE) {
                    Ok(stream) => streams.push(stream),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Err(cancelled()),
                }
                continue;
            };
            match stream.advance(shared)? {
                Advance::Moved | Advance::Turned => {}
                Advance::Waiting if stream.look()? => return Ok(()),
                Advance::Waiting => {}
                Advance::Over => return Ok(()),
            }
        }
    }

    fn run_many(&self, epoll: &Epoll, streams: &mut Vec<S>, shared: &mut S::Shared, stop: &Stop) -> Result<()> {
        let mut is_over = vec![false; self.expected];
        let mut left = self.expected;
        let mut look_ns = clock::monotonic_ns();
        let mut events = vec![EpollEvent::empty(); EVENTS.min(self.expected)];
        while left > 0 {
            stop.check()?;
            let ready = sys::epoll_wait(epoll, &mut events, PATIENCE);
            let ready = ready.map_err(|e| Error::system(WATCHING, "epoll_wait", e))?;
            for event in &events[..ready] {
                if streams.len() < self.expected {
                    streams.extend(self.joining.try_iter());
                }
                let index = event.data() as usize;
                // Told of before it came through the channel: the next wait tells of it again.
                let Some(stream) = streams.get_mut(index) else { continue };
                if !is_over[index] && take_turn(epoll, stream, index, shared)? {
                    is_over[index] = true;
                    left -= 1;
                    // The others are mostly over as well.
                    look_ns = 0;
                }
            }
            let now_ns = clock::monotonic_ns();
            if now_ns >= look_ns {
                look_ns = now_ns.saturating_add(PATIENCE.as_nanos() as u64);
                for (stream, is_over) in streams.iter_mut().zip(&mut is_over).filter(|(_, is_over)| !**is_over) {
                    if stream.look()? {
                        *is_over = true;
                        left -= 1;
                        forget(epoll, stream);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Makes some calls on one connection. Returns true if it is over.
fn take_turn<S: Driven>(epoll: &Epoll, stream: &mut S, index: usize, shared: &mut S::Shared) -> Result<bool> {
    for _ in 0..CALLS_IN_TURN {
        match stream.advance(shared)? {
            Advance::Moved => {}
            Advance::Waiting => return Ok(false),
            Advance::Turned => {
                let mut event = EpollEvent::new(interest(stream), index as u64);
                epoll.modify(stream.socket(), &mut event).map_err(|e| Error::system(WATCHING, "epoll_ctl", e))?;
            }
            Advance::Over => {
                forget(epoll, stream);
                return Ok(true);
            }
        }
    }
    Ok(false)
}

const WATCHING: &str = "watching several connections";

fn interest<S: Driven>(stream: &S) -> EpollFlags {
    if stream.is_reading() { EpollFlags::EPOLLIN } else { EpollFlags::EPOLLOUT }
}

/// Takes a connection that is over out of the epoll set.
fn forget<S: Driven>(epoll: &Epoll, stream: &S) {
    // It fails only where it is not there.
    let _ = epoll.delete(stream.socket());
}
