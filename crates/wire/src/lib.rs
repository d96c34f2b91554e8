//! Packet formats, checksums and address mappings.
//!
//! Takes bytes, gives values, and bytes of values: no I/O, no clock, no `unsafe`. Called by all crates that read or
//! write packets; the [`family`] of an address, prefixes ([`addresses`]) and the [`token`] of a trial are here for all.
//!
//! Each format has a module with a view of its bytes (`Packet`, `Datagram`, ...): its `parse` checks every length once,
//! so that no accessor panics, whatever the bytes. [`layers`] walks from view to view and gives the values that
//! captures report. A view reads from a [`Span`]: bytes of which a capture may have kept only the first.
//!
//! Formats that are written too have a `Repr`: a plain value, `parse`d from a view, of which `emit` makes the header.
//! The bytes after a header are no part of it and are never copied here. So a checksum that covers more than the header
//! is given to `emit`, as an update of the one before ([`checksum::update_sum`]) or by `emit_summed` from the sums of
//! the parts.
#![forbid(unsafe_code)]

pub mod addresses;
pub mod arp;
pub mod checksum;
pub mod dhcp;
pub mod dns;
pub mod echo;
pub mod ethernet;
pub mod family;
pub mod fragments;
pub mod gre;
pub mod held_fragments;
pub mod icmp;
pub mod icmp_error;
pub mod ipv4;
pub mod ipv6;
pub mod layers;
pub mod map;
mod named;
pub mod nat64;
pub mod reassembly;
pub mod siit;
mod span;
pub mod tcp;
pub mod teredo;
pub mod token;
pub mod udp;
pub mod virtio;
pub mod virtual_reassembly;
pub mod vxlan;

pub use span::{Defect, Flaw, Span};

/// Numbers of the registry "Assigned Internet Protocol Numbers" that this crate reads.
pub mod protocol {
    /// RFC 8200 section 4.3.
    pub const HOP_BY_HOP: u8 = 0;
    /// RFC 792.
    pub const ICMP: u8 = 1;
    /// RFC 3376.
    pub const IGMP: u8 = 2;
    /// An IPv4 packet inside: RFC 2003 in IPv4, RFC 2473 in IPv6.
    pub const IPV4: u8 = 4;
    /// RFC 9293.
    pub const TCP: u8 = 6;
    /// RFC 768.
    pub const UDP: u8 = 17;
    /// An IPv6 packet inside: RFC 4213 in IPv4, RFC 2473 in IPv6.
    pub const IPV6: u8 = 41;
    /// RFC 8200 section 4.4.
    pub const ROUTING: u8 = 43;
    /// RFC 8200 section 4.5.
    pub const FRAGMENT: u8 = 44;
    /// RFC 2784.
    pub const GRE: u8 = 47;
    /// RFC 4302.
    pub const AUTHENTICATION: u8 = 51;
    /// RFC 4443.
    pub const ICMPV6: u8 = 58;
    /// RFC 8200 section 4.7: nothing follows.
    pub const NO_NEXT_HEADER: u8 = 59;
    /// RFC 8200 section 4.6.
    pub const DESTINATION_OPTIONS: u8 = 60;
}
