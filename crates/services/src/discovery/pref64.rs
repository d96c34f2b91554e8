//! The PREF64 option, by which a router announces the prefix of a NAT64: [RFC 8781 section
//! 4](https://www.rfc-editor.org/rfc/rfc8781#section-4). No I/O.

use std::net::Ipv6Addr;

use serde::{Deserialize, Serialize};
use sixbench_wire::addresses::Ipv6Net;
use sixbench_wire::addresses::Net;

/// The option's type.
pub const KIND: u8 = 38;
const BYTES: usize = 16;
/// The lengths by the code that stands for each, from 0.
const LENGTHS: [u8; 6] = [96, 64, 56, 48, 40, 32];
/// The lifetime is in units of this many seconds, in 13 bits.
const UNIT_S: u32 = 8;
/// The longest lifetime that the option can carry.
pub const MAX_LIFETIME_S: u32 = 8191 * UNIT_S;

/// The prefix of a NAT64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Pref64 {
    pub prefix: Ipv6Net,
    /// Sent in units of eight seconds, rounded up. 0: the prefix is no longer to be used.
    #[serde(default = "default_lifetime_s")]
    pub lifetime_s: u32,
}

/// Three times RFC 4861's default of the longest time between advertisements, 600 s: RFC 8781 section 4.1.
fn default_lifetime_s() -> u32 {
    1800
}

impl Pref64 {
    /// The first mistake in the prefix or its lifetime, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        let Ipv6Net { address, bits } = self.prefix;
        if self.lifetime_s > MAX_LIFETIME_S {
            return Err(format!("lifetime_s is {}, more than {MAX_LIFETIME_S} (RFC 8781 section 4)", self.lifetime_s));
        }
        Net { address, bits }.check()
    }

    /// The option. It is of no use for a prefix that [`Pref64::check`] refuses.
    pub fn encode(&self) -> [u8; BYTES] {
        let code = LENGTHS.iter().position(|&bits| bits == self.prefix.bits).unwrap_or(LENGTHS.len());
        let units = self.lifetime_s.min(MAX_LIFETIME_S).div_ceil(UNIT_S);
        let mut option = [0; BYTES];
        option[..2].copy_from_slice(&[KIND, 2]);
        option[2..4].copy_from_slice(&(((units as u16) << 3) | code as u16).to_be_bytes());
        option[4..].copy_from_slice(&self.prefix.address.octets()[..12]);
        option
    }

    /// Reads an option. `None`: it has another length, or a code that stands for no length, so that it is to be
    /// ignored.
    pub fn parse(option: &[u8]) -> Option<Self> {
        let option: &[u8; BYTES] = option.try_into().ok()?;
        let scaled = u16::from_be_bytes([option[2], option[3]]);
        let bits = *LENGTHS.get(usize::from(scaled & 7))?;
        let mut octets = [0; 16];
        octets[..12].copy_from_slice(&option[4..]);
        // Bits beyond the length are to be ignored.
        let address = Ipv6Addr::from_bits(u128::from_be_bytes(octets) & (u128::MAX << (128 - bits)));
        // Octet 8 of an address with an IPv4 address in it is zero: RFC 6052 section 2.2.
        Net { address, bits }.check().ok()?;
        let lifetime_s = u32::from(scaled >> 3) * UNIT_S;
        Some(Self { prefix: Ipv6Net { address, bits }, lifetime_s })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pref64(address: &str, bits: u8, lifetime_s: u32) -> Pref64 {
        Pref64 { prefix: Ipv6Net { address: address.parse().expect("an address"), bits }, lifetime_s }
    }

    #[test]
    fn an_option_has_the_form_of_rfc_8781_section_4() {
        let option = pref64("2001:db8:64::", 96, 600).encode();
        // 600 s are 75 units; code 0 is /96.
        assert_eq!(option[..4], [38, 2, 0x02, 0x58]);
        assert_eq!(option[4..], [0x20, 0x01, 0x0d, 0xb8, 0, 0x64, 0, 0, 0, 0, 0, 0]);
        for (code, bits) in [96, 64, 56, 48, 40, 32].into_iter().enumerate() {
            let option = pref64("2001:db8::", bits, 0).encode();
            assert_eq!(option[3], code as u8);
            assert_eq!(Pref64::parse(&option), Some(pref64("2001:db8::", bits, 0)));
        }
    }

    #[test]
    fn a_lifetime_is_rounded_up_to_eight_seconds() {
        for (given, read) in [(1, 8), (8, 8), (9, 16), (65_528, 65_528)] {
            let option = pref64("64:ff9b::", 96, given).encode();
            assert_eq!(Pref64::parse(&option).map(|one| one.lifetime_s), Some(read));
        }
        assert!(pref64("64:ff9b::", 96, 65_529).check().is_err());
        assert!(pref64("64:ff9b::", 95, 8).check().is_err());
    }

    #[test]
    fn unknown_codes_and_other_lengths_are_ignored() {
        let option = pref64("2001:db8::", 96, 600).encode();
        for code in [6, 7] {
            let mut wrong = option;
            wrong[3] |= code;
            assert_eq!(Pref64::parse(&wrong), None);
        }
        assert_eq!(Pref64::parse(&option[..15]), None);
        assert_eq!(Pref64::parse(&[&option[..], &[0; 8]].concat()), None);
    }

    proptest! {
        #[test]
        fn what_is_said_is_read(address: u128, code in 0..6_usize, units in 0..=8191_u32) {
            let bits = LENGTHS[code];
            // Octet 8 is zero.
            let address = address & (u128::MAX << (128 - bits)) & !(0xff << 56);
            let given = pref64(&Ipv6Addr::from_bits(address).to_string(), bits, units * 8);
            prop_assert_eq!(given.check(), Ok(()));
            prop_assert_eq!(Pref64::parse(&given.encode()), Some(given));
        }

        #[test]
        fn what_is_read_may_be_said(option: [u8; 16]) {
            if let Some(read) = Pref64::parse(&option) {
                prop_assert_eq!(read.check(), Ok(()));
                prop_assert_eq!(Pref64::parse(&read.encode()), Some(read));
            }
        }

        #[test]
        fn no_option_is_a_panic(option in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Pref64::parse(&option);
        }
    }
}
