//! The meaning of addresses: `bpf/addresses.h`. IPv4 addresses are numbers in the host's order.

use std::net::Ipv4Addr;

use sixbench_wire::addresses::Ipv6Net;

use crate::abi::Address;

/// Never called with more than 3.
pub fn word(address: &Address, index: usize) -> u32 {
    let octets = &address.0[4 * index..4 * index + 4];
    u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]])
}

pub fn upper_half(address: &Address) -> u64 {
    (u64::from(word(address, 0)) << 32) | u64::from(word(address, 1))
}

pub fn is_multicast(address: &Address) -> bool {
    address.0[0] == 0xff
}

/// RFC 4291 section 2.5.6.
pub fn is_link_local(address: &Address) -> bool {
    address.0[0] == 0xfe && address.0[1] & 0xc0 == 0x80
}

/// ::1, IPv4-compatible without ::, IPv4-mapped: never on a link.
pub fn is_bogus_ipv6(address: &Address) -> bool {
    upper_half(address) == 0 && (word(address, 2) == 0 && word(address, 3) != 0 || word(address, 2) == 0xffff)
}

/// 0/8, 127/8, 224/4 and above: never the source of a packet from a link.
pub fn is_bogus_ipv4(address: u32) -> bool {
    matches!(address >> 24, 0 | 127 | 224..)
}

/// Addresses that 6to4 must not have to do with: RFC 3056 section 9, RFC 3964 section 4.1.
pub fn is_martian_for_6to4(address: u32, allow_private: bool) -> bool {
    let ip = Ipv4Addr::from_bits(address);
    is_bogus_ipv4(address) || ip.is_link_local() || (!allow_private && ip.is_private())
}

pub fn is_6to4(address: &Address) -> bool {
    word(address, 0) >> 16 == 0x2002
}

pub fn embedded_6to4(address: &Address) -> u32 {
    (upper_half(address) >> 16) as u32
}

/// A 6rd domain, as a node with that IPv4 address is in it: RFC 5969 section 4.
pub struct SixRdDomain {
    pub prefix: Ipv6Net,
    pub ipv4_mask_bits: u8,
    pub local: u32,
}

impl SixRdDomain {
    pub fn has(&self, address: &Address) -> bool {
        (upper_half(address) ^ upper_half(&self.prefix.address.into())) >> (64 - self.prefix.bits) == 0
    }

    pub fn embedded(&self, address: &Address) -> u32 {
        let embedded_bits = 32 - self.ipv4_mask_bits;
        let embedded = (upper_half(address) << self.prefix.bits >> (64 - embedded_bits)) as u32;
        let common = u64::from(self.local) >> embedded_bits << embedded_bits;
        common as u32 | embedded
    }
}

pub fn is_isatap(address: &Address) -> bool {
    word(address, 2) & !0x0200_0000 == 0x5efe
}

/// 239.192.Y.Z: RFC 2529 section 6.
pub fn is_6over4_group(address: u32) -> bool {
    address >> 16 == 0xefc0
}
