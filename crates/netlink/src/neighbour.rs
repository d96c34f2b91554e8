//! The neighbours of an interface: `linux/neighbour.h`.

use std::io;
use std::net::IpAddr;

use crate::Client;
use crate::link::six;
use crate::message::{Attributes, NetlinkRequest, half};
use crate::route::with_address;

/// `struct ndmsg`: family, padding, index of the interface, state, flags, type.
const NEIGHBOUR_BYTES: usize = 12;
const INDEX_AT: usize = 4;
const STATE_AT: usize = 8;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
/// The states in which the kernel sends to the address that it has: `NUD_VALID`.
const VALID: u16 = 0x02 | 0x04 | 0x08 | 0x10 | 0x40 | 0x80;

/// The Ethernet address of a neighbour; absent where the kernel has none that it would send to.
fn parse(body: &[u8]) -> Option<[u8; 6]> {
    let is_valid = half(body, STATE_AT)? & VALID != 0;
    let attributes = Attributes::after(NEIGHBOUR_BYTES, body)?;
    attributes.get(NDA_LLADDR).filter(|_| is_valid).and_then(six)
}

impl Client {
    /// The Ethernet address by which the namespace sends to a neighbour on an interface; `None`: it does not know it
    /// (Linux 5.0).
    pub fn neighbour(&mut self, address: IpAddr, link: u32) -> io::Result<Option<[u8; 6]>> {
        let mut structure = [0; NEIGHBOUR_BYTES];
        structure[0] = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 } as u8;
        structure[INDEX_AT..STATE_AT].copy_from_slice(&link.to_ne_bytes());
        let request = with_address(NetlinkRequest::new(libc::RTM_GETNEIGH, &structure), NDA_DST, address);
        match self.ask(request, libc::RTM_NEWNEIGH, |body| Some(parse(body))) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn body(state: u16, address: &[u8]) -> Vec<u8> {
        let mut structure = [0; NEIGHBOUR_BYTES];
        structure[STATE_AT..STATE_AT + 2].copy_from_slice(&state.to_ne_bytes());
        NetlinkRequest::new(0, &structure).with(NDA_LLADDR, address).body().to_vec()
    }

    #[test]
    fn an_address_counts_in_a_state_in_which_it_is_used() {
        let address = [2, 0, 0, 0, 0, 7];
        assert_eq!(parse(&body(0x02, &address)), Some(address));
        assert_eq!(parse(&body(0x20, &address)), None); // NUD_FAILED
        assert_eq!(parse(&body(0x02, &address[..4])), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = parse(&bytes);
        }
    }
}
