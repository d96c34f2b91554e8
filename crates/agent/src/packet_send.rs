//! `packet-send`: a frame onto an interface, byte for byte as it is given.

use std::io;

use nix::net::if_::if_nametoindex;
use nix::unistd::write;
use serde::Deserialize;
use serde_json::json;
use sixbench_packet::{NO_PROTOCOL, bind, open};
use sixbench_wire::ethernet::HEADER_BYTES;

use crate::asked;
use crate::failure::{Failure, Outcome};

/// The longest packet, and an Ethernet header.
const MAX_FRAME_BYTES: usize = 65_535 + HEADER_BYTES;

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    interface: String,
    /// From the Ethernet header on, in hexadecimal.
    frame: String,
}

/// Sends it. A packet socket leaves nothing to the device, so checksums are taken as they are.
pub fn send(request: &Request) -> Outcome {
    let frame = asked::bytes_of(&request.frame).map_err(|why| Failure::bad_request(format!("packet-send: {why}")))?;
    if !(HEADER_BYTES..=MAX_FRAME_BYTES).contains(&frame.len()) {
        let bytes = frame.len();
        let message = format!("packet-send: a frame has {HEADER_BYTES} to {MAX_FRAME_BYTES} bytes, and not {bytes}");
        return Err(Failure::bad_request(message));
    }
    let failed =
        |call, error: io::Error| Failure::system(format_args!("sending a frame on {}", request.interface), call, error);
    let index = if_nametoindex(request.interface.as_str()).map_err(|errno| failed("if_nametoindex", errno.into()))?;
    let socket = open().map_err(|error| failed("socket", error))?;
    bind(&socket, index, NO_PROTOCOL).map_err(|error| failed("bind", error))?;
    write(&socket, &frame).map_err(|errno| failed("write", errno.into()))?;
    Ok(json!({}))
}
