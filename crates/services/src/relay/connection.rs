//! A client's connection and the one to its server: the bytes of one go on by the other.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpStream};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::session::{CLIENT, Progress, SERVER, Side, attempt};

/// Reads of one connection before others get their turn.
const READS_AT_ONCE: usize = 8;

/// Two connections, one to each side.
#[derive(Debug)]
pub struct Connection {
    sides: [Side<TcpStream>; 2],
    /// The directions, by the side that sends.
    flows: [Flow; 2],
    is_connected: bool,
}

/// One direction of a session.
#[derive(Debug, Default)]
struct Flow {
    /// Bytes that the other side has not taken yet, at most what was read at once. Until it has, nothing more is read:
    /// so the sender waits.
    held: Vec<u8>,
    /// Number of bytes of `held` that the other side has taken.
    taken: usize,
    /// The sender sends no more.
    is_over: bool,
    /// The receiver has been told so.
    is_closed: bool,
}

impl Connection {
    /// Begins to connect to the server, for a client whose connection was accepted.
    pub fn open(client: TcpStream, server: SocketAddrV4) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        client.set_nonblocking(true)?;
        for end in [SockRef::from(&client), SockRef::from(&socket)] {
            end.set_tcp_nodelay(true)?;
            end.set_keepalive(true)?;
        }
        match socket.connect(&server.into()) {
            Err(error) if error.raw_os_error() != Some(Errno::EINPROGRESS as i32) => {
                reset(&client);
                return Err(error);
            }
            _ => {}
        }
        let sides = [client, socket.into()].map(Side::new);
        Ok(Self { sides, flows: Default::default(), is_connected: false })
    }

    /// Its sockets, by side.
    pub fn sockets(&self) -> [&TcpStream; 2] {
        [&self.sides[CLIENT].socket, &self.sides[SERVER].socket]
    }

    /// True if the server has answered.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Notes what has changed at a side.
    pub fn note(&mut self, side: usize, events: EpollFlags) {
        self.sides[side].note(events);
    }

    /// Goes on as far as it can without waiting. An error of either side ends the session. `passed` counts bytes, by
    /// the side that sends.
    pub fn go_on(&mut self, buffer: &mut [u8], passed: &mut [u64; 2]) -> io::Result<Progress> {
        for side in self.sides.iter().filter(|side| side.has_failed) {
            if let Some(error) = side.socket.take_error()? {
                return Err(error);
            }
        }
        self.is_connected |= self.sides[SERVER].is_writable;
        if !self.is_connected {
            return Ok(Progress::Waits);
        }
        let mut has_more = false;
        for from in [CLIENT, SERVER] {
            has_more |= self.pass_on(from, buffer, &mut passed[from])?;
        }
        Ok(match (self.flows.iter().all(|flow| flow.is_closed), has_more) {
            (true, _) => Progress::Ends,
            (false, true) => Progress::Again,
            (false, false) => Progress::Waits,
        })
    }

    /// Passes on what comes from a side. Returns true if there may be more at once.
    fn pass_on(&mut self, from: usize, buffer: &mut [u8], passed: &mut u64) -> io::Result<bool> {
        let flow = &mut self.flows[from];
        let [client, server] = &mut self.sides;
        let (source, sink) = if from == CLIENT { (client, server) } else { (server, client) };
        for _ in 0..READS_AT_ONCE {
            if !flow.held.is_empty() {
                let taken = write(sink, &flow.held[flow.taken..])?;
                flow.taken += taken;
                *passed += taken as u64;
                if flow.taken < flow.held.len() {
                    return Ok(false);
                }
                (flow.held, flow.taken) = (Vec::new(), 0);
            }
            if flow.is_over {
                if !flow.is_closed {
                    sink.socket.shutdown(Shutdown::Write)?;
                    flow.is_closed = true;
                }
                return Ok(false);
            }
            if !source.is_readable || !sink.is_writable {
                return Ok(false);
            }
            match attempt(|| (&source.socket).read(buffer))? {
                None => source.is_readable = false,
                Some(0) => flow.is_over = true,
                Some(length) => {
                    let taken = write(sink, &buffer[..length])?;
                    *passed += taken as u64;
                    flow.held.extend_from_slice(&buffer[taken..length]);
                }
            }
        }
        Ok(true)
    }

    /// Ends both connections at once, with a reset for each that still exists.
    pub fn reset(&self) {
        for stream in self.sockets() {
            reset(stream);
        }
    }
}

/// The connection ends with a reset when it is closed, and unsent data is discarded (RFC 9293 section 3.10.5).
pub fn reset(stream: &TcpStream) {
    // It fails for no connection that there is.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// Writes as much as there is room for.
fn write(sink: &mut Side<TcpStream>, bytes: &[u8]) -> io::Result<usize> {
    let mut taken = 0;
    while taken < bytes.len() && sink.is_writable {
        match attempt(|| (&sink.socket).write(&bytes[taken..]))? {
            Some(length) => taken += length,
            None => sink.is_writable = false,
        }
    }
    Ok(taken)
}
