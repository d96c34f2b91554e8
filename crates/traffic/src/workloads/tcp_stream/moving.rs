//! Connections of a client that moves: made anew at the client, and one in place of the other at the server.

use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use sixbench_measure::clock;

use crate::cancel::{PATIENCE, Stop};
use crate::moving::{Move, Places, watch_addresses};
use crate::workloads::tcp::info::TcpInfo;
use crate::{Endpoint, Result};

/// The present connection of a stream, and those before it.
pub struct Connections(Mutex<Held>);

struct Held {
    present: Arc<TcpStream>,
    /// The last state of those before.
    past: Vec<TcpInfo>,
}

impl Connections {
    /// A stream's first connection.
    pub fn new(stream: TcpStream) -> Self {
        Self(Mutex::new(Held { present: Arc::new(stream), past: Vec::new() }))
    }

    /// The present one. Whoever keeps it keeps it open.
    pub fn present(&self) -> Arc<TcpStream> {
        Arc::clone(&lock(&self.0).present)
    }

    /// `TCP_INFO` of all of them.
    pub fn infos(&self) -> Vec<TcpInfo> {
        let held = lock(&self.0);
        held.past.iter().cloned().chain(TcpInfo::of(&*held.present).ok()).collect()
    }

    /// Puts another connection in place of the present one.
    fn replace(&self, stream: Arc<TcpStream>) {
        let mut held = lock(&self.0);
        let past = TcpInfo::of(&*held.present).ok().map(|info| TcpInfo { is_sending: false, ..info });
        held.past.extend(past);
        held.present = stream;
    }
}

/// A client's side: where its stream is, and where it goes next.
pub struct Mover {
    stop: Stop,
    connections: Arc<Connections>,
    state: Mutex<State>,
}

struct State {
    places: Places,
    /// The address that was lost, until there is another connection.
    lost: Option<IpAddr>,
    moves: Vec<Move>,
}

impl Mover {
    /// Watches the place of a stream, in a thread that ends with this. Where the place is lost, the stream's connection
    /// is shut down, so that its sender sees an error.
    pub fn start(places: Places, connections: &Arc<Connections>, stop: &Stop) -> Result<Arc<Self>> {
        let mover = Arc::new(Self {
            stop: stop.clone(),
            connections: Arc::clone(connections),
            state: Mutex::new(State { places, lost: None, moves: Vec::new() }),
        });
        let watched = Arc::downgrade(&mover);
        watch_addresses(move |_| watched.upgrade().is_some_and(|mover| mover.look()))?;
        Ok(mover)
    }

    /// Makes another connection from the next place, if the present one was lost, and replaces the old one by it.
    ///
    /// # Arguments
    /// - `connect`: makes it.
    pub fn reconnect(
        &self,
        first_write_ns: u64,
        connect: impl Fn(&Endpoint, &Stop) -> Result<TcpStream>,
    ) -> Result<Option<Arc<TcpStream>>> {
        let (from, place) = {
            let mut state = lock(&self.state);
            let Some(from) = state.lost.take() else { return Ok(None) };
            (from, state.places.present().clone())
        };
        let stream = Arc::new(connect(&place, &self.stop)?);
        self.connections.replace(Arc::clone(&stream));
        let t_ns = clock::monotonic_ns().saturating_sub(first_write_ns);
        let mut state = lock(&self.state);
        state.moves.push(Move { t_ns, from, to: place.address.ip() });
        if state.lost.is_some() {
            // It was lost while it was made, and the one before may have been shut down in its place.
            let _ = stream.shutdown(Shutdown::Both);
        }
        Ok(Some(stream))
    }

    /// The moves so far.
    pub fn moves(&self) -> Vec<Move> {
        lock(&self.state).moves.clone()
    }

    /// Looks whether the place is lost. Returns false when nobody has to look any more.
    fn look(&self) -> bool {
        let mut state = lock(&self.state);
        if let Some(from) = state.places.leave_lost() {
            state.lost.get_or_insert(from);
            // Where it is gone already, its sender knows.
            let _ = self.connections.present().shutdown(Shutdown::Both);
        }
        !self.stop.is_raised()
    }
}

/// A server's side: the connection that comes in place of the present one.
#[derive(Default)]
pub struct Renewal {
    state: Mutex<Renewed>,
    is_renewed: Condvar,
}

#[derive(Default)]
struct Renewed {
    /// The present one, which its receiver holds.
    present: Weak<TcpStream>,
    next: Option<TcpStream>,
}

impl Renewal {
    /// Notes the present connection, which is shut down if there is another one already.
    pub fn hold(&self, present: &Arc<TcpStream>) {
        let mut state = lock(&self.state);
        state.present = Arc::downgrade(present);
        if state.next.is_some() {
            // Where it is gone already, its receiver waits for the other one.
            let _ = present.shutdown(Shutdown::Read);
        }
    }

    /// Offers another connection, and wakes the receiver of the present one.
    pub fn offer(&self, stream: TcpStream) {
        let mut state = lock(&self.state);
        state.next = Some(stream);
        if let Some(present) = state.present.upgrade() {
            // Where it is gone already, its receiver waits for the other one.
            let _ = present.shutdown(Shutdown::Read);
        }
        self.is_renewed.notify_all();
    }

    /// The next connection, waited for as long as blocking calls may.
    pub fn wait(&self) -> Option<TcpStream> {
        let state = lock(&self.state);
        let waited = self.is_renewed.wait_timeout_while(state, PATIENCE, |state| state.next.is_none());
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.next.take()
    }
}

fn lock<T>(cell: &Mutex<T>) -> MutexGuard<'_, T> {
    cell.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener};
    use std::time::Duration;

    use super::*;

    /// Both ends of a connection, that of the server last.
    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn a_connection_that_was_renewed_before_it_was_held_is_shut_down() {
        let ((_second, second), (_third, third)) = (connection(), connection());
        let renewal = Renewal::default();
        renewal.offer(second);
        let present = Arc::new(renewal.wait().unwrap());
        present.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        renewal.offer(third);
        renewal.hold(&present);
        assert_eq!((&*present).read(&mut [0]).unwrap(), 0);
    }
}
