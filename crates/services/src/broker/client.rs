//! The broker's client: asks for a tunnel and makes its end, or for an address alone; renews it, gives it back.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sixbench_wire::token::Token;

use super::end::{self, End, SharedTunnels};
use super::exchange::{Patience, ask};
use super::messages::{Action, Answer, Granted, Question};
use crate::asking::default_timeout_ns;
use crate::worker::{Stop, Woken, Worker, deadline, lock, wait};
use crate::{Error, Result};

/// Time limit of a renewal.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(5);
/// Shortest interval between renewals, whatever lifetime the broker names: half of the least one that ours has.
const LEAST_INTERVAL: Duration = Duration::from_millis(500);

/// The request `broker-request`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct BrokerRequest {
    pub broker: IpAddr,
    pub port: u16,
    pub token: Token,
    pub local: IpAddr,
    pub device: String,
    #[serde(default)]
    pub tunnel: Option<Map<String, Value>>,
    #[serde(default = "default_timeout_ns")]
    pub timeout_ns: u64,
}

/// The request `broker-release`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Release {
    pub device: String,
    #[serde(default = "default_timeout_ns")]
    pub timeout_ns: u64,
}

/// The lease that the broker gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Given {
    pub device: String,
    /// The address with its prefix length.
    pub address: String,
    pub server: IpAddr,
    pub remote: IpAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
    pub lifetime_s: u32,
    pub took_ns: u64,
}

/// Counts of the client's renewals.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[allow(missing_docs)]
pub struct Renewals {
    pub renewals: u64,
    pub failed_renewals: u64,
}

/// A lease that is renewed until it is released. Without that, the broker takes it back in its own time, and the device
/// stays.
#[derive(Debug)]
pub struct Lease {
    request: BrokerRequest,
    granted: Granted,
    renewals: Arc<Mutex<Renewals>>,
    worker: Worker,
}

impl Lease {
    /// Asks for a tunnel and makes this end of it, or asks for an address if the request has no tunnel.
    pub fn obtain(request: BrokerRequest, tunnels: &SharedTunnels) -> Result<(Self, Given)> {
        let begun = Instant::now();
        if request.tunnel.as_ref().is_some_and(|tunnel| tunnel.contains_key("mtu_bytes")) {
            return Err(Error::bad_params(format!(
                "the broker's tunnel {}: its mtu_bytes is set already",
                request.device
            )));
        }
        let patience = Patience { deadline: deadline(Duration::from_nanos(request.timeout_ns)), stop: None };
        let granted = request.create(patience)?;
        // Where this fails, the broker takes the lease back in its own time, if it does not hear of it.
        let give_back = |error| {
            let _ = request.ask(Action::Release, patience);
            error
        };
        request.make(&granted, tunnels).map_err(give_back)?;
        let renewals = Arc::<Mutex<Renewals>>::default();
        let renewer = Renewer { request: request.clone(), granted, renewals: Arc::clone(&renewals) };
        let worker = Worker::start("renewal", move |stop| renewer.serve(&stop)).map_err(|error| {
            let _ = request.remove(tunnels);
            give_back(error)
        })?;
        let given = request.given(&granted, begun);
        Ok((Self { request, granted, renewals, worker }, given))
    }

    /// True if a request is for this lease.
    pub fn is_for(&self, request: &BrokerRequest) -> bool {
        let key = |request: &BrokerRequest| (request.broker, request.port, request.local);
        key(&self.request) == key(request)
    }

    /// Asks for more time, with the token and the patience of the request.
    pub fn renew(&self, request: &BrokerRequest) -> Result<Given> {
        let begun = Instant::now();
        let patience = Patience { deadline: deadline(Duration::from_nanos(request.timeout_ns)), stop: None };
        let granted = request.create(patience)?;
        if granted != self.granted {
            return Err(self.request.other_lease());
        }
        Ok(self.request.given(&granted, begun))
    }

    /// Gives the lease back and removes the device, this even if the broker does not answer.
    pub fn release(self, release: &Release, tunnels: &SharedTunnels) -> Result<Renewals> {
        let Self { request, renewals, worker, .. } = self;
        drop(worker);
        let patience = Patience { deadline: deadline(Duration::from_nanos(release.timeout_ns)), stop: None };
        let released = request.ask(Action::Release, patience);
        request.remove(tunnels)?;
        match released? {
            Answer::Released => Ok(*lock(&renewals)),
            _ => Err(request.strange_answer()),
        }
    }
}

impl BrokerRequest {
    fn broker(&self) -> SocketAddr {
        SocketAddr::new(self.broker, self.port)
    }

    fn ask(&self, action: Action, patience: Patience<'_>) -> Result<Answer> {
        ask(self.local, self.broker(), &Question { action, token: self.token }, patience)
    }

    fn create(&self, patience: Patience<'_>) -> Result<Granted> {
        match self.ask(Action::Create, patience)? {
            Answer::Granted(granted) => Ok(granted),
            _ => Err(self.strange_answer()),
        }
    }

    fn make(&self, granted: &Granted, tunnels: &SharedTunnels) -> Result<()> {
        match (&self.tunnel, granted.mtu_bytes, granted.address) {
            (None, None, _) => Ok(()),
            (Some(options), Some(mtu_bytes), IpAddr::V6(address)) => {
                let mut options = options.clone();
                options.insert("mtu_bytes".to_owned(), json!(mtu_bytes));
                let end = End { device: &self.device, local: self.local, remote: granted.remote, options: &options };
                end.make(tunnels, address)
            }
            _ => Err(self.strange_answer()),
        }
    }

    /// Takes this end of the tunnel away, if it is ours.
    fn remove(&self, tunnels: &SharedTunnels) -> Result<()> {
        if self.tunnel.is_some() { end::remove(tunnels, &self.device) } else { Ok(()) }
    }

    fn given(&self, granted: &Granted, begun: Instant) -> Given {
        Given {
            device: self.device.clone(),
            address: format!("{}/{}", granted.address, if granted.address.is_ipv4() { 32 } else { 64 }),
            server: granted.server,
            remote: granted.remote,
            mtu_bytes: granted.mtu_bytes,
            lifetime_s: granted.lifetime_s,
            took_ns: u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX),
        }
    }

    fn strange_answer(&self) -> Error {
        Error::peer_lost(format!("asking the tunnel broker {}: its answer is to another question", self.broker()))
    }

    fn other_lease(&self) -> Error {
        Error::peer_lost(format!(
            "renewing the lease of {} at the tunnel broker {}: it gave another lease; release that and ask again",
            self.device,
            self.broker()
        ))
    }
}

/// The thread that asks for more time.
struct Renewer {
    request: BrokerRequest,
    granted: Granted,
    renewals: Arc<Mutex<Renewals>>,
}

impl Renewer {
    fn serve(&self, stop: &Stop) {
        let half = (Duration::from_secs(self.granted.lifetime_s.into()) / 2).max(LEAST_INTERVAL);
        while let Ok(Woken::Late) = wait(None, Some(stop), deadline(half)) {
            let patience = Patience { deadline: deadline(RENEWAL_TIMEOUT.min(half)), stop: Some(stop) };
            let granted = self.request.create(patience);
            let is_renewed = granted.as_ref().is_ok_and(|granted| *granted == self.granted);
            if granted.is_ok() && !is_renewed {
                let _ = self.request.ask(Action::Release, patience); // Ours was over, and this one is of no use.
            }
            let mut renewals = lock(&self.renewals);
            if is_renewed {
                renewals.renewals += 1;
            } else {
                renewals.failed_renewals += 1;
            }
        }
    }
}
