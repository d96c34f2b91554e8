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
use super::message::{self, MAX_ANSWER_BYTES};
use super::{PORT, Settings};
use crate::datagram_socket::{self, wait_until};
use crate::df::Df;
use crate::session::Endpoint;
use crate::socket::Buffers;
use crate::workloads::tcp::Stop;
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
    let started_ns = clock::monotonic_ns();
    let mut client = Client {
        socket,
        settings,
        // Names of other trials may still be in the resolver's cache: each trial begins elsewhere.
        first_number: endpoint.token.short() as u32,
        due,
        started_ns,
        last_ns: started_ns,
        asked: 0,
        unsent: 0,
        answers: Answers::new(settings.timeout_ns),
        lateness: Times::default(),
    };
    let from = cpu::sample();
    client.ask_all(stop)?;
    let cpu = cpu::Span { from, to: cpu::sample() };
    Ok(ClientResult {
        answers: client.answers.tally(),
        sent: client.asked - client.unsent,
        due,
        lateness: client.lateness.tally(),
        window: Window { started_ns, ended_ns: client.last_ns, measured_ns: client.last_ns - started_ns },
        cpu,
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
    first_number: u32,
    due: u64,
    started_ns: u64,
    /// Time of the last question.
    last_ns: u64,
    /// Number of questions, those that could not be sent included.
    asked: u64,
    unsent: u64,
    answers: Answers,
    lateness: Times,
}

impl Client<'_> {
    fn ask_all(&mut self, stop: &Stop) -> Result<()> {
        loop {
            stop.check()?;
            self.ask_due()?;
            let has_read_all = self.read_some()?;
            let now_ns = clock::monotonic_ns();
            if self.asked == self.due {
                let end_ns = self.last_ns.saturating_add(self.settings.timeout_ns);
                if self.answers.has_all() || now_ns > end_ns {
                    return Ok(());
                }
                self.wait_until(end_ns + 1, now_ns, has_read_all);
            } else {
                self.wait_until(self.due_ns(self.asked).saturating_sub(SPIN_NS), now_ns, has_read_all);
            }
        }
    }

    fn due_ns(&self, index: u64) -> u64 {
        self.started_ns.saturating_add(self.settings.rate.due_ns(index))
    }

    fn ask_due(&mut self) -> Result<()> {
        for _ in 0..AT_ONCE {
            let now_ns = clock::monotonic_ns();
            if self.asked == self.due || self.due_ns(self.asked) > now_ns {
                return Ok(());
            }
            let (id, number) = (self.asked as u16, self.first_number.wrapping_add(self.asked as u32));
            match self.socket.send(&message::question(id, number)) {
                Ok(_) => self.answers.ask(id, number, now_ns),
                // The error is of an earlier question, or there was no room: this question was not asked.
                Err(_) => self.unsent += 1,
            }
            self.lateness.record(now_ns.saturating_sub(self.due_ns(self.asked)));
            self.last_ns = now_ns;
            self.asked += 1;
        }
        Ok(())
    }

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

    fn wait_until(&self, until_ns: u64, now_ns: u64, has_read_all: bool) {
        if has_read_all && until_ns > now_ns {
            wait_until(&self.socket, until_ns);
        }
    }
}
