//! The turns of both sides: each probes when the other has finished, by a control connection of one byte a message.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use sixbench_measure::clock;
use socket2::SockRef;

use super::prober::Prober;
use super::transfer;
use super::{NAME, Settings};
use crate::cancel::{PATIENCE, Stop};
use crate::df::Df;
use crate::error::{peer_lost, timeout};
use crate::session::Endpoint;
use crate::workloads::tcp::io as tcp_io;
use crate::{Error, Result};

/// "I am about to send by TCP": the connection is made, and read to its end.
const TRANSFER: u8 = 1;
/// "I have done": it is the other side's turn, or the end.
const DONE: u8 = 2;

/// Longest silence of a side that probes by UDP, beyond its own time for TCP.
const SILENCE_NS: u64 = 60_000_000_000;

/// The control connection, as one side has it.
pub struct Control<'a> {
    stream: TcpStream,
    peer: String,
    stop: &'a Stop,
}

impl<'a> Control<'a> {
    /// Prepares the control connection. Its packets may be fragmented, so that it works on any path.
    pub fn new(stream: TcpStream, endpoint: &Endpoint, stop: &'a Stop) -> Result<Self> {
        Df::Clear.apply(&SockRef::from(&stream), endpoint.address.ip())?;
        stream
            .set_nonblocking(true)
            .and_then(|()| stream.set_nodelay(true))
            .map_err(|e| Error::system(format!("preparing the control connection of {NAME}"), "fcntl", e))?;
        Ok(Self { stream, peer: endpoint.peer.to_string(), stop })
    }

    /// Tells that this side begins to send by TCP.
    pub fn begin_transfer(&mut self) -> Result<()> {
        self.say(TRANSFER)
    }

    /// Tells that this side has done.
    pub fn done(&mut self) -> Result<()> {
        self.say(DONE)
    }

    /// Answers the other side until it has done; `connection` gives the one that it sends by TCP over. Returns the
    /// number of bytes that came by it.
    pub fn answer(
        &mut self,
        prober: &mut Prober,
        settings: &Settings,
        check: impl Fn() -> Result<()>,
        mut connection: impl FnMut() -> Result<TcpStream>,
    ) -> Result<u64> {
        let patience_ns = settings.stall_timeout_ns.saturating_add(SILENCE_NS);
        let mut received_bytes = 0;
        let mut heard_ns = clock::monotonic_ns();
        loop {
            check()?;
            if self.wait(prober) {
                prober.answer()?;
                heard_ns = clock::monotonic_ns();
            }
            match self.hear()? {
                None if clock::monotonic_ns() - heard_ns >= patience_ns => {
                    return Err(timeout(self.doing(), patience_ns));
                }
                None => {}
                Some(DONE) => return Ok(received_bytes),
                Some(TRANSFER) => {
                    received_bytes += transfer::receive(connection()?, patience_ns, self.stop)?;
                    heard_ns = clock::monotonic_ns();
                }
                Some(_) => {
                    return Err(peer_lost(self.doing(), "sent a message that is not allowed"));
                }
            }
        }
    }

    /// Waits until something comes. Returns true if it is a datagram.
    fn wait(&self, prober: &Prober) -> bool {
        let mut fds = [
            PollFd::new(prober.socket().as_fd(), PollFlags::POLLIN),
            PollFd::new(self.stream.as_fd(), PollFlags::POLLIN),
        ];
        // An interrupted or failed wait only leads to looking at both.
        let _ = poll(&mut fds, PollTimeout::from(PATIENCE.as_millis() as u16));
        fds[0].any().unwrap_or(true)
    }

    fn hear(&mut self) -> Result<Option<u8>> {
        let mut byte = [0; 1];
        match self.stream.read(&mut byte) {
            Ok(0) => Err(tcp_io::lost(&self.doing(), &io::ErrorKind::UnexpectedEof.into())),
            Ok(_) => Ok(Some(byte[0])),
            Err(e) if tcp_io::is_pause(&e) => Ok(None),
            Err(e) => Err(tcp_io::lost(&self.doing(), &e)),
        }
    }

    fn say(&mut self, byte: u8) -> Result<()> {
        // A connection that has nothing in flight has room for a byte.
        self.stream.write_all(&[byte]).map_err(|e| tcp_io::lost(&self.doing(), &e))
    }

    fn doing(&self) -> String {
        format!("measuring path MTUs with {}", self.peer)
    }
}

/// Longest wait for the connection of a transfer.
pub const CONNECTION_PATIENCE: Duration = Duration::from_secs(10);
