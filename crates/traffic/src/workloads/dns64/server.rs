//! The server of `dns64`: the authority of the zone whose names the client asks for.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::Serialize;

use super::message::{MAX_ANSWER_BYTES, reply};
use super::{NAME, PORT, Settings};
use crate::datagram_socket;
use crate::df::Df;
use crate::session::{Cancel, Endpoint, Server};
use crate::socket::Buffers;
use crate::strays::Strays;
use crate::workloads::thread_server::ThreadServer;
use crate::{Error, Result};

const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

pub fn serve(endpoint: &Endpoint, settings: Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let buffers = Buffers { rcvbuf_bytes: Some(RECEIVE_BUFFER_BYTES), ..Buffers::default() };
    let socket = datagram_socket::udp_at(endpoint.address, PORT, buffers, Df::Clear)?;
    let endpoint = endpoint.clone();
    ThreadServer::start(NAME, PORT, cancel, move |control| {
        let socket: std::net::UdpSocket = socket.into();
        let (mut asked, mut answered, mut strays) = (0_u64, 0_u64, 0_u64);
        let synthesising = settings.self_test.then_some(&settings.prefix);
        let mut buffer = [0; MAX_ANSWER_BYTES + 1];
        loop {
            control.check()?;
            if control.order().is_some() {
                return Ok(ServerResult { asked, answered, strays: Strays::of_datagrams(strays) });
            }
            // It waits for a short time; an error may be that of an earlier answer, whose reader is gone.
            let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
            if !endpoint.admits(from.ip().to_canonical()) {
                strays += 1;
                continue;
            }
            asked += 1;
            if let Some(answer) = reply(&buffer[..length], synthesising) {
                answered += u64::from(send(&socket, &answer, from)?);
            }
        }
    })
}

/// The server's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerResult {
    /// Questions of the resolver.
    asked: u64,
    answered: u64,
    strays: Strays,
}

/// Sends an answer. Returns false where the kernel had no room for it: the resolver asks again.
fn send(socket: &std::net::UdpSocket, answer: &[u8], to: SocketAddr) -> Result<bool> {
    match socket.send_to(answer, to) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(Error::system(format!("answering {to} for {NAME}"), "sendto", error))
        }
        Err(_) => Ok(false),
    }
}
