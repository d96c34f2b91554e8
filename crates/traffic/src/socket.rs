//! Sockets: bound to the local address, with the requested buffers.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_packet::LocalAddress;
use socket2::{Domain, Protocol, Socket, Type};

use crate::params::Params;
use crate::{Error, Result};

/// The largest buffer that may be asked for: the kernel keeps twice this in an `int`.
const MAX_BUFFER_BYTES: u64 = 1 << 30;

/// A socket of the address' family and of this kind, not yet bound. IPv6 sockets take no IPv4.
pub fn open(address: IpAddr, kind: Type, protocol: Option<Protocol>) -> Result<Socket> {
    let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let doing = || match kind {
        Type::RAW => format!("opening a raw socket for {address}, which needs CAP_NET_RAW"),
        _ => format!("opening a socket for {address}"),
    };
    let socket = Socket::new(domain, kind, protocol).map_err(|e| Error::system(doing(), "socket", e))?;
    if address.is_ipv6() && kind != Type::RAW {
        socket.set_only_v6(true).map_err(|e| Error::system(doing(), "setsockopt(IPV6_V6ONLY)", e))?;
    }
    Ok(socket)
}

/// Binds to an address and port; 0 lets the kernel choose.
pub fn bind(socket: &Socket, address: impl Into<LocalAddress>, port: u16) -> Result<()> {
    let local = address.into().at(port);
    socket.bind(&local.into()).map_err(|e| Error::system(format!("binding a socket to {local}"), "bind", e))
}

/// The buffer sizes that a workload asks for. Absent: the kernel's default, and its autotuning.
#[derive(Debug, Clone, Copy, Default)]
pub struct Buffers {
    /// `sndbuf_bytes`.
    pub sndbuf_bytes: Option<usize>,
    /// `rcvbuf_bytes`.
    pub rcvbuf_bytes: Option<usize>,
}

impl Buffers {
    /// Reads `sndbuf_bytes` and `rcvbuf_bytes`.
    pub fn read(params: &mut Params<'_>) -> Result<Self> {
        Ok(Self {
            sndbuf_bytes: params.size("sndbuf_bytes", 1..=MAX_BUFFER_BYTES)?,
            rcvbuf_bytes: params.size("rcvbuf_bytes", 1..=MAX_BUFFER_BYTES)?,
        })
    }

    /// Asks the kernel for them: beyond `wmem_max` and `rmem_max` where this process may (CAP_NET_ADMIN), else up to
    /// them. What was granted is in [`GrantedBuffers`]; the kernel doubles what is asked, to account for its own
    /// overhead.
    pub fn apply(&self, socket: &Socket) -> Result<()> {
        if let Some(bytes) = self.sndbuf_bytes {
            sixbench_packet::set_send_buffer(socket, bytes).map_err(|e| {
                Error::system(format!("setting a send buffer of {bytes} bytes"), "setsockopt(SO_SNDBUF)", e)
            })?;
        }
        if let Some(bytes) = self.rcvbuf_bytes {
            sixbench_packet::set_receive_buffer(socket, bytes).map_err(|e| {
                Error::system(format!("setting a receive buffer of {bytes} bytes"), "setsockopt(SO_RCVBUF)", e)
            })?;
        }
        Ok(())
    }
}

/// The buffer sizes of a socket, in the kernel's count; absent are those that it does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct GrantedBuffers {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sndbuf_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rcvbuf_bytes: Option<usize>,
}

impl GrantedBuffers {
    /// Asks the kernel.
    pub fn of(socket: &Socket) -> Self {
        Self { sndbuf_bytes: socket.send_buffer_size().ok(), rcvbuf_bytes: socket.recv_buffer_size().ok() }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_kernel_says_what_it_granted() {
        let socket = open(IpAddr::V4(Ipv4Addr::LOCALHOST), Type::STREAM, None).unwrap();
        Buffers { sndbuf_bytes: Some(100_000), rcvbuf_bytes: Some(50_000) }.apply(&socket).unwrap();
        let granted = GrantedBuffers { sndbuf_bytes: Some(200_000), rcvbuf_bytes: Some(100_000) };
        assert_eq!(GrantedBuffers::of(&socket), granted);
    }
}
