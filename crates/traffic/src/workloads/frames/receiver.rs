//! The receiver of `frames`: takes them from the host's interface, before its IP layer has them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};
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
use crate::workloads::server_span::{QUIET, ServerSpan};
use crate::workloads::tcp::Stop;
use crate::workloads::thread_server::Control;
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
    /// Time of the first frame of the measured flow, on the monotonic clock.
    started_ns: Option<u64>,
    /// Number of frames for which there was no room before the flow.
    dropped_before: u64,
    span: ServerSpan,
    progress: Progress,
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
        let (own, native) = ends.sought(payload_bytes, settings);
        Ok(Self {
            dropped_before: intake.dropped()?,
            stamps: intake.stamper().map(|stamper| Stamps::new(stamper.clone(), settings, rate_pps)),
            intake,
            account: Account::new(own, native, settings.due(rate_pps), settings),
            settings,
            end: None,
            started_ns: None,
            span: ServerSpan::start()?,
            progress: ends.own.progress.clone(),
        })
    }

    /// Works as the server: until it has to finish, and the residual time is over.
    pub fn work(mut self, control: &Control) -> Result<ReceiverResult> {
        loop {
            control.check()?;
            if let (None, Some(order)) = (self.end, control.order()) {
                self.note_end(order.finish.sent, order.given_ns);
            }
            if self.is_over() {
                return self.result();
            }
            self.receive();
        }
    }

    /// Works as the client: until the server has sent the number of frames, and the residual time is over.
    pub fn work_to_end(
        mut self,
        socket: &Socket,
        endpoint: &Endpoint,
        rate_pps: u64,
        stop: &Stop,
    ) -> Result<ReceiverResult> {
        let token = endpoint.token.short();
        let planned_ns = self.settings.planned_ns(rate_pps).saturating_add(UNANNOUNCED_NS);
        let given_up_ns = clock::monotonic_ns().saturating_add(planned_ns);
        loop {
            stop.check()?;
            if self.end.is_none() {
                let now_ns = clock::monotonic_ns();
                if let Some(sent) = announced_count(socket, token) {
                    self.note_end(Some(sent), now_ns);
                } else if now_ns >= given_up_ns {
                    self.note_end(None, now_ns);
                }
            }
            if self.is_over() {
                return self.result();
            }
            self.receive();
        }
    }

    fn note_end(&mut self, sent: Option<u64>, noted_ns: u64) {
        let age_ns = clock::monotonic_ns().saturating_sub(noted_ns);
        self.account.end_at(clock::realtime_ns() - age_ns + self.settings.residual_ns);
        self.end = Some(End { sent, noted_ns });
    }

    fn is_over(&self) -> bool {
        let Some(end) = self.end else { return false };
        let waited_ns = clock::monotonic_ns().saturating_sub(end.noted_ns);
        let residual_ns = self.settings.residual_ns;
        end.sent.is_some_and(|sent| self.account.arrivals.has_all(sent))
            || waited_ns >= residual_ns + residual_ns / LATE_PART
    }

    /// Takes the frames in the ring, and waits a little if there are none.
    fn receive(&mut self) {
        let before_bytes = self.account.arrivals.unique_bytes();
        let (account, span, started_ns) = (&mut self.account, &mut self.span, &mut self.started_ns);
        let has_more = self.intake.take(|frame| match account.enter(frame.bytes, frame.realtime_ns) {
            Entry::First(realtime_ns) => {
                let age_ns = clock::realtime_ns().saturating_sub(realtime_ns);
                *started_ns = Some(clock::monotonic_ns().saturating_sub(age_ns));
                span.begin();
            }
            Entry::Other | Entry::Stray => {}
        });
        self.note_stamps();
        let span = &mut self.span;
        if has_more {
            span.go_on();
            let new_bytes = self.account.arrivals.unique_bytes() - before_bytes;
            if new_bytes > 0 {
                self.progress.add(clock::monotonic_ns(), new_bytes);
            }
        } else if !self.intake.wait(QUIET) {
            self.span.note_quiet();
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

    fn result(mut self) -> Result<ReceiverResult> {
        // Frames that the ring had when it was over are not lost: they were read after all.
        while self.intake.take(|frame| {
            self.account.enter(frame.bytes, frame.realtime_ns);
        }) {}
        if self.stamps.is_some() {
            // Those that came last are in a block that is not full.
            clock::sleep_until(clock::monotonic_ns() + 2 * RETIRE_NS);
            self.note_stamps();
        }
        self.span.note_quiet();
        let measured_ns = self.account.arrivals.measured_ns();
        Ok(ReceiverResult {
            account: self.account.tally(self.end.and_then(|end| end.sent)),
            ring_drops: self.intake.dropped()? - self.dropped_before,
            engine: self.intake.tally(self.stamps.as_ref()),
            started_ns: self.started_ns,
            ended_ns: self.started_ns.map(|started_ns| started_ns.saturating_add(measured_ns)),
            cpu: self.span.end(),
        })
    }
}

/// The receiver's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReceiverResult {
    #[serde(flatten)]
    account: AccountTally,
    /// Frames for which the ring had no room.
    ring_drops: u64,
    #[serde(flatten)]
    engine: EngineTally,
    /// Time of the first measured frame on the monotonic clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<cpu::Span>,
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
