//! The client of `http`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use sixbench_measure::clock;
use sixbench_traffic::{Cancel, Endpoint, Result};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::account::{ClientResult, Fetched, Load, Pages};
use super::session::{Connection, Opened, Opener, Slot};
use super::{Reuse, Settings};
use crate::door;
use crate::failure::Failure;
use crate::loops::{self, Patience, Repeat};
use crate::quic::Marks;
use crate::{quic, runtime};

/// Time for the last packets to leave.
const PARTING: Duration = Duration::from_millis(5);

type Tried<T> = std::result::Result<T, Failure>;

/// Warms up and measures.
pub fn run(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<ClientResult> {
    let doing = format!("loading pages by HTTP from {}", quic::peer(endpoint));
    let patience = Patience { doing, timeout_ns: settings.timeout_ns };
    door::enter(endpoint, settings.version.carrier(), cancel)?;
    runtime::block_on(cancel, async {
        // Each has a page to load.
        let in_flight = settings.limit.count().unwrap_or(u64::MAX).min(settings.in_flight as u64);
        let workers = (0..in_flight).map(|_| Client::new(endpoint, settings)).collect::<Result<Vec<_>>>()?;
        let (workers, account, repetitions) =
            loops::measure(workers, settings.warmup_ns, settings.limit, &patience).await?;
        let ecn = workers.iter().filter_map(|worker| worker.opener.marks()).reduce(Marks::and);
        let result = ClientResult::new(account, repetitions, ecn);
        for lanes in workers.into_iter().filter_map(|worker| worker.kept) {
            close(lanes).await;
        }
        sleep(PARTING).await;
        Ok(result)
    })
}

/// One of those that load pages, with connections of its own.
struct Client {
    opener: Rc<Opener>,
    settings: Settings,
    /// For each object, those that wait for it.
    waiting: Vec<Vec<usize>>,
    kept: Option<Vec<Lane>>,
}

/// The connections to a host, and the objects that wait for one.
#[derive(Default)]
struct Lane {
    connections: Vec<Connection>,
    opening: usize,
    idle: Vec<Slot>,
    due: VecDeque<usize>,
}

/// The end of a task of a page.
enum Done {
    Opened(usize, Opened),
    Fetched(usize, Slot, Fetched),
}

impl Client {
    fn new(endpoint: &Endpoint, settings: &Settings) -> Result<Self> {
        let opener = Rc::new(Opener::new(endpoint, settings)?);
        Ok(Self { opener, settings: settings.clone(), waiting: settings.page.waiting(), kept: None })
    }

    /// Loads the page by these connections, and by those that it opens.
    async fn load(&self, lanes: &mut [Lane]) -> Tried<Load> {
        let (mut load, mut tasks) = (Load::default(), JoinSet::new());
        let objects = self.settings.page.objects();
        for (index, object) in objects.iter().enumerate().filter(|(_, object)| object.after.is_none()) {
            lanes[object.host].due.push_back(index);
        }
        for (host, lane) in lanes.iter_mut().enumerate() {
            self.advance(host, lane, &mut tasks);
        }
        while load.fetched.len() < objects.len() {
            match ended(&mut tasks).await? {
                Done::Opened(host, opened) => {
                    let lane = &mut lanes[host];
                    lane.opening -= 1;
                    lane.connections.push(opened.connection);
                    lane.idle.extend(opened.slots);
                    load.openings.push(opened.opening);
                    self.advance(host, lane, &mut tasks);
                }
                Done::Fetched(index, slot, fetched) => {
                    load.fetched.push((index, fetched, slot.agreed().clone()));
                    let host = objects[index].host;
                    lanes[host].idle.push(slot);
                    for &next in &self.waiting[index] {
                        lanes[objects[next].host].due.push_back(next);
                    }
                    for host in self.waiting[index].iter().map(|&next| objects[next].host).chain([host]) {
                        self.advance(host, &mut lanes[host], &mut tasks);
                    }
                }
            }
        }
        for connection in lanes.iter_mut().flat_map(|lane| &mut lane.connections) {
            let carried = connection.take_carried();
            load.carried.sent += carried.sent;
            load.carried.received += carried.received;
        }
        // One that was still being opened was not needed in the end.
        lanes.iter_mut().for_each(|lane| lane.opening = 0);
        Ok(load)
    }

    /// Asks for what is due where there is a place, and opens connections for the rest.
    fn advance(&self, host: usize, lane: &mut Lane, tasks: &mut JoinSet<Tried<Done>>) {
        while !lane.due.is_empty() {
            let Some(mut slot) = lane.idle.pop() else { break };
            let Some(index) = lane.due.pop_front() else { break };
            let bytes = self.settings.page.objects()[index].bytes;
            tasks.spawn_local(async move {
                let fetched = slot.fetch(bytes).await?;
                Ok(Done::Fetched(index, slot, fetched))
            });
        }
        let wanted = lane.due.len().div_ceil(self.settings.streams());
        while lane.opening < wanted && lane.connections.len() + lane.opening < self.settings.connections() {
            lane.opening += 1;
            let opener = Rc::clone(&self.opener);
            tasks.spawn_local(async move { Ok(Done::Opened(host, opener.open(host).await?)) });
        }
    }
}

/// The next task that ends.
async fn ended(tasks: &mut JoinSet<Tried<Done>>) -> Tried<Done> {
    match tasks.join_next().await {
        Some(Ok(done)) => done,
        Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // Every object waits for an earlier one or for none, and who is due has a connection or opens one.
        Some(Err(_)) | None => unreachable!("objects are left, and nothing is done for them"),
    }
}

impl Repeat for Client {
    type Account = Pages;

    async fn prime(&mut self) -> Tried<()> {
        // The first page opens the connections.
        if self.settings.connection == Reuse::Kept { self.once(&RefCell::default()).await } else { Ok(()) }
    }

    async fn once(&mut self, account: &RefCell<Pages>) -> Tried<()> {
        let started_ns = clock::monotonic_ns();
        let mut lanes = self.kept.take().unwrap_or_else(|| {
            let hosts = 0..self.settings.page.hosts();
            hosts.map(|_| Lane::default()).collect()
        });
        let load = self.load(&mut lanes).await?;
        account.borrow_mut().add(started_ns, load);
        match self.settings.connection {
            Reuse::New => close(lanes).await,
            Reuse::Kept => self.kept = Some(lanes),
        }
        Ok(())
    }
}

/// Closes all connections.
async fn close(lanes: Vec<Lane>) {
    let mut connections = Vec::new();
    for lane in lanes {
        // A connection ends when nobody can send over it.
        drop(lane.idle);
        connections.extend(lane.connections);
    }
    for connection in connections {
        connection.close().await;
    }
}
