//! The address arithmetic of MAP: RFC 7597 sections 5 and 6, which RFC 7599 shares.
//!
//! A [`Rule`] gives the IPv6 address of a customer edge from its IPv4 address and one of its ports, and the reverse.

use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use crate::addresses::{Ipv4Net, Ipv6Net};

/// RFC 7598 section 4.1.
pub const MAX_EA_BITS: u8 = 48;
/// Most bits of the End-user IPv6 prefix: those of an address. Beyond 64 bits, it takes the place of the interface
/// identifier's first bits: RFC 7597 section 6.
const MAX_END_USER_BITS: u8 = 128;
/// The bit of an IPv6 address at which the IPv4 address in its interface identifier ends: section 6.
const IPV4_END_BITS: u8 = 112;
const PORT_BITS: u8 = 16;

/// Addresses that are no host's beyond its link: RFC 1122 section 3.2.1.3, RFC 3927, RFC 5771.
const NOBODYS4: [Ipv4Net; 4] = [
    Ipv4Net { address: Ipv4Addr::new(0, 0, 0, 0), bits: 8 },
    Ipv4Net { address: Ipv4Addr::new(127, 0, 0, 0), bits: 8 },
    Ipv4Net { address: Ipv4Addr::new(169, 254, 0, 0), bits: 16 },
    Ipv4Net { address: Ipv4Addr::new(224, 0, 0, 0), bits: 4 },
];
/// RFC 1112 section 4.
const RESERVED4: Ipv4Net = Ipv4Net { address: Ipv4Addr::new(240, 0, 0, 0), bits: 4 };
/// RFC 4291 section 2.4: the addresses of which the first is unspecified, the second loopback; link-local, multicast.
const NOBODYS6: [Ipv6Net; 3] = [
    Ipv6Net { address: Ipv6Addr::UNSPECIFIED, bits: 8 },
    Ipv6Net { address: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), bits: 10 },
    Ipv6Net { address: Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), bits: 8 },
];

/// Fails with a sentence about the rules of a node: where one is wrong, or where two give the same addresses and ports
/// to different customer edges.
pub fn check_rules(own: Option<&Rule>, rules: &[Rule], allow_reserved: bool) -> Result<(), String> {
    for rule in own.into_iter().chain(rules) {
        rule.check()?;
        if !rule.is_for_hosts(allow_reserved) {
            return Err(format!(
                "the rule of {} and {} is for addresses that no host has: multicast, loopback, link-local or reserved",
                rule.ipv6, rule.ipv4
            ));
        }
    }
    let mut seen6 = HashSet::new();
    let mut seen4 = HashSet::new();
    for rule in rules {
        let psid = rule.psid.filter(|psid| psid.bits > 0);
        // The rules of a binding table share addresses: each has its own ports.
        if psid.is_none() && !seen6.insert((rule.ipv6.address, rule.ipv6.bits)) {
            return Err(format!("two rules have the Rule IPv6 prefix {}; give each one its own", rule.ipv6));
        }
        if !seen4.insert((rule.ipv4.address, rule.ipv4.bits, psid.map(|psid| (psid.bits, psid.value)))) {
            return Err(format!("two rules have the Rule IPv4 prefix {}; give each one its own", rule.ipv4));
        }
    }
    Ok(())
}

/// A mapping rule: RFC 7597 section 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The Rule IPv6 prefix.
    pub ipv6: Ipv6Net,
    /// The Rule IPv4 prefix.
    pub ipv4: Ipv4Net,
    /// Number of Embedded Address bits, which follow the Rule IPv6 prefix.
    pub ea_bits: u8,
    /// Number of bits of a port before the PSID. Unless it is 0, ports in which these bits are zero belong to nobody.
    pub psid_offset: u8,
    /// The port set where no bits embed it: RFC 7597 appendix A, example 5.
    pub psid: Option<Psid>,
}

/// A Port-Set Identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Psid {
    /// Its length.
    pub bits: u8,
    /// The port set's identifier.
    pub value: u16,
}

/// The reason why a rule maps an address and port to no IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmapped {
    /// The address has not the Rule IPv4 prefix.
    Address,
    /// The port is in no port set, or in another than that of the rule.
    Port,
}

impl Rule {
    /// Fails with a sentence about the mistake in the rule.
    pub fn check(&self) -> Result<(), String> {
        self.ipv4.check_canonical().and(self.ipv6.check_canonical()).map_err(|net| {
            format!("the prefix {net} of a rule has bits beyond its length, or a length that is not possible")
        })?;
        let (ea_bits, suffix_bits) = (self.ea_bits, self.suffix_bits());
        if ea_bits > MAX_EA_BITS {
            return Err(format!("a rule has at most {MAX_EA_BITS} EA bits (RFC 7598 section 4.1), not {ea_bits}"));
        }
        if self.end_user_bits() > MAX_END_USER_BITS {
            return Err(format!(
                "{ea_bits} EA bits behind {} make an End-user IPv6 prefix of more than {MAX_END_USER_BITS} bits",
                self.ipv6
            ));
        }
        if self.spare_bits() > 0 && self.end_user_bits() > IPV4_END_BITS - self.spare_bits() {
            return Err(format!(
                "{ea_bits} EA bits behind {} leave no room for the last {} bits of an IPv4 address of {}",
                self.ipv6,
                self.spare_bits(),
                self.ipv4
            ));
        }
        if self.spare_bits() > 0 && self.psid.is_some_and(|psid| psid.bits > 0) {
            return Err(format!(
                "a customer edge that has all ports of the addresses of {} has no PSID (RFC 7597 section 5.2)",
                self.ipv4
            ));
        }
        let psid_bits = u32::from(self.psid_bits());
        if u32::from(self.psid_offset) + psid_bits > PORT_BITS.into() {
            return Err(format!(
                "a PSID of {psid_bits} bits behind an offset of {} leaves no ports: both together have at most \
                 {PORT_BITS} bits (RFC 7597 section 5.1)",
                self.psid_offset
            ));
        }
        match self.psid {
            Some(_) if ea_bits > suffix_bits => {
                Err("a rule has its PSID in the EA bits or provisioned, not both (RFC 7597 section 5.2)".to_owned())
            }
            Some(psid) if u32::from(psid.value) >> psid.bits != 0 => {
                Err(format!("the PSID {} has more than {} bits", psid.value, psid.bits))
            }
            _ => Ok(()),
        }
    }

    /// Number of bits of a PSID.
    pub fn psid_bits(&self) -> u8 {
        self.psid.map_or(self.ea_bits.saturating_sub(self.suffix_bits()), |psid| psid.bits)
    }

    /// The length of the End-user IPv6 prefix.
    pub fn end_user_bits(&self) -> u8 {
        self.ipv6.bits.saturating_add(self.ea_bits)
    }

    /// Number of last bits of its IPv4 addresses that a customer edge has to itself, as with an IPv4 prefix: RFC 7597
    /// section 5.2.
    pub fn spare_bits(&self) -> u8 {
        self.suffix_bits().saturating_sub(self.ea_bits)
    }

    /// True if its addresses can be those of hosts.
    pub fn is_for_hosts(&self, allow_reserved: bool) -> bool {
        let within = |outer: &Ipv4Net| outer.contains(self.ipv4.address) && self.ipv4.bits >= outer.bits;
        let is_nobodys = NOBODYS4.iter().any(within) || (!allow_reserved && within(&RESERVED4));
        let within = |outer: &Ipv6Net| outer.contains(self.ipv6.address) && self.ipv6.bits >= outer.bits;
        !is_nobodys && !NOBODYS6.iter().any(within)
    }

    /// The port set that a port is in (RFC 7597 section 5.1). `None` if it is in no port set of this rule.
    pub fn psid_of(&self, port: u16) -> Option<u16> {
        let (offset, bits) = (u32::from(self.psid_offset), u32::from(self.psid_bits()));
        let port = u32::from(port);
        if bits == 0 {
            return Some(0);
        }
        if offset > 0 && port >> (u32::from(PORT_BITS) - offset) == 0 {
            return None;
        }
        let psid = ((port >> (u32::from(PORT_BITS) - offset - bits)) & ((1 << bits) - 1)) as u16;
        (self.psid.is_none_or(|own| own.value == psid)).then_some(psid)
    }

    /// The ports of a port set, in order: RFC 7597 section 5.1 and appendix B.
    pub fn ports(&self, psid: u16) -> impl Iterator<Item = RangeInclusive<u16>> + use<> {
        let (offset, bits) = (u32::from(self.psid_offset), u32::from(self.psid_bits()));
        let is_split = offset > 0 && bits > 0;
        let (first, count) = if is_split { (1, 1_u32 << offset) } else { (0, 1) };
        let offset = if is_split { offset } else { 0 };
        let range_bits = u32::from(PORT_BITS) - offset - bits;
        (first..count).map(move |high| {
            let start = (high << (u32::from(PORT_BITS) - offset)) | (u32::from(psid) << range_bits);
            start as u16..=(start + (1 << range_bits) - 1) as u16
        })
    }

    /// The MAP IPv6 address of the customer edge that has an IPv4 address and a port set: RFC 7597 sections 5.2 and 6.
    /// One that has an IPv4 prefix has such an address for each IPv4 address in it, which MAP-T needs; that of MAP-E is
    /// the one for the prefix's first: [`Self::tunnel_end`].
    pub fn address(&self, ipv4: Ipv4Addr, psid: u16) -> Ipv6Addr {
        let embedded_bits = self.ea_bits.saturating_sub(self.suffix_bits());
        let suffix = u64::from(ipv4.to_bits()) & ((1 << self.suffix_bits()) - 1);
        let in_ea = if self.psid.is_some() { 0 } else { u64::from(psid) };
        let ea = ((suffix >> self.spare_bits()) << embedded_bits) | in_ea;
        let ea = u128::from(ea).checked_shl(128 - u32::from(self.end_user_bits())).unwrap_or(0);
        let end_user = self.ipv6.address.to_bits() | ea;
        let interface = (u128::from(ipv4.to_bits()) << 16) | u128::from(psid);
        let left = u128::MAX.checked_shr(self.end_user_bits().into()).unwrap_or(0);
        Ipv6Addr::from_bits(end_user | (interface & left))
    }

    /// The IPv6 address where the softwire ends of the customer edge with this IPv4 address and port set. If the edge
    /// has an IPv4 prefix, the bits behind the prefix are zero: RFC 7597 section 6.
    pub fn tunnel_end(&self, ipv4: Ipv4Addr, psid: u16) -> Ipv6Addr {
        self.address(Ipv4Addr::from_bits(ipv4.to_bits() & !self.spare_mask()), psid)
    }

    /// True if both IPv4 addresses belong to the same customer edge, given that one does.
    pub fn is_same_edge(&self, one: Ipv4Addr, other: Ipv4Addr) -> bool {
        (one.to_bits() ^ other.to_bits()) & !self.spare_mask() == 0
    }

    /// The MAP IPv6 address of the customer edge that has an IPv4 address and a port.
    pub fn to_ipv6(&self, ipv4: Ipv4Addr, port: u16) -> Result<Ipv6Addr, Unmapped> {
        if !self.ipv4.contains(ipv4) {
            return Err(Unmapped::Address);
        }
        self.psid_of(port).map(|psid| self.address(ipv4, psid)).ok_or(Unmapped::Port)
    }

    /// The IPv4 address and the port set of a customer edge. `None` if the address is not the MAP IPv6 address of any.
    pub fn to_ipv4(&self, ipv6: Ipv6Addr) -> Option<(Ipv4Addr, u16)> {
        let ea = ipv6.to_bits().checked_shr(128 - u32::from(self.end_user_bits())).unwrap_or(0) as u64;
        let ea = ea & ((1 << self.ea_bits) - 1);
        let embedded_bits = self.ea_bits.saturating_sub(self.suffix_bits());
        let psid = self.psid.map_or((ea & ((1 << embedded_bits) - 1)) as u16, |own| own.value);
        let spare = (ipv6.to_bits() >> (128 - u32::from(IPV4_END_BITS))) as u32 & self.spare_mask();
        let suffix = (ea >> embedded_bits).checked_shl(self.spare_bits().into()).unwrap_or(0) as u32;
        let ipv4 = Ipv4Addr::from_bits(self.ipv4.address.to_bits() | suffix | spare);
        (self.address(ipv4, psid) == ipv6).then_some((ipv4, psid))
    }

    fn spare_mask(&self) -> u32 {
        1_u32.checked_shl(self.spare_bits().into()).map_or(u32::MAX, |bit| bit - 1)
    }

    /// Number of bits of an IPv4 address after the Rule IPv4 prefix.
    fn suffix_bits(&self) -> u8 {
        32_u8.saturating_sub(self.ipv4.bits)
    }
}
