//! Sockets of the node's namespace that wait for others: TCP sockets that listen, UDP sockets without a peer.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::{Deserialize, Serialize};

/// Most sockets that are listed.
const MAX_TOLD: usize = 64;
/// TCP_LISTEN, as /proc/net/tcp has it.
const LISTENS: &str = "0A";

/// A socket that waits for others, at any address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listens {
    /// The transport.
    pub transport: Transport,
    /// The port.
    pub port: u16,
}

/// The transport of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl fmt::Display for Listens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} port {}", self.transport.name(), self.port)
    }
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

/// True if there is such a socket.
pub fn has(socket: Listens) -> io::Result<bool> {
    let protocol = socket.transport.name();
    for file in [protocol.to_owned(), format!("{protocol}6")] {
        match fs::read_to_string(format!("/proc/self/net/{file}")) {
            Ok(text) if waiting_at(&text, protocol).any(|address| address.port() == socket.port) => return Ok(true),
            Ok(_) => {}
            // A kernel without IPv6.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// All of these sockets, such as `tcp 0.0.0.0:53`.
pub fn read() -> io::Result<Vec<String>> {
    let mut sockets = BTreeSet::new();
    for (file, protocol) in [("tcp", "tcp"), ("tcp6", "tcp"), ("udp", "udp"), ("udp6", "udp")] {
        match fs::read_to_string(format!("/proc/self/net/{file}")) {
            Ok(text) => sockets.extend(waiting(&text, protocol)),
            // A kernel without IPv6.
            Err(error) if error.kind() == io::ErrorKind::NotFound => (),
            Err(error) => return Err(error),
        }
    }
    Ok(sockets.into_iter().take(MAX_TOLD).collect())
}

fn waiting(text: &str, protocol: &str) -> impl Iterator<Item = String> {
    waiting_at(text, protocol).map(move |address| format!("{protocol} {address}"))
}

fn waiting_at(text: &str, protocol: &str) -> impl Iterator<Item = SocketAddr> {
    text.lines().skip(1).filter_map(move |line| {
        let mut words = line.split_whitespace().skip(1);
        let (local, peer, state) = (words.next()?, address(words.next()?)?, words.next()?);
        let waits = if protocol == "tcp" { state == LISTENS } else { peer.port() == 0 };
        waits.then(|| address(local)).flatten()
    })
}

/// An address as /proc/net has it: words of 32 bits in the machine's order, and a port.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let mut octets = Vec::with_capacity(16);
    for start in (0..host.len()).step_by(8) {
        octets.extend(u32::from_str_radix(host.get(start..start + 8)?, 16).ok()?.to_ne_bytes());
    }
    let host = match octets.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(octets).ok()?)),
        16 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(host, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
";
    const UDP: &str = "\
  sl  local_address                         remote_address                        st
   9: 00000000000000000000000000000000:0035 00000000000000000000000000000000:0000 07
  10: B80D0120000000000000000001000000:0035 B80D0120000000000000000002000000:0036 01
 nonsense
";

    #[test]
    #[cfg(target_endian = "little")]
    fn only_those_that_wait_are_told() {
        assert_eq!(waiting(TCP, "tcp").collect::<Vec<_>>(), ["tcp 127.0.0.1:8080"]);
        assert_eq!(waiting(UDP, "udp").collect::<Vec<_>>(), ["udp [::]:53"]);
    }
}
