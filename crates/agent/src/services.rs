//! The services that the node offers to others besides traffic and tunnels: one registry of those that were started.

use std::collections::BTreeMap;
use std::collections::btree_map::{Entry, VacantEntry};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use sixbench_plane::Tunnels;
use sixbench_services::broker::{self, Broker, Lease};
use sixbench_services::dhcp;
use sixbench_services::discovery::{self, Advertiser};
use sixbench_services::dns;
use sixbench_services::multicast::{self, Forwarder};
use sixbench_services::prefix;
use sixbench_services::relay::{self, Relay};

use crate::error::{Code, Error, Outcome, to_value};
use crate::job::Job;

/// Most devices on which a node is a router, or a DHCP server.
const MAX_DEVICES: usize = 64;
const MAX_LEASES: usize = 64;

/// The services of this node. Only the thread that reads requests starts and stops them; broker and leases work on its
/// tunnels.
pub struct Services {
    tunnels: Arc<Mutex<Tunnels>>,
    forwarder: Option<Forwarder>,
    advertisers: BTreeMap<String, Advertiser>,
    dhcp_servers: BTreeMap<String, dhcp::Server>,
    broker: Option<Broker>,
    leases: Leases,
    dns: Option<dns::Server>,
    relay: Option<Relay>,
}

/// The leases by device. `None` while a request is at work on one.
#[derive(Clone, Default)]
struct Leases(Arc<Mutex<BTreeMap<String, Option<Lease>>>>);

impl Services {
    /// A registry without services.
    pub fn new(tunnels: Arc<Mutex<Tunnels>>) -> Self {
        Self {
            tunnels,
            forwarder: None,
            advertisers: BTreeMap::new(),
            dhcp_servers: BTreeMap::new(),
            broker: None,
            leases: Leases::default(),
            dns: None,
            relay: None,
        }
    }

    /// Forwards IPv4 multicast from now on.
    pub fn forward_multicast(&mut self, request: multicast::MulticastRequest) -> Outcome {
        if self.forwarder.is_some() {
            return Err(exists("this node forwards multicast"));
        }
        self.forwarder = Some(Forwarder::start(request)?);
        Ok(json!({}))
    }

    /// The counters of multicast forwarding.
    pub fn multicast_counters(&self) -> Outcome {
        to_value(&present(self.forwarder.as_ref(), "multicast forwarding")?.counters()?)
    }

    /// Forwards no more.
    pub fn stop_multicast(&mut self) -> Outcome {
        let counters = self.multicast_counters();
        self.forwarder = None;
        counters
    }

    /// Answers Router Solicitations from now on.
    pub fn advertise(&mut self, request: discovery::AdvertiseRequest) -> Outcome {
        room(&mut self.advertisers, &request.device, "router")?.insert(Advertiser::start(request)?);
        Ok(json!({}))
    }

    /// Answers no more.
    pub fn stop_advertising(&mut self, device: &str) -> Outcome {
        let advertiser = self.advertisers.remove(device);
        to_value(&present(advertiser, &format!("router on {device}"))?.counters())
    }

    /// Looks for a router.
    pub fn solicit(&self, request: discovery::SolicitRequest) -> Job {
        Box::new(move || to_value(&discovery::solicit(&request)?))
    }

    /// Looks for the prefix of a NAT64.
    pub fn discover_prefix(&self, request: prefix::PrefixRequest) -> Job {
        Box::new(move || to_value(&prefix::discover(&request)?))
    }

    /// Gives IPv4 addresses from now on.
    pub fn serve_dhcp(&mut self, request: &dhcp::ServeRequest) -> Outcome {
        room(&mut self.dhcp_servers, &request.device, "DHCP server")?.insert(dhcp::Server::start(request)?);
        Ok(json!({}))
    }

    /// Gives no more.
    pub fn stop_dhcp(&mut self, device: &str) -> Outcome {
        let server = self.dhcp_servers.remove(device);
        to_value(&present(server, &format!("DHCP server on {device}"))?.counters())
    }

    /// Asks whether IPv4 can be done without.
    pub fn ask_dhcp(&self, request: dhcp::AskRequest) -> Job {
        Box::new(move || to_value(&dhcp::ask(&request)?))
    }

    /// Hands out tunnels from now on.
    pub fn start_broker(&mut self, start: broker::Start) -> Outcome {
        if self.broker.is_some() {
            return Err(exists("this node is a tunnel broker"));
        }
        let broker = self.broker.insert(Broker::start(start, &self.tunnels)?);
        Ok(json!({ "port": broker.port() }))
    }

    /// The leases of the tunnel broker.
    pub fn broker_status(&self) -> Outcome {
        to_value(&present(self.broker.as_ref(), "tunnel broker")?.status())
    }

    /// Takes all tunnels back.
    pub fn stop_broker(&mut self) -> Outcome {
        let status = self.broker_status();
        self.broker = None;
        status
    }

    /// Answers questions for names from now on.
    pub fn start_dns(&mut self, request: &dns::DnsRequest) -> Outcome {
        if self.dns.is_some() {
            return Err(exists("this node is a resolver"));
        }
        self.dns = Some(dns::Server::start(request)?);
        Ok(json!({}))
    }

    /// The counters of the resolver.
    pub fn dns_counters(&self) -> Outcome {
        to_value(&present(self.dns.as_ref(), "resolver")?.counters())
    }

    /// Answers no more.
    pub fn stop_dns(&mut self) -> Outcome {
        let counters = self.dns_counters();
        self.dns = None;
        counters
    }

    /// Relays connections and datagrams from now on.
    pub fn start_relay(&mut self, request: &relay::RelayRequest) -> Outcome {
        if self.relay.is_some() {
            return Err(exists("this node is a relay"));
        }
        self.relay = Some(Relay::start(request)?);
        Ok(json!({}))
    }

    /// The counters of the relay.
    pub fn relay_counters(&self) -> Outcome {
        to_value(&present(self.relay.as_ref(), "relay")?.counters())
    }

    /// Relays no more: all its sessions end.
    pub fn stop_relay(&mut self) -> Outcome {
        let counters = self.relay_counters();
        self.relay = None;
        counters
    }

    /// Asks a broker for a tunnel, or for more time for the one it gave.
    pub fn request_tunnel(&self, request: broker::BrokerRequest) -> Result<Job, Error> {
        let (leases, tunnels) = (self.leases.clone(), Arc::clone(&self.tunnels));
        let (reservation, lease) = leases.begin(&request)?;
        Ok(Box::new(move || match lease {
            Some(lease) => {
                let given = lease.renew(&request);
                reservation.keep(lease);
                to_value(&given?)
            }
            None => {
                let (lease, given) = Lease::obtain(request, &tunnels)?;
                reservation.keep(lease);
                to_value(&given)
            }
        }))
    }

    /// Gives a broker's tunnel back.
    pub fn release_tunnel(&self, release: broker::Release) -> Result<Job, Error> {
        let tunnels = Arc::clone(&self.tunnels);
        let (reservation, lease) = self.leases.take(&release.device)?;
        Ok(Box::new(move || {
            let renewals = lease.release(&release, &tunnels);
            drop(reservation);
            to_value(&renewals?)
        }))
    }
}

/// A device whose lease is being worked on; it is free again when this is dropped.
struct Reservation {
    leases: Leases,
    device: String,
    is_kept: bool,
}

impl Leases {
    /// Reserves a device, and takes its lease out if it has one that the request may renew.
    fn begin(&self, request: &broker::BrokerRequest) -> Result<(Reservation, Option<Lease>), Error> {
        let mut leases = self.lock();
        let count = leases.len();
        let is_elsewhere = |(device, lease): (&String, &Option<Lease>)| {
            *device != request.device && lease.as_ref().is_some_and(|lease| lease.is_for(request))
        };
        if leases.iter().any(is_elsewhere) {
            let message = "this node has another device for the tunnel of that broker and local address";
            return Err(exists(message));
        }
        let lease = match leases.entry(request.device.clone()) {
            Entry::Vacant(_) if count >= MAX_LEASES => {
                return Err(Error::new(Code::Busy, format!("there are {MAX_LEASES} tunnels of brokers already")));
            }
            Entry::Vacant(entry) => {
                entry.insert(None);
                None
            }
            Entry::Occupied(mut entry) => match entry.get_mut().take_if(|lease| lease.is_for(request)) {
                Some(lease) => Some(lease),
                None => return Err(exists(format!("there is a broker's tunnel {}", request.device))),
            },
        };
        Ok((Reservation { leases: self.clone(), device: request.device.clone(), is_kept: false }, lease))
    }

    fn take(&self, device: &str) -> Result<(Reservation, Lease), Error> {
        let lease = present(self.lock().get_mut(device).and_then(Option::take), &format!("broker's tunnel {device}"))?;
        Ok((Reservation { leases: self.clone(), device: device.to_owned(), is_kept: false }, lease))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Option<Lease>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    fn keep(mut self, lease: Lease) {
        self.is_kept = true;
        self.leases.lock().insert(self.device.clone(), Some(lease));
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.is_kept {
            self.leases.lock().remove(&self.device);
        }
    }
}

/// The entry for a service on a device; `what` it makes of the node.
fn room<'a, S>(
    services: &'a mut BTreeMap<String, S>,
    device: &str,
    what: &str,
) -> Result<VacantEntry<'a, String, S>, Error> {
    let count = services.len();
    match services.entry(device.to_owned()) {
        Entry::Occupied(_) => Err(exists(format!("this node is a {what} on {device}"))),
        Entry::Vacant(_) if count >= MAX_DEVICES => {
            Err(Error::new(Code::Busy, format!("this node is a {what} on {MAX_DEVICES} devices already")))
        }
        Entry::Vacant(entry) => Ok(entry),
    }
}

/// The service is there already: `what` says where.
fn exists(what: impl std::fmt::Display) -> Error {
    Error::new(Code::ServiceExists, format!("{what} already"))
}

fn present<T>(service: Option<T>, name: &str) -> Result<T, Error> {
    service.ok_or_else(|| Error::new(Code::NoService, format!("there is no {name}")))
}
