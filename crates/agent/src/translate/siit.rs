//! The settings of a translator as users give them.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Deserializer, de};
use sixbench_plane::written::{Written, WrittenRule};
use sixbench_wire::addresses::{Ipv6Net, Net};
use sixbench_wire::siit::{self, Clause, Domain};

/// The settings as `docs/protocol.md` has them. A setting that is left out is as [`siit::Settings`] has it by default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    prefixes: Vec<Written<Ipv6Addr>>,
    explicit: Vec<(Written<Ipv4Addr>, Written<Ipv6Addr>)>,
    overlapping: Option<bool>,
    denied: Vec<Written<Ipv4Addr>>,
    allow_non_global: Option<bool>,
    allow_reserved: Option<bool>,
    own4: Option<Ipv4Addr>,
    own6: Option<Ipv6Addr>,
    pool4: Vec<Written<Ipv4Addr>>,
    pool6: Vec<Written<Ipv6Addr>>,
    errors_from_destination: Option<bool>,
    zero_checksum: Option<ZeroChecksum>,
    lowest_ipv6_mtu: Option<u32>,
    mtu4: Option<u32>,
    mtu6: Option<u32>,
    plateaus: Option<Vec<u16>>,
    takes_hop: Option<bool>,
    tos: Option<u8>,
    traffic_class: Option<u8>,
    identification_seed: Option<u64>,
    #[serde(rename = "told")]
    answered: Vec<Named>,
    hairpin: Option<bool>,
    domain: Option<WrittenDomain>,
}

/// The rules of a MAP-T domain.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenDomain {
    #[serde(default, rename = "own")]
    of_node: Option<WrittenRule>,
    #[serde(default)]
    rules: Vec<WrittenRule>,
}

impl From<WrittenDomain> for Domain {
    fn from(written: WrittenDomain) -> Self {
        Self { own: written.of_node.map(|rule| rule.0), rules: written.rules.into_iter().map(|rule| rule.0).collect() }
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ZeroChecksum {
    Drop,
    Compute,
    Forward,
}

/// A rule by its name.
#[derive(Debug, Clone, Copy)]
struct Named(Clause);

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let clause = Clause::ALL.iter().find(|clause| clause.name() == text);
        clause.map(|&clause| Self(clause)).ok_or_else(|| de::Error::custom(format!("there is no rule {text:?}")))
    }
}

impl From<Settings> for siit::Settings {
    fn from(written: Settings) -> Self {
        let mut settings = Self::default();
        written.change(&mut settings);
        settings
    }
}

impl Settings {
    /// Replaces the prefixes by this one.
    pub fn set_prefix(&mut self, prefix: Ipv6Net) {
        self.prefixes = vec![Written(prefix)];
    }

    /// Makes UDP without a checksum get one, unless the settings say otherwise: RFC 6146 section 3.4.
    pub fn computing(mut self) -> Self {
        self.zero_checksum.get_or_insert(ZeroChecksum::Compute);
        self
    }

    /// Writes these settings over those that are there.
    fn change(self, settings: &mut siit::Settings) {
        settings.prefixes = nets(&self.prefixes);
        settings.explicit = self.explicit.iter().map(|(ipv4, ipv6)| (ipv4.0, ipv6.0)).collect();
        put(&mut settings.overlapping, self.overlapping);
        settings.denied = nets(&self.denied);
        put(&mut settings.allow_non_global, self.allow_non_global);
        put(&mut settings.allow_reserved, self.allow_reserved);
        put(&mut settings.own4, self.own4);
        put(&mut settings.own6, self.own6);
        settings.pool4 = nets(&self.pool4);
        settings.pool6 = nets(&self.pool6);
        put(&mut settings.errors_from_destination, self.errors_from_destination);
        put(&mut settings.zero_checksum, self.zero_checksum.map(siit::ZeroChecksum::from));
        put(&mut settings.lowest_ipv6_mtu, self.lowest_ipv6_mtu);
        put(&mut settings.mtu4, self.mtu4);
        put(&mut settings.mtu6, self.mtu6);
        put(&mut settings.plateaus, self.plateaus);
        put(&mut settings.takes_hop, self.takes_hop);
        settings.tos = self.tos;
        settings.traffic_class = self.traffic_class;
        settings.identification_seed = self.identification_seed;
        settings.answered = self.answered.iter().map(|named| named.0).collect();
        put(&mut settings.hairpin, self.hairpin);
        settings.domain = self.domain.map(Domain::from);
    }
}

fn nets<A: Copy>(written: &[Written<A>]) -> Vec<Net<A>> {
    written.iter().map(|written| written.0).collect()
}

fn put<T>(setting: &mut T, written: Option<T>) {
    if let Some(written) = written {
        *setting = written;
    }
}

impl From<ZeroChecksum> for siit::ZeroChecksum {
    fn from(written: ZeroChecksum) -> Self {
        match written {
            ZeroChecksum::Drop => Self::Drop,
            ZeroChecksum::Compute => Self::Compute,
            ZeroChecksum::Forward => Self::Forward,
        }
    }
}
