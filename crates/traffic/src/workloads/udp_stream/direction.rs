//! The directions of `udp-stream` and the two sides of a session. The client always opens the flow, so that it works
//! behind a NAT.

use serde_json::{Value, json};

use super::receiver::{self, Receiver};
use super::{NAME, Settings, end, sender};
use crate::session::{Cancel, Endpoint, Server};
use crate::workloads::opening::{self, Begins};
use crate::workloads::tcp::Stop;
use crate::workloads::thread_server::{Control, ThreadServer};
use crate::{Error, Result, datagram_socket};

/// The side that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The client.
    Forward,
    /// The server.
    Reverse,
    /// Both, at the same time.
    Both,
}

impl Direction {
    /// Directions by the names of the parameter; the first is the default.
    pub const NAMES: &[(&str, Self)] = &[("forward", Self::Forward), ("reverse", Self::Reverse), ("both", Self::Both)];
}

/// The serving side.
pub fn serve(endpoint: &Endpoint, settings: Settings, cancel: &Cancel) -> Result<Box<dyn Server>> {
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
            Direction::Forward => Ok(json!(receiver()?.work(control)?)),
            Direction::Reverse => Ok(json!({"reverse_sender": send(control)?})),
            Direction::Both => {
                let (received, sent) = at_once(NAME, || receiver()?.work(control), || send(control))?;
                Ok(json!({"forward_receiver": received, "reverse_sender": sent}))
            }
        }
    })
}

/// The client's side.
pub fn run(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<Value> {
    if settings.direction == Direction::Forward {
        return Ok(json!(sender::run(endpoint, settings, cancel)?));
    }
    let stop = Stop::new(cancel);
    let socket = receiver::open(endpoint, settings)?;
    datagram_socket::connect(&socket, (endpoint.peer, endpoint.port))?;
    opening::ask(&socket, endpoint, || stop.check())?;
    let receive = || Receiver::new(&socket, endpoint, 0, settings)?.work_to_end(settings, &stop);
    if settings.direction == Direction::Reverse {
        return Ok(json!({"reverse_receiver": receive()?}));
    }
    let (received, sent) = at_once(NAME, receive, || sender::send(&socket, endpoint, settings, &stop))?;
    Ok(json!({"forward_sender": sent, "reverse_receiver": received}))
}

/// Receives in this thread and sends in another, which has the workload's name; either's failure is that of both.
pub fn at_once<R, S: Send>(
    workload: &str,
    receive: impl FnOnce() -> Result<R>,
    send: impl FnOnce() -> Result<S> + Send,
) -> Result<(R, S)> {
    std::thread::scope(|scope| {
        let sending = std::thread::Builder::new()
            .name(format!("{workload} sender"))
            .spawn_scoped(scope, send)
            .map_err(|e| Error::system(format!("starting the thread that sends for {workload}"), "clone", e))?;
        let received = receive();
        let sent = sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((received?, sent?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sending_thread_has_the_workloads_name() {
        let name = || Ok(std::thread::current().name().map(str::to_owned));
        let ((), sender) = at_once("frames", || Ok(()), name).unwrap();
        assert_eq!(sender.as_deref(), Some("frames sender"));
    }
}
