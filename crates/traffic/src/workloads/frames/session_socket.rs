//! The socket of a session: the way is opened by its datagrams, and the ends of flows tell each other how much they
//! sent.

use sixbench_packet::LocalAddress;
use socket2::Socket;

use crate::datagram::HEADER_BYTES;
use crate::sys::ring::take_only;
use crate::{Error, Result, datagram_socket};

/// Place of the byte that gives the kind of the datagrams that the ends of a flow exchange, and the least kind.
const KIND_AT: u32 = 24;
const LEAST_KIND: u32 = 2;

/// A bound socket of the session, at that port or at one of the kernel's choice. Frames that the kernel brings to its
/// port go no further: the ring has had them.
pub fn open(address: LocalAddress, port: u16) -> Result<Socket> {
    let socket = datagram_socket::udp_at(address, port, Default::default(), crate::df::Df::Clear)?;
    take_only(&socket, HEADER_BYTES as u32, KIND_AT, LEAST_KIND)
        .map_err(|e| Error::system("keeping frames out of a socket", "setsockopt(SO_ATTACH_FILTER)", e))?;
    Ok(socket)
}
