//! Link-local addresses of IPv6, which mean something on one interface only (RFC 4007).

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;

/// An address of this machine as the kernel binds it. It wants the interface of a link-local one.
pub fn local(address: IpAddr, port: u16) -> SocketAddr {
    match address {
        IpAddr::V6(address) if address.is_unicast_link_local() => {
            let scope_id = interfaces_of(address).first().map_or(0, |(_, index)| *index);
            SocketAddrV6::new(address, port, 0, scope_id).into()
        }
        _ => SocketAddr::new(address, port),
    }
}

/// Reads an address of this machine, after which its interface may stand, as in `fe80::1%eth0` (RFC 4007 section 11).
///
/// # Errors
/// In words, where it is no address, or not one of that interface alone.
pub fn parse_local(text: &str) -> Result<IpAddr, String> {
    let (address, zone) = match text.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (text, None),
    };
    let parsed: IpAddr = address.parse().map_err(|_| format!("`{text}` is no IP address"))?;
    let IpAddr::V6(local) = parsed else {
        return if zone.is_none() { Ok(parsed) } else { Err(format!("`{text}`: only addresses of IPv6 have a zone")) };
    };
    if !local.is_unicast_link_local() {
        return if zone.is_none() {
            Ok(parsed)
        } else {
            Err(format!("`{text}`: only link-local addresses have a zone"))
        };
    }
    let having = interfaces_of(local);
    match (&having[..], zone) {
        ([_, _, ..], _) => Err(format!("several interfaces have {local}; give another address")),
        ([(name, index)], Some(zone)) if name != zone && index.to_string() != zone => {
            Err(format!("{local} is the address of {name}, not of {zone}"))
        }
        ([], _) => Err(format!("this machine has no address {local}")),
        _ => Ok(parsed),
    }
}

/// An address and, of a link-local one, its interface, as [`parse_local`] reads it.
pub fn with_zone(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(of) if of.scope_id() != 0 => {
            let name = interfaces_of(*of.ip()).into_iter().find(|(_, index)| *index == of.scope_id());
            format!("{}%{}", of.ip(), name.map_or_else(|| of.scope_id().to_string(), |(name, _)| name))
        }
        _ => address.ip().to_string(),
    }
}

/// The interfaces that have the address, by name and index.
fn interfaces_of(address: Ipv6Addr) -> Vec<(String, u32)> {
    let Ok(all) = getifaddrs() else { return Vec::new() };
    let having = all.filter(|one| {
        one.address.as_ref().and_then(|found| found.as_sockaddr_in6().map(|found| found.ip())) == Some(address)
    });
    having
        .filter_map(|one| Some((one.interface_name.clone(), if_nametoindex(one.interface_name.as_str()).ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_need_no_interface_are_as_they_were() {
        for text in ["192.0.2.1", "::1", "2001:db8::1", "0.0.0.0", "::"] {
            let address = parse_local(text).expect("an address");
            assert_eq!(local(address, 5210), SocketAddr::new(address, 5210));
            assert_eq!(with_zone(local(address, 5210)), text);
        }
    }

    #[test]
    fn what_is_no_address_of_one_interface_is_refused_in_words() {
        for (text, words) in [
            ("localhost", "`localhost` is no IP address"),
            ("192.0.2.1%eth0", "only addresses of IPv6 have a zone"),
            ("2001:db8::1%eth0", "only link-local addresses have a zone"),
            ("fe80::dead:beef:1%lo", "this machine has no address fe80::dead:beef:1"),
        ] {
            let error = parse_local(text).expect_err(text);
            assert!(error.contains(words), "{error}");
        }
    }
}
