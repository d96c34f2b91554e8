//! The kind of an address, by the registries of special addresses (RFC 6890). Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use schemars::JsonSchema;
use serde::Serialize;

/// The kind of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Kind {
    /// Global unicast.
    #[serde(rename = "global")]
    Global,
    /// RFC 1918.
    #[serde(rename = "private")]
    Private,
    /// RFC 6598, behind a carrier's NAT.
    #[serde(rename = "shared")]
    Shared,
    /// RFC 7335, of a CLAT or a B4.
    #[serde(rename = "clat")]
    Clat,
    /// RFC 3927, RFC 4291 section 2.5.6.
    #[serde(rename = "link-local")]
    LinkLocal,
    /// RFC 1122 section 3.2.1.3, RFC 4291 section 2.5.3.
    #[serde(rename = "loopback")]
    Loopback,
    /// RFC 4193.
    #[serde(rename = "unique-local")]
    UniqueLocal,
    /// RFC 3056.
    #[serde(rename = "6to4")]
    SixToFour,
    /// RFC 4380.
    #[serde(rename = "teredo")]
    Teredo,
    /// RFC 6052 section 2.1, RFC 8215.
    #[serde(rename = "nat64")]
    Nat64,
    /// Another.
    #[serde(rename = "other")]
    Other,
}

impl Kind {
    /// The kind of an address.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_four(address),
            IpAddr::V6(address) => of_six(address),
        }
    }
}

fn of_four(address: Ipv4Addr) -> Kind {
    match address.octets() {
        _ if address.is_loopback() => Kind::Loopback,
        _ if address.is_link_local() => Kind::LinkLocal,
        _ if address.is_private() => Kind::Private,
        [100, 64..=127, ..] => Kind::Shared,
        [192, 0, 0, 0..=7] => Kind::Clat,
        [0 | 224..=255, ..] | [192, 0, 0, _] => Kind::Other,
        _ => Kind::Global,
    }
}

fn of_six(address: Ipv6Addr) -> Kind {
    match address.segments() {
        _ if address.is_loopback() => Kind::Loopback,
        [0xfe80..=0xfebf, ..] => Kind::LinkLocal,
        [0xfc00..=0xfdff, ..] => Kind::UniqueLocal,
        [0x2002, ..] => Kind::SixToFour,
        [0x2001, 0, ..] => Kind::Teredo,
        [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 1, ..] => Kind::Nat64,
        [0x2000..=0x3fff, ..] => Kind::Global,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_those_of_the_registries() {
        for (address, kind) in [
            ("8.8.8.8", Kind::Global),
            ("10.1.2.3", Kind::Private),
            ("172.31.0.1", Kind::Private),
            ("172.32.0.1", Kind::Global),
            ("100.64.0.1", Kind::Shared),
            ("100.128.0.1", Kind::Global),
            ("192.0.0.1", Kind::Clat),
            ("192.0.0.8", Kind::Other),
            ("169.254.1.1", Kind::LinkLocal),
            ("127.0.0.53", Kind::Loopback),
            ("2001:db8::1", Kind::Global),
            ("2001::1", Kind::Teredo),
            ("2002:c000:201::1", Kind::SixToFour),
            ("64:ff9b::c000:201", Kind::Nat64),
            ("64:ff9b:1::1", Kind::Nat64),
            ("fd00::1", Kind::UniqueLocal),
            ("fe80::1", Kind::LinkLocal),
            ("::1", Kind::Loopback),
            ("::", Kind::Other),
        ] {
            assert_eq!(Kind::of(address.parse().unwrap()), kind, "{address}");
        }
    }
}
