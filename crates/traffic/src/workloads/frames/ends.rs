//! The addresses between which a trial's frames go: the path's own, and those of the other family where some go
//! natively.

use std::net::IpAddr;

use socket2::Socket;

use super::layout::FrameAddresses;
use super::reading::Sought;
use super::{NAME, Settings, next_hop, session_socket};
use crate::error::bad_params;
use crate::session::Endpoint;
use crate::{Result, datagram_socket};

/// The addresses of one side.
#[derive(Clone)]
pub struct Ends {
    /// Addresses of the path.
    pub path: Endpoint,
    /// Addresses of the other family, if some frames go natively.
    pub native: Option<Endpoint>,
    /// True at the client's side.
    pub is_client: bool,
}

impl Ends {
    /// The ends of a session with these addresses, the path's own first. There are two where frames go natively, and
    /// else one.
    pub fn new(endpoints: &[Endpoint], settings: &Settings, is_client: bool) -> Result<Self> {
        let refuse = |reason: &str| Err(bad_params(NAME, reason));
        match (endpoints, settings.native.is_any()) {
            ([path], false) => Ok(Self { path: path.clone(), native: None, is_client }),
            ([path, native], true) if path.address.is_ipv4() == native.address.is_ipv4() => {
                refuse("`also` has the family of the path: native frames are of the other one")
            }
            ([_, native], true) if native.is_open() => refuse("`also` has no `peer`, to which native frames go"),
            ([path, native], true) => Ok(Self { path: path.clone(), native: Some(native.clone()), is_client }),
            (_, true) => refuse("`native_ratio` needs the addresses of the other family in `also`"),
            (_, false) => {
                refuse("this workload runs between two addresses: leave out `also`, or give a `native_ratio`")
            }
        }
    }

    /// Forms of the frames that this side receives: the path's own frames, and native ones.
    pub fn sought(&self, payload_bytes: usize, settings: &Settings) -> (Sought, Option<Sought>) {
        let networks = if self.is_client { settings.client_networks } else { settings.server_networks };
        let of = |endpoint: &Endpoint, networks| {
            let ends = (endpoint.peer, endpoint.address.ip());
            Sought::new(ends, networks, endpoint.token.short(), payload_bytes, settings.extensions)
        };
        (of(&self.path, networks), self.native.as_ref().map(|native| of(native, None)))
    }

    /// A socket of the other family at the session's port, where the kernel brings native frames as it brings others to
    /// the session's own.
    pub fn open_native(&self, port: u16) -> Result<Option<Socket>> {
        self.native.as_ref().map(|native| session_socket::open(native.address, port)).transpose()
    }

    /// Sends a datagram to the peer's end of the other family, so that neighbours know each other.
    pub fn introduce(&self, native_socket: Option<&Socket>) -> Result<()> {
        if let (Some(native), Some(socket)) = (&self.native, native_socket) {
            datagram_socket::connect(socket, (native.peer, self.path.port))?;
            // A failure to send shows where the neighbour's address is asked for.
            let _ = socket.send(&[0]);
        }
        Ok(())
    }

    /// The ways of the frames that this side sends, and their interface.
    pub fn frame_addresses(
        &self,
        (socket, native_socket): (&Socket, Option<&Socket>),
    ) -> Result<(FrameAddresses, Option<FrameAddresses>, u32)> {
        let (path, ifindex) = next_hop::towards(&self.path, socket)?;
        let (Some(native), Some(socket)) = (&self.native, native_socket) else { return Ok((path, None, ifindex)) };
        let (native, native_ifindex) = next_hop::towards(native, socket)?;
        if native_ifindex != ifindex {
            let reason = "frames of both families have to leave by one interface; here they have one each".to_owned();
            return Err(bad_params(NAME, reason));
        }
        Ok((path, Some(native), ifindex))
    }

    /// The address that frames go to.
    pub fn destination(&self) -> IpAddr {
        self.path.peer
    }
}
