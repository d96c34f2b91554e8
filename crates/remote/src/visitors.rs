//! Connections that came through the door: those that have not identified themselves yet, and clients.

use std::collections::VecDeque;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::slots::{Number, Slots};

/// Time limit from the door to the first request.
const GREETING_TIME: Duration = Duration::from_secs(2);
/// Most connections that may wait here; of the network that most of them come from, the longest waiting makes room for
/// the next.
const MAX_WAITING: usize = 64;
/// Number of waiting connections that is more than good clients ever make.
const MANY: usize = 16;

/// All connections of a server.
pub struct Visitors {
    max_clients: usize,
    state: Mutex<State>,
    has_changed: Condvar,
}

#[derive(Default)]
struct State {
    next_number: Number,
    /// Connections in the order in which they came.
    waiting: VecDeque<Waiting>,
    slots: Slots,
    clients: usize,
}

struct Waiting {
    number: Number,
    /// The socket, to end the connection: its reader then sees the end.
    stream: TcpStream,
    deadline: Instant,
}

/// A connection, until this is dropped.
pub struct Visit {
    visitors: Arc<Visitors>,
    number: Number,
    is_client: bool,
}

/// The error that the largest number of clients is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// The number of clients that there may be.
    pub max_clients: usize,
}

impl Visitors {
    /// Nobody yet.
    pub fn new(max_clients: usize) -> Arc<Self> {
        Arc::new(Self { max_clients, state: Mutex::default(), has_changed: Condvar::new() })
    }

    /// True if more wait than good clients ever do.
    pub fn are_many(&self) -> bool {
        self.lock().waiting.len() >= MANY
    }

    /// Takes in a connection that has not identified itself yet.
    pub fn enter(self: &Arc<Self>, stream: TcpStream, from: IpAddr) -> Visit {
        let mut state = self.lock();
        if state.waiting.len() >= MAX_WAITING {
            if let Some(dispensable) = state.take_dispensable() {
                dispensable.end();
            }
        }
        let number = state.next_number;
        state.next_number += 1;
        state.slots.take(number, from);
        state.waiting.push_back(Waiting { number, stream, deadline: Instant::now() + GREETING_TIME });
        self.has_changed.notify_one();
        Visit { visitors: Arc::clone(self), number, is_client: false }
    }

    /// Ends those whose time is over, one after the other; never returns.
    pub fn watch(&self) -> ! {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            while state.waiting.front().is_some_and(|first| first.deadline <= now) {
                if let Some(first) = state.waiting.pop_front() {
                    state.slots.give_back(first.number);
                    first.end();
                }
            }
            state = match state.waiting.front().map(|first| first.deadline.duration_since(now)) {
                None => self.has_changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(wait) => {
                    drop(state);
                    thread::sleep(wait);
                    self.lock()
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The longest waiting connection of the network that has most: a flood shuts out nobody else.
    fn take_dispensable(&mut self) -> Option<Waiting> {
        let number = self.slots.dispensable()?;
        self.leave(number)
    }

    fn leave(&mut self, number: Number) -> Option<Waiting> {
        self.slots.give_back(number);
        let at = self.waiting.iter().position(|waiting| waiting.number == number)?;
        self.waiting.remove(at)
    }
}

impl Waiting {
    fn end(self) {
        // It may have ended already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Visit {
    /// Notes that it has identified itself: it may stay as long as it likes.
    ///
    /// # Errors
    /// `Full` where there is no room for another client.
    pub fn stay(&mut self) -> Result<(), Full> {
        let mut state = self.visitors.lock();
        if self.is_client {
            return Ok(());
        }
        if state.clients >= self.visitors.max_clients {
            return Err(Full { max_clients: self.visitors.max_clients });
        }
        state.leave(self.number);
        state.clients += 1;
        drop(state);
        self.is_client = true;
        Ok(())
    }

    /// True if it stayed.
    pub fn is_client(&self) -> bool {
        self.is_client
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut state = self.visitors.lock();
        if self.is_client {
            state.clients -= 1;
        } else {
            state.leave(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read};
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    /// A connection as the server has it, and its other end.
    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_nonblocking(true).unwrap();
        (listener.accept().unwrap().0, client)
    }

    fn is_open(mut client: &TcpStream) -> bool {
        matches!(client.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    #[test]
    fn who_floods_the_door_shuts_it_to_nobody_else() {
        let visitors = Visitors::new(1);
        let address = |last| IpAddr::from([192, 0, 2, last]);
        let (stream, good) = connection();
        let mut visit = visitors.enter(stream, address(1));
        let mut flood: Vec<_> = (0..2 * MAX_WAITING)
            .map(|_| {
                let (stream, client) = connection();
                (visitors.enter(stream, address(2)), client)
            })
            .collect();
        assert!(is_open(&good));
        assert_eq!(flood.iter().filter(|(_, client)| is_open(client)).count(), MAX_WAITING - 1);
        // The newest are those that are left.
        assert!(!is_open(&flood[0].1) && is_open(&flood[2 * MAX_WAITING - 1].1));
        visit.stay().unwrap();
        assert_eq!(flood[2 * MAX_WAITING - 1].0.stay(), Err(Full { max_clients: 1 }));
        drop(visit);
        flood[2 * MAX_WAITING - 1].0.stay().unwrap();
    }
}
