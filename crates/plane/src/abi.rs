//! The structs that the programs read and write: `bpf/structs.h`, with the same assertions.

use std::mem::{offset_of, size_of};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Most ISATAP routers of a tunnel.
pub const MAX_ROUTERS: usize = 8;

/// An IPv6 address, or an IPv4 address and zeros; in the order of the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, align(4))]
pub struct Address(pub [u8; 16]);

/// An IPv4 address in the order of the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, align(4))]
pub struct Address4(pub [u8; 4]);

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => address.into(),
        }
    }
}

impl From<Ipv6Addr> for Address {
    fn from(address: Ipv6Addr) -> Self {
        Self(address.octets())
    }
}

impl From<Ipv4Addr> for Address4 {
    fn from(address: Ipv4Addr) -> Self {
        Self(address.octets())
    }
}

impl From<Ipv4Addr> for Address {
    fn from(address: Ipv4Addr) -> Self {
        let mut octets = [0; 16];
        octets[..4].copy_from_slice(&address.octets());
        Self(octets)
    }
}

/// `enum payload`.
pub mod payload {
    #![allow(missing_docs)]
    pub const IPV6: u8 = 0;
    pub const IPV4: u8 = 1;
    pub const GRE: u8 = 2;
}

/// `enum mapping`.
pub mod mapping {
    #![allow(missing_docs)]
    pub const FIXED: u8 = 0;
    pub const SIX_TO_FOUR: u8 = 1;
    pub const SIX_RD: u8 = 2;
    pub const ISATAP: u8 = 3;
    pub const SIX_OVER_FOUR: u8 = 4;
}

/// `enum dont_fragment`.
pub mod dont_fragment {
    #![allow(missing_docs)]
    pub const CLEAR: u8 = 0;
    pub const SET: u8 = 1;
    pub const INHERIT: u8 = 2;
}

/// `struct tunnel`. Its fields are explained there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Tunnel {
    pub near_ifindex: u32,
    pub far_ifindex: u32,
    pub overhead_bytes: u32,
    pub gre_key: Address4,
    pub local: Address,
    pub remote: Address,
    pub prefix: Address,
    pub routers: [Address4; MAX_ROUTERS],
    pub near_mac: [u8; 6],
    pub outer: u8,
    pub payload: u8,
    pub mapping: u8,
    pub ttl: u8,
    pub tos: u8,
    pub inherits_tos: u8,
    pub copies_ecn: u8,
    pub dont_fragment: u8,
    pub has_gre_key: u8,
    pub allows_private: u8,
    pub is_border_relay: u8,
    pub prefix_bits: u8,
    pub ipv4_mask_bits: u8,
    pub router_count: u8,
    pub padding: [u8; 4],
}

const _: () = {
    assert!(size_of::<Address>() == 16);
    assert!(offset_of!(Tunnel, local) == 16);
    assert!(offset_of!(Tunnel, routers) == 64);
    assert!(offset_of!(Tunnel, near_mac) == 96);
    assert!(offset_of!(Tunnel, router_count) == 115);
    assert!(size_of::<Tunnel>() == 120);
    assert!(size_of::<Count>() == 16);
    assert!(size_of::<State>() == 12);
    assert!(size_of::<Embedding>() == 20);
    assert!(offset_of!(Translator, prefixes) == 40);
    assert!(size_of::<Translator>() == 184);
    assert!(offset_of!(Translator, rule) == 124 && size_of::<Rule>() == 52);
    assert!(size_of::<Row>() == 24);
};

/// Most prefixes of a translator's program.
pub const MAX_PREFIXES: usize = 4;
/// Most rows of explicit mappings of a translator's program.
pub const MAX_ROWS: usize = 1024;

/// `struct embedding`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Embedding {
    pub prefix: Address,
    pub place: [u8; 4],
}

/// `struct rule`. Its fields are explained there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Rule {
    pub ipv6: Address,
    pub ipv4: Address4,
    pub ipv4_mask: Address4,
    pub is_edge: u32,
    pub lowest_port: u32,
    pub psid_shift: u32,
    pub psid_mask: u32,
    pub own_psid: u32,
    pub embedded_bits: u32,
    pub ea_shift: u32,
}

/// The `own_psid` of a rule that has several.
pub const ANY_PSID: u32 = 0x10000;

/// `struct translator`. Its fields are explained there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Translator {
    pub ifindex: u32,
    pub mtu4: u32,
    pub mtu6: u32,
    pub lowest_ipv6_mtu: u32,
    pub has_rows: u32,
    pub has_doubtful: u32,
    pub through_node: u32,
    pub mac: [u8; 6],
    pub padding: [u8; 2],
    pub prefix_count: u32,
    pub prefixes: [Embedding; MAX_PREFIXES],
    pub has_rule: u32,
    pub rule: Rule,
    pub hairpin: u32,
    pub is_left_over: u32,
}

/// `struct row`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Row {
    pub ipv6: Address,
    pub ipv4: Address4,
    pub spare_bits: u32,
}

/// `struct count`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Count {
    /// Packets as on the wire: a segment counts as the packets that it will be cut into.
    pub packets: u64,
    /// Bytes of the inner packets.
    pub bytes: u64,
}

/// `struct state`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct State {
    /// 1 if other tunnels of this node have the same local address and payload, else 0.
    pub is_shared: u32,
    /// The identification of the next outer IPv4 packet that may be fragmented.
    pub identification: u32,
    /// The programs'.
    pub lock: u32,
}

/// The verdict of a program on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is not for this tunnel.
    Pass,
    /// Carried by the fast path.
    Done,
    /// Given to the slow path.
    Slow,
    /// Dropped.
    Drop,
}

include!(concat!(env!("OUT_DIR"), "/outcomes.rs"));
