//! The moment when the streams of a direction begin at one end: of one session, or of several that share a window.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use sixbench_wire::token::Token;

use super::NAME;
use super::params::{SharedWindow, StreamParams};
use crate::error::bad_params;
use crate::params::Limit;
use crate::workloads::cpu_watch::Edges;
use crate::workloads::tcp::Role;
use crate::{Endpoint, Error, Result};

/// The moment from which a window's edges follow. No lock until it comes: atomics, of which one changes once.
pub struct Beginning {
    /// Number of streams that have yet to begin, where the last one counts; absent: the first one counts.
    awaited: Option<AtomicU32>,
    /// The moment on the monotonic clock; 0 before.
    ns: AtomicU64,
    /// The watches that are told of it, as long as they are there.
    watches: Mutex<Vec<Weak<Edges>>>,
}

/// An end of a direction. Where both agents are one process, it has each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The role of the connections, by which data goes forward or back.
    pub role: Role,
    /// True if this end sends.
    pub is_sending: bool,
}

impl Beginning {
    /// The beginning of the streams of a session at one end, whose watch is told of it by its [`Edges`].
    ///
    /// # Errors
    /// `bad-params` where sessions that share a window contradict each other.
    pub fn of(params: &StreamParams, endpoint: &Endpoint, end: End, watch: &Arc<Edges>) -> Result<Arc<Self>> {
        let Some(shared) = &params.shared_window else {
            return Ok(Arc::new(Self::new(None, watch)));
        };
        let terms = Terms { streams: shared.streams, warmup_ns: params.warmup_ns, limit: params.limit };
        let key = Key { token: endpoint.token, name: shared.name.clone(), end };
        let mut windows = lock(&WINDOWS);
        windows.retain(|window| window.beginning.strong_count() > 0);
        for window in windows.iter_mut().filter(|window| window.key == key) {
            let Some(beginning) = window.beginning.upgrade() else { continue };
            if window.terms != terms {
                return Err(refuse(shared, "another session shares it with other times or another number of streams"));
            }
            let joined = window.joined + u32::from(params.streams);
            if joined > shared.streams {
                let why = format!("{joined} streams would share it, more than `shared_streams` allows");
                return Err(refuse(shared, &why));
            }
            window.joined = joined;
            lock(&beginning.watches).push(Arc::downgrade(watch));
            return Ok(beginning);
        }
        let beginning = Arc::new(Self::new(Some(shared.streams), watch));
        let joined = u32::from(params.streams);
        windows.push(Window { key, terms, joined, beginning: Arc::downgrade(&beginning) });
        Ok(beginning)
    }

    /// Tells that this many streams begin now, each once; the moment from which the window counts, if it has come.
    pub fn begin(&self, streams: u32, now_ns: u64) -> Option<u64> {
        if let Some(awaited) = &self.awaited {
            if awaited.fetch_sub(streams, Ordering::Relaxed) > streams {
                return None;
            }
        }
        match self.ns.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                for watch in lock(&self.watches).iter().filter_map(Weak::upgrade) {
                    let _ = watch.send(now_ns);
                }
                Some(now_ns)
            }
            Err(ns) => Some(ns),
        }
    }

    /// The moment from which the window counts, if it has come.
    pub fn ns(&self) -> Option<u64> {
        match self.ns.load(Ordering::Relaxed) {
            0 => None,
            ns => Some(ns),
        }
    }

    fn new(awaited: Option<u32>, watch: &Arc<Edges>) -> Self {
        Self {
            awaited: awaited.map(AtomicU32::new),
            ns: AtomicU64::new(0),
            watches: Mutex::new(vec![Arc::downgrade(watch)]),
        }
    }
}

/// The windows that sessions of this process share now. Those of other trials have other tokens.
static WINDOWS: Mutex<Vec<Window>> = Mutex::new(Vec::new());

struct Window {
    key: Key,
    terms: Terms,
    /// Number of streams of the sessions that have joined.
    joined: u32,
    beginning: Weak<Beginning>,
}

#[derive(PartialEq)]
struct Key {
    token: Token,
    name: String,
    end: End,
}

/// Terms on which all sessions that share a window must agree.
#[derive(PartialEq)]
struct Terms {
    streams: u32,
    warmup_ns: u64,
    limit: Limit,
}

fn refuse(shared: &SharedWindow, why: &str) -> Error {
    bad_params(NAME, format!("`shared_window` {:?}: {why}", shared.name))
}

fn lock<T>(cell: &Mutex<T>) -> MutexGuard<'_, T> {
    cell.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv6Addr};
    use std::sync::mpsc::{self, Receiver};

    use serde_json::{Value, json};

    use super::*;

    const RECEIVING: End = End { role: Role::Forward, is_sending: false };

    /// A session's end, and what its watch hears.
    struct Session {
        beginning: Arc<Beginning>,
        watch: Arc<Edges>,
        announced: Receiver<u64>,
    }

    fn try_join(params: Value, token: u8, end: End) -> Result<Session> {
        let endpoint = Endpoint { token: Token([token; 16]), ..Endpoint::on_loopback(IpAddr::V6(Ipv6Addr::LOCALHOST)) };
        let (edges, announced) = mpsc::channel();
        let watch = Arc::new(edges);
        let beginning = Beginning::of(&StreamParams::parse(NAME, &params)?, &endpoint, end, &watch)?;
        Ok(Session { beginning, watch, announced })
    }

    fn join(params: Value, token: u8) -> Session {
        try_join(params, token, RECEIVING).unwrap()
    }

    fn shared(name: &str, streams: u64) -> Value {
        json!({"duration_ns": 5, "shared_window": name, "shared_streams": 3, "streams": streams})
    }

    #[test]
    fn alone_the_first_stream_begins() {
        let alone = join(json!({"duration_ns": 5, "streams": 2}), 1);
        assert_eq!(alone.beginning.ns(), None);
        assert_eq!(alone.beginning.begin(1, 10), Some(10));
        assert_eq!((alone.beginning.begin(1, 12), alone.beginning.ns()), (Some(10), Some(10)));
        assert_eq!(alone.announced.try_iter().collect::<Vec<_>>(), [10]);
    }

    #[test]
    fn together_the_last_stream_begins_and_all_watches_are_told() {
        let (first, second) = (join(shared("w", 2), 2), join(shared("w", 1), 2));
        assert_eq!((first.beginning.begin(1, 10), second.beginning.begin(1, 25)), (None, None));
        assert_eq!((first.beginning.ns(), second.beginning.ns()), (None, None));
        assert_eq!(first.beginning.begin(1, 70), Some(70));
        assert_eq!((first.beginning.ns(), second.beginning.ns()), (Some(70), Some(70)));
        for session in [&first, &second] {
            assert_eq!(session.announced.try_iter().collect::<Vec<_>>(), [70]);
        }
    }

    #[test]
    fn a_watch_ends_with_its_session_and_not_with_the_others() {
        let (first, second) = (join(shared("w", 2), 3), join(shared("w", 1), 3));
        drop(first.watch);
        assert!(first.announced.recv().is_err());
        assert_eq!(second.beginning.begin(3, 10), Some(10));
        assert_eq!(second.announced.recv(), Ok(10));
    }

    #[test]
    fn other_names_tokens_and_ends_share_nothing() {
        let sending = End { is_sending: true, ..RECEIVING };
        let reverse = End { role: Role::Reverse, ..RECEIVING };
        let all = [
            join(shared("w", 3), 4),
            join(shared("other", 3), 4),
            join(shared("w", 3), 5),
            try_join(shared("w", 3), 4, sending).unwrap(),
            try_join(shared("w", 3), 4, reverse).unwrap(),
        ];
        all[0].beginning.begin(3, 10);
        assert_eq!(all.each_ref().map(|session| session.beginning.ns()), [Some(10), None, None, None, None]);
    }

    #[test]
    fn a_name_is_free_again_when_nobody_has_it() {
        join(shared("w", 3), 6).beginning.begin(3, 10);
        assert_eq!(join(shared("w", 3), 6).beginning.ns(), None);
    }

    #[test]
    fn who_contradicts_the_others_is_refused_with_the_reason() {
        let _one = join(shared("w", 2), 7);
        let reason = |params: Value| try_join(params, 7, RECEIVING).err().unwrap().to_string();
        let other = "`shared_window` \"w\": another session shares it with other times or another number of streams";
        for (name, value) in [("duration_ns", 6), ("warmup_ns", 1), ("shared_streams", 4)] {
            let mut params = shared("w", 1);
            params[name] = json!(value);
            assert_eq!(reason(params), format!("parameters of tcp-stream: {other}"));
        }
        let many = "`shared_window` \"w\": 4 streams would share it, more than `shared_streams` allows";
        assert_eq!(reason(shared("w", 2)), format!("parameters of tcp-stream: {many}"));
    }
}
