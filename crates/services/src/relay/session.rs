//! Parts that sessions of connections and of datagrams have in common.

use std::io::{self, ErrorKind};

use nix::sys::epoll::EpollFlags;

/// The side of the client, which speaks IPv6.
pub const CLIENT: usize = 0;
/// The side of the server, which speaks IPv4.
pub const SERVER: usize = 1;

/// The events that are watched at a socket: each change is reported once.
pub const WATCHED: EpollFlags =
    EpollFlags::EPOLLIN.union(EpollFlags::EPOLLOUT).union(EpollFlags::EPOLLRDHUP).union(EpollFlags::EPOLLET);

/// The state of a session after it has gone on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It waits for one of its sockets.
    Waits,
    /// It has more to do, after the others had their turn.
    Again,
    /// All has been passed on, in both directions.
    Ends,
}

/// A socket of a session, and what is known of it. Nothing is read from a socket that is known to have no data, or
/// written to one that is known to have no room.
#[derive(Debug)]
pub struct Side<S> {
    pub socket: S,
    pub is_readable: bool,
    pub is_writable: bool,
    pub has_failed: bool,
}

impl<S> Side<S> {
    /// A socket that has reported nothing yet.
    pub fn new(socket: S) -> Self {
        Self { socket, is_readable: false, is_writable: false, has_failed: false }
    }

    /// Notes what has changed.
    pub fn note(&mut self, events: EpollFlags) {
        let readable = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
        self.is_readable |= events.intersects(readable);
        self.is_writable |= events.intersects(EpollFlags::EPOLLOUT | EpollFlags::EPOLLERR);
        self.has_failed |= events.contains(EpollFlags::EPOLLERR);
    }
}

/// The result of a call that does not block, and is made again where a signal came between. `None`: it would block.
pub fn attempt<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<Option<T>> {
    loop {
        return match call() {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        };
    }
}
