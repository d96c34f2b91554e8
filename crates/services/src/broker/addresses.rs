//! The leases of a broker that makes no tunnels: IPv4 addresses, each for a client that makes its tunnel itself. No
//! I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::Deserialize;

use super::messages::Granted;

/// The addresses that are there to be leased, and where their tunnels end.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Addresses {
    /// The first one.
    pub first: Ipv4Addr,
    /// The last one.
    pub last: Ipv4Addr,
    /// The tunnel end point's own IPv4 address.
    pub gateway: Ipv4Addr,
    /// The tunnel end point's IPv6 address, by client.
    pub end_points: BTreeMap<IpAddr, Ipv6Addr>,
}

impl Addresses {
    /// The first mistake in the addresses, as a sentence.
    pub fn wrong(&self, clients: &BTreeSet<IpAddr>) -> Option<String> {
        if self.first > self.last {
            return Some(format!("addresses end at {}, before {}", self.last, self.first));
        }
        if (self.first..=self.last).contains(&self.gateway) {
            return Some(format!("the gateway {} is among the addresses", self.gateway));
        }
        let homeless = clients.iter().find(|client| !self.end_points.contains_key(client))?;
        Some(format!("end_points has none for {homeless}"))
    }

    /// Number of addresses, at most `most`.
    pub fn count(&self, most: u32) -> u32 {
        (self.last.to_bits() - self.first.to_bits()).saturating_add(1).min(most)
    }

    /// The address of that number.
    pub fn address(&self, number: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first.to_bits() + number)
    }

    /// The lease of that number, as its client needs it. `None`: its tunnel would end nowhere.
    pub fn granted(&self, number: u32, client: IpAddr, lifetime_s: u32) -> Option<Granted> {
        Some(Granted {
            remote: IpAddr::V6(*self.end_points.get(&client)?),
            server: IpAddr::V4(self.gateway),
            address: IpAddr::V4(self.address(number)),
            mtu_bytes: None,
            lifetime_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(first: &str, last: &str) -> Addresses {
        let [first, last, gateway] = [first, last, "192.0.2.1"].map(|text| text.parse().expect("an address"));
        let client = "2001:db8::1".parse().expect("an address");
        let end = "2001:db8::2".parse().expect("an address");
        Addresses { first, last, gateway, end_points: BTreeMap::from([(client, end)]) }
    }

    #[test]
    fn addresses_are_numbered_from_the_first_one() {
        let some = addresses("192.0.2.254", "192.0.3.1");
        assert_eq!((some.count(9), some.count(3)), (4, 3));
        assert_eq!(some.address(3).to_string(), "192.0.3.1");
        assert_eq!(addresses("0.0.0.0", "255.255.255.255").count(9), 9);
        let client = "2001:db8::1".parse().expect("an address");
        let granted = some.granted(1, client, 60).expect("a lease");
        assert_eq!(
            (granted.address.to_string(), granted.remote.to_string()),
            ("192.0.2.255".into(), "2001:db8::2".into())
        );
        assert_eq!(some.granted(1, "2001:db8::9".parse().expect("an address"), 60), None);
    }

    #[test]
    fn what_cannot_be_leased_is_told() {
        let clients = |text: &str| BTreeSet::from([text.parse().expect("an address")]);
        assert_eq!(addresses("192.0.2.2", "192.0.2.2").wrong(&clients("2001:db8::1")), None);
        for (some, client, words) in [
            (addresses("192.0.2.3", "192.0.2.2"), "2001:db8::1", "addresses end at 192.0.2.2, before 192.0.2.3"),
            (addresses("192.0.2.0", "192.0.2.9"), "2001:db8::1", "the gateway 192.0.2.1 is among the addresses"),
            (addresses("192.0.2.2", "192.0.2.9"), "2001:db8::9", "end_points has none for 2001:db8::9"),
        ] {
            assert_eq!(some.wrong(&clients(client)).as_deref(), Some(words));
        }
    }
}
