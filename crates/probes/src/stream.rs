//! Connections of TCP to a server, and what the kernel knows of them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::Once;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;
use sixbench_packet::{LocalAddress, Result};
use sixbench_traffic::TcpInfo;
use socket2::{Protocol, Socket, Type};

use crate::error_queue::last_failure;
use crate::limits::SECOND_NS;
use crate::local::{self, LocalEnd};
use crate::outcome::{Ending, Outcome};

/// Bytes of the time stamps in each segment (RFC 7323 section 3.2, with padding).
const TIMESTAMP_BYTES: u64 = 12;
/// Longest time of a rehearsal.
const REHEARSAL_NS: u64 = SECOND_NS;

/// A connection, or the reason why there is none.
pub struct Attempt {
    /// The connection.
    pub socket: std::result::Result<Socket, Ending>,
    /// This end.
    pub local: LocalEnd,
    /// Time at which it began.
    pub begun_ns: u64,
    /// Time from there until the connection was there, or until it failed.
    pub elapsed_ns: u64,
    /// The kernel's account of the handshake.
    pub handshake: Handshake,
}

/// The kernel's account of a handshake (`TCP_INFO`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Handshake {
    /// The MSS without options: the smaller of those of both ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss_bytes: Option<u64>,
    /// Round-trip time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ns: Option<u64>,
    /// SYNs that were sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
}

/// Connects. Nothing is sent but what the kernel sends.
///
/// # Errors
/// `system` where the kernel refuses the means.
pub fn connect(peer: SocketAddr, source: Option<LocalAddress>, timeout_ns: u64) -> Result<Attempt> {
    let begun_ns = clock::monotonic_ns();
    let socket = match local::open(peer.ip(), (Type::STREAM, Protocol::TCP), source, 0)? {
        Ok(socket) => socket,
        Err(error) => return Ok(Attempt::failed(Ending::unsent(&error), begun_ns)),
    };
    // Errors come without it too, but not who sent them (Linux 5.9).
    let _ = sixbench_packet::error_queue::enable(&socket, peer.is_ipv6());
    let _ = socket.set_tcp_nodelay(true);
    let begun_ns = clock::monotonic_ns();
    let ending = match socket.connect(&peer.into()) {
        Ok(()) => None,
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => wait(&socket, begun_ns, timeout_ns),
        Err(error) => Some(Ending::unsent(&error)),
    };
    let elapsed_ns = clock::monotonic_ns() - begun_ns;
    // A connection that is there rides out ICMP errors, as those of ordinary clients do (RFC 1122 section 4.2.3.9).
    let _ = sixbench_packet::error_queue::disable(&socket, peer.is_ipv6());
    let local = LocalEnd::of(&socket);
    let info = TcpInfo::of(&socket).unwrap_or_default();
    let handshake = match ending {
        None => Handshake::of(&info),
        Some(_) => Handshake { retransmits: info.retransmits, ..Handshake::default() },
    };
    Ok(Attempt { socket: ending.map_or(Ok(socket), Err), local, begun_ns, elapsed_ns, handshake })
}

/// Connects to itself over loopback, once in the life of the process: the first handshake of a process takes a fraction
/// of a millisecond longer than all others, because its code is read into memory.
pub fn rehearse() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        for address in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
            let listener = TcpListener::bind((address, 0));
            if let Ok(peer) = listener.as_ref().map_err(drop).and_then(|it| it.local_addr().map_err(drop)) {
                // Where loopback is down there is no rehearsal.
                let _ = connect(peer, None, REHEARSAL_NS);
            }
        }
    });
}

/// Waits for the end of the handshake. Absent where it succeeded.
fn wait(socket: &Socket, begun_ns: u64, timeout_ns: u64) -> Option<Ending> {
    let end_ns = begun_ns.saturating_add(timeout_ns);
    while wait_for(socket, PollFlags::POLLOUT, end_ns) {
        let error = match socket.take_error() {
            // An entry in the queue of errors ends the wait, too, and then there is no peer yet.
            Ok(None) if socket.peer_addr().is_ok() => return None,
            Ok(error) => error,
            Err(error) => Some(error),
        };
        match (last_failure(socket), error) {
            (Some((icmp, meaning)), _) => return Some(Ending::by_icmp(icmp, meaning)),
            (None, Some(error)) => return Some(Ending::of_error(&error)),
            (None, None) if clock::monotonic_ns() >= end_ns => break,
            (None, None) => {}
        }
    }
    Some(Ending::of(Outcome::Silence))
}

/// Waits until the socket is ready, or until that time of the monotonic clock. Returns false if it is not ready then.
pub fn wait_for(socket: &impl AsFd, wanted: PollFlags, end_ns: u64) -> bool {
    loop {
        let left_ns = end_ns.saturating_sub(clock::monotonic_ns());
        let mut polled = [PollFd::new(socket.as_fd(), wanted)];
        match ppoll(&mut polled, Some(TimeSpec::from_duration(Duration::from_nanos(left_ns))), None) {
            Err(Errno::EINTR) => {}
            Ok(0) => return false,
            // Where this fails, the next call on the socket will tell.
            Ok(_) | Err(_) => return true,
        }
    }
}

impl Attempt {
    fn failed(ending: Ending, begun_ns: u64) -> Self {
        Self {
            socket: Err(ending),
            local: LocalEnd::default(),
            begun_ns,
            elapsed_ns: clock::monotonic_ns() - begun_ns,
            handshake: Handshake::default(),
        }
    }
}

impl Handshake {
    fn of(info: &TcpInfo) -> Self {
        let options_bytes = if info.has_timestamps { TIMESTAMP_BYTES } else { 0 };
        Self {
            mss_bytes: info.mss_bytes.map(|bytes| bytes + options_bytes),
            rtt_ns: info.rtt_ns,
            retransmits: info.retransmits,
        }
    }
}

#[cfg(test)]
mod tests {
    use sixbench_packet::option_bytes;

    use super::*;

    #[test]
    fn a_connection_that_is_there_rides_out_icmp_errors() {
        for (address, level, name) in [
            (IpAddr::from(Ipv4Addr::LOCALHOST), libc::IPPROTO_IP, libc::IP_RECVERR),
            (Ipv6Addr::LOCALHOST.into(), libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
        ] {
            let listener = TcpListener::bind((address, 0)).unwrap();
            let attempt = connect(listener.local_addr().unwrap(), None, 30 * SECOND_NS).unwrap();
            let (socket, mut value) = (attempt.socket.unwrap(), [1; 4]);
            option_bytes(&socket, level, name, &mut value).unwrap();
            assert_eq!(value, [0; 4], "{address}");
        }
    }

    #[test]
    fn an_entry_of_the_queue_of_errors_is_no_connection() {
        // Nobody listens, and nothing is sent: the socket is not connected, and has no error.
        let socket = Socket::new(socket2::Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
        let ending = wait(&socket, clock::monotonic_ns(), 10_000_000).unwrap();
        assert_eq!(ending.outcome, Outcome::Silence);
    }
}
