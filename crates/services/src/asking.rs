//! Intervals and time limits of a client's questions.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// The time from the first question to the second, which doubles with each question after, as RFC 7559 section 2.1 has
/// it for router solicitations.
///
/// RFCs recommend seconds (7559: 4 s; 2131 section 4.1: 4 s; 1035 section 4.2.1: 2 to 5 s) for links with many hosts
/// that start at once, with a random part for the same reason, and for servers that are far away.
pub const FIRST_INTERVAL: Duration = Duration::from_millis(100);

/// Time to keep asking, unless a request gives another one.
pub const fn default_timeout_ns() -> u64 {
    5_000_000_000
}

/// A socket that hears only that server: RFC 5452 section 9.1.
pub fn connected(server: SocketAddr) -> io::Result<UdpSocket> {
    let any = match server {
        SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
