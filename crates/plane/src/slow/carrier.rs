//! The sockets of outer packets.

use std::io;
use std::net::SocketAddr;

use sixbench_packet::error_queue;
use sixbench_wire::family::Family;
use socket2::{Domain, Protocol, Socket, Type};

use crate::spec::{Payload, Spec};
use crate::sys;

/// Most bytes that a socket holds before its packets are read: some thousand packets.
pub const RECEIVE_BUFFER_BYTES: usize = 8 << 20;
/// Most bytes that may be under way in queues of the node: these decide what is dropped, as for packets that are
/// forwarded, and not the socket.
const SEND_BUFFER_BYTES: usize = 64 << 20;

/// The socket that outer packets, and errors about them, are received from.
pub fn receiver(spec: &Spec) -> io::Result<Socket> {
    let (socket, is_ipv6) = (raw(spec)?, spec.outer == Family::Ipv6);
    // The kernel gives the traffic class of IPv6 beside the packet; IPv4's TOS is in the packet.
    if is_ipv6 {
        socket.set_recv_tclass_v6(true)?;
    }
    error_queue::enable(&socket, is_ipv6)?;
    sys::set_receive_buffer(&socket, RECEIVE_BUFFER_BYTES)?;
    if spec.mapping.uses_groups() {
        // A socket with an address hears no groups. The address has to be the node's all the same.
        raw(spec)?.bind(&local(spec))?;
        return Ok(socket);
    }
    socket.bind(&local(spec))?;
    if let Some(peer) = spec.mapping.peer() {
        // A connected socket gets no packets of other tunnels. Without a route there yet, it does, and drops them by
        // their source.
        let _ = socket.connect(&SocketAddr::new(peer, 0).into());
    }
    Ok(socket)
}

/// A socket that outer packets are sent by, with DF or without.
pub fn sender(spec: &Spec, dont_fragment: bool) -> io::Result<Socket> {
    let (socket, is_ipv6) = (raw(spec)?, spec.outer == Family::Ipv6);
    sys::set_dont_fragment(&socket, is_ipv6, dont_fragment)?;
    sys::set_send_buffer(&socket, SEND_BUFFER_BYTES)?;
    if is_ipv6 {
        sys::clear_flow_label(&socket)?;
    } else {
        socket.set_multicast_loop_v4(false)?;
    }
    socket.bind(&local(spec))?;
    // Raw sockets get a copy of whatever arrives. This one, of what the node sends to itself: next to nothing.
    let _ = socket.connect(&local(spec));
    Ok(socket)
}

fn raw(spec: &Spec) -> io::Result<Socket> {
    let protocol = match spec.payload {
        Payload::Ipv6 => libc::IPPROTO_IPV6,
        Payload::Ipv4 => libc::IPPROTO_IPIP,
        Payload::Gre => libc::IPPROTO_GRE,
    };
    let domain = match spec.outer {
        Family::Ipv4 => Domain::IPV4,
        Family::Ipv6 => Domain::IPV6,
    };
    let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(protocol)))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn local(spec: &Spec) -> socket2::SockAddr {
    SocketAddr::new(spec.local, 0).into()
}
