//! Whether the node's interfaces are up, and how often they lost their carrier, as `ip -s -d link` asks for it.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;

use serde::Serialize;

use crate::netlink::{attribute, dump, word};

/// `linux/rtnetlink.h`, `linux/if_link.h`.
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
/// `struct ifinfomsg`: family, type, index, flags, change.
const LINK_BYTES: usize = 16;
const FLAGS_AT: usize = 8;
const NAME: u16 = 3;
/// Since Linux 4.16.
const CARRIER_DOWN_COUNT: u16 = 48;

/// The state of an interface.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Whether it was set up (`IFF_UP`).
    pub is_up: bool,
    /// How often it has lost its carrier since it was made: a veth does when either end is set down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier_losses: Option<u32>,
}

/// Those of the namespace of this thread, by name.
pub fn read() -> io::Result<BTreeMap<String, Link>> {
    let mut found = BTreeMap::new();
    dump(GET_LINK, &[0; LINK_BYTES], NEW_LINK, |body| found.extend(link(body)))?;
    Ok(found)
}

fn link(body: &[u8]) -> Option<(String, Link)> {
    let attributes = body.get(LINK_BYTES..)?;
    let name = CStr::from_bytes_until_nul(attribute(attributes, NAME)?).ok()?;
    let is_up = word(body, FLAGS_AT)? & libc::IFF_UP as u32 != 0;
    let carrier_losses = attribute(attributes, CARRIER_DOWN_COUNT).and_then(|value| word(value, 0));
    Some((name.to_string_lossy().into_owned(), Link { is_up, carrier_losses }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As the kernel describes an interface `e0` that is up and has lost its carrier 3 times.
    fn e0() -> Vec<u8> {
        let mut body: Vec<u8> = [0_u32, 7, 0x1043, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        for (kind, value) in [(NAME, *b"e0\0\0"), (CARRIER_DOWN_COUNT, 3_u32.to_ne_bytes())] {
            body.extend(8_u16.to_ne_bytes());
            body.extend(kind.to_ne_bytes());
            body.extend(value);
        }
        body
    }

    #[test]
    fn an_interface_is_read() {
        let up = Link { is_up: true, carrier_losses: Some(3) };
        assert_eq!(link(&e0()), Some(("e0".to_owned(), up)));
        let mut older = e0();
        older.truncate(LINK_BYTES + 8);
        older[FLAGS_AT..LINK_BYTES].fill(0);
        assert_eq!(link(&older), Some(("e0".to_owned(), Link { is_up: false, carrier_losses: None })));
    }

    #[test]
    fn this_machine_has_a_loopback() {
        assert!(read().expect("a dump").contains_key("lo"));
    }

    proptest! {
        #[test]
        fn what_is_cut_off_or_damaged_is_no_panic(length in 0_usize..40, at in 0_usize..40, byte: u8) {
            let mut body = e0();
            body.truncate(length.min(body.len()));
            if let Some(damaged) = body.get_mut(at) {
                *damaged = byte;
            }
            let _ = link(&body);
        }
    }
}
