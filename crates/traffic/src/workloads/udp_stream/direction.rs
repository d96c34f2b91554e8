//! The two sides of a session of `udp-stream`.

use super::receiver::{self, Receiver, ReceiverResult};
use super::sender::{self, SenderResult};
use super::{NAME, Settings, end};
use crate::session::{Cancel, Endpoint, Server};
use crate::workloads::directions::{ClientFlows, Direction, ServerFlows, at_once};
use crate::workloads::opening::{self, Begins};
use crate::workloads::tcp::Stop;
use crate::workloads::thread_server::{Control, ThreadServer};
use crate::{Result, datagram_socket};

/// The client's result.
pub type ClientResult = ClientFlows<SenderResult, ReceiverResult>;
/// The server's result.
pub type ServerResult = ServerFlows<SenderResult, ReceiverResult>;

/// The serving side.
pub fn serve(endpoint: &Endpoint, settings: Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let socket = receiver::open(endpoint, &settings)?;
    let port = datagram_socket::local_port(&socket)?;
    let endpoint = endpoint.clone();
    ThreadServer::start(NAME, port, cancel, move |control| {
        let begins = if settings.direction == Direction::Forward { Begins::Client } else { Begins::Server };
        let opened = opening::meet(&socket, &endpoint, begins, control)?;
        let receiver = || Receiver::new(&socket, &opened.endpoint, opened.strays, &settings);
        let send = |control: &Control| {
            let sent = sender::send(&socket, &opened.endpoint, &settings, control.stop())?;
            end::send(&socket, &opened.endpoint, sent.flow.sent, control.stop())?;
            Ok(sent)
        };
        match settings.direction {
            Direction::Forward => Ok(ServerFlows::Forward(receiver()?.work(control)?)),
            Direction::Reverse => Ok(ServerFlows::Reverse { reverse_sender: send(control)? }),
            Direction::Both => {
                let (forward_receiver, reverse_sender) = at_once(NAME, || receiver()?.work(control), || send(control))?;
                Ok(ServerFlows::Both { forward_receiver, reverse_sender })
            }
        }
    })
}

/// The client's side.
pub fn run(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<ClientResult> {
    if settings.direction == Direction::Forward {
        return Ok(ClientFlows::Forward(sender::run(endpoint, settings, cancel)?));
    }
    let stop = Stop::new(cancel);
    let socket = receiver::open(endpoint, settings)?;
    datagram_socket::connect(&socket, (endpoint.peer, endpoint.port))?;
    opening::ask(&socket, endpoint, || stop.check())?;
    let receive = || Receiver::new(&socket, endpoint, 0, settings)?.work_to_end(settings, &stop);
    if settings.direction == Direction::Reverse {
        return Ok(ClientFlows::Reverse { reverse_receiver: receive()? });
    }
    let (reverse_receiver, forward_sender) =
        at_once(NAME, receive, || sender::send(&socket, endpoint, settings, &stop))?;
    Ok(ClientFlows::Both { forward_sender, reverse_receiver })
}
