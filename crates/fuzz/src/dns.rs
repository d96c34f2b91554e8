//! Messages, as a resolver gets them from clients and from the server that it asks.

use std::sync::OnceLock;

use sixbench_wire::dns::Responder;

#[path = "../../wire/tests/dns/held.rs"]
mod held;

/// A message to a resolver with DNS64, which is also what another server says to its questions.
pub fn dns(data: &[u8]) {
    static RESPONDERS: OnceLock<[Responder; 2]> = OnceLock::new();
    let [alone, forwarding] = RESPONDERS.get_or_init(|| [held::responder(), held::forwarding()]);
    held::check(alone, data);
    held::check_told(forwarding, data);
}
