//! Messages, as a resolver gets them.

use std::sync::OnceLock;

use sixbench_wire::dns::Responder;

#[path = "../../wire/tests/dns/held.rs"]
mod held;

/// A message to a resolver with DNS64.
pub fn dns(data: &[u8]) {
    static RESPONDER: OnceLock<Responder> = OnceLock::new();
    held::check(RESPONDER.get_or_init(held::responder), data);
}
