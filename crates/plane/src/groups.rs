//! The IPv4 groups that carry 6over4's multicast: RFC 2529 section 6.

use std::net::{IpAddr, Ipv4Addr};

use nix::net::if_::if_nametoindex;
use socket2::{Domain, InterfaceIndexOrAddress, Socket, Type};

use crate::spec::{Mapping, Spec};
use crate::{Error, Result};

/// The IPv4 group that carries ff02::1.
const ALL_NODES: Ipv4Addr = Ipv4Addr::new(239, 192, 0, 1);

/// Memberships. With this value they go.
#[derive(Debug, Default)]
pub struct Groups {
    /// Each holds as many as `net.ipv4.igmp_max_memberships` lets it.
    _sockets: Vec<Socket>,
}

/// The groups that a node with this tunnel is in: of all nodes, of its own link-local address, and those that are asked
/// for.
pub fn groups(spec: &Spec) -> Vec<Ipv4Addr> {
    let (Mapping::SixOverFour { groups }, IpAddr::V4(local)) = (&spec.mapping, spec.local) else { return Vec::new() };
    let [.., c, d] = local.octets();
    let mut all = vec![ALL_NODES, Ipv4Addr::new(239, 192, c, d)];
    all.extend(groups);
    all.sort_unstable();
    all.dedup();
    all
}

impl Groups {
    /// Joins them on every device below the tunnel.
    pub fn join(spec: &Spec) -> Result<Self> {
        let mut sockets: Vec<Socket> = Vec::new();
        for interface in &spec.underlay {
            for group in groups(spec) {
                let failed = |call| {
                    move |error: std::io::Error| {
                        Error::system(format!("tunnel {}: joining {group} on {interface}", spec.device), call, error)
                    }
                };
                let index =
                    if_nametoindex(interface.as_str()).map_err(|errno| failed("if_nametoindex")(errno.into()))?;
                let join = |socket: &Socket| socket.join_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(index));
                match sockets.last().map(join) {
                    Some(Ok(())) => continue,
                    // The last socket has no room for more memberships.
                    Some(Err(error)) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
                    Some(Err(error)) => return Err(failed("setsockopt(IP_ADD_MEMBERSHIP)")(error)),
                    None => {}
                }
                let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).map_err(failed("socket"))?;
                join(&socket).map_err(failed("setsockopt(IP_ADD_MEMBERSHIP)"))?;
                sockets.push(socket);
            }
        }
        Ok(Self { _sockets: sockets })
    }
}
