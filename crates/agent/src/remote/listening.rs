//! The addresses that the sockets of a client's sessions are bound to.

use std::net::{IpAddr, UdpSocket};

use sixbench_packet::LocalAddress;

use crate::error::{Code, Error};

/// The addresses that a server was told to listen on.
pub struct Listening {
    /// The addresses for control and data.
    pub addresses: Vec<LocalAddress>,
}

impl Listening {
    /// The address to bind for a client that reaches this machine by `wanted`, over a control connection that has
    /// `control` at this end. It is never one that is not listened on. Behind a NAT, or a name that stands for several
    /// machines, this machine does not have `wanted`.
    ///
    /// # Errors
    /// `refused` where nothing of the family is listened on.
    pub fn bind(&self, wanted: IpAddr, control: LocalAddress) -> Result<LocalAddress, Error> {
        let is_served = |address: LocalAddress| self.addresses.contains(&address) || self.all_of(address).is_some();
        let is_usable =
            |address: &LocalAddress| is_served(*address) && !address.ip().is_unspecified() && is_here(*address);
        let here = self.on_interface(wanted, control);
        let of_control = Some(control).filter(|control| control.is_ipv4() == wanted.is_ipv4());
        let first = || self.addresses.iter().copied().find(|address| address.is_ipv4() == wanted.is_ipv4());
        Some(here).filter(is_usable).or(of_control.filter(is_usable)).or_else(first).ok_or_else(|| {
            let family = if wanted.is_ipv4() { "IPv4" } else { "IPv6" };
            let listening: Vec<_> = self.addresses.iter().map(LocalAddress::to_string).collect();
            let message = format!(
                "this server has no {family} address; it listens on {}; let it listen on {family}, too",
                listening.join(", ")
            );
            Error::new(Code::Refused, message)
        })
    }

    /// The address with the interface on which a client reaches it. Of several that have a link-local one, that is the
    /// control connection's.
    fn on_interface(&self, wanted: IpAddr, control: LocalAddress) -> LocalAddress {
        let mut all = std::iter::once(control).chain(self.addresses.iter().copied());
        all.find(|address| address.ip() == wanted).unwrap_or_else(|| wanted.into())
    }

    /// The address that stands for all of a family, where it is listened on.
    fn all_of(&self, address: LocalAddress) -> Option<LocalAddress> {
        self.addresses.iter().copied().find(|all| all.ip().is_unspecified() && all.is_ipv4() == address.is_ipv4())
    }
}

fn is_here(address: LocalAddress) -> bool {
    UdpSocket::bind(address.at(0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(listening: &[&str], wanted: &str, control: &str) -> Result<String, Error> {
        let parse = |text: &str| text.parse::<LocalAddress>().expect("an address");
        let there = Listening { addresses: listening.iter().map(|text| parse(text)).collect() };
        there.bind(parse(wanted).ip(), parse(control)).map(|address| address.to_string())
    }

    #[test]
    fn what_the_client_reaches_is_bound_where_it_is_here() {
        assert_eq!(bind(&["127.0.0.1", "::1"], "127.0.0.1", "::1").expect("it is"), "127.0.0.1");
        assert_eq!(bind(&["0.0.0.0"], "127.0.0.2", "127.0.0.1").expect("it is"), "127.0.0.2");
    }

    #[test]
    fn behind_a_nat_it_is_the_controls_end_or_what_is_listened_on() {
        assert_eq!(bind(&["0.0.0.0"], "203.0.113.9", "127.0.0.1").expect("NAT"), "127.0.0.1");
        assert_eq!(bind(&["0.0.0.0", "::1"], "203.0.113.9", "::1").expect("NAT"), "0.0.0.0");
        assert_eq!(bind(&["127.0.0.1", "127.0.0.3"], "0.0.0.0", "::1").expect("any"), "127.0.0.1");
    }

    #[test]
    fn a_link_local_address_is_that_of_the_interface_of_the_control_connection() {
        let addresses = ["fe80::1%91", "fe80::1%92", "fe80::2%91"].map(|text| text.parse().expect("an address"));
        let [first, second, other] = addresses;
        let there = Listening { addresses: addresses.to_vec() };
        assert_eq!(there.on_interface(first.ip(), second), second);
        assert_eq!(there.on_interface(first.ip(), other), first);
        assert_eq!(there.on_interface(other.ip(), second), other);
    }

    #[test]
    fn nothing_else_is_ever_bound() {
        assert_eq!(bind(&["127.0.0.2"], "127.0.0.1", "127.0.0.1").expect("the first"), "127.0.0.2");
        let failure = bind(&["127.0.0.1"], "::1", "127.0.0.1").expect_err("no IPv6");
        assert_eq!(failure.code, Code::Refused);
        assert!(failure.message.contains("no IPv6 address; it listens on 127.0.0.1"), "{}", failure.message);
    }
}
