//! A translator's program in the kernel.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, OwnedFd};

use aya::maps::lpm_trie::{Key, LpmTrie};
use aya::maps::{MapData, PerCpuArray};
use aya::programs::{SchedClassifier, TcAttachType, tc};
use aya::{Ebpf, EbpfLoader, include_bytes_aligned};
use sixbench_wire::siit::{self, Net};

use super::MAC;
use crate::abi::{self, Count, Embedding, Row};
use crate::counters::Traffic;
use crate::program::Features;
use crate::refusal::Refusal;
use crate::{Error, Result};

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/translator.bpf.o"));
/// The program on the egress of the translator's device.
pub const TRANSLATE: &str = "translate";
/// The lengths of prefixes end in octets, and so do embedded addresses begin; but for octet 8, which is zero: RFC 6052 section 2.2.
const RESERVED: u8 = 8;

/// A translator's program, loaded. With this value it goes, and so does its link.
pub struct Program {
    ebpf: Ebpf,
    device: String,
    features: Features,
}

/// What the program did: `enum translated`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FastCounts {
    /// Translated to IPv6.
    pub to_ipv6: Traffic,
    /// Translated to IPv4.
    pub to_ipv4: Traffic,
    /// Dropped, since the kernel had no memory.
    pub no_room: Traffic,
}

/// What the program is told of a translator, whose device has that index.
fn compile(
    settings: &siit::Settings,
    ifindex: u32,
    through_node: bool,
) -> std::result::Result<abi::Translator, String> {
    let doubtful = settings.doubtful().len();
    if settings.prefixes.len() > abi::MAX_PREFIXES || settings.explicit.len().max(doubtful) > abi::MAX_ROWS {
        return Err(format!(
            "engine \"ebpf\" takes at most {} prefixes, and {} rows of explicit mappings and of denied prefixes; engine \"user\" takes more",
            abi::MAX_PREFIXES,
            abi::MAX_ROWS
        ));
    }
    let others = [
        ("tos", settings.tos.is_some()),
        ("traffic_class", settings.traffic_class.is_some()),
        ("hairpin", settings.hairpin),
        ("domain", settings.domain.is_some()),
    ];
    if let Some((name, _)) = others.iter().find(|(_, is_set)| *is_set) {
        return Err(format!("engine \"ebpf\" does not do {name}; engine \"user\" does"));
    }
    let mut translator = abi::Translator {
        ifindex,
        mtu4: settings.mtu4,
        mtu6: settings.mtu6,
        lowest_ipv6_mtu: settings.lowest_ipv6_mtu,
        has_rows: u32::from(!settings.explicit.is_empty()),
        has_doubtful: u32::from(doubtful > 0),
        through_node: through_node.into(),
        mac: MAC,
        prefix_count: settings.prefixes.len() as u32,
        ..abi::Translator::default()
    };
    for (slot, prefix) in translator.prefixes.iter_mut().zip(&settings.prefixes) {
        *slot = Embedding { prefix: prefix.address.into(), place: places(prefix.bits) };
    }
    Ok(translator)
}

/// Where the octets of an IPv4 address are behind a prefix.
fn places(bits: u8) -> [u8; 4] {
    let first = bits / 8;
    [0, 1, 2, 3].map(|index| {
        let place = first + index;
        if first <= RESERVED && place >= RESERVED { place + 1 } else { place }
    })
}

impl Program {
    /// Loads the program for a device with that index, for a kernel with these features. It does not run yet. `through_node`: IPv4 packets come in at the device.
    pub fn load(
        device: &str,
        settings: &siit::Settings,
        ifindex: u32,
        through_node: bool,
        features: Features,
    ) -> Result<Self> {
        let translator = compile(settings, ifindex, through_node)
            .map_err(|reason| Error::BadTranslator { device: device.to_owned(), reason })?;
        let failed =
            |refusal| Error::Programs { doing: format!("loading the program of translator {device}"), refusal };
        features.lift_memory_limit(&format!("loading the program of translator {device}"))?;
        let mut ebpf = EbpfLoader::new()
            .set_global("TRANSLATOR", &translator, true)
            .load(OBJECT)
            .map_err(|error| failed(Refusal::of(&error)))?;
        for &(ipv4, ipv6) in &settings.explicit {
            add_row(&mut ebpf, ipv4, ipv6).map_err(failed)?;
        }
        for net in settings.doubtful() {
            insert(&mut ebpf, "DOUBTFUL4", &Key::new(net.bits.into(), net.address.octets()), 1_u32).map_err(failed)?;
        }
        let mut program = Self { ebpf, device: device.to_owned(), features };
        program.classifier().and_then(|one| one.load().map_err(|error| Refusal::of(&error))).map_err(failed)?;
        Ok(program)
    }

    /// Attaches it to the translator's device.
    pub fn attach(&mut self) -> Result<()> {
        let device = self.device.clone();
        let doing = format!("translator {device}: attaching {TRANSLATE}");
        if !self.features.tcx {
            match tc::qdisc_add_clsact(&device) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(Error::system(doing, "adding a clsact qdisc", error));
                }
                _ => {}
            }
        }
        self.classifier()
            .and_then(|program| program.attach(&device, TcAttachType::Egress).map_err(|error| Refusal::of(&error)))
            .map(|_| ())
            .map_err(|refusal| Error::Programs { doing, refusal })
    }

    /// What it did so far.
    pub fn counts(&self) -> Result<FastCounts> {
        let failed =
            |refusal| Error::Programs { doing: format!("reading the counters of translator {}", self.device), refusal };
        let map = self.ebpf.map("TRANSLATED").ok_or_else(|| failed(missing("TRANSLATED")))?;
        let map = PerCpuArray::<_, Count>::try_from(map).map_err(|error| failed(Refusal::of(&error)))?;
        let sum = |index| -> Result<Traffic> {
            let values = map.get(&index, 0).map_err(|error| failed(Refusal::of(&error)))?;
            Ok(values.iter().fold(Traffic::default(), |sum, count| Traffic {
                packets: sum.packets + count.packets,
                bytes: sum.bytes + count.bytes,
            }))
        };
        Ok(FastCounts { to_ipv6: sum(0)?, to_ipv4: sum(1)?, no_room: sum(2)? })
    }

    /// A descriptor of it, for test runs.
    pub fn descriptor(&self) -> Result<OwnedFd> {
        let failed =
            |refusal| Error::Programs { doing: format!("translator {}: opening {TRANSLATE}", self.device), refusal };
        let program = self.ebpf.program(TRANSLATE).ok_or_else(|| failed(missing(TRANSLATE)))?;
        let info = program.info().map_err(|error| failed(Refusal::of(&error)))?;
        let fd = info.fd().map_err(|error| failed(Refusal::of(&error)))?;
        fd.as_fd().try_clone_to_owned().map_err(|error| failed(Refusal::of(&error)))
    }

    fn classifier(&mut self) -> std::result::Result<&mut SchedClassifier, Refusal> {
        let program = self.ebpf.program_mut(TRANSLATE).ok_or_else(|| missing(TRANSLATE))?;
        program.try_into().map_err(|error: aya::programs::ProgramError| Refusal::of(&error))
    }
}

fn missing(name: &str) -> Refusal {
    Refusal::said(format!("the object has no {name}"))
}

fn add_row(ebpf: &mut Ebpf, ipv4: Net<Ipv4Addr>, ipv6: Net<Ipv6Addr>) -> std::result::Result<(), Refusal> {
    let spare_bits = (128 - u32::from(ipv6.bits)) - (32 - u32::from(ipv4.bits));
    let row = Row { ipv6: ipv6.address.into(), ipv4: ipv4.address.into(), spare_bits };
    insert(ebpf, "ROWS4", &Key::new(ipv4.bits.into(), ipv4.address.octets()), row)?;
    insert(ebpf, "ROWS6", &Key::new(ipv6.bits.into(), ipv6.address.octets()), row)
}

fn insert<K: aya::Pod, V: aya::Pod>(
    ebpf: &mut Ebpf,
    name: &str,
    key: &Key<K>,
    row: V,
) -> std::result::Result<(), Refusal> {
    let map = ebpf.map_mut(name).ok_or_else(|| missing(name))?;
    let mut map = LpmTrie::<&mut MapData, K, V>::try_from(map).map_err(|error| Refusal::of(&error))?;
    map.insert(key, row, 0).map_err(|error| Refusal::of(&error))
}
