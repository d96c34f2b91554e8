//! Prefixes and rules of MAP, in the form of `docs/protocol.md`.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};
use sixbench_wire::addresses::Net;
use sixbench_wire::map::{Psid, Rule};

/// A prefix, written `192.0.2.0/24`.
#[derive(Debug, Clone, Copy)]
pub struct Written<A>(pub Net<A>);

impl<'de, A: FromStr> Deserialize<'de> for Written<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let read = || {
            let (address, bits) = text.split_once('/')?;
            Some(Self(Net { address: address.parse().ok()?, bits: bits.parse().ok()? }))
        };
        read().ok_or_else(|| {
            de::Error::custom(format!("{text:?} is not a prefix of its family, such as 2001:db8::/96 or 192.0.2.0/24"))
        })
    }
}

/// A mapping rule: RFC 7597 section 5.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(from = "Fields")]
pub struct WrittenRule(pub Rule);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    ipv6: Written<Ipv6Addr>,
    ipv4: Written<Ipv4Addr>,
    ea_bits: u8,
    psid_offset: u8,
    #[serde(default)]
    psid: Option<WrittenPsid>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPsid {
    bits: u8,
    value: u16,
}

impl From<Fields> for WrittenRule {
    fn from(fields: Fields) -> Self {
        Self(Rule {
            ipv6: fields.ipv6.0,
            ipv4: fields.ipv4.0,
            ea_bits: fields.ea_bits,
            psid_offset: fields.psid_offset,
            psid: fields.psid.map(|fields| Psid { bits: fields.bits, value: fields.value }),
        })
    }
}
