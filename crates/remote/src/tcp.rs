//! Settings of TCP at both ends: they notice a peer that vanished, and nobody waits for ever.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

/// A silent peer is probed after this time, and again at this interval ...
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// ... and is gone when it has not answered this many times, or has not acknowledged data for as long.
const KEEPALIVE_COUNT: u32 = 3;
const USER_TIMEOUT: Duration = Duration::from_secs(20);

/// Sets a connection up.
pub fn prepare(stream: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(stream);
    let keepalive =
        TcpKeepalive::new().with_time(KEEPALIVE_IDLE).with_interval(KEEPALIVE_INTERVAL).with_retries(KEEPALIVE_COUNT);
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))?;
    // One that reads nothing has a window of zero, which keeps a connection alive.
    socket.set_write_timeout(Some(USER_TIMEOUT))?;
    stream.set_nodelay(true)
}
