//! Sources of a CLAT's prefix: Router Advertisements, and answers of a resolver; and the solicitations of the former.

use std::net::Ipv6Addr;

use sixbench_services::discovery::{Advertisement, Arrived, HOP_LIMIT, check_solicitation};
use sixbench_wire::dns::prefixes_in;

const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);

/// A message. The first two bytes are the number of the question that it may answer.
pub fn discovery(data: &[u8]) {
    let Some((id, message)) = data.split_first_chunk() else { return };
    let arrived = Arrived { message, source: ROUTER, hop_limit: HOP_LIMIT };
    let _ = check_solicitation(&arrived);
    if let Ok(advertisement) = Advertisement::parse(&arrived) {
        for pref64 in &advertisement.pref64 {
            assert_eq!(pref64.check(), Ok(()));
        }
        assert_eq!(
            Advertisement::parse(&Arrived { message: &advertisement.encode(None), ..arrived }),
            Ok(advertisement)
        );
    }
    if let Ok(prefixes) = prefixes_in(message, u16::from_be_bytes(*id)) {
        assert!(!prefixes.is_empty() && prefixes.iter().all(|prefix| prefix.check().is_ok()));
    }
}
