//! The sessions that there are, each by its name, and who works on them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sixbench_traffic::{Cancel, Endpoint, Progress, Server};

use crate::error::{Code, Error};

/// The sessions of a node.
pub struct Table {
    most: usize,
    sessions: Mutex<HashMap<String, Session>>,
}

struct Session {
    began: Instant,
    cancel: Cancel,
    progress: Progress,
    stage: Stage,
    /// Its part of the limits, given back when it ends.
    _held: Option<Box<dyn Send>>,
}

enum Stage {
    /// A server works by itself and waits to be finished.
    Serving(Box<dyn Server>),
    /// A request is at work on it, and ends it.
    Busy,
}

/// A session that is being worked on; it ends when this is dropped, also by a panic.
pub struct Reservation {
    table: Arc<Table>,
    session: String,
    /// The session's means to be cancelled.
    pub cancel: Cancel,
    is_kept: bool,
}

/// A session that served, and its server.
pub type Served = (Reservation, Box<dyn Server>);

impl Table {
    /// A table without sessions, and with room for this many.
    pub fn new(most: usize) -> Self {
        Self { most, sessions: Mutex::default() }
    }

    /// True if there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// The names of those that began longer ago than this.
    pub fn older_than(&self, age: Duration) -> Vec<String> {
        let sessions = self.lock();
        let old = sessions.iter().filter(|(_, session)| session.began.elapsed() >= age);
        old.map(|(name, _)| name.clone()).collect()
    }

    /// A new session, for a request that is at work on it. It holds `held` until it ends.
    pub fn begin(
        self: &Arc<Self>,
        session: &str,
        endpoints: &[Endpoint],
        held: Option<Box<dyn Send>>,
    ) -> Result<Reservation, Error> {
        let mut sessions = self.lock();
        let count = sessions.len();
        let Entry::Vacant(entry) = sessions.entry(session.to_owned()) else {
            return Err(Error::new(Code::SessionExists, format!("there is a session `{session}` already")));
        };
        if count >= self.most {
            return Err(Error::new(Code::Busy, format!("there are {} sessions already", self.most)));
        }
        let cancel = Cancel::default();
        let progress = endpoints.first().map(|endpoint| endpoint.progress.clone()).unwrap_or_default();
        entry.insert(Session {
            began: Instant::now(),
            cancel: cancel.clone(),
            progress,
            stage: Stage::Busy,
            _held: held,
        });
        Ok(Reservation { table: Arc::clone(self), session: session.to_owned(), cancel, is_kept: false })
    }

    /// Takes the server of a session out; `None` when it has none to take.
    pub fn take(self: &Arc<Self>, session: &str) -> Result<Option<Served>, Error> {
        let mut sessions = self.lock();
        let Session { cancel, stage, .. } = find_in(&mut sessions, session)?;
        match mem::replace(stage, Stage::Busy) {
            Stage::Busy => Ok(None),
            Stage::Serving(server) => {
                let (table, cancel) = (Arc::clone(self), cancel.clone());
                Ok(Some((Reservation { table, session: session.to_owned(), cancel, is_kept: false }, server)))
            }
        }
    }

    /// Tells the workload of a session to end.
    pub fn raise(&self, session: &str) -> Result<(), Error> {
        find_in(&mut self.lock(), session).map(|session| session.cancel.raise())
    }

    /// The progress of a session, which goes on being updated.
    pub fn progress(&self, session: &str) -> Result<Progress, Error> {
        find_in(&mut self.lock(), session).map(|session| session.progress.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find_in<'a>(sessions: &'a mut HashMap<String, Session>, name: &str) -> Result<&'a mut Session, Error> {
    sessions.get_mut(name).ok_or_else(|| Error::new(Code::NoSession, format!("there is no session `{name}`")))
}

impl Reservation {
    /// Leaves the session to a server that works by itself.
    pub fn keep(mut self, server: Box<dyn Server>) {
        self.is_kept = true;
        if let Some(session) = self.table.lock().get_mut(&self.session) {
            session.stage = Stage::Serving(server);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.is_kept {
            self.table.lock().remove(&self.session);
        }
    }
}
