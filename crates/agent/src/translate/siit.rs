//! The settings of a translator as they are told.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};
use sixbench_wire::siit::{self, Net};

/// As `docs/protocol.md` has them; what is not told is as [`siit::Settings`] has it by default.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    prefixes: Vec<Written<Ipv6Addr>>,
    #[serde(default)]
    explicit: Vec<(Written<Ipv4Addr>, Written<Ipv6Addr>)>,
    #[serde(default)]
    own4: Option<Ipv4Addr>,
    #[serde(default)]
    own6: Option<Ipv6Addr>,
    #[serde(default)]
    zero_checksum: Option<ZeroChecksum>,
    #[serde(default)]
    lowest_ipv6_mtu: Option<u32>,
    #[serde(default)]
    mtu4: Option<u32>,
    #[serde(default)]
    mtu6: Option<u32>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ZeroChecksum {
    Drop,
    Compute,
}

/// A prefix, written `192.0.2.0/24`.
#[derive(Debug, Clone, Copy)]
struct Written<A>(Net<A>);

impl<'de, A: FromStr> Deserialize<'de> for Written<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let read = || {
            let (address, bits) = text.split_once('/')?;
            Some(Self(Net { address: address.parse().ok()?, bits: bits.parse().ok()? }))
        };
        read()
            .ok_or_else(|| de::Error::custom(format!("{text:?} is not a prefix of its family, such as 2001:db8::/96")))
    }
}

impl From<Settings> for siit::Settings {
    fn from(told: Settings) -> Self {
        let mut settings = Self::default();
        told.change(&mut settings);
        settings
    }
}

impl Settings {
    /// Writes what is told over what is there.
    fn change(self, settings: &mut siit::Settings) {
        settings.prefixes = self.prefixes.iter().map(|prefix| prefix.0).collect();
        settings.explicit = self.explicit.iter().map(|(ipv4, ipv6)| (ipv4.0, ipv6.0)).collect();
        put(&mut settings.own4, self.own4);
        // IPv6 hosts know a node without an address of theirs by that of its IPv4 address.
        put(&mut settings.own6, self.own6.or_else(|| Some(settings.prefixes.first()?.embed(settings.own4))));
        put(&mut settings.zero_checksum, self.zero_checksum.map(siit::ZeroChecksum::from));
        put(&mut settings.lowest_ipv6_mtu, self.lowest_ipv6_mtu);
        put(&mut settings.mtu4, self.mtu4);
        put(&mut settings.mtu6, self.mtu6);
    }
}

fn put<T>(setting: &mut T, told: Option<T>) {
    if let Some(told) = told {
        *setting = told;
    }
}

impl From<ZeroChecksum> for siit::ZeroChecksum {
    fn from(told: ZeroChecksum) -> Self {
        match told {
            ZeroChecksum::Drop => Self::Drop,
            ZeroChecksum::Compute => Self::Compute,
        }
    }
}
