//! Waking a thread out of a blocking system call, from another thread.

use std::io;
use std::sync::OnceLock;

use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::{Pid, gettid};

/// Ignored where nobody handles it, and sent by the kernel only to owners of sockets with urgent data, which we have
/// none of: a wake too many, or from outside, does nothing.
const SIGNAL: Signal = Signal::SIGURG;

/// A thread that can be woken: a blocking call that it is in ends with `EINTR`.
#[derive(Debug, Clone, Copy)]
pub struct Sleeper(Pid);

impl Sleeper {
    /// The calling thread. The process handles `SIGURG` from here on, by nothing but the interruption of calls.
    pub fn this_thread() -> io::Result<Self> {
        static HANDLED: OnceLock<Result<(), Errno>> = OnceLock::new();
        (*HANDLED.get_or_init(handle))?;
        // Whoever started this process may have blocked it.
        SigSet::from(SIGNAL).thread_unblock()?;
        Ok(Self(gettid()))
    }

    /// Wakes it, where it blocks. Where it is just about to, this is missed: the caller wakes it again in this case.
    /// Once the thread has ended nothing happens, or some other thread of this process is woken for nothing.
    pub fn wake(self) {
        // SAFETY: tgkill takes numbers only. The signal reaches no other process, and `handle` has installed a handler.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), self.0.as_raw(), SIGNAL as libc::c_int) };
    }
}

extern "C" fn do_nothing(_: libc::c_int) {}

fn handle() -> Result<(), Errno> {
    // Without SA_RESTART: the call that is interrupted ends.
    let action = SigAction::new(SigHandler::Handler(do_nothing), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler touches nothing, and what a signal interrupts is told so by EINTR.
    unsafe { sigaction(SIGNAL, &action) }.map(drop)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
    use std::sync::mpsc::{self, RecvTimeoutError};
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// The kind of error that a blocking call ends with when its thread is woken, be it before or in the call.
    fn woken(block: impl FnOnce() -> io::Result<usize> + Send + 'static) -> io::ErrorKind {
        let (tell, sleepers) = mpsc::channel();
        let (ended, end) = mpsc::channel::<()>();
        let blocking = thread::spawn(move || {
            let _ended = ended;
            tell.send(Sleeper::this_thread().unwrap()).unwrap();
            block().unwrap_err().kind()
        });
        let sleeper = sleepers.recv().unwrap();
        while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(Duration::from_millis(1)) {
            sleeper.wake();
        }
        blocking.join().unwrap()
    }

    #[test]
    fn every_kind_of_receiving_is_interrupted() {
        let local = (Ipv4Addr::LOCALHOST, 0);
        let unconnected = UdpSocket::bind(local).unwrap();
        let connected = UdpSocket::bind(local).unwrap();
        connected.connect(unconnected.local_addr().unwrap()).unwrap();
        let listener = TcpListener::bind(local).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(woken(move || unconnected.recv_from(&mut [0; 9]).map(|(n, _)| n)), io::ErrorKind::Interrupted);
        assert_eq!(woken(move || connected.recv(&mut [0; 9])), io::ErrorKind::Interrupted);
        assert_eq!(woken(move || stream.peek(&mut [0; 9])), io::ErrorKind::Interrupted);
    }

    #[test]
    fn a_thread_that_ended_is_woken_for_nothing() {
        let sleeper = thread::spawn(|| Sleeper::this_thread().unwrap()).join().unwrap();
        sleeper.wake();
    }
}
