//! Several sockets at one address, each with a queue of its own: a network that fills its queue fills no other one.
//!
//! The kernel keeps connections that nobody has accepted yet in a queue. When that is full, it drops new ones, whoever
//! opens them. So a server listens on an address by a group of sockets (`SO_REUSEPORT`), and a program of classic BPF
//! chooses by the network of the sender ([`crate::slots`]) which one takes a connection. Random numbers of the server,
//! which nobody else knows, decide which networks share a queue.

use std::io;
use std::net::{IpAddr, TcpListener};

use nix::libc::{self, sock_filter};
use sixbench_measure::random::secret;
use sixbench_packet::attach_group_program;

/// The power of two of the number of sockets. A good client shares its queue with a network that floods the server once
/// in 64 times.
const QUEUES_LOG2: u32 = 6;
/// Number of sockets of an address.
pub const QUEUES: usize = 1 << QUEUES_LOG2;

/// Place of the source address in its header (RFC 791 section 3.1, RFC 8200 section 3), from `SKF_NET_OFF` on.
const IPV4_SOURCE: u32 = 12;
const IPV6_SOURCE: u32 = 8;
const NETWORK_HEADER: u32 = libc::SKF_NET_OFF as u32;

/// Has a group of sockets share its connections by the networks that they come from. `first` is bound, and has
/// `SO_REUSEPORT`.
pub fn share_by_network(first: &TcpListener, address: IpAddr) -> io::Result<()> {
    let odd = || secret().map(|bytes| u32::from_ne_bytes(bytes) | 1);
    attach_group_program(first, &program(address, [odd()?, odd()?]))
}

/// The program that chooses, with factors that are odd.
fn program(address: IpAddr, [factor, other]: [u32; 2]) -> Vec<sock_filter> {
    match address {
        IpAddr::V4(_) => by_24_bits(factor),
        IpAddr::V6(_) => by_48_bits(factor, other),
    }
}

/// The queue of a /24: its bits times an odd number, and of that the highest ones.
fn by_24_bits(factor: u32) -> Vec<sock_filter> {
    vec![
        op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, NETWORK_HEADER.wrapping_add(IPV4_SOURCE)),
        op(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K, 8),
        op(libc::BPF_ALU | libc::BPF_MUL | libc::BPF_K, factor),
        op(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K, u32::BITS - QUEUES_LOG2),
        op(libc::BPF_RET | libc::BPF_A, 0),
    ]
}

/// The queue of a /48, likewise of both of its parts.
fn by_48_bits(first_factor: u32, second_factor: u32) -> Vec<sock_filter> {
    vec![
        op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, NETWORK_HEADER.wrapping_add(IPV6_SOURCE)),
        op(libc::BPF_ALU | libc::BPF_MUL | libc::BPF_K, first_factor),
        op(libc::BPF_MISC | libc::BPF_TAX, 0),
        op(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, NETWORK_HEADER.wrapping_add(IPV6_SOURCE + 4)),
        op(libc::BPF_ALU | libc::BPF_MUL | libc::BPF_K, second_factor),
        op(libc::BPF_ALU | libc::BPF_ADD | libc::BPF_X, 0),
        op(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K, u32::BITS - QUEUES_LOG2),
        op(libc::BPF_RET | libc::BPF_A, 0),
    ]
}

fn op(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};

    use socket2::{Domain, Socket, Type};

    use super::*;

    const FACTORS: [u32; 2] = [0x9e37_79b1, 0x85eb_ca6b];

    fn group(address: IpAddr) -> Vec<TcpListener> {
        let mut listeners: Vec<TcpListener> = Vec::new();
        for number in 0..QUEUES {
            let port = listeners.first().map_or(0, |first| first.local_addr().unwrap().port());
            let local = SocketAddr::new(address, port);
            let socket = Socket::new(Domain::for_address(local), Type::STREAM, None).unwrap();
            socket.set_reuse_port(true).unwrap();
            socket.bind(&local.into()).unwrap();
            socket.listen(128).unwrap();
            let listener = TcpListener::from(socket);
            listener.set_nonblocking(true).unwrap();
            if number == 0 {
                attach_group_program(&listener, &program(address, FACTORS)).unwrap();
            }
            listeners.push(listener);
        }
        listeners
    }

    fn connect(group: &[TcpListener], from: IpAddr) -> TcpStream {
        let to = group[0].local_addr().unwrap();
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::new(from, 0).into()).unwrap();
        socket.connect(&to.into()).unwrap();
        socket.into()
    }

    /// The sockets that have connections, and the number of all connections.
    fn accepted(group: &[TcpListener]) -> (BTreeSet<usize>, usize) {
        let each = group.iter().map(|listener| std::iter::from_fn(|| listener.accept().ok()).count());
        let counts: Vec<usize> = each.collect();
        ((0..QUEUES).filter(|&number| counts[number] > 0).collect(), counts.iter().sum())
    }

    #[test]
    fn a_network_has_one_queue_and_others_have_others() {
        let group = group(Ipv4Addr::LOCALHOST.into());
        let of_one: Vec<_> = (1..=100).map(|last| connect(&group, [127, 0, 1, last].into())).collect();
        let (queues, count) = accepted(&group);
        assert_eq!((queues.len(), count), (1, of_one.len()));
        let of_many: Vec<_> = (2..=200).map(|third| connect(&group, [127, 0, third, 1].into())).collect();
        let (others, count) = accepted(&group);
        assert_eq!(count, of_many.len());
        assert!(others.len() > QUEUES / 2, "{others:?}");
    }

    #[test]
    fn a_client_comes_in_beside_a_network_that_has_filled_its_queue() {
        let group = group(Ipv4Addr::LOCALHOST.into());
        // More than the queue has room for: the rest is never completed.
        let flood: Vec<_> = (0..600)
            .map(|_| {
                let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
                socket.set_nonblocking(true).unwrap();
                socket.bind(&SocketAddr::from(([127, 0, 1, 1], 0)).into()).unwrap();
                let _ = socket.connect(&group[0].local_addr().unwrap().into());
                socket
            })
            .collect();
        let good: Vec<_> = [3, 5, 7, 9].map(|third| connect(&group, [127, 0, third, 1].into())).into();
        let (queues, count) = accepted(&group);
        assert!(queues.len() > 1 && count >= good.len() && count < flood.len(), "{queues:?} {count}");
    }

    #[test]
    fn ipv6_has_queues_too() {
        let group = group(Ipv6Addr::LOCALHOST.into());
        let streams: Vec<_> = (0..50).map(|_| connect(&group, Ipv6Addr::LOCALHOST.into())).collect();
        let (queues, count) = accepted(&group);
        assert_eq!((queues.len(), count), (1, streams.len()));
    }
}
