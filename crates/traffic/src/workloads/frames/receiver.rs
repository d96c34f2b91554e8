//! The receiver of `frames`: takes them from the host's interface, before its IP layer has them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;
use socket2::Socket;

use super::Settings;
use super::account::{Account, AccountTally};
use super::ends::Ends;
use super::engine::{EngineTally, Intake};
use super::stamps::Stamps;
use crate::arrivals::Entry;
use crate::datagram::HEADER_BYTES;
use crate::datagram_socket::wait_for_datagram;
use crate::session::Endpoint;
use crate::sys::ring::RETIRE_NS;
use crate::workloads::receiving::{Receiver, ReceiverResult, ReceiverSpan};
use crate::workloads::server_span::QUIET;
use crate::workloads::thread_server::Order;
use crate::workloads::udp_stream::end;
use crate::{Progress, Result};

/// Divisor of the residual time: frames are waited for that part of it longer, and are late then.
const LATE_PART: u64 = 10;
/// Time after the planned end for which a client takes frames if it does not know the number of frames sent.
const UNANNOUNCED_NS: u64 = 2_000_000_000;

/// The flow that one side receives.
pub struct Incoming<'a> {
    intake: Intake,
    account: Account,
    /// Times at which tagged frames passed the interface, where it reports them.
    stamps: Option<Stamps>,
    /// Settings of both directions.
    settings: &'a Settings,
    /// The end of the flow.
    end: Option<End>,
    /// The sign of the end, at a client.
    awaited: Option<Awaited<'a>>,
    /// Number of frames for which there was no room before the flow.
    dropped_before: u64,
    span: ReceiverSpan,
    progress: Progress,
}

/// The number of frames sent, which is awaited.
#[derive(Clone, Copy)]
struct Awaited<'a> {
    /// The session's socket.
    socket: &'a Socket,
    token: u64,
    /// Time on the monotonic clock at which it is not waited for any more.
    given_up_ns: u64,
}

#[derive(Clone, Copy)]
struct End {
    sent: Option<u64>,
    /// Time at which the end was noted, on the monotonic clock.
    noted_ns: u64,
}

impl<'a> Incoming<'a> {
    /// Receives frames from the endpoint's peer. It is made in the thread that uses it.
    pub fn new(
        mut intake: Intake,
        ends: &Ends,
        payload_bytes: usize,
        rate_pps: u64,
        settings: &'a Settings,
    ) -> Result<Self> {
        let (of_path, native) = ends.sought(payload_bytes, settings);
        Ok(Self {
            dropped_before: intake.dropped()?,
            stamps: intake.stamper().map(|stamper| Stamps::new(stamper.clone(), settings, rate_pps)),
            intake,
            account: Account::new(of_path, native, settings.due(rate_pps), settings),
            settings,
            end: None,
            awaited: None,
            span: ReceiverSpan::start()?,
            progress: ends.path.progress.clone(),
        })
    }

    /// As [`Incoming::new`], at a client, to which the server reports by the socket how many frames it has sent.
    pub fn announced_by(self, socket: &'a Socket, endpoint: &Endpoint, rate_pps: u64) -> Self {
        let planned_ns = self.settings.planned_ns(rate_pps).saturating_add(UNANNOUNCED_NS);
        let given_up_ns = clock::monotonic_ns().saturating_add(planned_ns);
        Self { awaited: Some(Awaited { socket, token: endpoint.token.short(), given_up_ns }), ..self }
    }

    fn note_end(&mut self, sent: Option<u64>, noted_ns: u64) {
        let age_ns = clock::monotonic_ns().saturating_sub(noted_ns);
        self.account.end_at(clock::realtime_ns() - age_ns + self.settings.residual_ns);
        self.end = Some(End { sent, noted_ns });
    }

    /// Looks for the number of frames that were sent, at a client.
    fn look_for_end(&mut self) {
        let Some(Awaited { socket, token, given_up_ns }) = self.awaited.filter(|_| self.end.is_none()) else { return };
        let now_ns = clock::monotonic_ns();
        if let Some(sent) = announced_count(socket, token) {
            self.note_end(Some(sent), now_ns);
        } else if now_ns >= given_up_ns {
            self.note_end(None, now_ns);
        }
    }

    /// Notes when the interface had the tagged frames that have come.
    fn note_stamps(&mut self) {
        let (Some(stamps), account) = (&mut self.stamps, &self.account) else { return };
        self.intake.take_stamped(|frame, hardware_ns| {
            if let Some(number) = account.number_of(frame, clock::realtime_ns()) {
                stamps.note(number, hardware_ns);
            }
        });
    }
}

impl Receiver for Incoming<'_> {
    type Tally = ReceiverResult<FrameTally>;

    fn receive(&mut self) -> Result<bool> {
        self.look_for_end();
        Ok(self.receive_ready()? || self.wait())
    }

    fn receive_ready(&mut self) -> Result<bool> {
        let before_bytes = self.account.arrivals.unique_bytes();
        let (account, span) = (&mut self.account, &mut self.span);
        let has_more = self.intake.take(|frame| match account.enter(frame.bytes, frame.realtime_ns) {
            Entry::First(realtime_ns) => span.begin(realtime_ns),
            Entry::Other | Entry::Stray => {}
        });
        self.note_stamps();
        if has_more {
            self.span.go_on();
            let new_bytes = self.account.arrivals.unique_bytes() - before_bytes;
            if new_bytes > 0 {
                self.progress.add(clock::monotonic_ns(), new_bytes);
            }
        }
        Ok(has_more)
    }

    fn wait(&mut self) -> bool {
        self.intake.wait(QUIET)
    }

    fn note_silence(&mut self) {
        self.span.note_silence();
    }

    fn note_order(&mut self, order: &Order) -> Result<()> {
        self.note_end(order.finish.sent, order.given_ns);
        Ok(())
    }

    fn is_over(&mut self, _: bool) -> bool {
        let Some(end) = self.end else { return false };
        let waited_ns = clock::monotonic_ns().saturating_sub(end.noted_ns);
        let residual_ns = self.settings.residual_ns;
        end.sent.is_some_and(|sent| self.account.arrivals.has_all(sent))
            || waited_ns >= residual_ns + residual_ns / LATE_PART
    }

    fn tally(mut self) -> Result<Self::Tally> {
        // Frames that the ring had when it was over are not lost: they were read after all.
        while self.intake.take(|frame| {
            self.account.enter(frame.bytes, frame.realtime_ns);
        }) {}
        if self.stamps.is_some() {
            // Those that came last are in a block that is not full.
            clock::sleep_until(clock::monotonic_ns() + 2 * RETIRE_NS);
            self.note_stamps();
        }
        let account = self.account.tally(self.end.and_then(|end| end.sent));
        let measured_ns = account.measured_ns();
        let tally = FrameTally {
            account,
            ring_drops: self.intake.dropped()? - self.dropped_before,
            engine: self.intake.tally(self.stamps.as_ref()),
        };
        Ok(self.span.result(tally, measured_ns))
    }
}

/// The account of a flow and of its engine, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FrameTally {
    #[serde(flatten)]
    account: AccountTally,
    /// Frames for which the ring had no room.
    ring_drops: u64,
    #[serde(flatten)]
    engine: EngineTally,
}

/// Number of frames that were sent, where a received datagram gives it.
fn announced_count(socket: &Socket, token: u64) -> Option<u64> {
    while wait_for_datagram(socket, Duration::ZERO) {
        let mut buffer = [0; HEADER_BYTES + 1];
        let length = std::io::Read::read(&mut &*socket, &mut buffer).ok()?;
        if let Some(sent) = buffer.get(..length).and_then(|bytes| end::decode(bytes, token)) {
            return Some(sent);
        }
    }
    None
}
