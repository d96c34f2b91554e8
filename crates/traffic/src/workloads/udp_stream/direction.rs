//! The two sides of a session of `udp-stream`.

use super::receiver::{self, DatagramReceiver, DatagramTally};
use super::sender::{self, SenderResult};
use super::{NAME, Settings, end};
use crate::cancel::{Cancel, Stop};
use crate::session::{Endpoint, Server};
use crate::workloads::directions::{ClientFlows, Direction, ServerFlows, at_once};
use crate::workloads::opening::{self, Begins};
use crate::workloads::receiving::{ReceiverResult, receive_until_ordered, receive_until_over};
use crate::workloads::thread_server::{Control, ThreadServer};
use crate::{Result, datagram_socket};

/// The client's result.
pub type ClientResult = ClientFlows<SenderResult, ReceiverResult<DatagramTally>>;
/// The server's result.
pub type ServerResult = ServerFlows<SenderResult, ReceiverResult<DatagramTally>>;

/// The serving side.
pub fn serve(endpoint: &Endpoint, settings: Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let socket = receiver::open(endpoint, &settings)?;
    let port = datagram_socket::local_port(&socket)?;
    let endpoint = endpoint.clone();
    ThreadServer::start(NAME, port, cancel, move |control| {
        let begins = if settings.direction == Direction::Forward { Begins::Client } else { Begins::Server };
        let opened = opening::meet(&socket, &endpoint, begins, control)?;
        let receive = || {
            let receiver = DatagramReceiver::new(&socket, &opened.endpoint, opened.strays, &settings)?;
            receive_until_ordered(receiver, control)
        };
        let send = |control: &Control| {
            let sent = sender::send(&socket, &opened.endpoint, &settings, control.stop())?;
            end::send(&socket, &opened.endpoint, sent.sent.flow.sent, control.stop())?;
            Ok(sent)
        };
        match settings.direction {
            Direction::Forward => Ok(ServerFlows::Forward(receive()?)),
            Direction::Reverse => Ok(ServerFlows::Reverse { reverse_sender: send(control)? }),
            Direction::Both => {
                let (forward_receiver, reverse_sender) = at_once(NAME, receive, || send(control))?;
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
    let receive = || receive_until_over(DatagramReceiver::new(&socket, endpoint, 0, settings)?, &stop);
    if settings.direction == Direction::Reverse {
        return Ok(ClientFlows::Reverse { reverse_receiver: receive()? });
    }
    let (reverse_receiver, forward_sender) =
        at_once(NAME, receive, || sender::send(&socket, endpoint, settings, &stop))?;
    Ok(ClientFlows::Both { forward_sender, reverse_receiver })
}
