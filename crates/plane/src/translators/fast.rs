//! A translator's program in the kernel.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

use aya::maps::MapData;
use aya::maps::lpm_trie::{Key, LpmTrie};
use aya::programs::TcAttachType;
use aya::{EbpfLoader, include_bytes_aligned};
use sixbench_wire::addresses::Net;
use sixbench_wire::siit::{self, Domain};

use super::MAC;
use crate::Result;
use crate::abi::{self, Embedding, Row};
use crate::classifiers::{Classifiers, Place};
use crate::counters::Traffic;
use crate::error::bad_translator;
use crate::features::Features;
use crate::refusal::Refusal;

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/translator.bpf.o"));
/// The program on the egress of the translator's device.
pub const TRANSLATE: &str = "translate";

/// A translator's program, loaded. With this value it goes, and so does its link.
pub struct Program {
    classifiers: Classifiers,
    device: String,
}

/// Counters of the program: `enum translated`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FastCounts {
    /// Translated to IPv6.
    pub to_ipv6: Traffic,
    /// Translated to IPv4.
    pub to_ipv4: Traffic,
    /// Dropped, since the kernel had no memory.
    pub no_room: Traffic,
}

/// The struct that tells the program of a translator, whose device has that index.
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
    let others = [("tos", settings.tos.is_some()), ("traffic_class", settings.traffic_class.is_some())];
    if let Some((name, _)) = others.iter().find(|(_, is_set)| *is_set) {
        return Err(format!("engine \"ebpf\" does not support {name}; use engine \"user\""));
    }
    let rule = settings.domain.as_ref().and_then(rule_of);
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
        has_rule: settings.domain.is_some().into(),
        hairpin: settings.hairpin.into(),
        rule: rule.unwrap_or_default(),
        is_left_over: (settings.domain.is_some() && rule.is_none()).into(),
        ..abi::Translator::default()
    };
    for (slot, prefix) in translator.prefixes.iter_mut().zip(&settings.prefixes) {
        *slot = Embedding { prefix: prefix.address.into(), place: prefix.places().map(|at| at as u8) };
    }
    Ok(translator)
}

/// A customer edge's own rule, or the only one of a border relay. `None`: the program does not do what is asked for,
/// which are several rules, End-user IPv6 prefixes of more than 64 bits, and customer edges with an IPv4 prefix. It
/// then leaves all packets to the slow path.
fn rule_of(domain: &Domain) -> Option<abi::Rule> {
    let (rule, is_edge) = match (&domain.own, &domain.rules[..]) {
        (Some(own), []) => (own, true),
        (None, [rule]) => (rule, false),
        _ => return None,
    };
    if rule.end_user_bits() > 64 || rule.spare_bits() > 0 {
        return None;
    }
    let psid_bits = u32::from(rule.psid_bits());
    let offset_bits = if psid_bits > 0 { u32::from(rule.psid_offset) } else { 0 };
    let suffix_bits = 32 - u32::from(rule.ipv4.bits);
    Some(abi::Rule {
        ipv6: rule.ipv6.address.into(),
        ipv4: rule.ipv4.address.into(),
        ipv4_mask: Ipv4Addr::from_bits(u32::MAX.checked_shl(suffix_bits).unwrap_or(0)).into(),
        is_edge: is_edge.into(),
        lowest_port: if offset_bits > 0 { 1 << (16 - offset_bits) } else { 0 },
        psid_shift: (16 - offset_bits - psid_bits) & 15,
        psid_mask: (1 << psid_bits) - 1,
        own_psid: rule.psid.map_or(abi::ANY_PSID, |psid| psid.value.into()),
        embedded_bits: u32::from(rule.ea_bits).saturating_sub(suffix_bits),
        ea_shift: (64 - u32::from(rule.end_user_bits())) & 63,
    })
}

impl Program {
    /// Loads the program for a device with that index, for a kernel with these features. It does not run yet.
    /// `through_node`: IPv4 packets come in at the device.
    pub fn load(
        device: &str,
        settings: &siit::Settings,
        ifindex: u32,
        through_node: bool,
        features: Features,
    ) -> Result<Self> {
        let translator = compile(settings, ifindex, through_node).map_err(|reason| bad_translator(device, reason))?;
        let mut loader = EbpfLoader::new();
        loader.set_global("TRANSLATOR", &translator, true);
        let mut classifiers = Classifiers::load(format!("translator {device}"), features, &mut loader, OBJECT)?;
        for &(ipv4, ipv6) in &settings.explicit {
            add_row(&mut classifiers, ipv4, ipv6)?;
        }
        for net in settings.doubtful() {
            insert(&mut classifiers, "DOUBTFUL4", &Key::new(net.bits.into(), net.address.octets()), 1_u32)?;
        }
        classifiers.verify(TRANSLATE)?;
        Ok(Self { classifiers, device: device.to_owned() })
    }

    /// Attaches it to the translator's device.
    pub fn attach(&mut self) -> Result<()> {
        self.classifiers.attach(TRANSLATE, &self.device, TcAttachType::Egress, Place::Last)
    }

    /// The counts of the program so far.
    pub fn counts(&self) -> Result<FastCounts> {
        let counts = self.classifiers.counts("TRANSLATED", 3)?;
        let of = |index: usize| counts.get(index).copied().unwrap_or_default().into();
        Ok(FastCounts { to_ipv6: of(0), to_ipv4: of(1), no_room: of(2) })
    }

    /// A descriptor of it, for test runs.
    pub fn descriptor(&self) -> Result<OwnedFd> {
        self.classifiers.descriptor(TRANSLATE)
    }
}

fn add_row(classifiers: &mut Classifiers, ipv4: Net<Ipv4Addr>, ipv6: Net<Ipv6Addr>) -> Result<()> {
    let spare_bits = (128 - u32::from(ipv6.bits)) - (32 - u32::from(ipv4.bits));
    let row = Row { ipv6: ipv6.address.into(), ipv4: ipv4.address.into(), spare_bits };
    insert(classifiers, "ROWS4", &Key::new(ipv4.bits.into(), ipv4.address.octets()), row)?;
    insert(classifiers, "ROWS6", &Key::new(ipv6.bits.into(), ipv6.address.octets()), row)
}

fn insert<K: aya::Pod, V: aya::Pod>(classifiers: &mut Classifiers, name: &str, key: &Key<K>, row: V) -> Result<()> {
    classifiers.write(name, |map| {
        let mut map = LpmTrie::<&mut MapData, K, V>::try_from(map).map_err(|error| Refusal::of(&error))?;
        map.insert(key, row, 0).map_err(|error| Refusal::of(&error))
    })
}
