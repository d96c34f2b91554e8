//! The directions of flows of datagrams or frames: one way or both ways, and what each side's result is then. The
//! client always opens the flow, so that it works behind a NAT.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Error, Result};

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

/// The client's result, of a sender's and a receiver's. Where the flow goes forward alone, it is that of its end.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ClientFlows<S, R> {
    Forward(S),
    Reverse { reverse_receiver: R },
    Both { forward_sender: S, reverse_receiver: R },
}

/// The server's result, of a sender's and a receiver's. Where the flow goes forward alone, it is that of its end.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ServerFlows<S, R> {
    Forward(R),
    Reverse { reverse_sender: S },
    Both { forward_receiver: R, reverse_sender: S },
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
