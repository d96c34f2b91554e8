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
        let default = Self::default();
        let prefixes: Vec<_> = told.prefixes.iter().map(|prefix| prefix.0).collect();
        let own4 = told.own4.unwrap_or(default.own4);
        // IPv6 hosts know a node without an address of theirs by that of its IPv4 address.
        let own6 = told.own6.or_else(|| prefixes.first().map(|prefix| prefix.embed(own4))).unwrap_or(default.own6);
        Self {
            prefixes,
            explicit: told.explicit.iter().map(|(ipv4, ipv6)| (ipv4.0, ipv6.0)).collect(),
            own4,
            own6,
            zero_checksum: match told.zero_checksum {
                Some(ZeroChecksum::Compute) => siit::ZeroChecksum::Compute,
                Some(ZeroChecksum::Drop) => siit::ZeroChecksum::Drop,
                None => default.zero_checksum,
            },
            lowest_ipv6_mtu: told.lowest_ipv6_mtu.unwrap_or(default.lowest_ipv6_mtu),
            mtu4: told.mtu4.unwrap_or(default.mtu4),
            mtu6: told.mtu6.unwrap_or(default.mtu6),
        }
    }
}
