//! Who is at the door, and who is in.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// From the acceptance to the first request.
const GREETING_TIME: Duration = Duration::from_secs(2);
/// So many may be at the door; the longest waiting makes room for the next.
const MAX_WAITING: usize = 64;

/// All connections of a server.
pub struct Visitors {
    max_clients: usize,
    state: Mutex<State>,
    has_changed: Condvar,
}

#[derive(Default)]
struct State {
    next_number: u64,
    /// By the time they came.
    waiting: VecDeque<Waiting>,
    clients: usize,
}

struct Waiting {
    number: u64,
    /// To end it: whoever reads from it sees its end then.
    stream: TcpStream,
    deadline: Instant,
}

/// One connection, until this is dropped.
pub struct Visit {
    visitors: Arc<Visitors>,
    number: u64,
    is_client: bool,
}

/// There are as many clients as there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// So many.
    pub max_clients: usize,
}

impl Visitors {
    /// Nobody yet.
    pub fn new(max_clients: usize) -> Arc<Self> {
        Arc::new(Self { max_clients, state: Mutex::default(), has_changed: Condvar::new() })
    }

    /// Takes a connection in that has yet to say who it is.
    pub fn enter(self: &Arc<Self>, stream: TcpStream) -> Visit {
        let mut state = self.lock();
        if state.waiting.len() >= MAX_WAITING
            && let Some(oldest) = state.waiting.pop_front()
        {
            oldest.end();
        }
        let number = state.next_number;
        state.next_number += 1;
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

impl Waiting {
    fn end(self) {
        // It may have ended already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Visit {
    /// It has said who it is, and stays as long as it likes.
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
        state.waiting.retain(|waiting| waiting.number != self.number);
        state.clients += 1;
        drop(state);
        self.is_client = true;
        Ok(())
    }

    /// Whether it stayed.
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
            state.waiting.retain(|waiting| waiting.number != self.number);
        }
    }
}
