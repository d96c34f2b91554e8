//! Addresses of interfaces: `linux/if_addr.h`.

use std::io;
use std::net::IpAddr;

use crate::Client;
use crate::message::{Attributes, NetlinkRequest, number};
use crate::route::address;

/// `struct ifaddrmsg`: family, length of the prefix, flags, scope, index of the interface.
const ADDRESS_BYTES: usize = 8;
const PREFIX_AT: usize = 1;
const FLAGS_AT: usize = 2;
const SCOPE_AT: usize = 3;
const INDEX_AT: usize = 4;
/// Attributes. Not in the `libc` crate.
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_FLAGS: u16 = 8;
/// Flags.
const TEMPORARY: u32 = 0x01;
const DEPRECATED: u32 = 0x20;
const TENTATIVE: u32 = 0x40;

/// An address that an interface has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The interface.
    pub link: u32,
    /// The address.
    pub address: IpAddr,
    /// Length of its prefix.
    pub prefix_bits: u8,
    /// Its scope (`RT_SCOPE_`).
    pub scope: u8,
    /// True if it is a temporary one (RFC 8981).
    pub is_temporary: bool,
    /// True if no new connection is to have it (RFC 4862 section 5.5.4).
    pub is_deprecated: bool,
    /// True if it may be somebody else's too (RFC 4862 section 5.4).
    pub is_tentative: bool,
}

impl Address {
    /// Reads a `struct ifaddrmsg` with its attributes.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let attributes = Attributes::after(ADDRESS_BYTES, body)?;
        let is_ipv6 = i32::from(*body.first()?) == libc::AF_INET6;
        // The address of the other end of a point-to-point link is the other attribute.
        let bytes = attributes.get(IFA_LOCAL).or_else(|| attributes.get(IFA_ADDRESS))?;
        // The structure has room for the first eight flags.
        let flags = attributes.number(IFA_FLAGS).unwrap_or_else(|| body[FLAGS_AT].into());
        Some(Self {
            link: number(body, INDEX_AT)?,
            address: address(bytes)?,
            prefix_bits: *body.get(PREFIX_AT)?,
            scope: *body.get(SCOPE_AT)?,
            // The same bit says of an IPv4 address that it is not the first of its network.
            is_temporary: is_ipv6 && flags & TEMPORARY != 0,
            is_deprecated: flags & DEPRECATED != 0,
            is_tentative: flags & TENTATIVE != 0,
        })
    }
}

impl Client {
    /// The namespace's addresses of both families.
    pub fn addresses(&mut self) -> io::Result<Vec<Address>> {
        let mut addresses = Vec::new();
        let request = NetlinkRequest::new(libc::RTM_GETADDR, &[0; ADDRESS_BYTES]);
        self.dump(request, libc::RTM_NEWADDR, |body| addresses.extend(Address::parse(body)))?;
        Ok(addresses)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[test]
    fn an_address_is_read() {
        let structure = [libc::AF_INET6 as u8, 64, 0x81, 0, 7, 0, 0, 0];
        let octets = Ipv6Addr::LOCALHOST.octets();
        let request = NetlinkRequest::new(libc::RTM_NEWADDR, &structure).with(IFA_ADDRESS, &octets);
        let expected = Address {
            link: 7,
            address: Ipv6Addr::LOCALHOST.into(),
            prefix_bits: 64,
            scope: 0,
            is_temporary: true,
            is_deprecated: false,
            is_tentative: false,
        };
        assert_eq!(Address::parse(request.body()), Some(expected));
        let flagged = request.clone().with(IFA_FLAGS, &0x360_u32.to_ne_bytes());
        let expected = Address { is_temporary: false, is_deprecated: true, is_tentative: true, ..expected };
        assert_eq!(Address::parse(flagged.body()), Some(expected));
        assert_eq!(Address::parse(&request.body()[..7]), None);
        assert_eq!(Address::parse(&request.body()[..8]), None);
    }

    #[test]
    fn loopback_has_an_address() {
        let addresses = Client::open().expect("a socket").addresses().expect("a dump");
        let loopback = addresses.iter().find(|one| one.address == IpAddr::from(Ipv4Addr::LOCALHOST));
        assert_eq!(loopback.map(|one| one.prefix_bits), Some(8));
    }
}
