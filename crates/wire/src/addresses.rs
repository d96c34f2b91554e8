//! Prefixes, and IPv4 addresses embedded in IPv6 addresses: RFC 6052.

use std::fmt::{self, Display};
use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The octet that is zero in every address: RFC 6052 section 2.2, bits 64 to 71.
const RESERVED: usize = 8;
/// The lengths that a prefix may have: section 2.2.
pub const LENGTHS: [u8; 6] = [32, 40, 48, 56, 64, 96];

/// 64:ff9b::/96: RFC 6052 section 2.1.
const WELL_KNOWN: Prefix6 = Net { address: Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), bits: 96 };

/// Addresses that the well-known prefix must not stand for: RFC 6052 section 3.1, by RFC 1918, RFC 5735 section 3 and
/// RFC 6598. 192.88.99.0/24 is global there.
const NON_GLOBAL: [Ipv4Net; 14] = [
    net4([0, 0, 0, 0], 8),
    net4([10, 0, 0, 0], 8),
    net4([100, 64, 0, 0], 10),
    net4([127, 0, 0, 0], 8),
    net4([169, 254, 0, 0], 16),
    net4([172, 16, 0, 0], 12),
    net4([192, 0, 0, 0], 24),
    net4([192, 0, 2, 0], 24),
    net4([192, 168, 0, 0], 16),
    net4([198, 18, 0, 0], 15),
    net4([198, 51, 100, 0], 24),
    net4([203, 0, 113, 0], 24),
    net4([224, 0, 0, 0], 4),
    net4([240, 0, 0, 0], 4),
];

/// A prefix of addresses, written `2001:db8::/32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Net<A> {
    /// Its first address.
    pub address: A,
    /// Its length.
    pub bits: u8,
}

/// A prefix in which IPv4 addresses are embedded: RFC 6052.
pub type Prefix6 = Net<Ipv6Addr>;
/// A prefix of IPv4.
pub type Ipv4Net = Net<Ipv4Addr>;
/// A prefix of IPv6.
pub type Ipv6Net = Net<Ipv6Addr>;

impl<A: Display> Display for Net<A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.bits)
    }
}

impl<A: Display> Serialize for Net<A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ipv6Net {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || de::Error::custom(format!("{text:?} is not an IPv6 prefix, such as 2001:db8::/32"));
        let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
        let address = address.parse().map_err(|_| wrong())?;
        let bits = bits.parse().ok().filter(|&bits| bits <= 128).ok_or_else(wrong)?;
        let net = Self { address, bits };
        match net.check_canonical() {
            Ok(()) => Ok(net),
            Err(_) => Err(de::Error::custom(format!("{text:?} has bits beyond its length"))),
        }
    }
}

impl Ipv4Net {
    /// True if an address has this prefix.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        let differing = address.to_bits() ^ self.address.to_bits();
        u64::from(differing) >> self.suffix_bits() == 0
    }

    /// Number of bits after the prefix.
    pub(crate) fn suffix_bits(&self) -> u32 {
        32_u32.saturating_sub(self.bits.into())
    }

    /// Fails, with the prefix as text, if it has bits beyond its length.
    pub(crate) fn check_canonical(&self) -> Result<(), String> {
        let is_right = self.bits <= 32 && u64::from(self.address.to_bits()) % (1 << self.suffix_bits()) == 0;
        if is_right { Ok(()) } else { Err(self.to_string()) }
    }
}

impl Ipv6Net {
    /// The prefix of that length that an address has.
    pub fn of(address: Ipv6Addr, bits: u8) -> Self {
        let rest = u128::MAX.checked_shr(bits.into()).unwrap_or(0);
        Self { address: Ipv6Addr::from_bits(address.to_bits() & !rest), bits }
    }

    /// True if an address has this prefix.
    pub fn contains(&self, address: Ipv6Addr) -> bool {
        let differing = address.to_bits() ^ self.address.to_bits();
        differing.checked_shr(self.suffix_bits()).unwrap_or(0) == 0
    }

    /// An IPv6 address in this prefix, with an IPv4 address in it: RFC 6052 section 2.2.
    pub fn embed(&self, address: Ipv4Addr) -> Ipv6Addr {
        let mut octets = self.address.octets();
        for (at, octet) in self.places().into_iter().zip(address.octets()) {
            octets[at] = octet;
        }
        Ipv6Addr::from(octets)
    }

    /// The IPv4 address that an address of this prefix has in it: RFC 6052 section 2.3. The bits after the IPv4 address
    /// are not looked at (section 2.2), nor are bits 64 to 71.
    pub fn embedded(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        if !self.contains(address) {
            return None;
        }
        let octets = address.octets();
        let mut found = [0; 4];
        for (octet, at) in found.iter_mut().zip(self.places()) {
            *octet = octets[at];
        }
        Some(Ipv4Addr::from(found))
    }

    /// The octets of its addresses that the IPv4 address is in: RFC 6052 section 2.2.
    pub fn places(&self) -> [usize; 4] {
        let first = usize::from(self.bits.min(96) / 8);
        [0, 1, 2, 3].map(|index| {
            let at = first + index;
            if first <= RESERVED && at >= RESERVED { at + 1 } else { at }
        })
    }

    /// Number of bits after the prefix.
    pub(crate) fn suffix_bits(&self) -> u32 {
        128_u32.saturating_sub(self.bits.into())
    }

    /// Fails, with the prefix as text, if it has bits beyond its length.
    pub(crate) fn check_canonical(&self) -> Result<(), String> {
        let beyond = self.address.to_bits().checked_shl(self.bits.into()).unwrap_or(0);
        if self.bits <= 128 && beyond == 0 { Ok(()) } else { Err(self.to_string()) }
    }

    /// True if the prefix may stand for that address: RFC 6052 section 3.1.
    pub(crate) fn may_represent(&self, address: Ipv4Addr) -> bool {
        !self.never_represented().iter().any(|net| net.contains(address))
    }

    /// The addresses that the prefix must not stand for.
    pub(crate) fn never_represented(&self) -> &'static [Ipv4Net] {
        if *self == WELL_KNOWN { &NON_GLOBAL } else { &[] }
    }

    /// Fails where no IPv4 address can be in it: RFC 6052 section 2.2.
    pub fn check(&self) -> Result<(), String> {
        if !LENGTHS.contains(&self.bits) {
            return Err(format!(
                "the prefix {self} has none of the lengths 32, 40, 48, 56, 64 and 96 (RFC 6052 section 2.2)"
            ));
        }
        if self.address.octets()[RESERVED] != 0 || self.check_canonical().is_err() {
            return Err(format!("the prefix {self} has bits beyond its length, or in octet 8 (RFC 6052)"));
        }
        Ok(())
    }
}

/// True if an IPv4 address can be a host's beyond its link: RFC 1812 section 5.3.7, RFC 3927 section 7.
pub(crate) fn is_host4(address: Ipv4Addr, allow_reserved: bool) -> bool {
    match address.octets() {
        [0 | 127 | 224..=239, ..] | [169, 254, ..] | [255, 255, 255, 255] => false,
        [240..=255, ..] => allow_reserved,
        _ => true,
    }
}

/// True if an IPv6 address can be a host's beyond its link.
pub(crate) fn is_host6(address: Ipv6Addr) -> bool {
    !(address.is_multicast() || address.is_loopback() || address.is_unspecified() || address.is_unicast_link_local())
}

const fn net4([a, b, c, d]: [u8; 4], bits: u8) -> Ipv4Net {
    Net { address: Ipv4Addr::new(a, b, c, d), bits }
}
