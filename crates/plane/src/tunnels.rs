//! The tunnels of a node.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use aya::sys::{Stats, enable_stats};
use serde::{Deserialize, Serialize};

use crate::counters::TunnelCounters;
use crate::device::Device;
use crate::error::{bad_tunnel, no_tunnel, not_measuring, tunnel_exists};
use crate::features::Features;
use crate::groups::Groups;
use crate::program::{DECAPSULATE, ENCAPSULATE, Programs, RunTime};
use crate::slow::{Rivals, SlowPath};
use crate::spec::{Engine, Mapping, Payload, Spec};
use crate::{Error, Result};

/// The tunnels of a node. With this value they go.
#[derive(Default)]
pub struct Tunnels {
    tunnels: BTreeMap<String, Tunnel>,
    /// Number of tunnels made so far.
    added: u64,
    /// Holds the kernel's run time statistics switched on.
    statistics: Option<OwnedFd>,
}

/// Fields go in this order: first no packets come any more, then the device goes.
struct Tunnel {
    /// Absent where user space carries all.
    programs: Option<Programs>,
    slow_path: SlowPath,
    /// Held, not asked.
    _groups: Groups,
    /// Held, not asked.
    _device: Device,
    endpoint: Endpoint,
    place: Place,
    spec: Spec,
    /// The programs' run time, when they were last asked to be measured from now on.
    measured_from: BTreeMap<&'static str, RunTime>,
}

/// The order in which tunnels at one endpoint are offered a packet: first one that has a peer, then the older one.
type Place = (bool, u64);

/// Tunnels that have this in common must tell their packets apart by the outer source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Endpoint {
    local: IpAddr,
    payload: Payload,
}

/// A tunnel's place in the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Added {
    /// The index of the tunnel's device.
    pub ifindex: u32,
    /// Length of the outer headers.
    pub overhead_bytes: u32,
}

/// A tunnel's counters, with its programs' run time where that was asked for.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The counters of its packets.
    #[serde(flatten)]
    pub counters: TunnelCounters,
    /// Run time by program, if it is being measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<BTreeMap<&'static str, RunTime>>,
}

/// A request to start or stop measuring how long programs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunTimeRequest {
    /// Measures from now on, and returns what was measured so far.
    Start,
    /// Stops, and returns what was measured since the start.
    Stop,
}

impl Tunnels {
    /// Makes a tunnel, in the namespace of this thread. It carries packets when this returns.
    pub fn add(&mut self, spec: &Spec) -> Result<Added> {
        let mut compiled = spec.compile()?;
        if spec.engine == Engine::Ebpf && matches!(spec.mapping, Mapping::Map(_)) {
            let reason = "engine \"ebpf\" does not support rules of MAP; use engine \"user\"".to_owned();
            return Err(bad_tunnel(&spec.device, reason));
        }
        if self.tunnels.contains_key(&spec.device) {
            return Err(tunnel_exists(&spec.device));
        }
        let device = Device::make(spec)?;
        compiled.near_ifindex = device.near_ifindex;
        compiled.far_ifindex = device.far_ifindex;
        let mut programs = match spec.engine {
            Engine::Ebpf => Some(Programs::load(&spec.device, &compiled, Features::here())?),
            Engine::User => None,
        };
        let groups = Groups::join(spec)?;
        let slow_path = SlowPath::start(spec, &device)?;
        if let Some(programs) = &mut programs {
            programs.attach_egress()?;
            for interface in &spec.underlay {
                programs.attach_ingress(interface)?;
            }
        }
        device.open(spec)?;
        let added = Added { ifindex: device.near_ifindex, overhead_bytes: compiled.overhead_bytes };
        let tunnel = Tunnel {
            programs,
            slow_path,
            _groups: groups,
            _device: device,
            endpoint: Endpoint { local: spec.local, payload: spec.payload },
            place: (spec.mapping.peer().is_none(), self.added),
            spec: spec.clone(),
            measured_from: BTreeMap::new(),
        };
        self.added += 1;
        self.tunnels.insert(spec.device.clone(), tunnel);
        self.share()?;
        Ok(added)
    }

    /// Takes a tunnel away, and returns its last counters.
    pub fn remove(&mut self, device: &str) -> Result<Report> {
        let tunnel = self.tunnels.get(device).ok_or_else(|| no_tunnel(device))?;
        let report = tunnel.report()?;
        self.tunnels.remove(device);
        self.share()?;
        Ok(report)
    }

    /// Every tunnel's counters, or one's. Run time is measured (Linux 5.8) of all programs of the machine: it costs
    /// each run some tens of nanoseconds.
    pub fn counters(
        &mut self,
        device: Option<&str>,
        run_time: Option<RunTimeRequest>,
    ) -> Result<BTreeMap<String, Report>> {
        if let Some(device) = device.filter(|&device| !self.tunnels.contains_key(device)) {
            return Err(no_tunnel(device));
        }
        if run_time == Some(RunTimeRequest::Stop) && self.statistics.is_none() {
            return Err(not_measuring());
        }
        if run_time == Some(RunTimeRequest::Start) && self.statistics.is_none() {
            let statistics = enable_stats(Stats::RunTime).map_err(|error| {
                Error::system(
                    "switching run time statistics on (which needs CAP_SYS_ADMIN)",
                    "bpf(BPF_ENABLE_STATS)",
                    error.io_error,
                )
            })?;
            self.statistics = Some(statistics);
        }
        let mut reports = BTreeMap::new();
        for (name, tunnel) in &mut self.tunnels {
            let times = match run_time {
                Some(RunTimeRequest::Start) => tunnel.start_measuring()?,
                Some(RunTimeRequest::Stop) => tunnel.measured()?,
                None => None,
            };
            if device.is_none_or(|device| device == name) {
                let mut report = tunnel.report()?;
                report.programs = times;
                reports.insert(name.clone(), report);
            }
        }
        if run_time == Some(RunTimeRequest::Stop) {
            self.statistics = None;
        }
        Ok(reports)
    }

    /// Gives every tunnel the list of others that its packets may be for.
    fn share(&mut self) -> Result<()> {
        let all: Vec<(Endpoint, Place, Spec)> =
            self.tunnels.values().map(|tunnel| (tunnel.endpoint, tunnel.place, tunnel.spec.clone())).collect();
        for tunnel in self.tunnels.values_mut() {
            let others = || all.iter().filter(|other| other.0 == tunnel.endpoint && other.1 != tunnel.place);
            let are_there = others().next().is_some();
            let mut first: Vec<_> = others().filter(|other| other.1 < tunnel.place).collect();
            first.sort_by_key(|other| other.1);
            tunnel
                .slow_path
                .set_rivals(Rivals { are_there, first: first.iter().map(|other| other.2.clone()).collect() });
            if let Some(programs) = &mut tunnel.programs {
                programs.set_shared(are_there)?;
            }
        }
        Ok(())
    }
}

impl Tunnel {
    fn report(&self) -> Result<Report> {
        let counts = self.programs.as_ref().map(Programs::counts).transpose()?.unwrap_or_default();
        Ok(Report { counters: TunnelCounters::name(&counts, &self.slow_path.counts()), programs: None })
    }

    /// The run time measured so far. From now on it is counted from here.
    fn start_measuring(&mut self) -> Result<Option<BTreeMap<&'static str, RunTime>>> {
        let Some(now) = self.run_times()? else { return Ok(None) };
        self.measured_from = now.clone();
        Ok(Some(now))
    }

    fn measured(&self) -> Result<Option<BTreeMap<&'static str, RunTime>>> {
        let since = |(name, now): (&'static str, RunTime)| {
            // A tunnel that is younger than the request began with nothing.
            let from = self.measured_from.get(name).copied().unwrap_or_default();
            let time = RunTime {
                runs: now.runs.saturating_sub(from.runs),
                run_time_ns: now.run_time_ns.saturating_sub(from.run_time_ns),
            };
            (name, time)
        };
        Ok(self.run_times()?.map(|now| now.into_iter().map(since).collect()))
    }

    fn run_times(&self) -> Result<Option<BTreeMap<&'static str, RunTime>>> {
        let Some(programs) = &self.programs else { return Ok(None) };
        let times = [ENCAPSULATE, DECAPSULATE].map(|name| programs.run_time(name).map(|time| (name, time)));
        times.into_iter().collect::<Result<_>>().map(Some)
    }
}
