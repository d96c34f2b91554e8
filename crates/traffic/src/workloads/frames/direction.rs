//! Which way frames go. The client always opens the way by UDP: neighbours are known then, and translators let the
//! server's frames through.

use serde_json::Value;
use socket2::Socket;

use super::ports::Ports;
use super::receiver::{self, Incoming};
use super::sender::Outgoing;
use super::{NAME, Settings, hello, next_hop};
use crate::session::{Cancel, Endpoint, Server};
use crate::sys::ring::Ring;
use crate::workloads::opening::{self, Begins};
use crate::workloads::tcp::Stop;
use crate::workloads::thread_server::ThreadServer;
use crate::workloads::udp_stream::{Direction, at_once, end, named};
use crate::{Result, datagram_socket};

/// The serving side.
pub fn serve(endpoint: &Endpoint, settings: Settings, cancel: &Cancel) -> Result<Box<dyn Server>> {
    let ring = ring_of(endpoint, settings.direction != Direction::Reverse)?;
    let socket = receiver::session_socket(endpoint)?;
    let port = datagram_socket::local_port(&socket)?;
    let endpoint = endpoint.clone();
    ThreadServer::start(NAME, port, cancel, move |control| {
        let opened = opening::meet(&socket, &endpoint, Begins::Server, control)?;
        let payload_bytes = hello::hear(&socket, &opened.endpoint, || control.check())?;
        let (endpoint, settings) = (&opened.endpoint, &settings);
        let receive =
            |ring: Ring| Incoming::new(ring, endpoint, payload_bytes, settings.rate_pps, settings)?.work(control);
        let send = || {
            let outgoing = outgoing(&socket, endpoint, port, payload_bytes, settings, false)?;
            let sent = outgoing.send(control.stop())?;
            end::send(&socket, endpoint, &sent, control.stop())?;
            Ok(sent)
        };
        match (settings.direction, ring) {
            (Direction::Forward, Some(ring)) => receive(ring),
            (Direction::Both, Some(ring)) => {
                let (received, sent) = at_once(|| receive(ring), send)?;
                Ok(named([("forward_receiver", received), ("reverse_sender", sent)]))
            }
            _ => Ok(named([("reverse_sender", send()?)])),
        }
    })
}

/// The client's side.
pub fn run(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<Value> {
    let stop = Stop::new(cancel);
    let ring = ring_of(endpoint, settings.direction != Direction::Forward)?;
    let socket = receiver::session_socket(endpoint)?;
    let port = datagram_socket::local_port(&socket)?;
    datagram_socket::connect(&socket, endpoint.peer, endpoint.port)?;
    opening::ask(&socket, endpoint, || stop.check())?;
    let payload_bytes = settings.payload_bytes(endpoint.address.is_ipv4());
    hello::tell(&socket, endpoint, payload_bytes, || stop.check())?;
    let rate_pps = settings.rate_reverse_pps;
    let receive = |ring: Ring| {
        Incoming::new(ring, endpoint, payload_bytes, rate_pps, settings)?
            .work_to_end(&socket, endpoint, rate_pps, &stop)
    };
    let send = || outgoing(&socket, endpoint, port, payload_bytes, settings, true)?.send(&stop);
    match (settings.direction, ring) {
        (Direction::Reverse, Some(ring)) => Ok(named([("reverse_receiver", receive(ring)?)])),
        (Direction::Both, Some(ring)) => {
            let (received, sent) = at_once(|| receive(ring), send)?;
            Ok(named([("forward_sender", sent), ("reverse_receiver", received)]))
        }
        _ => send(),
    }
}

/// A ring where this end receives. It is there before the other end can send.
fn ring_of(endpoint: &Endpoint, receives: bool) -> Result<Option<Ring>> {
    if receives { receiver::open(endpoint).map(Some) } else { Ok(None) }
}

fn outgoing<'a>(
    socket: &Socket,
    endpoint: &Endpoint,
    port: u16,
    payload_bytes: usize,
    settings: &'a Settings,
    is_client: bool,
) -> Result<Outgoing<'a>> {
    let (way, ifindex) = next_hop::towards(endpoint, socket)?;
    let token = endpoint.token.short();
    Ok(Outgoing {
        way,
        ifindex,
        ports: Ports::new(settings.ports, (port, endpoint.port), token, is_client),
        token,
        payload_bytes,
        rate_pps: if is_client { settings.rate_pps } else { settings.rate_reverse_pps },
        settings,
    })
}
