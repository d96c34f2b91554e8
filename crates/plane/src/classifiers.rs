//! Programs at the devices of a node, and their maps.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use aya::maps::{Map, PerCpuArray};
use aya::programs::tc::{NlOptions, TcAttachOptions};
use aya::programs::{LinkOrder, ProgramError, ProgramInfo, SchedClassifier, TcAttachType, tc};
use aya::{Ebpf, EbpfLoader};

use crate::abi::Count;
use crate::features::Features;
use crate::refusal::{Refusal, refused};
use crate::sys;
use crate::{Error, Result};

/// The program that takes off a VLAN's tag ([`crate::vlan`]). Programs at [`Place::Early`] are behind it.
pub(crate) const UNTAG: &str = "untag";

/// The place of a program among those of a device. Without TCX the kernel has those of one priority in an order of its
/// own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The place before all other programs, whenever these come.
    First,
    /// The place before programs that are there already, behind one that is [`Place::First`].
    Early,
    /// The place behind programs that are there already.
    Last,
}

/// The programs of an object, loaded. With this value they go, and so do their links.
pub struct Classifiers {
    ebpf: Ebpf,
    owner: String,
    features: Features,
}

impl Classifiers {
    /// Loads an object for a kernel with these features. `owner` is whose programs they are, in errors: `tunnel sb0`.
    pub fn load(owner: String, features: Features, loader: &mut EbpfLoader<'_>, object: &[u8]) -> Result<Self> {
        let doing = format!("loading the programs of {owner}");
        features.lift_memory_limit(&doing)?;
        let ebpf = loader.load(object).map_err(|error| refused(doing, &Refusal::of(&error)))?;
        Ok(Self { ebpf, owner, features })
    }

    /// Lets the kernel verify a program. It does not run yet.
    pub fn verify(&mut self, name: &str) -> Result<()> {
        let verified = self.program(name).and_then(|program| program.load().map_err(|error| Refusal::of(&error)));
        verified.map_err(|refusal| self.failed("loading the programs of", refusal))
    }

    /// Attaches a program to a device, at a place among those that are there already.
    pub fn attach(&mut self, name: &str, interface: &str, direction: TcAttachType, place: Place) -> Result<()> {
        let doing = format!("{}: attaching {name} to {interface}", self.owner);
        let has_tcx = self.features.tcx;
        if !has_tcx {
            match tc::qdisc_add_clsact(interface) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(Error::system(doing, "adding a clsact qdisc", error));
                }
                _ => {}
            }
        }
        self.program(name)
            .and_then(|program| {
                let options = match (place, has_tcx) {
                    (Place::Last, true) => TcAttachOptions::TcxOrder(LinkOrder::last()),
                    (Place::First, true) => TcAttachOptions::TcxOrder(LinkOrder::first()),
                    (Place::Early, true) => TcAttachOptions::TcxOrder(early(interface, direction)?),
                    (Place::First, false) => TcAttachOptions::Netlink(NlOptions { priority: 1, handle: 0 }),
                    (Place::Early | Place::Last, false) => TcAttachOptions::Netlink(NlOptions::default()),
                };
                program.attach_with_options(interface, direction, options).map_err(|error| Refusal::of(&error))
            })
            .map(|_| ())
            .map_err(|refusal| refused(doing, &refusal))
    }

    /// The first `count` counters of a map, each over all processors.
    pub fn counts(&self, map: &str, count: usize) -> Result<Vec<Count>> {
        let read = || -> std::result::Result<Vec<Count>, Refusal> {
            let map = self.ebpf.map(map).ok_or_else(|| missing(map))?;
            let map = PerCpuArray::<_, Count>::try_from(map).map_err(|error| Refusal::of(&error))?;
            let sum = |index| {
                let values = map.get(&index, 0).map_err(|error| Refusal::of(&error))?;
                Ok(values.iter().fold(Count::default(), |sum, count| Count {
                    packets: sum.packets + count.packets,
                    bytes: sum.bytes + count.bytes,
                }))
            };
            (0..count as u32).map(sum).collect()
        };
        read().map_err(|refusal| self.failed("reading the counters of", refusal))
    }

    /// Writes to a map by the given function.
    pub fn write<T>(
        &mut self,
        map: &str,
        write: impl FnOnce(&mut Map) -> std::result::Result<T, Refusal>,
    ) -> Result<T> {
        let written = self.ebpf.map_mut(map).ok_or_else(|| missing(map)).and_then(write);
        written.map_err(|refusal| self.failed(&format!("writing the map {map} of"), refusal))
    }

    /// The kernel's information about a program.
    pub fn info(&self, name: &str) -> Result<ProgramInfo> {
        let program = self.ebpf.program(name).ok_or_else(|| missing(name));
        let info = program.and_then(|program| program.info().map_err(|error| Refusal::of(&error)));
        info.map_err(|refusal| self.failed(&format!("asking about {name} of"), refusal))
    }

    /// A descriptor of a program, for test runs.
    pub fn descriptor(&self, name: &str) -> Result<OwnedFd> {
        let failed = |refusal| self.failed(&format!("opening {name} of"), refusal);
        let fd = self.info(name)?.fd().map_err(|error| failed(Refusal::of(&error)))?;
        fd.as_fd().try_clone_to_owned().map_err(|error| failed(Refusal::of(&error)))
    }

    fn program(&mut self, name: &str) -> std::result::Result<&mut SchedClassifier, Refusal> {
        let program = self.ebpf.program_mut(name).ok_or_else(|| missing(name))?;
        program.try_into().map_err(|error: ProgramError| Refusal::of(&error))
    }

    fn failed(&self, doing: &str, refusal: Refusal) -> Error {
        refused(format!("{doing} {}", self.owner), &refusal)
    }
}

/// The order before all programs but the one that takes off a VLAN's tag.
fn early(interface: &str, direction: TcAttachType) -> std::result::Result<LinkOrder, Refusal> {
    let (_, there) = SchedClassifier::query_tcx(interface, direction).map_err(|error| Refusal::of(&error))?;
    let untag = there.iter().find(|program| program.name_as_str() == Some(UNTAG));
    Ok(untag.map_or_else(LinkOrder::first, |program| LinkOrder::after_program_id(sys::program_id(program))))
}

fn missing(name: &str) -> Refusal {
    Refusal::with_reason(format!("the object has no {name}"))
}
