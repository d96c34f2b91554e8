//! The requests that sixbench sends to the kernel by rtnetlink(7): interfaces, queueing disciplines and routes of a
//! namespace.
//!
//! This crate holds the conversation ([`Client`]), its messages ([`message`]), and the contents of a [`Link`], a
//! [`Queue`], a [`Route`] and an [`Address`]. Acting on them does not belong here. Called by `agent`, `services`,
//! `plane`, `probes` and `traffic`.
//!
//! `netlink-packet-route` 0.34 with `netlink-packet-core` answers the same questions without an async runtime on Rust
//! 1.85 (`rtnetlink` needs Tokio, and `neli` 32 packages), but it is 34,000 lines for the twelve attributes that are
//! read here, and leaves socket, bounds and sequence numbers to us. It decodes every attribute of a message, and
//! refuses the message if one has another length than it knows, as on kernels that are older or newer than itself. A
//! node here runs on kernels from Linux 5.10 on, and reads only the attributes that it needs.
#![forbid(unsafe_code)]

mod address;
mod client;
mod link;
pub mod message;
mod neighbour;
mod queue;
mod route;
pub mod tracking;

pub use address::Address;
pub use client::Client;
pub use link::Link;
pub use queue::Queue;
pub use route::{Route, RouteKind};

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use crate::message::NetlinkRequest;
    use crate::{Address, Link, Queue, Route};

    proptest! {
        #[test]
        fn no_attributes_are_a_panic(attributes in vec((0_u16..64, vec(any::<u8>(), 0..24)), 0..6), cut in 0_usize..24, at in 0_usize..100, byte: u8) {
            let request = NetlinkRequest::new(0, &[0; 16]);
            let request = attributes.iter().fold(request, |request, (kind, value)| request.with(*kind, value));
            let mut body = request.body().to_vec();
            body.truncate(body.len().saturating_sub(cut));
            if let Some(damaged) = body.get_mut(at) {
                *damaged = byte;
            }
            let _ = (Link::parse(&body), Queue::parse(&body), Route::parse(&body), Address::parse(&body));
        }
    }
}
