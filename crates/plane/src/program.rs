//! The tunnel's programs in the kernel.

use std::os::fd::OwnedFd;

use aya::maps::Array;
use aya::programs::TcAttachType;
use aya::util::KernelVersion;
use aya::{EbpfLoader, include_bytes_aligned};
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};
use serde::Serialize;

use crate::abi::{self, Count, Outcome, State};
use crate::classifiers::{Classifiers, Place};
use crate::refusal::Refusal;
use crate::{Error, Result};

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/tunnel.bpf.o"));
/// The programs for kernels that cannot fetch a number and add to it in one go.
static OBJECT_WITH_LOCK: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/tunnel-5.10.bpf.o"));

/// The program on the tunnel device's egress.
pub const ENCAPSULATE: &str = "encapsulate";
/// The program on the ingress of the devices below.
pub const DECAPSULATE: &str = "decapsulate";

/// TCX links (Linux 6.6) go with the process that holds them; before that, programs hang on a qdisc.
const TCX_SINCE: (u8, u8) = (6, 6);

/// Atomic additions that return the old value.
const FETCH_AND_ADD_SINCE: (u8, u8) = (5, 12);

/// `bpf_skb_adjust_room` with `BPF_F_ADJ_ROOM_DECAP_L3_IPV4` and `_IPV6`. Without, IPv4 packets in IPv6 that are
/// shorter than an IPv6 header go by the slow path.
const DECAP_FLAGS_SINCE: (u8, u8) = (6, 3);

/// Maps that count against the memory cgroup, rather than against the memory that a process may lock.
const UNLOCKED_MAPS_SINCE: (u8, u8) = (5, 11);

/// The features of a kernel that the programs use where it has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// Links of programs to devices.
    pub tcx: bool,
    /// Atomic additions that return the old value.
    pub fetch_and_add: bool,
    /// Decapsulation can tell the kernel the family of the packet inside (flags of `bpf_skb_adjust_room`).
    pub decap_flags: bool,
    /// Maps need no memory that is locked.
    pub unlocked_maps: bool,
}

impl Features {
    /// The features of the kernel that runs. A kernel that does not say its version is taken for a new one.
    pub fn here() -> Self {
        let is_since = |(major, minor)| {
            !KernelVersion::current().is_ok_and(|version| version < KernelVersion::new(major, minor, 0))
        };
        Self {
            tcx: is_since(TCX_SINCE),
            fetch_and_add: is_since(FETCH_AND_ADD_SINCE),
            decap_flags: is_since(DECAP_FLAGS_SINCE),
            unlocked_maps: is_since(UNLOCKED_MAPS_SINCE),
        }
    }

    /// Lifts the limit of locked memory where maps need it.
    pub(crate) fn lift_memory_limit(self, doing: &str) -> Result<()> {
        if self.unlocked_maps {
            return Ok(());
        }
        setrlimit(Resource::RLIMIT_MEMLOCK, RLIM_INFINITY, RLIM_INFINITY)
            .map_err(|errno| Error::system(format!("{doing}: lifting the limit of locked memory"), "setrlimit", errno))
    }
}

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
