//! The runtime of one side of a trial: on the thread that begins it, and gone when that side ends.

use std::future::Future;

use sixbench_traffic::error::cancelled;
use sixbench_traffic::{Cancel, Error, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

/// Works on this thread until the work is done or the session cancelled. All tasks that the work began are gone when
/// this returns.
pub fn block_on<T>(cancel: &Cancel, work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = runtime()?;
    let tasks = LocalSet::new();
    tasks.block_on(&runtime, async {
        tokio::select! {
            biased;
            result = work => result,
            () = cancel.raised() => Err(cancelled()),
        }
    })
}

/// Runs the tasks of libraries beside the others of this thread.
#[derive(Debug, Clone, Copy)]
pub struct LocalExecutor;

impl<F: Future<Output: 'static> + 'static> hyper::rt::Executor<F> for LocalExecutor {
    fn execute(&self, work: F) {
        tokio::task::spawn_local(work);
    }
}

fn runtime() -> Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::system("starting the runtime of an application", "epoll_create1", e))
}
