//! The client of `pmtu`: measures the way to the server, then answers it.

use std::net::TcpStream;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};

use super::direction::DirectionResult;
use super::prober::Prober;
use super::session::{CONNECTION_PATIENCE, Control};
use super::{Settings, direction};
use crate::cancel::Stop;
use crate::session::Endpoint;
use crate::strays::Strays;
use crate::workloads::opening;
use crate::workloads::tcp::{Preamble, Role, connect};
use crate::workloads::window::Window;
use crate::{Code, Result};

pub fn run(endpoint: &Endpoint, settings: &Settings, stop: &Stop) -> Result<ClientResult> {
    let from = cpu::sample();
    let started_ns = clock::monotonic_ns();
    let beginning = direction::begin(endpoint, settings)?;
    let mut control = Control::new(connection(endpoint, settings, Role::PmtuControl, stop)?, endpoint, stop)?;
    let mut prober = Prober::new(Prober::open(endpoint, 0)?, endpoint, stop);
    prober.connect(endpoint.port)?;
    if endpoint.cookie {
        match opening::ask(prober.socket(), endpoint, || stop.check()) {
            // Where no datagram gets through, TCP still tells what it settles on.
            Err(error) if error.code != Code::Timeout => return Err(error),
            _ => {}
        }
    }
    let forward = direction::measure(&mut prober, endpoint, settings, stop, &beginning, || {
        control.begin_transfer()?;
        connection(endpoint, settings, Role::PmtuForward, stop)
    })?;
    control.done()?;
    let received_bytes = control.answer(
        &mut prober,
        settings,
        || stop.check(),
        || {
            // The path MTU there is no limit of what may be sent back.
            direction::forget(endpoint, settings);
            connection(endpoint, settings, Role::PmtuReverse, stop)
        },
    )?;
    let ended_ns = clock::monotonic_ns();
    Ok(ClientResult {
        forward,
        received_bytes,
        answered_probes: prober.answered(),
        strays: Strays::of_datagrams(prober.strays()),
        window: Window { started_ns, ended_ns, measured_ns: ended_ns - started_ns },
        cpu: cpu::Span { from, to: cpu::sample() },
    })
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    forward: DirectionResult,
    /// Bytes of the server's transfer.
    received_bytes: u64,
    answered_probes: u64,
    strays: Strays,
    #[serde(flatten)]
    window: Window,
    cpu: cpu::Span,
}

fn connection(endpoint: &Endpoint, settings: &Settings, role: Role, stop: &Stop) -> Result<TcpStream> {
    let preamble = Preamble { role, index: 0 };
    let timeout_ns = CONNECTION_PATIENCE.as_nanos() as u64;
    Ok(connect::connect_with_preamble(endpoint, &settings.options, preamble, timeout_ns, stop)?.0)
}
