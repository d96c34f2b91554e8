//! The directions of frames and the two sides of a session. The client always opens the way by UDP: neighbours are
//! known then, and translators let the server's frames through.

use socket2::Socket;

use super::ends::Ends;
use super::engine::{Engines, Intake};
use super::forms::Forms;
use super::ports::Ports;
use super::receiver::{FrameTally, Incoming};
use super::sender::{Outgoing, SenderResult, SendingEngine};
use super::{NAME, Settings, hello, session_socket};
use crate::cancel::{Cancel, Stop};
use crate::session::Server;
use crate::workloads::directions::{ClientFlows, Direction, ServerFlows, at_once};
use crate::workloads::opening::{self, Begins};
use crate::workloads::receiving::{ReceiverResult, receive_until_ordered, receive_until_over};
use crate::workloads::thread_server::ThreadServer;
use crate::workloads::udp_stream::end;
use crate::{Result, datagram_socket};

/// The client's result.
pub type ClientResult = ClientFlows<SenderResult, ReceiverResult<FrameTally>>;
/// The server's result.
pub type ServerResult = ServerFlows<SenderResult, ReceiverResult<FrameTally>>;

/// The serving side.
pub fn serve(ends: Ends, settings: Settings, cancel: &Cancel) -> Result<Box<dyn Server<ServerResult>>> {
    let direction = settings.direction;
    let engines = Engines::open(&ends, &settings, direction != Direction::Reverse, direction != Direction::Forward)?;
    let Engines { intake, sender, refused, stamper } = engines;
    let engine = SendingEngine { xdp: sender, refused, stamper };
    let socket = session_socket::open(ends.path.address, 0)?;
    let port = datagram_socket::local_port(&socket)?;
    let native = ends.open_native(port)?;
    ThreadServer::start(NAME, port, cancel, move |control| {
        let opened = opening::meet(&socket, &ends.path, Begins::Server, control)?;
        let ends = Ends { path: opened.endpoint, ..ends };
        let payload_bytes = hello::receive(&socket, &ends.path, || control.check())?;
        ends.introduce(native.as_ref())?;
        let settings = &settings;
        let receive = |intake: Intake| {
            let incoming = Incoming::new(intake, &ends, payload_bytes, settings.rate_pps, settings)?;
            receive_until_ordered(incoming, control)
        };
        let send = || {
            let outgoing = outgoing((&socket, native.as_ref()), &ends, port, payload_bytes, settings)?;
            let sent = outgoing.send(engine, control.stop())?;
            end::send(&socket, &ends.path, sent.sent.flow.sent, control.stop())?;
            Ok(sent)
        };
        match (settings.direction, intake) {
            (Direction::Forward, Some(intake)) => Ok(ServerFlows::Forward(receive(intake)?)),
            (Direction::Both, Some(intake)) => {
                let (forward_receiver, reverse_sender) = at_once(NAME, || receive(intake), send)?;
                Ok(ServerFlows::Both { forward_receiver, reverse_sender })
            }
            _ => Ok(ServerFlows::Reverse { reverse_sender: send()? }),
        }
    })
}

/// The client's side.
pub fn run(ends: &Ends, settings: &Settings, cancel: &Cancel) -> Result<ClientResult> {
    let stop = Stop::new(cancel);
    let endpoint = &ends.path;
    let direction = settings.direction;
    let engines = Engines::open(ends, settings, direction != Direction::Forward, direction != Direction::Reverse)?;
    let Engines { intake, sender, refused, stamper } = engines;
    let engine = SendingEngine { xdp: sender, refused, stamper };
    let socket = session_socket::open(endpoint.address, 0)?;
    let port = datagram_socket::local_port(&socket)?;
    let native = ends.open_native(port)?;
    datagram_socket::connect(&socket, (endpoint.peer, endpoint.port))?;
    opening::ask(&socket, endpoint, || stop.check())?;
    let payload_bytes = settings.payload_bytes(endpoint.address.is_ipv4());
    hello::send(&socket, endpoint, payload_bytes, || stop.check())?;
    ends.introduce(native.as_ref())?;
    let rate_pps = settings.rate_reverse_pps;
    let receive = |intake: Intake| {
        let incoming = Incoming::new(intake, ends, payload_bytes, rate_pps, settings)?;
        receive_until_over(incoming.announced_by(&socket, endpoint, rate_pps), &stop)
    };
    let send = || outgoing((&socket, native.as_ref()), ends, port, payload_bytes, settings)?.send(engine, &stop);
    match (settings.direction, intake) {
        (Direction::Reverse, Some(intake)) => Ok(ClientFlows::Reverse { reverse_receiver: receive(intake)? }),
        (Direction::Both, Some(intake)) => {
            let (reverse_receiver, forward_sender) = at_once(NAME, || receive(intake), send)?;
            Ok(ClientFlows::Both { forward_sender, reverse_receiver })
        }
        _ => Ok(ClientFlows::Forward(send()?)),
    }
}

/// The flow that this side sends. `sockets`: the session's own, and the one of the other family.
fn outgoing<'a>(
    sockets: (&Socket, Option<&Socket>),
    ends: &Ends,
    port: u16,
    payload_bytes: usize,
    settings: &'a Settings,
) -> Result<Outgoing<'a>> {
    let (of_path, native, ifindex) = ends.frame_addresses(sockets)?;
    let (token, is_client) = (ends.path.token.short(), ends.is_client);
    let networks = if is_client { settings.server_networks } else { settings.client_networks };
    let ports = Ports::new(settings.ports, (port, ends.path.port), token, is_client);
    let forms = Forms::new(
        (&of_path, native.as_ref()),
        networks,
        settings.native,
        ports,
        settings.extensions,
        (token, payload_bytes),
    );
    Ok(Outgoing {
        forms,
        native: native.map(|addresses| (settings.native, if addresses.source.is_ipv4() { 4 } else { 6 })),
        ifindex,
        destination: ends.destination(),
        payload_bytes,
        rate_pps: if is_client { settings.rate_pps } else { settings.rate_reverse_pps },
        settings,
    })
}
