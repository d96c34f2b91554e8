//! The client of `dns64`: one thread that asks on schedule, and reads answers meanwhile.

use std::io::Read;

use nix::errno::Errno;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock::{self, PreciseTimers};
use sixbench_measure::cpu;
use sixbench_measure::histogram::{Times, TimesTally};
use socket2::Socket;

use super::answers::{AnswerTally, Answers};
use super::message::{self, MAX_ANSWER_BYTES, QUESTION_BYTES};
use super::{PORT, Settings};
use crate::cancel::Stop;
use crate::datagram::Phase;
use crate::datagram_socket::{self, wait_until};
use crate::df::Df;
use crate::session::Endpoint;
use crate::socket::Buffers;
use crate::workloads::pacing::{Flow, Pace};
use crate::workloads::sending::{Sender, send_phases};
use crate::workloads::window::Window;
use crate::{Error, Result};

/// Questions that are asked before answers are read.
const AT_ONCE: u64 = 16;
/// Answers that are read before the next questions are looked at.
const READ_AT_ONCE: usize = 64;
/// The last stretch before a question is due is not slept through: a thread wakes up some 20 to 60 us late.
const SPIN_NS: u64 = 60_000;
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

/// Asks for the whole duration, and waits for the last answers.
pub fn run(endpoint: &Endpoint, settings: &Settings, stop: &Stop) -> Result<ClientResult> {
    let buffers = Buffers { rcvbuf_bytes: Some(RECEIVE_BUFFER_BYTES), ..Buffers::default() };
    let socket = datagram_socket::udp(endpoint.address, buffers, Df::Clear)?;
    datagram_socket::connect(&socket, (endpoint.peer, PORT))?;
    datagram_socket::never_wait(&socket)?;
    let due = settings.rate.due_before(settings.duration_ns);
    let _timers = PreciseTimers::new();
    let mut client = Client {
        socket,
        settings,
        stop,
        // Names of other trials may still be in the resolver's cache: each trial begins elsewhere.
        first_number: endpoint.token.short() as u32,
        last_ns: None,
        has_read_all: false,
        answers: Answers::new(settings.timeout_ns),
        lateness: Times::default(),
    };
    let schedule = settings.rate.of_payload_bytes(QUESTION_BYTES);
    let flow = Flow::new(Pace::Scheduled(Box::new(schedule)), AT_ONCE, Some(due), None);
    let sent = send_phases(&mut client, None, flow)?;
    let started_ns = sent.flow.start_ns();
    let ended_ns = client.last_ns.unwrap_or(started_ns);
    Ok(ClientResult {
        answers: client.answers.tally(),
        sent: sent.flow.sent(),
        due,
        lateness: client.lateness.tally(),
        window: Window { started_ns, ended_ns, measured_ns: ended_ns - started_ns },
        cpu: sent.cpu,
    })
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    #[serde(flatten)]
    answers: AnswerTally,
    sent: u64,
    due: u64,
    /// Lateness of each question.
    lateness: TimesTally,
    #[serde(flatten)]
    window: Window,
    cpu: cpu::Span,
}

struct Client<'a> {
    socket: Socket,
    settings: &'a Settings,
    stop: &'a Stop,
    first_number: u32,
    /// Time of the last question, whether it could be sent or not.
    last_ns: Option<u64>,
    /// True if no answer was left at the last look.
    has_read_all: bool,
    answers: Answers,
    lateness: Times,
}

impl Sender for Client<'_> {
    fn send(&mut self, _: Phase, flow: &mut Flow, count: u64) -> Result<()> {
        for _ in 0..count {
            let asked = flow.sent() + flow.refused();
            let now_ns = clock::monotonic_ns();
            let due_ns = flow.start_ns().saturating_add(self.settings.rate.due_ns(asked));
            self.lateness.record(now_ns.saturating_sub(due_ns));
            self.last_ns = Some(now_ns);
            let (id, number) = (asked as u16, self.first_number.wrapping_add(asked as u32));
            match self.socket.send(&message::question(id, number)) {
                Ok(_) => {
                    self.answers.ask(id, number, now_ns);
                    flow.note_sent(1, now_ns);
                }
                // The error is of an earlier question, or there was no room: this question is not asked any more.
                Err(_) => flow.refuse(),
            }
        }
        Ok(())
    }

    fn wait_until(&mut self, due_ns: u64) {
        self.wait_for_answers(due_ns.saturating_sub(SPIN_NS));
    }

    fn check(&self) -> Result<()> {
        self.stop.check()
    }

    fn take_answers(&mut self, _: &Flow) -> Result<()> {
        self.has_read_all = self.read_some()?;
        Ok(())
    }

    fn forget(&mut self, _: u64) {}

    /// Waits until all are answered or the last one has had its time.
    fn drain(&mut self, flow: &Flow) -> Result<()> {
        let Some(last_ns) = self.last_ns else { return Ok(()) };
        let end_ns = last_ns.saturating_add(self.settings.timeout_ns);
        while !self.answers.has_all() && clock::monotonic_ns() <= end_ns {
            self.stop.check()?;
            self.wait_for_answers(end_ns + 1);
            self.take_answers(flow)?;
        }
        Ok(())
    }
}

impl Client<'_> {
    /// Reads some of the answers. Returns true if none is left.
    fn read_some(&mut self) -> Result<bool> {
        let mut buffer = [0; MAX_ANSWER_BYTES + 1];
        for _ in 0..READ_AT_ONCE {
            let length = match (&self.socket).read(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.raw_os_error() == Some(Errno::EAGAIN as i32) => return Ok(true),
                // The resolver does not listen: its questions stay without an answer.
                Err(error) if error.raw_os_error() == Some(Errno::ECONNREFUSED as i32) => continue,
                Err(error) => return Err(Error::system("reading answers of a resolver", "recv", error)),
            };
            let now_ns = clock::monotonic_ns();
            let answer = &buffer[..length];
            match message::id_of(answer).and_then(|id| Some((id, self.answers.asked(id)?))) {
                Some((id, number)) => {
                    self.answers.answer(id, message::judge(answer, number, &self.settings.prefix), now_ns);
                }
                None => self.answers.note_stray(),
            }
        }
        Ok(false)
    }

    /// Waits for answers until that time, unless some are left.
    fn wait_for_answers(&self, until_ns: u64) {
        if self.has_read_all && until_ns > clock::monotonic_ns() {
            wait_until(&self.socket, until_ns);
        }
    }
}
