//! The test for addresses that are on-link on the tunnel's device: RFC 5214 section 7.3.

use std::collections::HashMap;
use std::io;
use std::net::Ipv6Addr;
use std::time::{Duration, Instant};

use sixbench_netlink::Client;

use crate::abi::Address;

/// Time for which a positive answer is kept.
const LIFETIME: Duration = Duration::from_secs(1);
/// Most addresses that are known to be on-link: a net with more costs its own packets time.
const MAX_KNOWN: usize = 1024;

/// Asks the node's routing tables, and remembers.
pub struct OnLink {
    client: Client,
    ifindex: u32,
    known: HashMap<[u8; 16], Instant>,
}

impl OnLink {
    /// The test for the device of that index, in the namespace of this thread.
    pub fn open(ifindex: u32) -> io::Result<Self> {
        Ok(Self { client: Client::open()?, ifindex, known: HashMap::new() })
    }

    /// True if the node would send to `address` by the device, and not through a gateway.
    pub fn has(&mut self, address: &Address) -> bool {
        let now = Instant::now();
        if self.known.get(&address.0).is_some_and(|&since| now.duration_since(since) < LIFETIME) {
            return true;
        }
        let route = self.client.route(Ipv6Addr::from(address.0).into(), None, None);
        let is_on_link = route.is_ok_and(|route| route.and_then(|route| route.on_link()) == Some(self.ifindex));
        if is_on_link {
            if self.known.len() >= MAX_KNOWN {
                self.known.clear();
            }
            self.known.insert(address.0, now);
        }
        is_on_link
    }
}
