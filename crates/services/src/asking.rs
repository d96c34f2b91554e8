//! How a client asks again.

use std::time::Duration;

/// From the first question to the second, and twice as long each time after, as RFC 7559 section 2.1 has it for router solicitations.
///
/// RFCs would have seconds (7559: 4 s; 2131 section 4.1: 4 s; 1035 section 4.2.1: 2 to 5 s) for links with many hosts that start at once, with a random
/// part for the same reason, and for servers that are far away.
pub const FIRST_INTERVAL: Duration = Duration::from_millis(100);

/// For how long is asked where a request does not say.
pub const fn default_timeout_ns() -> u64 {
    5_000_000_000
}
