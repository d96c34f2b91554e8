//! Whether an address is on-link on the tunnel's device: RFC 5214 section 7.3.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

use crate::abi::Address;

/// How long an answer is believed.
const LIFETIME: Duration = Duration::from_secs(1);
/// How many answers are kept: a host that sends from more addresses costs its own packets time.
const MAX_ANSWERS: usize = 1024;

/// `linux/rtnetlink.h`, `linux/netlink.h`.
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const RTN_UNICAST: u8 = 1;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_VIA: u16 = 18;
const HEADER_BYTES: usize = 16;
const ROUTE_BYTES: usize = 12;

/// Asks the node's routing tables.
pub struct OnLink {
    socket: Socket,
    ifindex: u32,
    answers: HashMap<[u8; 16], (bool, Instant)>,
}

impl OnLink {
    /// For the device of that index, in the namespace of this thread.
    pub fn open(ifindex: u32) -> io::Result<Self> {
        let socket = Socket::new(
            Domain::from(libc::AF_NETLINK),
            Type::RAW.cloexec(),
            Some(Protocol::from(libc::NETLINK_ROUTE)),
        )?;
        // The kernel answers within the call that asks.
        socket.set_read_timeout(Some(LIFETIME))?;
        Ok(Self { socket, ifindex, answers: HashMap::new() })
    }

    /// Whether the node would send to `address` by the device, and not through a gateway.
    pub fn has(&mut self, address: &Address) -> bool {
        let now = Instant::now();
        match self.answers.get(&address.0) {
            Some(&(answer, at)) if now.duration_since(at) < LIFETIME => return answer,
            _ => {}
        }
        let answer = self.ask(address).unwrap_or(false);
        if self.answers.len() >= MAX_ANSWERS {
            self.answers.clear();
        }
        self.answers.insert(address.0, (answer, now));
        answer
    }

    fn ask(&mut self, address: &Address) -> io::Result<bool> {
        let mut socket = &self.socket;
        let mut answer = [0; 4096];
        socket.write_all(&request(address))?;
        let length = socket.read(&mut answer)?;
        Ok(leads_to(&answer[..length], self.ifindex))
    }
}

/// `struct nlmsghdr`, `struct rtmsg`, and the address.
fn request(address: &Address) -> Vec<u8> {
    let bytes = HEADER_BYTES + ROUTE_BYTES + 4 + 16;
    let mut message = (bytes as u32).to_ne_bytes().to_vec();
    message.extend(RTM_GETROUTE.to_ne_bytes());
    message.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    message.extend([0; 8]);
    message.extend([libc::AF_INET6 as u8, 128]);
    message.extend([0; ROUTE_BYTES - 2]);
    message.extend(20_u16.to_ne_bytes());
    message.extend(RTA_DST.to_ne_bytes());
    message.extend(address.0);
    message
}

/// Whether the answer is a route by the device without a gateway.
fn leads_to(answer: &[u8], ifindex: u32) -> bool {
    let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |&bytes| u16::from_ne_bytes(bytes));
    let kind = answer.get(4..6).map_or(0, number);
    // The eighth byte of the route is its type.
    if kind != RTM_NEWROUTE || answer.get(HEADER_BYTES + 7) != Some(&RTN_UNICAST) {
        return false;
    }
    let mut rest = answer.get(HEADER_BYTES + ROUTE_BYTES..).unwrap_or_default();
    let mut is_by_device = false;
    while let Some(header) = rest.first_chunk::<4>() {
        let (length, kind) = (usize::from(number(&header[..2])), number(&header[2..]));
        let Some(value) = rest.get(4..length) else { return false };
        match kind {
            RTA_GATEWAY | RTA_VIA => return false,
            RTA_OIF => is_by_device = value == ifindex.to_ne_bytes(),
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    is_by_device
}
