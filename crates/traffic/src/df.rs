//! The DF bit of datagrams, and the policy that decides if they may be fragmented.

use std::net::IpAddr;

use socket2::Socket;

use crate::params::Params;
use crate::{Error, Result, sys};

/// The kernel's policy for fragmenting a socket's datagrams (`IP_MTU_DISCOVER`, `IPV6_MTU_DISCOVER`, `IPV6_DONTFRAG`;
/// ip(7), ipv6(7), RFC 3542 section 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Df {
    /// DF is clear: any router may fragment IPv4, and this host IPv6, to the path MTU that it knows.
    Clear,
    /// DF is set, and what exceeds the path MTU that the kernel knows is refused with `EMSGSIZE`.
    Set,
    /// DF is set, the path MTU that the kernel knows is ignored, and what exceeds the interface's MTU is refused.
    Probe,
    /// The system's default: DF is set on what fits the path MTU that the kernel knows, and the rest is fragmented
    /// here.
    Kernel,
    /// Each datagram is an atomic fragment (RFC 6946), and what exceeds the path MTU that the kernel knows is refused
    /// with `EMSGSIZE`. Only over IPv6; a UDP socket sends none:
    /// [`AtomicFragments`](crate::atomic_fragments::AtomicFragments) does.
    Atomic,
}

impl Df {
    /// The policies that socket options alone can set.
    const OF_SOCKETS: [(&str, Df); 4] =
        [("clear", Df::Clear), ("set", Df::Set), ("probe", Df::Probe), ("kernel", Df::Kernel)];

    /// Reads `df`.
    pub fn read(params: &mut Params<'_>) -> Result<Self> {
        params.choice("df", &Self::OF_SOCKETS)
    }

    /// Reads `df` of a workload that can send atomic fragments.
    pub fn read_with_atomic(params: &mut Params<'_>, address: IpAddr) -> Result<Self> {
        let [clear, set, probe, kernel] = Self::OF_SOCKETS;
        let df = params.choice("df", &[clear, set, probe, kernel, ("atomic", Df::Atomic)])?;
        if df == Df::Atomic && address.is_ipv4() {
            return Err(params.refuse("`df` cannot be `atomic` over IPv4: only IPv6 has atomic fragments (RFC 6946)"));
        }
        Ok(df)
    }

    /// Sets the policy on a socket of the address' family.
    pub fn apply(self, socket: &Socket, address: IpAddr) -> Result<()> {
        let failed = |call| move |e: std::io::Error| Error::system(format!("setting the DF policy {self:?}"), call, e);
        // The values of both families are the same numbers.
        let discover = match self {
            Df::Clear | Df::Atomic => libc::IP_PMTUDISC_DONT,
            Df::Set => libc::IP_PMTUDISC_DO,
            Df::Probe => libc::IP_PMTUDISC_PROBE,
            Df::Kernel => libc::IP_PMTUDISC_WANT,
        };
        match address {
            IpAddr::V4(_) => sys::set_socket_option(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, discover)
                .map_err(failed("setsockopt(IP_MTU_DISCOVER)")),
            IpAddr::V6(_) => {
                sys::set_socket_option(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, discover)
                    .map_err(failed("setsockopt(IPV6_MTU_DISCOVER)"))?;
                let is_whole = i32::from(matches!(self, Df::Set | Df::Probe));
                sys::set_socket_option(socket, libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, is_whole)
                    .map_err(failed("setsockopt(IPV6_DONTFRAG)"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use nix::errno::Errno;
    use serde_json::json;
    use socket2::{Protocol, Type};

    use super::*;
    use crate::socket;

    #[test]
    fn clear_is_the_default_and_other_words_are_refused() {
        let read = |value| Df::read(&mut Params::new("w", &value).unwrap());
        assert_eq!(read(json!({})).unwrap(), Df::Clear);
        assert_eq!(read(json!({"df": "kernel"})).unwrap(), Df::Kernel);
        let error = read(json!({"df": "maybe"})).unwrap_err();
        assert_eq!(error.to_string(), "parameters of w: `df` must be one of clear, set, probe, kernel, not \"maybe\"");
    }

    #[test]
    fn the_kernel_holds_each_policy() {
        for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            let socket = socket::open(address, Type::DGRAM, Some(Protocol::UDP)).unwrap();
            let (level, name) = match address {
                IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER),
                IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER),
            };
            for (df, discover) in [(Df::Set, 2), (Df::Probe, 3), (Df::Kernel, 1), (Df::Clear, 0)] {
                df.apply(&socket, address).unwrap();
                let mut value = [0; 4];
                assert_eq!(sys::socket_option(&socket, level, name, &mut value).unwrap(), 4);
                assert_eq!(i32::from_ne_bytes(value), discover);
            }
        }
    }

    #[test]
    fn the_largest_datagram_is_refused_where_it_may_not_be_fragmented() {
        // Loopback has an MTU of 65536: only IPv6 has datagrams that do not fit.
        let address = IpAddr::V6(Ipv6Addr::LOCALHOST);
        for (df, errno) in [(Df::Clear, None), (Df::Kernel, None), (Df::Set, Some(Errno::EMSGSIZE))] {
            let socket = socket::open(address, Type::DGRAM, Some(Protocol::UDP)).unwrap();
            socket::bind(&socket, address, 0).unwrap();
            df.apply(&socket, address).unwrap();
            let to = socket.local_addr().unwrap();
            let sent = socket.send_to(&[0; 65_527], &to);
            assert_eq!(sent.err().and_then(|e| e.raw_os_error()).map(Errno::from_raw), errno, "{df:?}");
        }
    }
}
