//! The migration of a connection (RFC 9000 section 9): its client loses an address and goes on from the next one.

use std::sync::Arc;

use quinn::Endpoint;
use sixbench_measure::clock;
use sixbench_traffic::Result;
use sixbench_traffic::moving::{Move, Places, watch_addresses};
use sixbench_traffic::socket::Buffers;
use tokio::sync::Notify;

use crate::failure::Failure;
use crate::quic::{self, DatagramCounts};

/// Moves the endpoint of a client whenever its address is lost.
pub struct Mover<'a> {
    /// Absent for a client that stays where it is.
    moving: Option<Moving<'a>>,
    /// The moves so far.
    pub moves: Vec<Move>,
}

struct Moving<'a> {
    quic: &'a Endpoint,
    counts: &'a DatagramCounts,
    buffers: Buffers,
    places: Places,
    /// Notified of each change of links and addresses.
    changed: Arc<Notify>,
}

impl<'a> Mover<'a> {
    /// One for a client that stays where it is.
    pub fn still() -> Self {
        Self { moving: None, moves: Vec::new() }
    }

    /// One for a client with several places, in this thread's runtime.
    pub fn new(quic: &'a Endpoint, counts: &'a DatagramCounts, buffers: Buffers, places: Places) -> Result<Self> {
        let changed = Arc::new(Notify::new());
        let notified = Arc::downgrade(&changed);
        watch_addresses(move |is_changed| {
            let Some(notified) = notified.upgrade() else { return false };
            if is_changed {
                notified.notify_one();
            }
            true
        })?;
        Ok(Self { moving: Some(Moving { quic, counts, buffers, places, changed }), moves: Vec::new() })
    }

    /// Moves the endpoint whenever its address is lost; ends where it could not.
    pub async fn watch(&mut self, started_ns: u64) -> Failure {
        let Some(moving) = &mut self.moving else { return std::future::pending().await };
        loop {
            // It may have been lost before this began to wait.
            while let Some(from) = moving.places.leave_lost() {
                let place = moving.places.present();
                if let Err(error) = quic::rebind(moving.quic, place, moving.buffers, moving.counts) {
                    return Failure::new("not-moved", error.to_string());
                }
                let t_ns = clock::monotonic_ns() - started_ns;
                self.moves.push(Move { t_ns, from, to: place.address.ip() });
            }
            moving.changed.notified().await;
        }
    }
}
