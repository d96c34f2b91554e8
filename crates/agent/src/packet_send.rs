//! `packet-send`: a frame onto an interface, byte for byte as it is given.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::os::fd::OwnedFd;

use nix::net::if_::if_nametoindex;
use nix::unistd::write;
use serde::Deserialize;
use serde_json::json;
use sixbench_packet::{NO_PROTOCOL, bind, open};
use sixbench_wire::ethernet::HEADER_BYTES;

use crate::asked;
use crate::error::{Error, Outcome};

/// The longest packet, and an Ethernet header.
const MAX_FRAME_BYTES: usize = 65_535 + HEADER_BYTES;

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketSendRequest {
    interface: String,
    /// The frame from the Ethernet header on, in hexadecimal.
    frame: String,
}

/// The sockets that have sent, by the index of their interface. Closing one takes up to 20 ms (`synchronize_net`), so
/// they stay.
#[derive(Default)]
pub struct Senders(HashMap<u32, OwnedFd>);

impl Senders {
    /// Sends a frame. A packet socket leaves nothing to the device, so checksums are taken as they are.
    pub fn send(&mut self, request: &PacketSendRequest) -> Outcome {
        let bad = |why: String| Error::bad_request(format!("packet-send: {why}"));
        let frame = asked::bytes_of(&request.frame).map_err(bad)?;
        if !(HEADER_BYTES..=MAX_FRAME_BYTES).contains(&frame.len()) {
            let bytes = frame.len();
            return Err(bad(format!("a frame has {HEADER_BYTES} to {MAX_FRAME_BYTES} bytes, and not {bytes}")));
        }
        let doing = format!("sending a frame on {}", request.interface);
        let failed = |call, error: io::Error| Error::system(&doing, call, error);
        let index =
            if_nametoindex(request.interface.as_str()).map_err(|errno| failed("if_nametoindex", errno.into()))?;
        let socket = match self.0.entry(index) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let socket = open().map_err(|error| failed("socket", error))?;
                bind(&socket, index, NO_PROTOCOL).map_err(|error| failed("bind", error))?;
                place.insert(socket)
            }
        };
        write(socket, &frame).map_err(|errno| failed("write", errno.into()))?;
        Ok(json!({}))
    }
}
