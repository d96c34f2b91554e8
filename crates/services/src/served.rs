//! A service on a thread of its own that counts the messages that it receives and sends.

use std::sync::{Arc, Mutex};

use crate::Result;
use crate::worker::{Stop, Worker, lock};

/// A service at work. It ends with this value. `C` is the type of its counts.
#[derive(Debug)]
pub struct Server<C> {
    counters: Arc<Mutex<C>>,
    _worker: Worker,
}

impl<C: Clone + Default + Send + 'static> Server<C> {
    /// Begins `serve` on a thread of that name, in the namespace of this thread.
    pub(crate) fn begin(name: &'static str, serve: impl FnOnce(&Mutex<C>, &Stop) + Send + 'static) -> Result<Self> {
        let counters = Arc::<Mutex<C>>::default();
        let shared = Arc::clone(&counters);
        let worker = Worker::start(name, move |stop| serve(&shared, &stop))?;
        Ok(Self { counters, _worker: worker })
    }

    /// The counts until now.
    pub fn counters(&self) -> C {
        lock(&self.counters).clone()
    }
}
