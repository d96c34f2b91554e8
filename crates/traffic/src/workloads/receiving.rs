//! The skeleton of a side that receives: it takes what comes until the end of the flow is known, then what is still
//! missing, and gives the account.

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock::BothClocks;
use sixbench_measure::cpu;

use super::server_span::ServerSpan;
use super::thread_server::{Control, Order};
use crate::Result;
use crate::cancel::Stop;

/// A side that takes datagrams or frames. A silence is one of [`super::server_span::QUIET`].
pub trait Receiver: Sized {
    /// The account of what came.
    type Tally;

    /// Takes what is there, or what comes until there was a silence. Returns false after a silence.
    fn receive(&mut self) -> Result<bool>;

    /// Takes what is there, without waiting. Returns false if nothing was.
    fn receive_ready(&mut self) -> Result<bool>;

    /// Waits until something comes, or there was a silence. Returns false after a silence.
    fn wait(&mut self) -> bool;

    /// Notes that there was a silence, which may be the end.
    fn note_silence(&mut self);

    /// Notes that the other side has sent all: a server is asked to finish.
    fn note_order(&mut self, order: &Order) -> Result<()>;

    /// True if nothing more is to be waited for. `is_empty`: the last call found nothing.
    fn is_over(&mut self, is_empty: bool) -> bool;

    /// The account.
    fn tally(self) -> Result<Self::Tally>;
}

/// Receives as the server: until the order to finish, and then until it is over.
pub fn receive_until_ordered<R: Receiver>(mut receiver: R, control: &Control) -> Result<R::Tally> {
    let order = loop {
        control.check()?;
        if let Some(order) = control.order() {
            break order;
        }
        if !receiver.receive()? {
            receiver.note_silence();
        }
    };
    receiver.note_order(order)?;
    loop {
        control.check()?;
        let is_empty = !receiver.receive_ready()?;
        if receiver.is_over(is_empty) {
            break;
        }
        if is_empty && !receiver.wait() {
            receiver.note_silence();
        }
    }
    receiver.note_silence();
    receiver.tally()
}

/// Receives as the client, which nobody asks to finish: until it is over.
pub fn receive_until_over<R: Receiver>(mut receiver: R, stop: &Stop) -> Result<R::Tally> {
    loop {
        stop.check()?;
        let is_empty = !receiver.receive()?;
        if is_empty {
            receiver.note_silence();
        }
        if receiver.is_over(is_empty) {
            break;
        }
    }
    receiver.note_silence();
    receiver.tally()
}

/// The time in which a measured flow was received, and the CPU in it.
pub struct ReceiverSpan {
    span: ServerSpan,
    /// Time of the first arrival on the monotonic clock.
    started_ns: Option<u64>,
}

impl ReceiverSpan {
    /// A span that has not begun.
    pub fn start() -> Result<Self> {
        Ok(Self { span: ServerSpan::start()?, started_ns: None })
    }

    /// Begins the span: the first of the flow came at that time of the realtime clock.
    pub fn begin(&mut self, realtime_ns: u64) {
        self.started_ns = Some(BothClocks::read().to_monotonic_ns(realtime_ns));
        self.span.begin();
    }

    /// Something has come, so that it was not the end.
    #[inline]
    pub fn go_on(&mut self) {
        self.span.go_on();
    }

    /// Nothing has come for a while.
    pub fn note_silence(&mut self) {
        self.span.note_quiet();
    }

    /// The result of a flow that was received in that time, if any came.
    pub fn result<F>(self, flow: F, measured_ns: Option<u64>) -> ReceiverResult<F> {
        let ended_ns = self.started_ns.zip(measured_ns).map(|(from_ns, ns)| from_ns.saturating_add(ns));
        ReceiverResult { flow, started_ns: self.started_ns, ended_ns, cpu: self.span.end() }
    }
}

/// The result of a receiver, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReceiverResult<F> {
    /// The workload's part.
    #[serde(flatten)]
    flow: F,
    /// Time of the first arrival on the monotonic clock; absent where nothing came, as are the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<cpu::Span>,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workloads::thread_server::ThreadServer;
    use crate::{Cancel, Finish};

    /// Receives what it is given, one after the other, and is over when nothing is left.
    struct Given {
        left: u64,
        taken: u64,
        silences: u64,
        sent: Option<u64>,
    }

    const GIVEN: Given = Given { left: 3, taken: 0, silences: 0, sent: None };

    impl Receiver for Given {
        type Tally = (u64, u64, Option<u64>);

        fn receive(&mut self) -> Result<bool> {
            std::thread::sleep(Duration::from_micros(1));
            self.receive_ready()
        }

        fn receive_ready(&mut self) -> Result<bool> {
            let has_come = self.left > 0;
            self.left -= u64::from(has_come);
            self.taken += u64::from(has_come);
            Ok(has_come)
        }

        fn wait(&mut self) -> bool {
            false
        }

        fn note_silence(&mut self) {
            self.silences += 1;
        }

        fn note_order(&mut self, order: &Order) -> Result<()> {
            self.sent = order.finish.sent;
            Ok(())
        }

        fn is_over(&mut self, is_empty: bool) -> bool {
            is_empty
        }

        fn tally(self) -> Result<Self::Tally> {
            Ok((self.taken, self.silences.min(1), self.sent))
        }
    }

    #[test]
    fn a_client_takes_all_until_it_is_over() {
        assert_eq!(receive_until_over(GIVEN, &Stop::new(&Cancel::default())).unwrap(), (3, 1, None));
    }

    #[test]
    fn a_client_that_is_cancelled_has_no_result() {
        let cancel = Cancel::default();
        cancel.raise();
        assert!(receive_until_over(GIVEN, &Stop::new(&cancel)).is_err());
    }

    #[test]
    fn a_server_takes_all_that_is_there_when_it_is_asked_to_finish() {
        let work = |control: &Control| receive_until_ordered(GIVEN, control);
        let server = ThreadServer::start("given", 0, &Cancel::default(), work).unwrap();
        let finish = Finish { sent: Some(7), ..Finish::default() };
        assert_eq!(server.finish(&finish).unwrap(), (3, 1, Some(7)));
    }
}
