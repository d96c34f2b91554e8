//! The tunnel's programs in the kernel.

use std::os::fd::OwnedFd;

use aya::maps::Array;
use aya::programs::TcAttachType;
use aya::{EbpfLoader, include_bytes_aligned};
use serde::Serialize;

use crate::Result;
use crate::abi::{self, Count, Outcome, State};
use crate::classifiers::{Classifiers, Place};
use crate::features::Features;
use crate::refusal::Refusal;

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/tunnel.bpf.o"));
/// The programs for kernels that cannot fetch a number and add to it in one go.
static OBJECT_WITH_LOCK: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/tunnel-5.10.bpf.o"));

/// The program on the tunnel device's egress.
pub const ENCAPSULATE: &str = "encapsulate";
/// The program on the ingress of the devices below.
pub const DECAPSULATE: &str = "decapsulate";

/// A tunnel's programs, loaded. With this value they go, and so do their links.
pub struct Programs {
    classifiers: Classifiers,
    device: String,
    /// A tunnel with a peer takes its packets before one that takes them from anybody.
    place: Place,
}

/// Run time of a program since statistics were switched on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RunTime {
    /// Runs.
    pub runs: u64,
    /// Time of all runs.
    pub run_time_ns: u64,
}

impl Programs {
    /// Loads the programs of a tunnel, for a kernel with these features. Nothing runs yet.
    pub fn load(device: &str, tunnel: &abi::Tunnel, features: Features) -> Result<Self> {
        let has_decap_flags = u32::from(features.decap_flags);
        let mut loader = EbpfLoader::new();
        loader.set_global("TUNNEL", tunnel, true).set_global("HAS_DECAP_FLAGS", &has_decap_flags, true);
        let object = if features.fetch_and_add { OBJECT } else { OBJECT_WITH_LOCK };
        let mut classifiers = Classifiers::load(format!("tunnel {device}"), features, &mut loader, object)?;
        for name in [ENCAPSULATE, DECAPSULATE] {
            classifiers.verify(name)?;
        }
        let place = if tunnel.mapping == abi::mapping::FIXED { Place::Early } else { Place::Last };
        Ok(Self { classifiers, device: device.to_owned(), place })
    }

    /// Attaches `encapsulate` to the tunnel's device.
    pub fn attach_egress(&mut self) -> Result<()> {
        self.classifiers.attach(ENCAPSULATE, &self.device, TcAttachType::Egress, self.place)
    }

    /// Attaches `decapsulate` to a device below.
    pub fn attach_ingress(&mut self, interface: &str) -> Result<()> {
        self.classifiers.attach(DECAPSULATE, interface, TcAttachType::Ingress, self.place)
    }

    /// Counts of packets so far by outcome, in the order of [`Outcome::ALL`].
    pub fn counts(&self) -> Result<Vec<Count>> {
        self.classifiers.counts("COUNTS", Outcome::ALL.len())
    }

    /// Says whether other tunnels of the node have the same local address and payload.
    pub fn set_shared(&mut self, is_shared: bool) -> Result<()> {
        self.classifiers.write("STATE", |map| {
            let mut map = Array::<_, State>::try_from(map).map_err(|error| Refusal::of(&error))?;
            let state = map.get(&0, 0).map_err(|error| Refusal::of(&error))?;
            map.set(0, State { is_shared: is_shared.into(), ..state }, 0).map_err(|error| Refusal::of(&error))
        })
    }

    /// Run time of the program `name`.
    pub fn run_time(&self, name: &str) -> Result<RunTime> {
        let info = self.classifiers.info(name)?;
        Ok(RunTime { runs: info.run_count(), run_time_ns: info.run_time().as_nanos() as u64 })
    }

    /// A descriptor of `name`, for test runs.
    pub fn descriptor(&self, name: &str) -> Result<OwnedFd> {
        self.classifiers.descriptor(name)
    }
}
