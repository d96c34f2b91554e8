//! The conversation with the kernel.

use std::io::{self, Read};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::message::{Content, NetlinkRequest, messages};

/// The kernel answers within the call that asks; this is for the case that it does not.
const PATIENCE: Duration = Duration::from_secs(1);
/// The kernel writes a dump in pieces of at most 32 KiB (`netlink_recvmsg`); no single message is longer than this.
const PIECE_BYTES: usize = 64 << 10;
/// A node has some devices, and each has a few queueing disciplines.
const MAX_PIECES: usize = 4096;

/// Asks the kernel about the namespace of the thread that opened it.
#[derive(Debug)]
pub struct Client {
    socket: Socket,
    sequence: u32,
    piece: Vec<u8>,
}

impl Client {
    /// Opens a socket for links, queues and routes.
    pub fn open() -> io::Result<Self> {
        Self::of(libc::NETLINK_ROUTE)
    }

    /// Opens a socket for what netfilter has.
    pub(crate) fn of_netfilter() -> io::Result<Self> {
        Self::of(libc::NETLINK_NETFILTER)
    }

    fn of(protocol: i32) -> io::Result<Self> {
        let protocol = Protocol::from(protocol);
        let socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(protocol))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { socket, sequence: 0, piece: vec![0; PIECE_BYTES] })
    }

    /// Asks for one structure of the type `wanted`, which `read` makes something of.
    pub(crate) fn ask<T>(
        &mut self,
        request: NetlinkRequest,
        wanted: u16,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> io::Result<T> {
        let mut found = None;
        self.converse(request, libc::NLM_F_REQUEST, |kind, body| {
            if kind == wanted {
                found = read(body);
            }
        })?;
        found.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer cannot be read"))
    }

    /// Asks for all structures of the type `wanted`, each of which `each` gets.
    pub(crate) fn dump(&mut self, request: NetlinkRequest, wanted: u16, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        self.converse(request, libc::NLM_F_REQUEST | libc::NLM_F_DUMP, |kind, body| {
            if kind == wanted {
                each(body);
            }
        })
    }

    /// Asks for a change, and waits until it is made or refused.
    pub(crate) fn change(&mut self, request: NetlinkRequest) -> io::Result<()> {
        self.converse(request, libc::NLM_F_REQUEST | libc::NLM_F_ACK, |_, _| ())
    }

    fn converse(&mut self, request: NetlinkRequest, flags: i32, mut each: impl FnMut(u16, &[u8])) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        self.socket.send(&request.numbered(flags, self.sequence))?;
        for _ in 0..MAX_PIECES {
            let length = self.socket.read(&mut self.piece)?;
            // An answer that came too late for the request before is nobody's.
            for message in messages(&self.piece[..length]).filter(|message| message.sequence == self.sequence) {
                match message.content()? {
                    Content::End => return Ok(()),
                    Content::Structure(kind, body) => each(kind, body),
                }
                if !message.has_more {
                    return Ok(());
                }
            }
        }
        Err(io::Error::other("the kernel's answer has no end"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_does_not_know_is_an_error() {
        const NO_SUCH_REQUEST: u16 = 1000;
        let mut client = Client::open().expect("a socket");
        let request = || NetlinkRequest::new(NO_SUCH_REQUEST, &[0; 16]);
        assert!(client.dump(request(), NO_SUCH_REQUEST, |_| ()).is_err());
        assert!(client.ask(request(), NO_SUCH_REQUEST, |_| Some(())).is_err());
        assert!(client.change(request()).is_err());
    }
}
