//! The tunnel's programs in the kernel.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use aya::maps::{Array, PerCpuArray};
use aya::programs::tc::TcAttachOptions;
use aya::programs::{LinkOrder, ProgramInfo, SchedClassifier, TcAttachType, tc};
use aya::util::KernelVersion;
use aya::{Ebpf, EbpfLoader, include_bytes_aligned};
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};

use crate::abi::{self, Count, Outcome, State};
use crate::refusal::Refusal;
use crate::{Error, Result};

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/tunnel.bpf.o"));
/// For kernels that cannot fetch a number and add to it in one go.
static OBJECT_WITH_LOCK: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/tunnel-5.10.bpf.o"));

/// The program on the tunnel device's egress.
pub const ENCAPSULATE: &str = "encapsulate";
/// The program on the ingress of the devices below.
pub const DECAPSULATE: &str = "decapsulate";

/// TCX links (Linux 6.6) go with the process that holds them; before that, programs hang on a qdisc.
const TCX_SINCE: (u8, u8) = (6, 6);

/// Atomic additions that return the old value.
const FETCH_AND_ADD_SINCE: (u8, u8) = (5, 12);

/// `bpf_skb_adjust_room` with `BPF_F_ADJ_ROOM_DECAP_L3_IPV4` and `_IPV6`. Without, IPv4 packets in IPv6 that are shorter
/// than an IPv6 header go by the slow path.
const DECAP_FLAGS_SINCE: (u8, u8) = (6, 3);

/// Maps that count against the memory cgroup, rather than against the memory that a process may lock.
const UNLOCKED_MAPS_SINCE: (u8, u8) = (5, 11);

/// What the programs use of a kernel where it has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// Links of programs to devices.
    pub tcx: bool,
    /// Atomic additions that return the old value.
    pub fetch_and_add: bool,
    /// What a packet is after decapsulation can be told.
    pub decap_flags: bool,
    /// Maps need no memory that is locked.
    pub unlocked_maps: bool,
}

impl Features {
    /// Those of the kernel that runs. One that does not say its version is taken for a new one.
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
    ebpf: Ebpf,
    device: String,
    has_peer: bool,
    features: Features,
}

/// How long a program ran, since statistics were switched on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunTime {
    /// Runs.
    pub runs: u64,
    /// Time of all runs.
    pub run_time_ns: u64,
}

impl Programs {
    /// Loads the programs of a tunnel, for a kernel with these features. Nothing runs yet.
    pub fn load(device: &str, tunnel: &abi::Tunnel, features: Features) -> Result<Self> {
        let doing = || format!("loading the programs of tunnel {device}");
        features.lift_memory_limit(&doing())?;
        let mut ebpf = EbpfLoader::new()
            .set_global("TUNNEL", tunnel, true)
            .set_global("HAS_DECAP_FLAGS", &u32::from(features.decap_flags), true)
            .load(if features.fetch_and_add { OBJECT } else { OBJECT_WITH_LOCK })
            .map_err(|error| Error::Programs { doing: doing(), refusal: Refusal::of(&error) })?;
        for name in [ENCAPSULATE, DECAPSULATE] {
            classifier(&mut ebpf, name)
                .and_then(|program| program.load().map_err(|error| Refusal::of(&error)))
                .map_err(|refusal| Error::Programs { doing: doing(), refusal })?;
        }
        let has_peer = tunnel.mapping == abi::mapping::FIXED;
        Ok(Self { ebpf, device: device.to_owned(), has_peer, features })
    }

    /// Attaches `encapsulate` to the tunnel's device.
    pub fn attach_egress(&mut self) -> Result<()> {
        let interface = self.device.clone();
        self.attach(ENCAPSULATE, &interface, TcAttachType::Egress)
    }

    /// Attaches `decapsulate` to a device below.
    pub fn attach_ingress(&mut self, interface: &str) -> Result<()> {
        self.attach(DECAPSULATE, interface, TcAttachType::Ingress)
    }

    fn attach(&mut self, name: &str, interface: &str, direction: TcAttachType) -> Result<()> {
        let doing = format!("tunnel {}: attaching {name} to {interface}", self.device);
        let has_tcx = self.features.tcx;
        // A tunnel with a peer takes its packets before one that takes them from anybody.
        let place = (has_tcx && self.has_peer).then(|| TcAttachOptions::TcxOrder(LinkOrder::first()));
        if !has_tcx {
            match tc::qdisc_add_clsact(interface) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(Error::system(doing, "adding a clsact qdisc", error));
                }
                _ => {}
            }
        }
        classifier(&mut self.ebpf, name)
            .and_then(|program| {
                let attached = match place {
                    Some(options) => program.attach_with_options(interface, direction, options),
                    None => program.attach(interface, direction),
                };
                attached.map_err(|error| Refusal::of(&error))
            })
            .map(|_| ())
            .map_err(|refusal| Error::Programs { doing, refusal })
    }

    /// What became of packets so far, in the order of [`Outcome::ALL`].
    pub fn counts(&self) -> Result<Vec<Count>> {
        let failed =
            |refusal| Error::Programs { doing: format!("reading the counters of tunnel {}", self.device), refusal };
        let map = self.ebpf.map("COUNTS").ok_or_else(|| failed(Refusal::said("the object has no such map")))?;
        let map = PerCpuArray::<_, Count>::try_from(map).map_err(|error| failed(Refusal::of(&error)))?;
        let sum = |index| -> Result<Count> {
            let values = map.get(&index, 0).map_err(|error| failed(Refusal::of(&error)))?;
            Ok(values.iter().fold(Count::default(), |sum, count| Count {
                packets: sum.packets + count.packets,
                bytes: sum.bytes + count.bytes,
            }))
        };
        (0..Outcome::ALL.len() as u32).map(sum).collect()
    }

    /// Says whether other tunnels of the node have the same local address and payload.
    pub fn set_shared(&mut self, is_shared: bool) -> Result<()> {
        let doing = format!("writing the state of tunnel {}", self.device);
        let failed = |refusal| Error::Programs { doing: doing.clone(), refusal };
        let map = self.ebpf.map_mut("STATE").ok_or_else(|| failed(Refusal::said("the object has no such map")))?;
        let mut map = Array::<_, State>::try_from(map).map_err(|error| failed(Refusal::of(&error)))?;
        let state = map.get(&0, 0).map_err(|error| failed(Refusal::of(&error)))?;
        map.set(0, State { is_shared: is_shared.into(), ..state }, 0).map_err(|error| failed(Refusal::of(&error)))
    }

    /// How long `name` ran.
    pub fn run_time(&self, name: &str) -> Result<RunTime> {
        let info = self.info(name)?;
        Ok(RunTime { runs: info.run_count(), run_time_ns: info.run_time().as_nanos() as u64 })
    }

    /// A descriptor of `name`, for test runs.
    pub fn descriptor(&self, name: &str) -> Result<OwnedFd> {
        let failed = |refusal| Error::Programs { doing: format!("tunnel {}: opening {name}", self.device), refusal };
        let fd = self.info(name)?.fd().map_err(|error| failed(Refusal::of(&error)))?;
        fd.as_fd().try_clone_to_owned().map_err(|error| failed(Refusal::of(&error)))
    }

    fn info(&self, name: &str) -> Result<ProgramInfo> {
        let failed =
            |refusal| Error::Programs { doing: format!("tunnel {}: asking about {name}", self.device), refusal };
        let program = self.ebpf.program(name).ok_or_else(|| failed(Refusal::said("the object has no such program")))?;
        program.info().map_err(|error| failed(Refusal::of(&error)))
    }
}

fn classifier<'a>(ebpf: &'a mut Ebpf, name: &str) -> std::result::Result<&'a mut SchedClassifier, Refusal> {
    let missing = || Refusal::said(format!("the object has no program {name}"));
    let program = ebpf.program_mut(name).ok_or_else(missing)?;
    program.try_into().map_err(|error: aya::programs::ProgramError| Refusal::of(&error))
}
