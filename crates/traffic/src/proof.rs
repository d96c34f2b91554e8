//! The proofs by which a client enters a server that was told no peer, for workloads of other crates: the echo of a
//! cookie, and the preamble of a connection.

use crate::df::Df;
use crate::socket::Buffers;
use crate::workloads::opening;
pub use crate::workloads::tcp::preamble::{PREAMBLE_BYTES, Preamble, Role};
use crate::{Cancel, Endpoint, Result};

/// Echoes the server's cookie from a socket of its own, and returns when the server has welcomed this address. Nothing
/// is done for a server that asks for none.
///
/// # Errors
/// `timeout` where no welcome comes, `cancelled`.
pub fn echo_cookie(endpoint: &Endpoint, cancel: &Cancel) -> Result<()> {
    opening::connected(endpoint, Buffers::default(), Df::Clear, cancel).map(drop)
}
