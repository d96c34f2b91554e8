//! The client of `dns`.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use sixbench_measure::clock;
use sixbench_traffic::{Cancel, Endpoint, Result};
use tokio::time::sleep;

use super::account::{ClientResult, Resolution, Resolutions};
use super::message::{Question, Verdict, Zone};
use super::session::{Opener, Session};
use super::{Reuse, Settings};
use crate::counted::Carried;
use crate::door;
use crate::failure::Failure;
use crate::loops::{self, Patience, Repeat};
use crate::{quic, runtime};

/// Time for the last packets to leave.
const PARTING: Duration = Duration::from_millis(5);
/// Names of one of those that ask.
const NAMES_EACH: u64 = 1 << 32;

type Tried<T> = std::result::Result<T, Failure>;

/// Warms up and measures.
pub fn run(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<ClientResult> {
    let doing = format!("asking {} by DNS", quic::peer(endpoint));
    let patience = Patience { doing, timeout_ns: settings.timeout_ns };
    door::enter(endpoint, settings.over.carrier(), cancel)?;
    runtime::block_on(cancel, async {
        // Each has a question to ask.
        let in_flight = settings.limit.count().unwrap_or(u64::MAX).min(settings.in_flight as u64);
        let workers = (0..in_flight).map(|index| Client::new(endpoint, settings, index)).collect::<Result<Vec<_>>>()?;
        let (workers, account, repetitions) =
            loops::measure(workers, settings.warmup_ns, settings.limit, &patience).await?;
        let result = ClientResult::new(account, repetitions);
        for session in workers.into_iter().filter_map(|worker| worker.kept) {
            session.close().await;
        }
        sleep(PARTING).await;
        Ok(result)
    })
}

/// One of those that ask, with names of its own.
struct Client {
    zone: Zone,
    opener: Opener,
    settings: Settings,
    kept: Option<Session>,
    number: u64,
}

/// An answer that came.
struct Answered {
    answered_ns: u64,
    protocol: String,
    carried: Carried,
}

impl Client {
    fn new(endpoint: &Endpoint, settings: &Settings, index: u64) -> Result<Self> {
        Ok(Self {
            zone: Zone::of_trial(&endpoint.token)?,
            opener: Opener::new(endpoint, settings)?,
            settings: settings.clone(),
            kept: None,
            number: index * NAMES_EACH,
        })
    }

    fn question(&mut self, session: &Session) -> Tried<Question> {
        self.number += 1;
        let id = if session.has_streams() { 0 } else { self.number as u16 };
        self.zone
            .question(id, self.number, self.settings.edns_bytes)
            .map_err(|error| Failure::new("no-question", error.to_string()))
    }

    /// Asks in a session, and again by TCP where the answer is truncated.
    async fn ask(&mut self, session: &mut Session, account: &RefCell<Resolutions>) -> Tried<Answered> {
        let question = self.question(session)?;
        let retries = Counter { count: Cell::new(0), account };
        let verdict = session.ask(&question, self.settings.answer_bytes, &retries.count).await?;
        if verdict != Verdict::Truncated {
            let answered_ns = right(verdict)?;
            return Ok(Answered { answered_ns, protocol: session.protocol.clone(), carried: session.take_carried() });
        }
        account.borrow_mut().truncated += 1;
        let mut tcp = self.opener.open_tcp().await?;
        let answered_ns = right(tcp.ask(&question, self.settings.answer_bytes, &retries.count).await?)?;
        let (before, then) = (session.take_carried(), tcp.take_carried());
        let carried = Carried { sent: before.sent + then.sent, received: before.received + then.received };
        let protocol = tcp.protocol.clone();
        tcp.close().await;
        Ok(Answered { answered_ns, protocol, carried })
    }
}

/// A count of questions that were sent again, which are in the account even where nothing answers in the end.
struct Counter<'a> {
    count: Cell<u64>,
    account: &'a RefCell<Resolutions>,
}

impl Drop for Counter<'_> {
    fn drop(&mut self) {
        self.account.borrow_mut().retries += self.count.get();
    }
}

/// The time of a right answer, which is now.
fn right(verdict: Verdict) -> Tried<u64> {
    let answered_ns = clock::monotonic_ns();
    match verdict {
        Verdict::Right => Ok(answered_ns),
        Verdict::Truncated => Err(Failure::new("wrong-response", "the answer is truncated, though not in a datagram")),
        Verdict::Other => Err(Failure::new("wrong-response", "the answer is one to another question")),
        Verdict::Wrong(words) => Err(Failure::new("wrong-response", format!("the answer is wrong: {words}"))),
    }
}

impl Repeat for Client {
    type Account = Resolutions;

    async fn prime(&mut self) -> Tried<()> {
        if self.settings.connection == Reuse::Kept {
            let mut session = self.opener.open().await?;
            session.take_carried();
            self.kept = Some(session);
        }
        Ok(())
    }

    async fn once(&mut self, account: &RefCell<Resolutions>) -> Tried<()> {
        let started_ns = clock::monotonic_ns();
        let (mut session, opened_ns) = match self.kept.take() {
            Some(session) => (session, None),
            None => (self.opener.open().await?, Some(clock::monotonic_ns())),
        };
        let Answered { answered_ns, protocol, carried } = self.ask(&mut session, account).await?;
        account.borrow_mut().add(Resolution {
            session_ns: opened_ns.filter(|_| session.is_connection()).map(|opened_ns| opened_ns - started_ns),
            response_ns: answered_ns - opened_ns.unwrap_or(started_ns),
            transaction_ns: answered_ns - started_ns,
            carried,
            protocol,
            negotiated: session.negotiated.clone(),
        });
        match self.settings.connection {
            Reuse::New => session.close().await,
            Reuse::Kept => self.kept = Some(session),
        }
        Ok(())
    }
}
