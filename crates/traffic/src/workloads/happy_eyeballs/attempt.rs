//! Attempts to connect that are under way at the same time, and waiting for them.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use sixbench_measure::clock;

use crate::cancel::PATIENCE;
use crate::workloads::tcp::connecting::Route;
use crate::{Error, Result};

/// The outcome of one of the attempts.
pub struct Ended {
    /// Number of its address.
    pub index: usize,
    /// The connection, or why there is none.
    pub outcome: io::Result<TcpStream>,
}

/// Attempts under way, by the number of their address. Dropping them gives them up: their sockets are closed.
pub struct Attempts<'a> {
    routes: &'a [Route],
    under_way: Vec<(usize, TcpStream)>,
}

impl<'a> Attempts<'a> {
    /// Attempts at these routes, none so far.
    pub fn new(routes: &'a [Route]) -> Self {
        Self { routes, under_way: Vec::with_capacity(routes.len()) }
    }

    /// Begins to connect to the address of that number. Returns the outcome if the attempt ends at once.
    pub fn begin(&mut self, index: usize) -> Option<Ended> {
        let begun = self.routes[index].open().and_then(|stream| Ok((self.routes[index].connect(&stream)?, stream)));
        match begun {
            Ok((true, stream)) => Some(Ended { index, outcome: Ok(stream) }),
            Ok((false, stream)) => {
                self.under_way.push((index, stream));
                None
            }
            Err(error) => Some(Ended { index, outcome: Err(error) }),
        }
    }

    /// Waits until one has ended, that time on the monotonic clock has come, or a while has passed.
    pub fn wait(&mut self, until_ns: u64) -> Result<Option<Ended>> {
        let left = Duration::from_nanos(until_ns.saturating_sub(clock::monotonic_ns())).min(PATIENCE);
        let ready = {
            let mut fds: Vec<_> =
                self.under_way.iter().map(|(_, stream)| PollFd::new(stream.as_fd(), PollFlags::POLLOUT)).collect();
            match ppoll(&mut fds, Some(TimeSpec::from_duration(left)), None) {
                Ok(_) => fds.iter().position(|fd| fd.any().unwrap_or(false)),
                Err(Errno::EINTR) => None,
                Err(e) => return Err(Error::system("waiting for connections", "ppoll", e)),
            }
        };
        let Some(place) = ready else { return Ok(None) };
        let (index, stream) = self.under_way.swap_remove(place);
        let outcome = match self.routes[index].connect(&stream) {
            Ok(true) => Ok(stream),
            Ok(false) => {
                self.under_way.push((index, stream));
                return Ok(None);
            }
            Err(error) => Err(error),
        };
        Ok(Some(Ended { index, outcome }))
    }
}
