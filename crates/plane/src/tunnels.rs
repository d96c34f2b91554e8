//! The tunnels of a node.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use aya::sys::{Stats, enable_stats};
use serde::Serialize;

use crate::counters::Counters;
use crate::device::Device;
use crate::program::{DECAPSULATE, ENCAPSULATE, Programs, RunTime};
use crate::slow::SlowPath;
use crate::spec::{Payload, Spec};
use crate::{Error, Result};

/// The tunnels of a node. With this value they go.
#[derive(Default)]
pub struct Tunnels {
    tunnels: BTreeMap<String, Tunnel>,
    /// Holds the kernel's run time statistics switched on.
    statistics: Option<OwnedFd>,
}

/// Fields go in this order: first no packets come any more, then the device goes.
struct Tunnel {
    programs: Programs,
    slow_path: SlowPath,
    /// Held, not asked.
    _device: Device,
    endpoint: Endpoint,
}

/// Tunnels that have this in common must tell their packets apart by the outer source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Endpoint {
    local: IpAddr,
    payload: Payload,
}

/// What a tunnel is in the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Added {
    /// Of the tunnel's device.
    pub ifindex: u32,
    /// What the outer headers take.
    pub overhead_bytes: u32,
}

/// A tunnel's counters, with its programs' run time where that was asked for.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// What became of its packets.
    #[serde(flatten)]
    pub counters: Counters,
    /// By program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<BTreeMap<&'static str, ProgramTime>>,
}

/// How long a program ran, since run times were first asked for.
#[derive(Debug, Clone, Copy, Serialize)]
#[allow(missing_docs)]
pub struct ProgramTime {
    pub runs: u64,
    pub run_time_ns: u64,
}

impl From<RunTime> for ProgramTime {
    fn from(time: RunTime) -> Self {
        Self { runs: time.runs, run_time_ns: time.run_time_ns }
    }
}

impl Tunnels {
    /// Makes a tunnel, in the namespace of this thread. It carries packets when this returns.
    pub fn add(&mut self, spec: &Spec) -> Result<Added> {
        let mut tunnel = spec.compile()?;
        if self.tunnels.contains_key(&spec.device) {
            return Err(Error::Exists(spec.device.clone()));
        }
        let device = Device::make(spec)?;
        tunnel.near_ifindex = device.near_ifindex;
        tunnel.far_ifindex = device.far_ifindex;
        let mut programs = Programs::load(&spec.device, &tunnel)?;
        let slow_path = SlowPath::start(&tunnel)?;
        programs.attach_egress()?;
        for interface in &spec.underlay {
            programs.attach_ingress(interface)?;
        }
        device.open(spec)?;
        let added = Added { ifindex: device.near_ifindex, overhead_bytes: tunnel.overhead_bytes };
        let endpoint = Endpoint { local: spec.local, payload: spec.payload };
        self.tunnels.insert(spec.device.clone(), Tunnel { programs, slow_path, _device: device, endpoint });
        self.share()?;
        Ok(added)
    }

    /// Takes a tunnel away, and returns its last counters.
    pub fn remove(&mut self, device: &str) -> Result<Report> {
        let report = self.report(device, false)?;
        self.tunnels.remove(device);
        self.share()?;
        Ok(report)
    }

    /// Every tunnel's counters, or one's. `with_run_time` switches the kernel's statistics on, for all programs of the machine, until this value
    /// goes (Linux 5.8): they cost each run some tens of nanoseconds.
    pub fn counters(&mut self, device: Option<&str>, with_run_time: bool) -> Result<BTreeMap<String, Report>> {
        if with_run_time && self.statistics.is_none() {
            let statistics = enable_stats(Stats::RunTime).map_err(|error| {
                Error::system("switching run time statistics on", "bpf(BPF_ENABLE_STATS)", error.io_error)
            })?;
            self.statistics = Some(statistics);
        }
        let names: Vec<String> = match device {
            Some(device) => vec![device.to_owned()],
            None => self.tunnels.keys().cloned().collect(),
        };
        names.into_iter().map(|name| self.report(&name, with_run_time).map(|report| (name, report))).collect()
    }

    fn report(&self, device: &str, with_run_time: bool) -> Result<Report> {
        let tunnel = self.tunnels.get(device).ok_or_else(|| Error::Missing(device.to_owned()))?;
        let counters = Counters::name(&tunnel.programs.counts()?, &tunnel.slow_path.counts());
        let mut programs = None;
        if with_run_time {
            let mut times = BTreeMap::new();
            for name in [ENCAPSULATE, DECAPSULATE] {
                times.insert(name, tunnel.programs.run_time(name)?.into());
            }
            programs = Some(times);
        }
        Ok(Report { counters, programs })
    }

    /// Tells every tunnel whether a packet of a stranger may be another tunnel's.
    fn share(&mut self) -> Result<()> {
        let endpoints: Vec<Endpoint> = self.tunnels.values().map(|tunnel| tunnel.endpoint).collect();
        for tunnel in self.tunnels.values_mut() {
            let is_shared = endpoints.iter().filter(|&&endpoint| endpoint == tunnel.endpoint).count() > 1;
            tunnel.programs.set_shared(is_shared)?;
        }
        Ok(())
    }
}
