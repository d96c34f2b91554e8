//! The server of `dns64`: the authority of the zone whose names the client asks for.

use std::net::{SocketAddr, UdpSocket};

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_wire::addresses::Prefix6;

use super::message::{MAX_ANSWER_BYTES, reply};
use super::{NAME, PORT, Settings};
use crate::cancel::Cancel;
use crate::datagram_socket;
use crate::df::Df;
use crate::session::{Endpoint, Server};
use crate::socket::Buffers;
use crate::strays::Strays;
use crate::workloads::receiving::{Receiver, receive_until_ordered};
use crate::workloads::thread_server::{Order, ThreadServer};
use crate::{Error, Result};

const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

pub fn serve(endpoint: &Endpoint, settings: Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let buffers = Buffers { rcvbuf_bytes: Some(RECEIVE_BUFFER_BYTES), ..Buffers::default() };
    let socket = datagram_socket::udp_at(endpoint.address, PORT, buffers, Df::Clear)?;
    let authority = Authority {
        socket: socket.into(),
        endpoint: endpoint.clone(),
        synthesising: settings.self_test.then_some(settings.prefix),
        asked: 0,
        answered: 0,
        strays: 0,
    };
    ThreadServer::start(NAME, PORT, cancel, move |control| receive_until_ordered(authority, control))
}

struct Authority {
    socket: UdpSocket,
    endpoint: Endpoint,
    /// The prefix of the AAAA records that it has itself, in a test of the tester.
    synthesising: Option<Prefix6>,
    /// Questions of the resolver.
    asked: u64,
    answered: u64,
    strays: u64,
}

impl Receiver for Authority {
    type Tally = ServerResult;

    /// Waits for a short time.
    fn receive(&mut self) -> Result<bool> {
        let mut buffer = [0; MAX_ANSWER_BYTES + 1];
        // An error may be that of an earlier answer, whose reader is gone.
        let Ok((length, from)) = self.socket.recv_from(&mut buffer) else { return Ok(false) };
        if !self.endpoint.admits(from.ip().to_canonical()) {
            self.strays += 1;
            return Ok(true);
        }
        self.asked += 1;
        if let Some(answer) = reply(&buffer[..length], self.synthesising.as_ref()) {
            self.answered += u64::from(send(&self.socket, &answer, from)?);
        }
        Ok(true)
    }

    /// The client has its answers: a question that is left is of no interest to it.
    fn receive_ready(&mut self) -> Result<bool> {
        Ok(false)
    }

    fn wait(&mut self) -> bool {
        false
    }

    fn note_silence(&mut self) {}

    fn note_order(&mut self, _: &Order) -> Result<()> {
        Ok(())
    }

    fn is_over(&mut self, is_empty: bool) -> bool {
        is_empty
    }

    fn tally(self) -> Result<ServerResult> {
        let Self { asked, answered, strays, .. } = self;
        Ok(ServerResult { asked, answered, strays: Strays::of_datagrams(strays) })
    }
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
fn send(socket: &UdpSocket, answer: &[u8], to: SocketAddr) -> Result<bool> {
    match socket.send_to(answer, to) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(Error::system(format!("answering {to} for {NAME}"), "sendto", error))
        }
        Err(_) => Ok(false),
    }
}
