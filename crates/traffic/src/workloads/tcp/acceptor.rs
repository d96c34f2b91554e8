//! Accepts the connections of a trial, and no others.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use sixbench_measure::clock;
use sixbench_wire::token::Token;
use socket2::{Protocol, SockRef, Type};

use super::preamble::PREAMBLE_BYTES;
use super::{Preamble, TcpOptions, io as tcp_io};
use crate::cancel::{PATIENCE, Stop};
use crate::{Endpoint, Error, Result, socket};

/// Time that a connection has to send its preamble: a lost segment or two after a handshake that itself had losses. A
/// silent connection holds up nobody meanwhile.
pub const PREAMBLE_TIMEOUT_NS: u64 = 5_000_000_000;
/// Number of connections that may be waiting to prove themselves, where the session itself has no more. The longest
/// waiting makes room for a new one, so that many silent ones do not keep the trial's own out.
const MAX_PENDING: usize = 64;
/// Connections the kernel completes before they are accepted; it caps this at `net.core.somaxconn`.
pub const BACKLOG: i32 = 4_096;

/// Ports that are tried where all addresses of a session are to have the same.
const PORTS_TRIED: usize = 16;

/// Takes the connections that proved themselves. Runs in the acceptor's thread: it must not block.
pub trait Admit: Send + 'static {
    /// True if a connection of this role and index is expected (and not already there).
    fn expects(&self, preamble: Preamble) -> bool;

    /// True for a further address of the trial's client, to which it may move.
    fn knows(&self, _address: IpAddr) -> bool {
        false
    }

    /// Takes an expected connection, blocking and with calls that give up after [`PATIENCE`].
    fn admit(&mut self, preamble: Preamble, stream: TcpStream);
}

/// A thread that accepts connections until it is stopped. A connection that is silent, sends something else, or comes
/// from elsewhere neither delays nor disturbs the others.
pub struct Acceptor<A> {
    port: u16,
    strays: Arc<AtomicU64>,
    /// Dropping it wakes the thread, so that a stop need not wait for its next look.
    waker: UnixStream,
    thread: JoinHandle<A>,
}

impl<A: Admit> Acceptor<A> {
    /// Starts to listen; `expected` is the number of connections that the session has.
    pub fn start(endpoint: &Endpoint, options: &TcpOptions, expected: usize, admit: A, stop: Stop) -> Result<Self> {
        let (listener, port) = listen_at(endpoint, 0, options)?;
        let strays = Arc::new(AtomicU64::new(0));
        let (waker, woken) =
            UnixStream::pair().map_err(|e| Error::system("starting to accept connections", "socketpair", e))?;
        let accepting = Accepting {
            listener,
            woken,
            endpoint: endpoint.clone(),
            max_pending: MAX_PENDING.max(expected),
            pending: Vec::new(),
            strays: Arc::clone(&strays),
            admit,
            stop,
        };
        let thread = thread::Builder::new()
            .name("tcp-accept".into())
            .spawn(move || accepting.run())
            .map_err(|e| Error::system("starting to accept connections", "clone", e))?;
        Ok(Self { port, strays, waker, thread })
    }

    /// The port listened on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits for the thread's end, after a stop; returns the `Admit` value, and the number of strays.
    pub fn join(self) -> (A, u64) {
        drop(self.waker);
        let admit = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (admit, self.strays.load(Ordering::Relaxed))
    }
}

/// A listening socket for each, all with the same port.
pub fn listen_at_all(endpoints: &[Endpoint], options: &TcpOptions) -> Result<(Vec<TcpListener>, u16)> {
    again_where_taken(PORTS_TRIED, || {
        let mut port = 0;
        let listen = |endpoint| {
            let (listener, own_port) = listen_at(endpoint, port, options)?;
            port = own_port;
            Ok(listener)
        };
        let listeners = endpoints.iter().map(listen).collect::<Result<_>>()?;
        Ok((listeners, port))
    })
}

/// Binds several sockets, which `bind` does, and again where the kernel's choice for the first one is taken for another
/// one.
pub fn again_where_taken<T>(tries: usize, mut bind: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..tries {
        match bind() {
            Err(error) if error.kind() == Some(io::ErrorKind::AddrInUse) => {}
            outcome => return outcome,
        }
    }
    bind()
}

/// A listening socket of these options that does not block, with this port, or with one of the kernel's choice where
/// that is 0.
pub fn listen_at(endpoint: &Endpoint, port: u16, options: &TcpOptions) -> Result<(TcpListener, u16)> {
    let socket = socket::open(endpoint.address.ip(), Type::STREAM, Some(Protocol::TCP))?;
    options.apply(&socket)?;
    socket::bind(&socket, endpoint.address, port)?;
    let doing = || format!("listening on {}", endpoint.address);
    socket.listen(BACKLOG).map_err(|e| Error::system(doing(), "listen", e))?;
    socket.set_nonblocking(true).map_err(|e| Error::system(doing(), "fcntl", e))?;
    let listener = TcpListener::from(socket);
    let port = listener.local_addr().map_err(|e| Error::system(doing(), "getsockname", e))?.port();
    Ok((listener, port))
}

/// Accepts one connection, which does not block; nothing where none waits. Short of file descriptors, it waits a moment
/// rather than be asked again at once.
pub fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    loop {
        match SockRef::from(listener).accept4(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) {
            Ok((socket, address)) => return address.as_socket().map(|address| (socket.into(), address)),
            Err(e) => match e.raw_os_error() {
                Some(libc::EINTR | libc::ECONNABORTED) => {}
                Some(libc::EAGAIN) => return None,
                _ => {
                    thread::sleep(PATIENCE / 10);
                    return None;
                }
            },
        }
    }
}

struct Accepting<A> {
    listener: TcpListener,
    woken: UnixStream,
    endpoint: Endpoint,
    max_pending: usize,
    pending: Vec<Pending>,
    strays: Arc<AtomicU64>,
    admit: A,
    stop: Stop,
}

/// A connection that has not yet proved itself.
struct Pending {
    stream: TcpStream,
    preamble: PreambleReader,
}

impl<A: Admit> Accepting<A> {
    fn run(mut self) -> A {
        while !self.stop.is_raised() {
            self.wait();
            self.serve_pending();
            self.accept_all();
        }
        // The session has all its connections: these are none of them.
        for pending in std::mem::take(&mut self.pending) {
            self.refuse(pending.stream);
        }
        self.admit
    }

    fn wait(&self) {
        let mut fds = vec![
            PollFd::new(self.listener.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.woken.as_fd(), PollFlags::POLLIN),
        ];
        fds.extend(self.pending.iter().map(|pending| PollFd::new(pending.stream.as_fd(), PollFlags::POLLIN)));
        // An interrupted or failed wait only leads to looking at all of them.
        let _ = poll(&mut fds, PollTimeout::from(PATIENCE.as_millis() as u16));
    }

    fn serve_pending(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            self.serve(pending);
        }
    }

    fn accept_all(&mut self) {
        // A flood of connections must not keep this from looking at the stop.
        for _ in 0..self.max_pending {
            let Some((stream, from)) = accept(&self.listener) else { return };
            if !self.endpoint.admits(from.ip()) && !self.admit.knows(from.ip()) {
                self.refuse(stream);
                continue;
            }
            if self.pending.len() >= self.max_pending {
                let oldest = self.pending.remove(0);
                self.refuse(oldest.stream);
            }
            self.serve(Pending { stream, preamble: PreambleReader::new() });
        }
    }

    fn serve(&mut self, mut pending: Pending) {
        match pending.preamble.read(&mut pending.stream, &self.endpoint.token) {
            Proof::Waiting => self.pending.push(pending),
            Proof::Given(preamble) if self.admit.expects(preamble) && block(&pending.stream).is_ok() => {
                self.admit.admit(preamble, pending.stream);
            }
            Proof::Given(_) | Proof::Failed => self.refuse(pending.stream),
        }
    }

    fn refuse(&self, stream: TcpStream) {
        self.strays.fetch_add(1, Ordering::Relaxed);
        tcp_io::reset(stream);
    }
}

fn block(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))
}

/// The proof of a connection, as far as it has come.
pub enum Proof {
    /// Not enough yet.
    Waiting,
    /// The trial's token.
    Given(Preamble),
    /// Something else, or nothing for too long.
    Failed,
}

/// Reads a preamble from a connection that does not block, and not a byte more.
pub struct PreambleReader {
    bytes: [u8; PREAMBLE_BYTES],
    have: usize,
    deadline_ns: u64,
}

impl PreambleReader {
    /// A reader for a connection accepted now.
    pub fn new() -> Self {
        let deadline_ns = clock::monotonic_ns().saturating_add(PREAMBLE_TIMEOUT_NS);
        Self { bytes: [0; PREAMBLE_BYTES], have: 0, deadline_ns }
    }

    /// Reads what is there.
    pub fn read(&mut self, stream: &mut TcpStream, token: &Token) -> Proof {
        while let Some(space @ [_, ..]) = self.bytes.get_mut(self.have..) {
            match stream.read(space) {
                Ok(0) => return Proof::Failed,
                Ok(n) => self.have += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    return if clock::monotonic_ns() < self.deadline_ns { Proof::Waiting } else { Proof::Failed };
                }
                Err(_) => return Proof::Failed,
            }
        }
        Preamble::parse(&self.bytes, token).map_or(Proof::Failed, Proof::Given)
    }
}
