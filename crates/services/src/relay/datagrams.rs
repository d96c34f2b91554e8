//! Datagrams between a client and a server.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::time::Instant;

use nix::sys::epoll::EpollFlags;
use socket2::{Domain, Protocol, Socket, Type};

use super::session::{CLIENT, Progress, SERVER, Side, attempt};

/// Datagrams of one session before others get their turn.
const DATAGRAMS_AT_ONCE: usize = 64;

/// The sender, and the address of the prefix to which it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pair {
    pub client: SocketAddrV6,
    pub destination: SocketAddrV6,
}

/// The sockets of a pair. Each takes and sends only what is between its two ends.
#[derive(Debug)]
pub struct Datagrams {
    pub pair: Pair,
    pub used: Instant,
    sides: [Side<UdpSocket>; 2],
    /// A datagram for which the other side had no room, by the side that sends. Until it has, nothing more is taken.
    held: [Option<Vec<u8>>; 2],
}

/// Counts of what was passed on, by the side that sends, and of what was not.
#[derive(Debug, Default)]
pub struct Passed {
    pub datagrams: [u64; 2],
    pub bytes: [u64; 2],
    pub errors: u64,
    pub not_sent: u64,
}

impl Datagrams {
    /// Opens sockets for a pair.
    pub fn open(pair: Pair, server: SocketAddrV4) -> io::Result<Self> {
        let near = Socket::new(Domain::IPV6, Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
        near.set_reuse_address(true)?;
        near.set_ip_transparent_v6(true)?;
        near.bind(&pair.destination.into())?;
        near.connect(&pair.client.into())?;
        let far = Socket::new(Domain::IPV4, Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
        far.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0).into())?;
        far.connect(&server.into())?;
        let sides = [near, far].map(|socket| Side { is_writable: true, ..Side::new(socket.into()) });
        Ok(Self { pair, used: Instant::now(), sides, held: [None, None] })
    }

    /// Its sockets, by side.
    pub fn sockets(&self) -> [&UdpSocket; 2] {
        [&self.sides[CLIENT].socket, &self.sides[SERVER].socket]
    }

    /// Notes what has changed at a side.
    pub fn note(&mut self, side: usize, events: EpollFlags) {
        self.sides[side].note(events);
    }

    /// Passes on a datagram of the client that came before its sockets were there.
    pub fn first(&mut self, datagram: &[u8], passed: &mut Passed) {
        self.used = Instant::now();
        if self.held[CLIENT].is_some() || !send(&mut self.sides[SERVER], datagram, CLIENT, passed) {
            // Its turn is not now, and there is no room for a second one.
            passed.not_sent += 1;
        }
    }

    /// Goes on as far as it can without waiting.
    pub fn go_on(&mut self, buffer: &mut [u8], passed: &mut Passed) -> Progress {
        let before = passed.datagrams;
        let has_more = [CLIENT, SERVER].map(|from| self.pass_on(from, buffer, passed));
        if passed.datagrams != before {
            self.used = Instant::now();
        }
        if has_more.contains(&true) { Progress::Again } else { Progress::Waits }
    }

    /// Passes on what comes from a side. Returns true if there may be more at once.
    fn pass_on(&mut self, from: usize, buffer: &mut [u8], passed: &mut Passed) -> bool {
        let [client, server] = &mut self.sides;
        let (source, sink) = if from == CLIENT { (client, server) } else { (server, client) };
        let held = &mut self.held[from];
        for _ in 0..DATAGRAMS_AT_ONCE {
            if let Some(datagram) = held.take() {
                if !send(sink, &datagram, from, passed) {
                    *held = Some(datagram);
                    return false;
                }
            }
            if !source.is_readable {
                return false;
            }
            match attempt(|| source.socket.recv(buffer)) {
                Ok(None) => source.is_readable = false,
                Ok(Some(length)) => {
                    if !send(sink, &buffer[..length], from, passed) {
                        *held = Some(buffer[..length].to_vec());
                    }
                }
                // An ICMP error about an earlier datagram: the other leg has its own.
                Err(_) => passed.errors += 1,
            }
        }
        true
    }
}

/// Sends a datagram, and counts its outcome. Returns false if there was no room, so that it has to be sent again.
fn send(sink: &mut Side<UdpSocket>, datagram: &[u8], from: usize, passed: &mut Passed) -> bool {
    if !sink.is_writable {
        return false;
    }
    // The first error may be about an earlier datagram.
    for _ in 0..2 {
        match attempt(|| sink.socket.send(datagram)) {
            Ok(Some(_)) => {
                passed.datagrams[from] += 1;
                passed.bytes[from] += datagram.len() as u64;
                return true;
            }
            Ok(None) => {
                sink.is_writable = false;
                return false;
            }
            Err(_) => passed.errors += 1,
        }
    }
    passed.not_sent += 1;
    true
}
