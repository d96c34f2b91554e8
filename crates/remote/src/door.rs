//! The door of a server: one thread that accepts connections and waits for their first bytes.
//!
//! A connection at the door costs a descriptor and a hundred bytes, and no thread. When slots run short, the network
//! that has most of them loses one ([`crate::slots`]). When many are taken, only a client that brings its cookie is let
//! in ([`crate::cookie`]). A good client hardly stays at the door: it sends all of its first bytes as soon as it is
//! connected.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::SockRef;

use crate::cookie::Jar;
use crate::first_bytes::{Answer, MAX_OPENING_BYTES, Opening};
use crate::greeting::{self, Begun};
use crate::key::Key;
use crate::slots::{Number, Slots};

/// Time limit from the acceptance to the last of the first bytes.
const OPENING_TIME: Duration = Duration::from_secs(2);
/// A quarter of the descriptors that the process may have is for the door, within these bounds. At 1,300 connections a
/// second that say nothing, each stands for 1.6 s where there are 2,048 slots.
const DESCRIPTORS_SHARE: u64 = 4;
const MIN_PLACES: usize = 64;
const MAX_PLACES: usize = 2_048;
/// A server is under load when one in this many slots is taken: more than an idle server's good clients ever take, and
/// long before they are short.
const LOAD_SHARE: usize = 8;
/// Connections accepted before those that are there are looked at again.
const MAX_ACCEPTED: usize = 64;
/// Short of file descriptors or memory, it waits a moment rather than ask again at once.
const PAUSE: Duration = Duration::from_millis(10);
/// Numbers of connections begin here: below are those of listening sockets.
const FIRST_NUMBER: Number = 1 << 16;

/// The part of the server behind the door.
pub trait Inside {
    /// True if there are many inside that have not identified themselves.
    fn is_crowded(&self) -> bool;

    /// Takes a connection that blocks, and whose first bytes are as they should be.
    fn admit(&self, stream: TcpStream, from: IpAddr, begun: Begun);
}

/// The door.
pub struct Door<I> {
    key: Option<Key>,
    inside: Arc<I>,
    listeners: Vec<TcpListener>,
    poll: Epoll,
    jar: Jar,
    began: Instant,
    max_slots: usize,
    next: Number,
    slots: Slots,
    waiting: HashMap<Number, Waiting>,
    /// Deadlines in order of time, of connections that wait and of some that no longer do.
    deadlines: VecDeque<(Instant, Number)>,
}

struct Waiting {
    stream: TcpStream,
    from: IpAddr,
    bytes: [u8; MAX_OPENING_BYTES],
    have: usize,
}

/// News of a connection at the door.
enum News {
    /// More has to come.
    Nothing,
    /// The connection has ended.
    Gone,
    /// The bytes cannot become a client's first ones.
    Unfit,
    /// The client's first bytes are complete.
    Opening(Opening),
}

impl<I: Inside> Door<I> {
    /// The door of these listening sockets.
    pub fn new(listeners: Vec<TcpListener>, key: Option<Key>, inside: Arc<I>) -> io::Result<Self> {
        let poll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for (number, listener) in (0..).zip(&listeners) {
            listener.set_nonblocking(true)?;
            poll.add(listener, EpollEvent::new(EpollFlags::EPOLLIN, number))?;
        }
        Ok(Self {
            key,
            inside,
            listeners,
            poll,
            jar: Jar::new()?,
            began: Instant::now(),
            max_slots: slots(),
            next: FIRST_NUMBER,
            slots: Slots::default(),
            waiting: HashMap::new(),
            deadlines: VecDeque::new(),
        })
    }

    /// Stands at the door for ever.
    pub fn attend(mut self) -> ! {
        let mut events = [EpollEvent::empty(); 256];
        loop {
            let count = match self.poll.wait(&mut events, self.timeout()) {
                Ok(count) => count,
                Err(Errno::EINTR) => 0,
                Err(_) => {
                    thread::sleep(PAUSE);
                    0
                }
            };
            for event in events.iter().take(count) {
                match event.data() {
                    number @ FIRST_NUMBER.. => self.look_at(number),
                    listener => self.accept(listener as usize),
                }
            }
            self.expire();
        }
    }

    fn timeout(&self) -> EpollTimeout {
        let Some((deadline, _)) = self.deadlines.front() else { return EpollTimeout::NONE };
        let wait = deadline.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        EpollTimeout::try_from(wait).unwrap_or(EpollTimeout::ZERO)
    }

    fn accept(&mut self, listener: usize) {
        for _ in 0..MAX_ACCEPTED {
            match self.listeners.get(listener).map(accept) {
                Some(Ok((stream, from))) => {
                    self.take(Waiting { stream, from, bytes: [0; MAX_OPENING_BYTES], have: 0 });
                }
                Some(Err(error)) => match error.kind() {
                    io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => {}
                    io::ErrorKind::WouldBlock => return,
                    // Short of descriptors or memory: somebody gives way.
                    _ => {
                        self.evict();
                        return thread::sleep(PAUSE);
                    }
                },
                None => return,
            }
        }
    }

    fn take(&mut self, mut waiting: Waiting) {
        match waiting.read(self.key.is_some()) {
            News::Nothing => self.wait_for(waiting),
            news => self.settle(waiting, news),
        }
    }

    fn wait_for(&mut self, waiting: Waiting) {
        if self.slots.count() >= self.max_slots {
            self.evict();
        }
        let number = self.next;
        self.next += 1;
        if self.poll.add(&waiting.stream, EpollEvent::new(EpollFlags::EPOLLIN, number)).is_err() {
            return;
        }
        self.slots.take(number, waiting.from);
        self.deadlines.push_back((Instant::now() + OPENING_TIME, number));
        self.waiting.insert(number, waiting);
    }

    fn look_at(&mut self, number: Number) {
        // It may have given way since the event.
        let Some(waiting) = self.waiting.get_mut(&number) else { return };
        match waiting.read(self.key.is_some()) {
            News::Nothing => {}
            news => {
                if let Some(waiting) = self.leave(number) {
                    self.settle(waiting, news);
                }
            }
        }
    }

    fn leave(&mut self, number: Number) -> Option<Waiting> {
        self.slots.give_back(number);
        self.waiting.remove(&number)
    }

    fn evict(&mut self) {
        if let Some(waiting) = self.slots.dispensable().and_then(|number| self.leave(number)) {
            self.refuse(waiting.stream, Answer::UnderLoad);
        }
    }

    fn expire(&mut self) {
        let now = Instant::now();
        while let Some((_, number)) = self.deadlines.front().filter(|(deadline, _)| *deadline <= now).copied() {
            self.deadlines.pop_front();
            if let Some(waiting) = self.leave(number) {
                self.refuse(waiting.stream, Answer::TooSlow);
            }
        }
    }

    fn settle(&self, waiting: Waiting, news: News) {
        match news {
            News::Nothing | News::Gone => {}
            News::Unfit => self.refuse(waiting.stream, Answer::Differs),
            News::Opening(opening) => self.judge(waiting, &opening),
        }
    }

    fn judge(&self, Waiting { stream, from, .. }: Waiting, opening: &Opening) {
        let now = self.began.elapsed();
        if self.is_under_load() && !self.jar.knows(&opening.cookie(), from, now) {
            return self.refuse(stream, Answer::Retry(self.jar.give(from, now)));
        }
        match greeting::begin(opening, self.key.as_ref()) {
            Err(_) => self.refuse(stream, Answer::OtherKey),
            Ok(begun) => {
                // Where it never waited it is not there.
                let _ = self.poll.delete(&stream);
                if stream.set_nonblocking(false).is_ok() {
                    self.inside.admit(stream, from, begun);
                }
            }
        }
    }

    fn is_under_load(&self) -> bool {
        self.slots.count() >= self.max_slots / LOAD_SHARE || self.inside.is_crowded()
    }

    /// Closes so that the answer arrives, where the other end is still to read: bytes that nobody has read would make
    /// it a reset.
    fn refuse(&self, mut stream: TcpStream, answer: Answer) {
        // It does not block. What does not fit into an empty buffer is not waited for.
        let _ = stream.write(&answer.encode(self.key.is_some()));
        let _ = stream.read(&mut [0; 4096]);
    }
}

impl Waiting {
    /// Reads no more than belongs to the first bytes.
    fn read(&mut self, has_key: bool) -> News {
        let length = Opening::length(has_key);
        while self.have < length {
            match self.stream.read(&mut self.bytes[self.have..length]) {
                Ok(0) => return News::Gone,
                Ok(count) => self.have += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return News::Nothing,
                Err(_) => return News::Gone,
            }
            match Opening::read(&self.bytes[..self.have], has_key) {
                Ok(None) => {}
                Ok(Some(opening)) => return News::Opening(opening),
                Err(_) => return News::Unfit,
            }
        }
        News::Gone
    }
}

/// A connection that does not block.
fn accept(listener: &TcpListener) -> io::Result<(TcpStream, IpAddr)> {
    let (socket, from) = SockRef::from(listener).accept4(nix::libc::SOCK_NONBLOCK | nix::libc::SOCK_CLOEXEC)?;
    let from = from.as_socket().ok_or(io::ErrorKind::ConnectionAborted)?;
    Ok((socket.into(), from.ip()))
}

/// Number of connections that may wait at the door. Raises the limit of descriptors as far as the system lets it.
fn slots() -> usize {
    let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, hard)| {
        let raised = setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok();
        if raised { hard } else { soft }
    });
    usize::try_from(descriptors / DESCRIPTORS_SHARE).unwrap_or(MAX_PLACES).clamp(MIN_PLACES, MAX_PLACES)
}
