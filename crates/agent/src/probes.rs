//! Probes of servers that nobody here controls: the requests of `sixbench-probes`, and how many are answered at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use sixbench_probes::application::{self, ApplicationRequest};
use sixbench_probes::path_mtu::{self, PathMtuRequest};
use sixbench_probes::ping::{self, PingRequest};
use sixbench_probes::resolve::{self, ResolveRequest};
use sixbench_probes::route::{self, RouteRequest};
use sixbench_probes::tcp_connect::{self, TcpConnectRequest};
use sixbench_probes::vantage::{self, VantageRequest};
use sixbench_probes::{Pacer, Result};

use crate::error::{Code, Error, to_value};
use crate::job::Job;

/// Probes that are answered at once.
const MAX_AT_ONCE: usize = 32;

/// The probes of a node, which keep to one pace at each server.
#[derive(Default)]
pub struct Probes {
    pacer: Arc<Pacer>,
    running: Arc<AtomicUsize>,
}

/// A place among those that are answered at once.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Probes {
    /// Handshakes of TCP.
    pub fn tcp_connect(&self, request: TcpConnectRequest) -> std::result::Result<Job, Error> {
        self.begin(move |pacer| tcp_connect::run(&request, pacer))
    }

    /// The addresses of a name.
    pub fn resolve(&self, request: ResolveRequest) -> std::result::Result<Job, Error> {
        self.begin(move |pacer| resolve::run(&request, pacer))
    }

    /// Echo requests.
    pub fn ping(&self, request: PingRequest) -> std::result::Result<Job, Error> {
        self.begin(move |pacer| ping::run(&request, pacer))
    }

    /// Handshakes of TLS and QUIC, and objects by HTTP.
    pub fn application(&self, request: ApplicationRequest) -> std::result::Result<Job, Error> {
        self.begin(move |pacer| application::run(&request, pacer))
    }

    /// Where this machine stands.
    pub fn vantage(&self, request: VantageRequest) -> std::result::Result<Job, Error> {
        self.begin(move |pacer| vantage::run(&request, pacer))
    }

    /// The routers on the way.
    pub fn route(&self, request: RouteRequest) -> std::result::Result<Job, Error> {
        self.begin(move |pacer| route::run(&request, pacer))
    }

    /// The largest packet that arrives.
    pub fn path_mtu(&self, request: PathMtuRequest) -> std::result::Result<Job, Error> {
        self.begin(move |pacer| path_mtu::run(&request, pacer))
    }

    fn begin<T: Serialize>(
        &self,
        work: impl FnOnce(&Pacer) -> Result<T> + Send + 'static,
    ) -> std::result::Result<Job, Error> {
        let place = Place(Arc::clone(&self.running));
        if self.running.fetch_add(1, Ordering::SeqCst) >= MAX_AT_ONCE {
            return Err(Error::new(Code::Busy, format!("{MAX_AT_ONCE} probes are answered at once; wait for one")));
        }
        let pacer = Arc::clone(&self.pacer);
        Ok(Box::new(move || {
            let _place = place;
            to_value(&work(&pacer)?)
        }))
    }
}
