//! The cookie that a client of a busy server returns before the server keeps anything for it ("Connections" in the
//! protocol document).
//!
//! It is a MAC over the client's address and the time, as in WireGuard's cookie reply and the Retry of QUIC (RFC 9000
//! section 8.1.2). Pure except for the key of a [`Jar`], which the system's random numbers give.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use blake2::Blake2sMac;
use blake2::digest::consts::U16;
use blake2::digest::{KeyInit, Mac};
use sixbench_measure::random::secret;

/// Length of a cookie: the time, and the MAC.
pub const COOKIE_BYTES: usize = TIME_BYTES + MAC_BYTES;
const TIME_BYTES: usize = 8;
const MAC_BYTES: usize = 16;
/// Time for which a cookie is good: twice the time that a client has for all of its attempts.
pub const LIFETIME: Duration = Duration::from_secs(10);

/// The time when it was given (milliseconds since the server began, big endian), and the MAC.
pub type Cookie = [u8; COOKIE_BYTES];

/// The cookie of a client that has none.
pub const NO_COOKIE: Cookie = [0; COOKIE_BYTES];

/// Gives out cookies and recognises them, without remembering which client has which.
pub struct Jar([u8; 32]);

impl Jar {
    /// A jar with a key of its own.
    pub fn new() -> io::Result<Self> {
        secret().map(Self)
    }

    /// The cookie of an address. `now` is the time since the server began, here as in [`Jar::knows`].
    pub fn give(&self, address: IpAddr, now: Duration) -> Cookie {
        let time = (now.as_millis() as u64).to_be_bytes();
        let mut cookie = NO_COOKIE;
        cookie[..TIME_BYTES].copy_from_slice(&time);
        cookie[TIME_BYTES..].copy_from_slice(&self.mac(address, time));
        cookie
    }

    /// True if this is the cookie of an address, and not too old.
    pub fn knows(&self, cookie: &Cookie, address: IpAddr, now: Duration) -> bool {
        let (time, mac) = cookie.split_at(TIME_BYTES);
        let mut given = [0; TIME_BYTES];
        given.copy_from_slice(time);
        let age = now.checked_sub(Duration::from_millis(u64::from_be_bytes(given)));
        // An attacker who finds out bytes of a MAC by how long this takes has only a cookie of its own address, which
        // it could have asked for.
        age.is_some_and(|age| age <= LIFETIME) && mac == self.mac(address, given)
    }

    fn mac(&self, address: IpAddr, time: [u8; TIME_BYTES]) -> [u8; MAC_BYTES] {
        let address = match address {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        #[allow(clippy::expect_used)] // 32 bytes are a key of BLAKE2s (RFC 7693 section 2.1).
        let mut mac = <Blake2sMac<U16> as KeyInit>::new_from_slice(&self.0).expect("a key of 32 bytes");
        mac.update(&address.octets());
        mac.update(&time);
        mac.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Duration = Duration::from_secs(100);

    fn address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn a_cookie_is_good_for_its_address_its_server_and_its_time() {
        let jar = Jar::new().unwrap();
        let cookie = jar.give(address(1), NOW);
        assert!(jar.knows(&cookie, address(1), NOW) && jar.knows(&cookie, address(1), NOW + LIFETIME));
        assert!(!jar.knows(&cookie, address(1), NOW + LIFETIME + Duration::from_millis(1)));
        assert!(!jar.knows(&cookie, address(1), NOW - Duration::from_millis(1)), "from the future");
        assert!(!jar.knows(&cookie, address(2), NOW));
        assert!(!Jar::new().unwrap().knows(&cookie, address(1), NOW));
        assert!(!jar.knows(&NO_COOKIE, address(1), Duration::ZERO));
    }

    proptest! {
        #[test]
        fn no_cookie_is_known_that_was_not_given(bytes in prop::array::uniform24(any::<u8>()), now_ms in 0..u64::MAX / 2, place in 0..COOKIE_BYTES, change in 1..=u8::MAX) {
            let jar = Jar::new().unwrap();
            let now = Duration::from_millis(now_ms);
            prop_assert!(!jar.knows(&bytes, address(1), now));
            let mut changed = jar.give(address(1), now);
            prop_assert!(jar.knows(&changed, address(1), now));
            changed[place] ^= change;
            prop_assert!(!jar.knows(&changed, address(1), now));
        }
    }
}
