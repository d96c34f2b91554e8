//! Where a packet from a source has to come from: the node's route to it, as rtnetlink tells.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeVal;

const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTN_UNICAST: u8 = 1;
const RTN_LOCAL: u8 = 2;
/// `struct nlmsghdr`, then `struct rtmsg`.
const HEADER_BYTES: usize = 16;
const ROUTE_BYTES: usize = 12;

/// What the node's routes say of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// It is the node's own.
    Local,
    /// It is behind the device of this index.
    Through(u32),
    /// There is no way to it.
    None,
}

/// Asks the kernel for routes.
pub struct Routes {
    socket: OwnedFd,
    sequence: u32,
}

impl Routes {
    /// Opens the socket.
    pub fn open() -> io::Result<Self> {
        let (family, protocol) = (AddressFamily::Netlink, SockProtocol::NetlinkRoute);
        let socket = socket(family, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        // The kernel answers before the send returns; this is for an answer that it had no memory for.
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::new(1, 0))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// The route to an address.
    pub fn to(&mut self, address: Ipv4Addr) -> io::Result<Route> {
        self.sequence = self.sequence.wrapping_add(1);
        send(self.socket.as_raw_fd(), &question(address, self.sequence), MsgFlags::empty())?;
        let mut buffer = [0; 4096];
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            if let Some(route) = answer(&buffer[..length], self.sequence) {
                return Ok(route);
            }
        }
    }
}

fn question(address: Ipv4Addr, sequence: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(36);
    bytes.extend(36_u32.to_ne_bytes());
    bytes.extend(RTM_GETROUTE.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend([0; 4]); // Ours, whoever we are.
    bytes.extend([libc::AF_INET as u8, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(8_u16.to_ne_bytes());
    bytes.extend(RTA_DST.to_ne_bytes());
    bytes.extend(address.octets());
    bytes
}

/// Reads the answer to a question; `None` for another's.
fn answer(message: &[u8], sequence: u32) -> Option<Route> {
    let header: &[u8; HEADER_BYTES] = message.first_chunk()?;
    let kind = u16::from_ne_bytes([header[4], header[5]]);
    if u32::from_ne_bytes([header[8], header[9], header[10], header[11]]) != sequence {
        return None;
    }
    let route: &[u8; ROUTE_BYTES] = match kind {
        RTM_NEWROUTE => message.get(HEADER_BYTES..)?.first_chunk()?,
        NLMSG_ERROR => return Some(Route::None),
        _ => return None,
    };
    Some(match route[7] {
        RTN_LOCAL => Route::Local,
        RTN_UNICAST => attribute(&message[HEADER_BYTES + ROUTE_BYTES..], RTA_OIF)
            .and_then(|value| value.try_into().ok())
            .map_or(Route::None, |value| Route::Through(u32::from_ne_bytes(value))),
        _ => Route::None,
    })
}

/// The value of the first attribute of that type.
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let &[length_0, length_1, kind_0, kind_1] = attributes.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([length_0, length_1]));
        let value = attributes.get(4..length)?;
        if u16::from_ne_bytes([kind_0, kind_1]) == wanted {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_nodes_own_addresses_are_local() {
        let mut routes = Routes::open().expect("a socket");
        assert_eq!(routes.to(Ipv4Addr::LOCALHOST).expect("an answer"), Route::Local);
    }

    proptest! {
        #[test]
        fn no_answer_is_a_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..96)) {
            if let Some(header) = bytes.first_chunk_mut::<12>() {
                header[4..6].copy_from_slice(&RTM_NEWROUTE.to_ne_bytes());
                header[8..12].fill(0);
            }
            if let Some(kind) = bytes.get_mut(HEADER_BYTES + 7) {
                *kind = RTN_UNICAST;
            }
            let _ = answer(&bytes, 0);
        }
    }
}
