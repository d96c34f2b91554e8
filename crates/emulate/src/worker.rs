//! The thread that carries the packets of all emulated links of a node.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockNanosleepFlags, clock_nanosleep};
use serde_json::{Value, json};
use sixbench_measure::clock::{BothClocks, PreciseTimers, monotonic_ns};
use sixbench_measure::sys::scheduling::RealTime;
use sixbench_packet::{LentReceiveBatch, Message, SendBatch};
use sixbench_wire::virtio;
use slab::Slab;

use crate::error::{bad_link, ended, link_exists, no_link};
use crate::line::Line;
use crate::packets::{Departure, Departures, Pool};
use crate::record::{Mark, Record};
use crate::socket::{Arrival, PacketSocket};
use crate::spec::{Impairments, Spec};
use crate::waiter::{Rest, Waiter};
use crate::{Error, Result};

/// Packets that are received in one system call.
const BATCH: usize = 32;
/// Packets that are sent in one. Each takes its way to the next node's socket before the call returns, up to 30 us, and
/// packets of the other direction wait so long.
const SENT_AT_ONCE: usize = 8;
/// Most events that are read at once.
const EVENTS: usize = 32;
/// The event of the orders; those of links are the numbers of their lines.
const ORDERS: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;

/// The emulated links of a node. They end when this is dropped.
pub struct Emulator {
    orders: Option<Sender<Order>>,
    bell: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
}

/// A record that begins anew.
#[derive(Debug, Clone, Copy, Default)]
pub struct Restart {
    /// The datagrams whose numbers are noted when they vanish.
    pub mark: Option<Mark>,
}

/// A request to the thread, and the channel for its answer.
enum Order {
    Add(Box<Spec>, Sender<Result<()>>),
    Change(String, Box<[Impairments; 2]>, bool, Sender<Result<()>>),
    Record(String, Option<Restart>, Sender<Result<Value>>),
    Held(Sender<Result<usize>>),
    Remove(String, Sender<Result<Value>>),
}

impl Emulator {
    /// Starts the thread, in the network namespace of this one.
    pub fn start() -> Result<Self> {
        let failed = |call, error: io::Error| Error::system("starting the emulator", call, error);
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .map_err(|errno| failed("eventfd", errno.into()))?;
        let bell = Arc::new(bell);
        let (orders, received) = channel();
        let mut worker = Worker::new(Arc::clone(&bell), received)?;
        let thread = thread::Builder::new()
            .name("emulate".to_owned())
            .spawn(move || worker.work())
            .map_err(|error| failed("clone", error))?;
        Ok(Self { orders: Some(orders), bell, thread: Some(thread) })
    }

    /// Joins two interfaces by a link from now on.
    pub fn add(&self, spec: Spec) -> Result<()> {
        spec.check()?;
        self.ask(|answer| Order::Add(Box::new(spec), answer))
    }

    /// Changes the impairments of packets from the next one on. They are counted from 0, and draws begin anew, unless
    /// it `continues`: then the seed stays the same.
    pub fn change(&self, link: &str, directions: [Impairments; 2], continues: bool) -> Result<()> {
        if let Some(reason) = directions.iter().find_map(Impairments::flaw) {
            return Err(bad_link(link, reason));
        }
        self.ask(|answer| Order::Change(link.to_owned(), Box::new(directions), continues, answer))
    }

    /// The record of a link's packets: `forward` and `reverse`; with `restart` it begins anew.
    pub fn record(&self, link: &str, restart: Option<Restart>) -> Result<Value> {
        self.ask(|answer| Order::Record(link.to_owned(), restart, answer))
    }

    /// Number of packets of all links that are under way at this moment.
    pub fn held(&self) -> Result<usize> {
        self.ask(Order::Held)
    }

    /// Takes a link away. Returns its record.
    pub fn remove(&self, link: &str) -> Result<Value> {
        self.ask(|answer| Order::Remove(link.to_owned(), answer))
    }

    fn ask<T>(&self, order: impl FnOnce(Sender<Result<T>>) -> Order) -> Result<T> {
        let (answer, answered) = channel();
        let orders = self.orders.as_ref().ok_or_else(ended)?;
        orders.send(order(answer)).map_err(|_| ended())?;
        // The counter can only be full after 2^64 orders.
        let _ = self.bell.write(1);
        answered.recv().map_err(|_| ended())?
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.bell.write(1);
        // A panic was printed when it happened.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The thread's side. It is made in the thread of the orders, which can report errors, and used in its own.
struct Worker {
    orders: Receiver<Order>,
    bell: Arc<EventFd>,
    epoll: Epoll,
    timer: TimerFd,
    waiter: Waiter,
}

/// The state that the thread works on.
struct Work {
    /// Both directions of each link, by number; those of links that were removed are `None`.
    lines: Slab<Side>,
    links: BTreeMap<String, [usize; 2]>,
    /// The directions that hold packets back, each once: of a thousand links those that are to be asked again and
    /// again.
    holding: Vec<usize>,
    departures: Departures,
    inbox: LentReceiveBatch,
    outbox: SendBatch,
    sending: Vec<Departure>,
}

/// A direction, with the socket that its packets come in by.
struct Side {
    entrance: Rc<PacketSocket>,
    /// Buffers of the packets that are under way, and of those that come next.
    pool: Pool,
    waiting: Vec<Box<[u8]>>,
    line: Line,
}

impl Worker {
    fn new(bell: Arc<EventFd>, orders: Receiver<Order>) -> Result<Self> {
        let failed = |call, errno: Errno| Error::system("starting the emulator", call, errno);
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|errno| failed("epoll_create1", errno))?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK)
            .map_err(|errno| failed("timerfd_create", errno))?;
        for (fd, token) in [(bell.as_fd(), ORDERS), (timer.as_fd(), TIMER)] {
            epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, token)).map_err(|errno| failed("epoll_ctl", errno))?;
        }
        Ok(Self { orders, bell, epoll, timer, waiter: Waiter::new(monotonic_ns()) })
    }

    fn work(&mut self) {
        let _precise = PreciseTimers::new();
        // The lateness of packets must not depend on other work of the machine. Where this is not permitted, lateness
        // shows it.
        let _first = RealTime::ask();
        let mut work = Work {
            lines: Slab::new(),
            links: BTreeMap::new(),
            holding: Vec::new(),
            departures: Departures::default(),
            inbox: LentReceiveBatch::new(BATCH),
            outbox: SendBatch::default(),
            sending: Vec::new(),
        };
        let mut events = [EpollEvent::empty(); EVENTS];
        loop {
            work.send_due();
            let count = match self.wait(work.next_ns(), &mut events) {
                Ok(count) => count,
                Err(Errno::EINTR) => 0,
                Err(errno) => {
                    return eprintln!("sixbench-agent: waiting for packets to emulate links: epoll_wait: {errno}");
                }
            };
            for event in &events[..count] {
                match event.data() {
                    ORDERS => {
                        // It only says that there are orders.
                        let _ = self.bell.read();
                        if !self.obey(&mut work) {
                            return;
                        }
                    }
                    TIMER => {
                        let _ = self.timer.unset();
                    }
                    line => work.receive(line as usize),
                }
            }
        }
    }

    /// Waits for packets, orders and the moment when something is to be done. Returns how many events there are.
    fn wait(&mut self, next_ns: Option<u64>, events: &mut [EpollEvent]) -> nix::Result<usize> {
        let rest = self.waiter.rest(monotonic_ns(), next_ns);
        let timeout = match rest {
            Rest::Watch => EpollTimeout::ZERO,
            Rest::Nap(until_ns) => {
                let until = TimeSpec::from_duration(Duration::from_nanos(until_ns));
                // An earlier wake-up does no harm.
                let _ =
                    clock_nanosleep(nix::time::ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &until);
                EpollTimeout::ZERO
            }
            Rest::Sleep(None) => EpollTimeout::NONE,
            Rest::Sleep(Some(until_ns)) => {
                let at = TimeSpec::from_duration(Duration::from_nanos(until_ns));
                match self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME) {
                    Ok(()) => EpollTimeout::NONE,
                    // Then it watches.
                    Err(_) => EpollTimeout::ZERO,
                }
            }
        };
        let count = self.epoll.wait(events, timeout);
        if rest != Rest::Watch {
            self.waiter.woke(monotonic_ns());
        }
        count
    }

    /// Does what was ordered. Returns whether there may be more orders.
    fn obey(&self, work: &mut Work) -> bool {
        loop {
            // The asking thread may have gone.
            match self.orders.try_recv() {
                Ok(Order::Add(spec, answer)) => drop(answer.send(work.add(*spec, &self.epoll))),
                Ok(Order::Change(link, directions, continues, answer)) => {
                    drop(answer.send(work.change(&link, *directions, continues)));
                }
                Ok(Order::Record(link, restart, answer)) => drop(answer.send(work.record(&link, restart))),
                Ok(Order::Held(answer)) => drop(answer.send(Ok(work.held()))),
                Ok(Order::Remove(link, answer)) => drop(answer.send(work.remove(&link, &self.epoll))),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }
}

impl Work {
    fn add(&mut self, spec: Spec, epoll: &Epoll) -> Result<()> {
        if self.links.contains_key(&spec.link) {
            return Err(link_exists(&spec.link));
        }
        let doing = |interface: &str| format!("emulating the link {} by {interface}", spec.link);
        let mut sockets = Vec::with_capacity(2);
        for interface in &spec.interfaces {
            let ifindex = if_nametoindex(interface.as_str())
                .map_err(|errno| Error::system(doing(interface), "if_nametoindex", errno))?;
            let socket =
                PacketSocket::open(ifindex).map_err(|error| Error::system(doing(interface), "socket", error))?;
            sockets.push(Rc::new(socket));
        }
        let buffer_bytes = virtio::HEADER_BYTES + spec.frame_bytes;
        let most = usize::try_from(spec.held_bytes).unwrap_or(usize::MAX) / 2 / buffer_bytes;
        let mut side = |number: usize, impairments| {
            let mut pool = Pool::new(buffer_bytes, most.max(2 * BATCH));
            let waiting = (0..BATCH).filter_map(|_| pool.take()).collect();
            let line = Line::new(Rc::clone(&sockets[1 - number]), impairments);
            self.lines.insert(Side { entrance: Rc::clone(&sockets[number]), pool, waiting, line })
        };
        let lines = [side(0, spec.forward), side(1, spec.reverse)];
        for (number, line) in lines.into_iter().enumerate() {
            let event = EpollEvent::new(EpollFlags::EPOLLIN, line as u64);
            if let Err(errno) = epoll.add(sockets[number].as_fd(), event) {
                lines.into_iter().for_each(|line| drop(self.lines.try_remove(line)));
                return Err(Error::system(doing(&spec.interfaces[number]), "epoll_ctl", errno));
            }
        }
        self.links.insert(spec.link, lines);
        Ok(())
    }

    fn change(&mut self, link: &str, directions: [Impairments; 2], continues: bool) -> Result<()> {
        let lines = self.lines_of(link)?;
        for (line, impairments) in lines.into_iter().zip(directions) {
            if let Some(side) = self.lines.get_mut(line) {
                side.line.change(impairments, continues);
            }
        }
        Ok(())
    }

    fn record(&mut self, link: &str, restart: Option<Restart>) -> Result<Value> {
        let lines = self.lines_of(link)?;
        let mut records = Vec::with_capacity(2);
        for line in lines {
            let Some(side) = self.lines.get_mut(line) else { continue };
            side.count_drops();
            records.push(side.line.record.to_json());
            if let Some(Restart { mark }) = restart {
                side.line.record = Record::looking_for(mark);
            }
        }
        let [forward, reverse] = <[Value; 2]>::try_from(records).map_err(|_| no_link(link))?;
        Ok(json!({"forward": forward, "reverse": reverse}))
    }

    fn held(&self) -> usize {
        self.departures.len() + self.lines.iter().map(|(_, side)| side.line.held_back()).sum::<usize>()
    }

    fn remove(&mut self, link: &str, epoll: &Epoll) -> Result<Value> {
        let record = self.record(link, None)?;
        let lines = self.lines_of(link)?;
        self.links.remove(link);
        self.departures.remove(|departure| lines.contains(&departure.line));
        for line in lines {
            if let Some(side) = self.lines.try_remove(line) {
                // It is closed in a moment in any case.
                let _ = epoll.delete(side.entrance.as_fd());
            }
        }
        Ok(record)
    }

    fn lines_of(&self, link: &str) -> Result<[usize; 2]> {
        self.links.get(link).copied().ok_or_else(|| no_link(link))
    }

    /// The time at which something is to be done next.
    fn next_ns(&self) -> Option<u64> {
        let holding = self.holding.iter().filter_map(|line| self.lines.get(*line));
        let given_up = holding.filter_map(|side| side.line.gives_up_ns()).min();
        [self.departures.next_due_ns(), given_up].into_iter().flatten().min()
    }

    /// Takes what has come for a direction.
    fn receive(&mut self, line: usize) {
        let Some(side) = self.lines.get_mut(line) else { return };
        // The socket of an interface that has gone says so each time; its packets are over.
        if self.inbox.receive_ready(&side.entrance, &mut side.waiting).is_err() {
            return;
        }
        // After the packets, so that none has come later than now.
        let clocks = BothClocks::read();
        for (place, (length, notes)) in self.inbox.packets().enumerate() {
            let arrival = Arrival::new(length, &notes, &clocks);
            match side.pool.take() {
                Some(fresh) => {
                    let buffer = std::mem::replace(&mut side.waiting[place], fresh);
                    side.line.accept(line, &arrival, buffer, &mut side.pool, &mut self.departures);
                }
                None => side.line.record.no_room += 1,
            }
        }
        if side.line.gives_up_ns().is_some() && !self.holding.contains(&line) {
            self.holding.push(line);
        }
    }

    /// Sends what is due.
    fn send_due(&mut self) {
        let mut now_ns = monotonic_ns();
        self.holding.retain(|&index| {
            let Some(side) = self.lines.get_mut(index) else { return false };
            side.line.give_up(index, now_ns, &mut self.departures);
            side.line.gives_up_ns().is_some()
        });
        while let Some(first) = self.departures.take_due(now_ns) {
            let line = first.line;
            self.sending.push(first);
            while self.sending.len() < SENT_AT_ONCE {
                match self.departures.take_due(now_ns) {
                    Some(next) if next.line == line => self.sending.push(next),
                    Some(next) => {
                        self.departures.put_back(next);
                        break;
                    }
                    None => break,
                }
            }
            let Some(side) = self.lines.get_mut(line) else {
                self.sending.clear();
                continue;
            };
            now_ns = side.send(&mut self.outbox, &mut self.sending);
        }
    }
}

impl Side {
    /// Sends packets, all of this direction. Returns the time after it.
    fn send(&mut self, outbox: &mut SendBatch, departures: &mut Vec<Departure>) -> u64 {
        let mut done = 0;
        while done < departures.len() {
            let rest = departures[done..].iter();
            let rest = rest.map(|departure| Message::plain(&departure.buffer[..departure.length]));
            match outbox.send(&*self.line.socket, rest) {
                Ok(sent) => {
                    let now_ns = monotonic_ns();
                    for departure in &departures[done..done + sent] {
                        self.line.record.left(departure, now_ns);
                    }
                    done += sent;
                }
                Err(Errno::EINTR) => (),
                // No room, or the interface is down: the packet is lost, and it is counted.
                Err(errno) => {
                    self.line.record.refused(&errno.into());
                    done += 1;
                }
            }
        }
        for departure in departures.drain(..) {
            self.pool.give(departure.buffer);
        }
        monotonic_ns()
    }

    fn count_drops(&mut self) {
        self.line.record.socket_drops += sixbench_packet::drops(&self.entrance).unwrap_or(0);
    }
}
