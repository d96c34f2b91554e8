//! Programs that watch the kernel at its tracepoints, and the maps that they share with us.

use std::error::Error as StdError;

use aya::maps::{Array, HashMap, Map, MapData, MapError, RingBuf};
use aya::programs::tp_btf::BtfTracePointLink;
use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader, Pod};

use crate::refusal::{Refusal, not_watched};
use crate::{Error, Result};

/// Each program of an object, and its tracepoint.
pub type Programs = &'static [(&'static str, &'static str)];

/// Programs, loaded, and watching while they are attached.
pub struct Tracepoints {
    watching: &'static str,
    ebpf: Ebpf,
    programs: Programs,
    /// The links, without which the programs are taken off their tracepoints.
    links: Vec<BtfTracePointLink>,
}

impl Tracepoints {
    /// Loads the programs of an object, with its global variable. Nothing is watched yet. `watching` names the purpose
    /// in errors.
    pub fn load<G: Pod>(
        watching: &'static str,
        object: &[u8],
        (variable, value): (&str, &G),
        programs: Programs,
    ) -> Result<Self> {
        let btf = Btf::from_sys_fs().map_err(|error| refused(watching, &error))?;
        let ebpf = EbpfLoader::new()
            .btf(Some(&btf))
            .set_global(variable, value, true)
            .load(object)
            .map_err(|error| refused(watching, &error))?;
        let mut loaded = Self { watching, ebpf, programs, links: Vec::new() };
        for (name, tracepoint) in programs {
            loaded.program(name)?.load(tracepoint, &btf).map_err(|error| refused(watching, &error))?;
        }
        Ok(loaded)
    }

    /// Attaches the programs, which run from now on.
    pub fn attach(&mut self) -> Result<()> {
        for (name, _) in self.programs {
            let program = self.program(name)?;
            let link = program.attach().and_then(|link| program.take_link(link));
            self.links.push(link.map_err(|error| refused(self.watching, &error))?);
        }
        Ok(())
    }

    /// Detaches the programs, which run no more.
    pub fn detach(&mut self) {
        self.links.clear();
    }

    /// Gives a hash map these entries in place of those that it has.
    pub fn replace<K: Pod, V: Pod>(&mut self, map: &str, entries: impl IntoIterator<Item = (K, V)>) -> Result<()> {
        let failed = failure(self.watching);
        let mut map = HashMap::<_, K, V>::try_from(self.map_mut(map)?).map_err(&failed)?;
        for key in map.keys().collect::<std::result::Result<Vec<_>, _>>().map_err(&failed)? {
            map.remove(&key).map_err(&failed)?;
        }
        entries.into_iter().try_for_each(|(key, value)| map.insert(key, value, 0)).map_err(&failed)
    }

    /// The entries of a hash map.
    pub fn entries<K: Pod, V: Pod>(&self, map: &str) -> Result<Vec<(K, V)>> {
        let failed = failure(self.watching);
        let map = self.ebpf.map(map).ok_or_else(|| missing(self.watching, map))?;
        let map = HashMap::<_, K, V>::try_from(map).map_err(&failed)?;
        map.iter().collect::<std::result::Result<_, _>>().map_err(&failed)
    }

    /// Writes the first value of an array.
    pub fn set<V: Pod>(&mut self, array: &str, value: V) -> Result<()> {
        let failed = failure(self.watching);
        let mut array = Array::<_, V>::try_from(self.map_mut(array)?).map_err(&failed)?;
        array.set(0, value, 0).map_err(&failed)
    }

    /// Takes a ring buffer, once: a second reader would begin at its first record again.
    pub fn take_records(&mut self, ring: &str) -> Result<RingBuf<MapData>> {
        let map = self.ebpf.take_map(ring).ok_or_else(|| missing(self.watching, ring))?;
        RingBuf::try_from(map).map_err(failure(self.watching))
    }

    fn map_mut(&mut self, name: &str) -> Result<&mut Map> {
        self.ebpf.map_mut(name).ok_or_else(|| missing(self.watching, name))
    }

    fn program(&mut self, name: &str) -> Result<&mut BtfTracePoint> {
        let watching = self.watching;
        let program = self.ebpf.program_mut(name).ok_or_else(|| missing(watching, name))?;
        program.try_into().map_err(|error: ProgramError| refused(watching, &error))
    }
}

/// The error that nothing is watched.
pub fn refused(watching: &'static str, error: &(dyn StdError + 'static)) -> Error {
    not_watched(watching, &Refusal::of(error))
}

fn failure(watching: &'static str) -> impl Fn(MapError) -> Error {
    move |error| refused(watching, &error)
}

fn missing(watching: &'static str, name: &str) -> Error {
    not_watched(watching, &Refusal::with_reason(format!("the object has no {name}")))
}
