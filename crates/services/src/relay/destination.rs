//! The IPv4 server that a client's destination stands for.

use std::net::{Ipv4Addr, SocketAddrV4, SocketAddrV6};

use sixbench_wire::addresses::Prefix6;

/// The server that an address of the prefix stands for. `None`: it stands for none that a relay may connect to. Packets
/// to the relay's own addresses are not relayed, and neither are those that would reach the relay itself or a group
/// (RFC 3142 section 7).
pub fn server(prefix: &Prefix6, destination: &SocketAddrV6) -> Option<SocketAddrV4> {
    let address = prefix.embedded(*destination.ip())?;
    is_server(address).then(|| SocketAddrV4::new(address, destination.port()))
}

fn is_server(address: Ipv4Addr) -> bool {
    let [first, ..] = address.octets();
    // RFC 6890: "this network", loopback, groups, and what is reserved, with the limited broadcast.
    !(first == 0 || first == 127 || first >= 224)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_hosts_in_the_prefix() {
        let prefix = Prefix6 { address: "2001:db8:64::".parse().expect("an address"), bits: 96 };
        for (destination, expected) in [
            ("[2001:db8:64::c612:202]:80", Some("198.18.2.2:80")),
            ("[2001:db8:64::a00:1]:65535", Some("10.0.0.1:65535")),
            ("[2001:db8:64::dfff:ffff]:1", Some("223.255.255.255:1")),
            ("[2001:db8:65::c612:202]:80", None),
            ("[2001:2::1]:80", None),
            ("[2001:db8:64::7f00:1]:80", None),
            ("[2001:db8:64::1]:80", None),
            ("[2001:db8:64::e000:1]:80", None),
            ("[2001:db8:64::ffff:ffff]:80", None),
        ] {
            let expected = expected.map(|text| text.parse().expect("an address"));
            assert_eq!(server(&prefix, &destination.parse().expect("an address")), expected, "{destination}");
        }
    }
}
