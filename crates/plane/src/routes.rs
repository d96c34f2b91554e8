//! Questions to the node's routing tables, by rtnetlink.

use std::io::{self, Read, Write};
use std::net::Ipv6Addr;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

/// The kernel answers within the call that asks; this is for the case that it does not.
const PATIENCE: Duration = Duration::from_secs(1);

/// `linux/rtnetlink.h`, `linux/netlink.h`.
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const RTN_UNICAST: u8 = 1;
const RTN_LOCAL: u8 = 2;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_VIA: u16 = 18;
const HEADER_BYTES: usize = 16;
const ROUTE_BYTES: usize = 12;

/// Asks in the namespace of the thread that opened it.
#[derive(Debug)]
pub struct Routes(Socket);

/// What the node does with packets to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It is the node's own.
    Local,
    /// Sends them by the device of that index, itself.
    OnLink(u32),
    /// Something else.
    Other,
}

impl Routes {
    /// Opens a socket.
    pub fn open() -> io::Result<Self> {
        let protocol = Protocol::from(libc::NETLINK_ROUTE);
        let socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(protocol))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(socket))
    }

    /// What the node does with packets to `address`, if they are to leave by `device` where one is given.
    pub fn look_up(&self, address: Ipv6Addr, device: Option<u32>) -> io::Result<Way> {
        let mut socket = &self.0;
        let mut answer = [0; 4096];
        socket.write_all(&request(address, device))?;
        let length = socket.read(&mut answer)?;
        Ok(way(&answer[..length]))
    }
}

/// `struct nlmsghdr`, `struct rtmsg`, and attributes.
fn request(address: Ipv6Addr, device: Option<u32>) -> Vec<u8> {
    let mut body = vec![libc::AF_INET6 as u8, 128];
    body.extend([0; ROUTE_BYTES - 2]);
    body.extend(20_u16.to_ne_bytes());
    body.extend(RTA_DST.to_ne_bytes());
    body.extend(address.octets());
    if let Some(device) = device {
        body.extend(8_u16.to_ne_bytes());
        body.extend(RTA_OIF.to_ne_bytes());
        body.extend(device.to_ne_bytes());
    }
    let mut message = ((HEADER_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend(RTM_GETROUTE.to_ne_bytes());
    message.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    message
}

fn way(answer: &[u8]) -> Way {
    let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |&bytes| u16::from_ne_bytes(bytes));
    if answer.get(4..6).map_or(0, number) != RTM_NEWROUTE {
        return Way::Other;
    }
    // The eighth byte of the route is its type.
    match answer.get(HEADER_BYTES + 7) {
        Some(&RTN_LOCAL) => return Way::Local,
        Some(&RTN_UNICAST) => {}
        _ => return Way::Other,
    }
    let mut rest = answer.get(HEADER_BYTES + ROUTE_BYTES..).unwrap_or_default();
    let mut way = Way::Other;
    while let Some(header) = rest.first_chunk::<4>() {
        let (length, kind) = (usize::from(number(&header[..2])), number(&header[2..]));
        let Some(value) = rest.get(4..length) else { return Way::Other };
        match (kind, value.first_chunk()) {
            (RTA_GATEWAY | RTA_VIA, _) => return Way::Other,
            (RTA_OIF, Some(&device)) => way = Way::OnLink(u32::from_ne_bytes(device)),
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer with a route of that type and these attributes.
    fn answer(kind: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut message = vec![0; HEADER_BYTES + ROUTE_BYTES];
        message[4..6].copy_from_slice(&RTM_NEWROUTE.to_ne_bytes());
        message[HEADER_BYTES + 7] = kind;
        for (name, value) in attributes {
            message.extend((4 + value.len() as u16).to_ne_bytes());
            message.extend(name.to_ne_bytes());
            message.extend(*value);
            message.resize(message.len().next_multiple_of(4), 0);
        }
        message
    }

    #[test]
    fn ways_are_told_apart() {
        let device = (RTA_OIF, &7_u32.to_ne_bytes()[..]);
        assert_eq!(way(&answer(RTN_UNICAST, &[(99, &[1]), device])), Way::OnLink(7));
        assert_eq!(way(&answer(RTN_UNICAST, &[device, (RTA_GATEWAY, &[0; 16])])), Way::Other);
        assert_eq!(way(&answer(RTN_LOCAL, &[device])), Way::Local);
        assert_eq!(way(&answer(7, &[device])), Way::Other);
    }

    #[test]
    fn an_answer_that_is_cut_is_none() {
        let whole = answer(RTN_UNICAST, &[(RTA_OIF, &7_u32.to_ne_bytes())]);
        for length in 0..whole.len() {
            assert_eq!(way(&whole[..length]), Way::Other, "{length}");
        }
    }
}
