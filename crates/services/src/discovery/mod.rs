//! Router discovery: RFC 4861 section 6, as far as tunnels need it: solicited advertisements, and asking for one.

mod advertise;
mod messages;
mod socket;
mod solicit;

pub use advertise::{Advertiser, Counters, Request as Advertise};
pub use messages::{Advertisement, Prefix};
pub use solicit::{Request as Solicit, Solicited, solicit};
