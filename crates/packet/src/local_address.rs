//! Addresses of this machine. A link-local one of IPv6 means something on one interface only (RFC 4007).

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::str::FromStr;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::{if_indextoname, if_nametoindex};
use serde::Deserialize;

/// An address of this machine, with the interface of a link-local one where it is given. In words it is `192.0.2.1` or
/// `fe80::1%eth0` (RFC 4007 section 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct LocalAddress {
    ip: IpAddr,
    /// Index of the interface of a link-local address. 0 where it is not given, and for all other addresses.
    scope_id: u32,
}

impl LocalAddress {
    /// Reads an address that this machine has.
    ///
    /// # Errors
    /// In words, where it is no address, or a link-local one of no interface, of another one, or of several.
    pub fn parse_present(text: &str) -> Result<Self, String> {
        let parsed: Self = text.parse()?;
        let IpAddr::V6(address) = parsed.ip else { return Ok(parsed) };
        if !address.is_unicast_link_local() {
            return Ok(parsed);
        }
        choose(address, parsed.scope_id, &interfaces_of(address))
    }

    /// The address without its interface.
    pub fn ip(self) -> IpAddr {
        self.ip
    }

    /// True if it is of IPv4.
    pub fn is_ipv4(self) -> bool {
        self.ip.is_ipv4()
    }

    /// True if it is of IPv6.
    pub fn is_ipv6(self) -> bool {
        self.ip.is_ipv6()
    }

    /// The index of the interface of a link-local address, where it is given.
    pub fn interface(self) -> Option<u32> {
        (self.scope_id != 0).then_some(self.scope_id)
    }

    /// The address with a port, as the kernel binds it: it wants the interface of a link-local one. Where none is
    /// given, that is the first which has the address.
    pub fn at(self, port: u16) -> SocketAddr {
        match self.ip {
            IpAddr::V6(address) if address.is_unicast_link_local() => {
                let first = || interfaces_of(address).first().map_or(0, |(_, index)| *index);
                SocketAddrV6::new(address, port, 0, self.interface().unwrap_or_else(first)).into()
            }
            ip => SocketAddr::new(ip, port),
        }
    }
}

impl From<IpAddr> for LocalAddress {
    fn from(ip: IpAddr) -> Self {
        Self { ip, scope_id: 0 }
    }
}

impl From<SocketAddr> for LocalAddress {
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() => Self { ip: address.ip(), scope_id: v6.scope_id() },
            _ => address.ip().into(),
        }
    }
}

impl FromStr for LocalAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, zone) = match text.split_once('%') {
            Some((address, zone)) => (address, Some(zone)),
            None => (text, None),
        };
        let ip: IpAddr = address.parse().map_err(|_| format!("`{text}` is no IP address"))?;
        let Some(zone) = zone else { return Ok(ip.into()) };
        match ip {
            IpAddr::V4(_) => Err(format!("`{text}`: only addresses of IPv6 have a zone")),
            IpAddr::V6(v6) if !v6.is_unicast_link_local() => {
                Err(format!("`{text}`: only link-local addresses have a zone"))
            }
            IpAddr::V6(_) => {
                let scope_id = index_of(zone).ok_or_else(|| format!("`{text}`: there is no interface {zone}"))?;
                Ok(Self { ip, scope_id })
            }
        }
    }
}

impl TryFrom<String> for LocalAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for LocalAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.interface() {
            None => write!(formatter, "{}", self.ip),
            Some(index) => write!(formatter, "{}%{}", self.ip, name_of(index)),
        }
    }
}

/// The address on the interface of that index, or where this is 0, on the only one that has it.
fn choose(address: Ipv6Addr, wanted: u32, having: &[(String, u32)]) -> Result<LocalAddress, String> {
    let on = |scope_id| LocalAddress { ip: address.into(), scope_id };
    match having {
        [] => Err(format!("this machine has no address {address}")),
        _ if having.iter().any(|(_, index)| *index == wanted) => Ok(on(wanted)),
        [(_, index)] if wanted == 0 => Ok(on(*index)),
        [(first, _), ..] if wanted == 0 => {
            let names = names(having);
            Err(format!("several interfaces have {address} ({names}); add one of them, as in {address}%{first}"))
        }
        _ => Err(format!("{address} is the address of {}, not of {}", names(having), name_of(wanted))),
    }
}

fn names(interfaces: &[(String, u32)]) -> String {
    interfaces.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The interfaces that have the address, by name and index.
fn interfaces_of(address: Ipv6Addr) -> Vec<(String, u32)> {
    let Ok(all) = getifaddrs() else { return Vec::new() };
    let having = all.filter(|entry| {
        entry.address.as_ref().and_then(|has| has.as_sockaddr_in6().map(|has| has.ip())) == Some(address)
    });
    having.filter_map(|entry| Some((entry.interface_name.clone(), index_of(&entry.interface_name)?))).collect()
}

/// The index of an interface, by its name or the index itself.
fn index_of(zone: &str) -> Option<u32> {
    if_nametoindex(zone).ok().or_else(|| zone.parse().ok().filter(|index| *index != 0))
}

/// The name of an interface, or its index where there is none.
fn name_of(index: u32) -> String {
    // It gives an empty name for no interface (nix 0.30).
    let name = if_indextoname(index).ok().filter(|name| !name.is_empty());
    name.map_or_else(|| index.to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_need_no_interface_are_as_they_were() {
        for text in ["192.0.2.1", "::1", "2001:db8::1", "0.0.0.0", "::"] {
            let address = LocalAddress::parse_present(text).expect("an address");
            assert_eq!(address.at(5210), SocketAddr::new(address.ip(), 5210));
            assert_eq!((address.to_string().as_str(), LocalAddress::from(address.at(5210))), (text, address));
        }
    }

    #[test]
    fn the_interface_of_a_link_local_address_goes_with_it() {
        let address: LocalAddress = "fe80::1%lo".parse().expect("an address");
        let SocketAddr::V6(bound) = address.at(80) else { panic!("no address of IPv6") };
        assert_eq!((bound.scope_id(), bound.port()), (if_nametoindex("lo").expect("loopback"), 80));
        assert_eq!((address.to_string().as_str(), LocalAddress::from(address.at(9))), ("fe80::1%lo", address));
        assert_eq!(format!("fe80::1%{}", bound.scope_id()).parse(), Ok(address));
    }

    #[test]
    fn an_address_of_several_interfaces_needs_one_of_them() {
        let address: Ipv6Addr = "fe80::1".parse().expect("an address");
        let two = [("eth0".to_owned(), 90_001), ("eth1".to_owned(), 90_002)];
        for (wanted, having, expected) in [
            (0, &two[..1], Ok(90_001)),
            (90_002, &two, Ok(90_002)),
            (0, &two, Err("several interfaces have fe80::1 (eth0, eth1); add one of them, as in fe80::1%eth0")),
            (90_003, &two, Err("fe80::1 is the address of eth0, eth1, not of 90003")),
            (90_001, &[], Err("this machine has no address fe80::1")),
        ] {
            let expected = expected.map(|scope_id| LocalAddress { ip: address.into(), scope_id });
            assert_eq!(choose(address, wanted, having), expected.map_err(str::to_owned));
        }
    }

    #[test]
    fn what_is_no_address_of_one_interface_is_refused_in_words() {
        for (text, words) in [
            ("localhost", "`localhost` is no IP address"),
            ("192.0.2.1%eth0", "only addresses of IPv6 have a zone"),
            ("2001:db8::1%eth0", "only link-local addresses have a zone"),
            ("fe80::1%no such", "there is no interface no such"),
            ("fe80::dead:beef:1%lo", "this machine has no address fe80::dead:beef:1"),
        ] {
            let error = LocalAddress::parse_present(text).expect_err(text);
            assert!(error.contains(words), "{error}");
        }
    }
}
