//! The resolvers of this machine: resolv.conf(5). Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The file that has them.
pub const PATH: &str = "/etc/resolv.conf";
/// Resolvers that the C library asks (`MAXNS`).
const MAX_RESOLVERS: usize = 3;

/// A resolver in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The address.
    pub address: IpAddr,
    /// The interface of a link-local address, by its name or index (RFC 4007 section 11).
    pub zone: Option<String>,
}

/// The resolvers in the text of the file, at most three. Without any it is the machine itself, as in the C library.
pub fn resolvers(text: &str) -> Vec<Listed> {
    let listed: Vec<_> = text.lines().filter_map(Listed::read).take(MAX_RESOLVERS).collect();
    let machine = || Listed { address: Ipv4Addr::LOCALHOST.into(), zone: None };
    if listed.is_empty() { vec![machine()] } else { listed }
}

impl Listed {
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (Some("nameserver"), Some(word)) = (words.next(), words.next()) else { return None };
        let (address, zone) = match word.split_once('%') {
            Some((address, zone)) => (address, Some(zone.to_owned())),
            None => (word, None),
        };
        let address = match address.parse::<IpAddr>().ok()? {
            // The kernel takes the unspecified address for this machine's own.
            IpAddr::V4(four) if four.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(six) if six.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            address => address,
        };
        Some(Self { address, zone })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_lists_resolvers() {
        let text = "# nameserver 192.0.2.9\nsearch example.org\nnameserver 192.0.2.53\n nameserver\t2001:db8::53 # x\n\
                    nameserver nonsense\nnameserver 192.0.2.54\nnameserver 192.0.2.55\n";
        let listed = |address: &str, zone: Option<&str>| Listed {
            address: address.parse().unwrap(),
            zone: zone.map(str::to_owned),
        };
        let expected = ["192.0.2.53", "2001:db8::53", "192.0.2.54"].map(|address| listed(address, None));
        assert_eq!(resolvers(text), expected);
        assert_eq!(resolvers("options edns0\n"), [listed("127.0.0.1", None)]);
        assert_eq!(resolvers("nameserver fe80::1%eth0\n"), [listed("fe80::1", Some("eth0"))]);
        let unspecified = "nameserver 0.0.0.0\nnameserver ::\n";
        assert_eq!(resolvers(unspecified), [listed("127.0.0.1", None), listed("::1", None)]);
    }
}
