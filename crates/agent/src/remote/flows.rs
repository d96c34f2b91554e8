//! The limit on the flows that the sessions of clients have at a time. A flow is a connection or a stream of datagrams;
//! each may have a thread of its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::limits::over_limit;
use crate::error::Error;

/// The flows of all clients.
pub struct Flows {
    max_client_flows: usize,
    max_flows: usize,
    taken: Mutex<usize>,
}

/// The flows of one client.
pub struct ClientFlows {
    all: Arc<Flows>,
    taken: Arc<AtomicUsize>,
}

/// The flows of a session, until this is dropped.
pub struct Held {
    all: Arc<Flows>,
    of_client: Arc<AtomicUsize>,
    count: usize,
}

impl Flows {
    /// Limits of which nothing is taken yet.
    pub fn new(max_client_flows: usize, max_flows: usize) -> Arc<Self> {
        Arc::new(Self { max_client_flows, max_flows, taken: Mutex::default() })
    }

    /// The flows of a new client, which has none.
    pub fn of_client(self: &Arc<Self>) -> ClientFlows {
        ClientFlows { all: Arc::clone(self), taken: Arc::default() }
    }

    /// The most of one client.
    pub fn most_of_client(&self) -> usize {
        self.max_client_flows.min(self.max_flows)
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientFlows {
    /// Takes the flows that a session of this workload needs.
    ///
    /// # Errors
    /// `over-limit` with the limit, the option that raises it, and what is taken.
    pub fn take(&self, workload: &str, flows: u64) -> Result<Held, Error> {
        let count = usize::try_from(flows).unwrap_or(usize::MAX);
        let mut all_taken = self.all.lock();
        let of_client = self.taken.load(Ordering::Relaxed);
        for (whose, taken, limit, most) in [
            ("this client", of_client, "--max-client-flows", self.all.max_client_flows),
            ("all clients together", *all_taken, "--max-flows", self.all.max_flows),
        ] {
            if count > most.saturating_sub(taken) {
                let message = format!(
                    "{workload} asks for {count} flows at a time, but this server allows {whose} {most} (its {limit}), of which {taken} are in use; \
                     ask for fewer streams, or start the server with a larger {limit}"
                );
                return Err(over_limit(message, limit, most as u128).with("taken", taken));
            }
        }
        *all_taken += count;
        self.taken.fetch_add(count, Ordering::Relaxed);
        Ok(Held { all: Arc::clone(&self.all), of_client: Arc::clone(&self.taken), count })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.all.lock() -= self.count;
        self.of_client.fetch_sub(self.count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::error::Code;

    fn take(client: &ClientFlows, flows: u64) -> Result<Held, Error> {
        client.take("tcp-stream", flows)
    }

    fn refused(client: &ClientFlows, flows: u64) -> (Value, Value, Value) {
        let failure = take(client, flows).err().expect("a refusal");
        let [limit, most, taken] = ["limit", "most", "taken"].map(|key| failure.context[key].clone());
        assert_eq!(failure.code, Code::OverLimit);
        let option = limit.as_str().expect("an option");
        assert!(failure.message.contains(&format!("start the server with a larger {option}")), "{}", failure.message);
        (limit, most, taken)
    }

    #[test]
    fn a_client_and_all_of_them_have_a_limit_and_what_ends_is_free_again() {
        let all = Flows::new(10, 15);
        let (client, other) = (all.of_client(), all.of_client());
        let held = take(&client, 8).expect("there is room");
        assert_eq!(refused(&client, 3), (json!("--max-client-flows"), json!(10), json!(8)));
        let rest = take(&client, 2).expect("there is room");
        assert_eq!(refused(&other, 6), (json!("--max-flows"), json!(15), json!(10)));
        drop((held, rest));
        drop(take(&other, 10).expect("there is room"));
        assert_eq!(*all.lock(), 0);
        assert_eq!(refused(&other, u64::MAX).2, json!(0));
    }
}
