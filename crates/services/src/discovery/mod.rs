//! Router discovery: RFC 4861 section 6, as far as tunnels and CLATs need it: solicited advertisements, and asking for
//! one.

mod advertise;
mod messages;
mod pref64;
mod socket;
mod solicit;

pub use advertise::{AdvertiseRequest, Advertiser, AdvertiserCounters};
pub use messages::{Advertisement, Arrived, Flaw, HOP_LIMIT, Mac, PrefixInformation, check_solicitation};
pub use pref64::Pref64;
pub(crate) use socket::{addresses, all_routers};
pub use solicit::{SolicitRequest, Solicited, solicit, solicit_for};
