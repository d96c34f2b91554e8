//! The addresses that the sockets of a client's sessions are bound to.

use std::net::{IpAddr, UdpSocket};

use sixbench_packet::scope;

use crate::failure::Failure;

/// The addresses that a server was told to listen on.
pub struct Listening {
    /// The addresses for control and data.
    pub addresses: Vec<IpAddr>,
}

impl Listening {
    /// The address to bind for a client that reaches this machine by `wanted`, over a control connection that has
    /// `control` at this end. It is never one that is not listened on. Behind a NAT, or a name that stands for several
    /// machines, this machine does not have `wanted`.
    ///
    /// # Errors
    /// `refused` where nothing of the family is listened on.
    pub fn bind(&self, wanted: IpAddr, control: IpAddr) -> Result<IpAddr, Failure> {
        let is_served = |address: IpAddr| self.addresses.contains(&address) || self.all_of(address).is_some();
        let is_usable = |address: &IpAddr| is_served(*address) && !address.is_unspecified() && is_here(*address);
        let of_control = Some(control).filter(|control| control.is_ipv4() == wanted.is_ipv4());
        let first = || self.addresses.iter().copied().find(|address| address.is_ipv4() == wanted.is_ipv4());
        Some(wanted).filter(is_usable).or(of_control.filter(is_usable)).or_else(first).ok_or_else(|| {
            let family = if wanted.is_ipv4() { "IPv4" } else { "IPv6" };
            let listening: Vec<_> = self.addresses.iter().map(IpAddr::to_string).collect();
            let message = format!(
                "this server has no {family} address; it listens on {}; let it listen on {family}, too",
                listening.join(", ")
            );
            Failure::new("refused", message)
        })
    }

    /// The address that stands for all of a family, where it is listened on.
    fn all_of(&self, address: IpAddr) -> Option<IpAddr> {
        self.addresses.iter().copied().find(|all| all.is_unspecified() && all.is_ipv4() == address.is_ipv4())
    }
}

fn is_here(address: IpAddr) -> bool {
    UdpSocket::bind(scope::local(address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(listening: &[&str], wanted: &str, control: &str) -> Result<String, Failure> {
        let parse = |text: &str| text.parse().expect("an address");
        let there = Listening { addresses: listening.iter().map(|text| parse(text)).collect() };
        there.bind(parse(wanted), parse(control)).map(|address: IpAddr| address.to_string())
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
    fn nothing_else_is_ever_bound() {
        assert_eq!(bind(&["127.0.0.2"], "127.0.0.1", "127.0.0.1").expect("the first"), "127.0.0.2");
        let failure = bind(&["127.0.0.1"], "::1", "127.0.0.1").expect_err("no IPv6");
        assert_eq!(failure.code, "refused");
        assert!(failure.message.contains("no IPv6 address; it listens on 127.0.0.1"), "{}", failure.message);
    }
}
