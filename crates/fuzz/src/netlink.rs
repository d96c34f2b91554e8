//! The kernel's answers by rtnetlink.

use sixbench_netlink::message::{Content, messages};
use sixbench_netlink::{Address, Link, Queue, Route};

/// A piece of an answer, each of whose messages is read as everything that it could be.
pub fn netlink(data: &[u8]) {
    for message in messages(data) {
        if let Ok(Content::Structure(_, body)) = message.content() {
            let _ = (Link::parse(body), Queue::parse(body), Route::parse(body), Address::parse(body));
        }
    }
}
