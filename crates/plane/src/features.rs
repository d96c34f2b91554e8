//! The features of a kernel that programs use where it has them.

use aya::util::KernelVersion;
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};

use crate::{Error, Result};

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
