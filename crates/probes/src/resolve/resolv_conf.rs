//! The resolvers of this machine: resolv.conf(5). Pure.

use std::net::{IpAddr, Ipv4Addr};

/// The file that has them.
pub const PATH: &str = "/etc/resolv.conf";
/// Resolvers that the C library asks (`MAXNS`).
const MAX_RESOLVERS: usize = 3;

/// The resolvers in the text of the file, at most three. Without any it is the machine itself, as in the C library.
pub fn resolvers(text: &str) -> Vec<IpAddr> {
    let address = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let words = (words.next(), words.next());
        // A link-local address may have an interface after it, which the address alone does not tell.
        if let (Some("nameserver"), Some(address)) = words { address.parse().ok() } else { None }
    };
    let listed: Vec<_> = text.lines().filter_map(address).take(MAX_RESOLVERS).collect();
    if listed.is_empty() { vec![Ipv4Addr::LOCALHOST.into()] } else { listed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_lists_resolvers() {
        let text = "# nameserver 192.0.2.9\nsearch example.org\nnameserver 192.0.2.53\n nameserver\t2001:db8::53 # x\n\
                    nameserver nonsense\nnameserver 192.0.2.54\nnameserver 192.0.2.55\n";
        let expected = ["192.0.2.53", "2001:db8::53", "192.0.2.54"].map(|text| text.parse::<IpAddr>().unwrap());
        assert_eq!(resolvers(text), expected);
        assert_eq!(resolvers("options edns0\n"), [IpAddr::from(Ipv4Addr::LOCALHOST)]);
    }
}
