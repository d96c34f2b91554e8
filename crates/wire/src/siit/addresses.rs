//! How addresses of one family follow from those of the other: RFC 6052, RFC 7757.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The octet that is zero in every address: RFC 6052 section 2.2, bits 64 to 71.
const RESERVED: usize = 8;
const LENGTHS: [u8; 6] = [32, 40, 48, 56, 64, 96];

/// A prefix of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

impl Ipv4Net {
    fn suffix_of(&self, address: Ipv4Addr) -> Option<u32> {
        let suffix = address.to_bits() ^ self.address.to_bits();
        (u64::from(suffix) >> self.suffix_bits() == 0).then_some(suffix)
    }

    fn suffix_bits(&self) -> u32 {
        32_u32.saturating_sub(self.bits.into())
    }
}

impl Ipv6Net {
    /// An IPv6 address in this prefix, with an IPv4 address in it: RFC 6052 section 2.2.
    pub fn embed(&self, address: Ipv4Addr) -> Ipv6Addr {
        let mut octets = self.address.octets();
        for (at, octet) in self.places().zip(address.octets()) {
            octets[at] = octet;
        }
        Ipv6Addr::from(octets)
    }

    /// The IPv4 address that an address of this prefix has in it: RFC 6052 section 2.3.
    pub fn embedded(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        let octets = address.octets();
        let mut found = [0; 4];
        for (octet, at) in found.iter_mut().zip(self.places()) {
            *octet = octets[at];
        }
        let found = Ipv4Addr::from(found);
        (self.embed(found) == address).then_some(found)
    }

    fn places(&self) -> impl Iterator<Item = usize> {
        let first = usize::from(self.bits.min(96) / 8);
        (first..first + 5).filter(|&at| at != RESERVED).take(4)
    }

    fn suffix_of(&self, address: Ipv6Addr) -> Option<u128> {
        let suffix = address.to_bits() ^ self.address.to_bits();
        (suffix.checked_shr(self.suffix_bits()).unwrap_or(0) == 0).then_some(suffix)
    }

    fn suffix_bits(&self) -> u32 {
        128_u32.saturating_sub(self.bits.into())
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let Self { address, bits } = self;
        if !LENGTHS.contains(bits) {
            return Err(format!(
                "the prefix {address}/{bits} has none of the lengths 32, 40, 48, 56, 64 and 96 (RFC 6052 section 2.2)"
            ));
        }
        if address.octets()[RESERVED] != 0 || address.to_bits() << bits != 0 {
            return Err(format!("the prefix {address}/{bits} has bits beyond its length, or in octet 8 (RFC 6052)"));
        }
        Ok(())
    }
}

/// A mapping of RFC 7757, both ways.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mapping(pub Ipv4Net, pub Ipv6Net);

impl Mapping {
    pub fn check(&self) -> Result<(), String> {
        let Self(ipv4, ipv6) = self;
        let is_right = ipv4.bits <= 32
            && ipv6.bits <= 128
            && ipv4.suffix_bits() <= ipv6.suffix_bits()
            && u64::from(ipv4.address.to_bits()).trailing_zeros() >= ipv4.suffix_bits()
            && (ipv6.address.to_bits() == 0 || ipv6.address.to_bits().trailing_zeros() >= ipv6.suffix_bits());
        is_right.then_some(()).ok_or_else(|| {
            format!(
                "{}/{} and {}/{} are no prefixes that map one to one (RFC 7757 section 3.1)",
                ipv4.address, ipv4.bits, ipv6.address, ipv6.bits
            )
        })
    }

    /// RFC 7757 section 3.3.1.
    pub fn to_ipv6(self, address: Ipv4Addr) -> Option<Ipv6Addr> {
        let suffix = u128::from(self.0.suffix_of(address)?);
        Some(Ipv6Addr::from_bits(self.1.address.to_bits() | suffix.checked_shl(self.padding_bits()).unwrap_or(0)))
    }

    /// RFC 7757 section 3.3.2.
    pub fn to_ipv4(self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        let suffix = self.1.suffix_of(address)?.checked_shr(self.padding_bits()).unwrap_or(0);
        Some(Ipv4Addr::from_bits(self.0.address.to_bits() | suffix as u32))
    }

    fn padding_bits(self) -> u32 {
        self.1.suffix_bits() - self.0.suffix_bits()
    }
}
