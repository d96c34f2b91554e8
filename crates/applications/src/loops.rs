//! Something that is repeated in a closed loop by several at once, each beginning again when it has ended.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::{clock, cpu};
use sixbench_traffic::error::{cancelled, peer_lost, timeout as timeout_error};
use sixbench_traffic::params::{Limit, SECOND_NS};
use sixbench_traffic::{Result, Window};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::failure::Failure;

/// Time without a success, beyond the time that one may take, after which the peer is lost.
const STALL_NS: u64 = 10 * SECOND_NS;
/// Pause after a failure, so that one that comes at once does not make the loop spin.
const BACK_OFF: Duration = Duration::from_millis(1);

/// The account of repetitions that succeeded.
pub trait Account: Default + 'static {
    /// Their number.
    fn count(&self) -> u64;
}

/// A worker that does the same again and again.
pub trait Repeat: 'static {
    /// The account of what succeeded.
    type Account: Account;

    /// Prepares for the first time, such as by getting a ticket.
    fn prime(&mut self) -> impl Future<Output = std::result::Result<(), Failure>>;

    /// Does it once, and adds it to the account if it succeeds.
    fn once(&mut self, account: &RefCell<Self::Account>) -> impl Future<Output = std::result::Result<(), Failure>>;
}

/// The limits of each repetition.
#[derive(Debug, Clone)]
pub struct Patience {
    /// Its work, for errors.
    pub doing: String,
    /// Longest time of one.
    pub timeout_ns: u64,
}

/// The part that all results of repetitions have, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Repetitions {
    #[serde(flatten)]
    window: Window,
    transactions: u64,
    warmup_transactions: u64,
    failed: BTreeMap<String, u64>,
    cpu: cpu::Span,
}

/// A round of repetitions that is over.
struct Round<A> {
    /// The account of those that succeeded.
    account: A,
    /// Number of the others, by reason.
    failed: BTreeMap<String, u64>,
    /// Its begin, and the end of the last repetition.
    window: Window,
}

/// The state that those at work share.
struct State<A> {
    limit: Limit,
    patience: Patience,
    started_ns: u64,
    begun: Cell<u64>,
    succeeded_ns: Cell<u64>,
    ended_ns: Cell<u64>,
    account: RefCell<A>,
    failed: RefCell<BTreeMap<String, u64>>,
}

/// Prepares all, lets them warm up, and measures. Gives the workers back, their account, and what all results have.
///
/// # Errors
/// `peer-lost` and `timeout` where one cannot be prepared, `timeout` where nothing has succeeded for a while; the last
/// names the last failure.
pub async fn measure<R: Repeat>(
    workers: Vec<R>,
    warmup_ns: u64,
    limit: Limit,
    patience: &Patience,
) -> Result<(Vec<R>, R::Account, Repetitions)> {
    let (workers, warmup) = warm_up(workers, warmup_ns, patience).await?;
    let from = cpu::sample();
    let (workers, Round { account, failed, window }) = repeat(workers, limit, patience).await?;
    let cpu = cpu::Span { from, to: cpu::sample() };
    let (transactions, warmup_transactions) = (account.count(), warmup.count());
    Ok((workers, account, Repetitions { window, transactions, warmup_transactions, failed, cpu }))
}

/// Prepares all, and lets them repeat for a time that does not count. Gives the workers back, and that account.
async fn warm_up<R: Repeat>(workers: Vec<R>, warmup_ns: u64, patience: &Patience) -> Result<(Vec<R>, R::Account)> {
    let longest = Duration::from_nanos(patience.timeout_ns);
    let mut primed = Vec::new();
    for mut worker in workers {
        match timeout(longest, worker.prime()).await {
            Ok(Ok(())) => primed.push(worker),
            Ok(Err(failure)) => {
                let what = format!("could not be asked even once: {}", failure.words);
                return Err(peer_lost(&patience.doing, what));
            }
            Err(_) => return Err(timeout_error(&patience.doing, patience.timeout_ns)),
        }
    }
    if warmup_ns == 0 {
        return Ok((primed, R::Account::default()));
    }
    let (workers, round) = repeat(primed, Limit::Duration(warmup_ns), patience).await?;
    Ok((workers, round.account))
}

/// Repeats until the limit is reached and all that was begun has ended. Gives the workers back.
async fn repeat<R: Repeat>(workers: Vec<R>, limit: Limit, patience: &Patience) -> Result<(Vec<R>, Round<R::Account>)> {
    let started_ns = clock::monotonic_ns();
    let state = Rc::new(State {
        limit,
        patience: patience.clone(),
        started_ns,
        begun: Cell::new(0),
        succeeded_ns: Cell::new(started_ns),
        ended_ns: Cell::new(started_ns),
        account: RefCell::default(),
        failed: RefCell::default(),
    });
    let mut tasks = JoinSet::new();
    for worker in workers {
        tasks.spawn_local(work(worker, Rc::clone(&state)));
    }
    let mut workers = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        match ended {
            Ok(worker) => workers.push(worker?),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => return Err(cancelled()),
        }
    }
    let ended_ns = state.ended_ns.get();
    let window = Window { started_ns, ended_ns, measured_ns: ended_ns - started_ns };
    let round = Round { account: state.account.take(), failed: state.failed.take(), window };
    Ok((workers, round))
}

async fn work<R: Repeat>(mut worker: R, state: Rc<State<R::Account>>) -> Result<R> {
    let longest = Duration::from_nanos(state.patience.timeout_ns);
    while !state.limit.is_reached(state.begun.get(), clock::monotonic_ns() - state.started_ns) {
        state.begun.set(state.begun.get() + 1);
        let ended = timeout(longest, worker.once(&state.account)).await;
        let now_ns = clock::monotonic_ns();
        state.ended_ns.set(now_ns);
        match ended.unwrap_or_else(|_| Err(Failure::timeout())) {
            Ok(()) => state.succeeded_ns.set(now_ns),
            Err(failure) => {
                state.fail(failure, now_ns)?;
                sleep(BACK_OFF).await;
            }
        }
    }
    Ok(worker)
}

impl<A> State<A> {
    fn fail(&self, failure: Failure, now_ns: u64) -> Result<()> {
        let limit_ns = STALL_NS.saturating_add(self.patience.timeout_ns);
        if now_ns - self.succeeded_ns.get() > limit_ns {
            let doing = format!("{} (last failure: {})", self.patience.doing, failure.words);
            return Err(timeout_error(doing, limit_ns));
        }
        *self.failed.borrow_mut().entry(failure.reason).or_default() += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sixbench_traffic::Cancel;

    use super::*;
    use crate::runtime;

    impl Account for u64 {
        fn count(&self) -> u64 {
            *self
        }
    }

    /// Succeeds, but for each third time.
    struct Thirds(u64);

    impl Repeat for Thirds {
        type Account = u64;

        async fn prime(&mut self) -> std::result::Result<(), Failure> {
            Ok(())
        }

        async fn once(&mut self, account: &RefCell<u64>) -> std::result::Result<(), Failure> {
            self.0 += 1;
            tokio::task::yield_now().await;
            if self.0 % 3 == 0 {
                return Err(Failure::new("third", "it is the third"));
            }
            *account.borrow_mut() += 1;
            Ok(())
        }
    }

    #[test]
    fn a_count_is_shared_by_all_and_failures_count() {
        let patience = Patience { doing: "counting".into(), timeout_ns: SECOND_NS };
        let work = repeat(vec![Thirds(0), Thirds(0)], Limit::Count(12), &patience);
        let (workers, round) = runtime::block_on(&Cancel::default(), work).unwrap();
        assert_eq!(workers.iter().map(|worker| worker.0).sum::<u64>(), 12);
        assert_eq!(round.account + round.failed["third"], 12);
        assert!(round.window.ended_ns >= round.window.started_ns);
    }
}
