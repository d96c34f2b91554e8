//! The sockets of outer packets.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};

use crate::abi::{self, Address, Tunnel};
use crate::sys;

/// What a socket may hold before its packets are read: some thousand of them.
pub const RECEIVE_BUFFER_BYTES: usize = 8 << 20;
/// What may be under way in queues of the node: these decide what is dropped, as for packets that are forwarded, and not the socket.
const SEND_BUFFER_BYTES: usize = 64 << 20;

/// The socket that outer packets, and errors about them, are received from.
pub fn receiver(tunnel: &Tunnel) -> io::Result<Socket> {
    let socket = raw(tunnel)?;
    // IPv6's is told beside the packet, IPv4's stands in it.
    if tunnel.outer == 6 {
        socket.set_recv_tclass_v6(true)?;
    }
    sys::set_receive_errors(&socket, tunnel.outer == 6)?;
    sys::set_receive_buffer(&socket, RECEIVE_BUFFER_BYTES)?;
    if tunnel.mapping == abi::mapping::SIX_OVER_FOUR {
        // A socket with an address hears no groups. The address has to be the node's all the same.
        raw(tunnel)?.bind(&local(tunnel))?;
        return Ok(socket);
    }
    socket.bind(&local(tunnel))?;
    if tunnel.mapping == abi::mapping::FIXED {
        // Then other tunnels' packets do not come here. Without a route there yet, they do, and are dropped by their source.
        let _ = socket.connect(&SocketAddr::new(ip(tunnel, &tunnel.remote), 0).into());
    }
    Ok(socket)
}

/// A socket that outer packets are sent by, with DF or without.
pub fn sender(tunnel: &Tunnel, dont_fragment: bool) -> io::Result<Socket> {
    let socket = raw(tunnel)?;
    sys::set_dont_fragment(&socket, tunnel.outer == 6, dont_fragment)?;
    sys::set_send_buffer(&socket, SEND_BUFFER_BYTES)?;
    if tunnel.outer == 6 {
        sys::clear_flow_label(&socket)?;
    } else {
        socket.set_multicast_loop_v4(false)?;
    }
    socket.bind(&local(tunnel))?;
    // Raw sockets get a copy of whatever arrives. This one, of what the node sends to itself: next to nothing.
    let _ = socket.connect(&local(tunnel));
    Ok(socket)
}

fn raw(tunnel: &Tunnel) -> io::Result<Socket> {
    let protocol = match tunnel.payload {
        abi::payload::IPV6 => libc::IPPROTO_IPV6,
        abi::payload::IPV4 => libc::IPPROTO_IPIP,
        _ => libc::IPPROTO_GRE,
    };
    let domain = if tunnel.outer == 4 { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(protocol)))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn local(tunnel: &Tunnel) -> socket2::SockAddr {
    SocketAddr::new(ip(tunnel, &tunnel.local), 0).into()
}

/// An outer address.
pub fn ip(tunnel: &Tunnel, address: &Address) -> IpAddr {
    let octets = address.0;
    match tunnel.outer {
        4 => Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into(),
        _ => Ipv6Addr::from(octets).into(),
    }
}
