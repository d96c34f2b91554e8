//! Router Solicitations and Advertisements: [RFC 4861 sections 4.1, 4.2 and
//! 4.6](https://www.rfc-editor.org/rfc/rfc4861#section-4.1), and RFC 8781. No I/O.
//!
//! Messages are without their checksum, which the kernel writes and checks. Nothing here panics, whatever the bytes.

use std::net::Ipv6Addr;

use serde::{Deserialize, Serialize};
use sixbench_wire::addresses::Ipv6Net;

use super::pref64::{self, Pref64};

/// ICMPv6 type of a Router Solicitation.
pub const SOLICITATION: u8 = 133;
/// ICMPv6 type of a Router Advertisement.
pub const ADVERTISEMENT: u8 = 134;
/// Proves that no router was between: section 6.1.
pub const HOP_LIMIT: u8 = 255;

const SOURCE_LINK_LAYER_ADDRESS: u8 = 1;
const PREFIX_INFORMATION: u8 = 3;
const MTU: u8 = 5;
const ON_LINK: u8 = 0x80;
const AUTONOMOUS: u8 = 0x40;

/// An Ethernet address.
pub type Mac = [u8; 6];

/// The contents of a Router Advertisement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Advertisement {
    /// 0: it is no default router.
    pub router_lifetime_s: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hop_limit: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
    pub prefixes: Vec<PrefixInformation>,
    /// Prefixes of a NAT64: RFC 8781.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pref64: Vec<Pref64>,
}

/// A prefix of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct PrefixInformation {
    pub prefix: Ipv6Net,
    #[serde(default = "yes")]
    pub on_link: bool,
    #[serde(default = "yes")]
    pub autonomous: bool,
    #[serde(default = "a_day")]
    pub valid_s: u32,
    #[serde(default = "four_hours")]
    pub preferred_s: u32,
}

fn yes() -> bool {
    true
}

fn a_day() -> u32 {
    86_400
}

fn four_hours() -> u32 {
    14_400
}

sixbench_wire::named! {
    /// The reason why a message must be discarded: sections 6.1.1 and 6.1.2.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[allow(missing_docs)]
    pub enum Flaw by reason {
        Type = "type",
        HopLimit = "hop-limit",
        Code = "code",
        Length = "length",
        OptionLength = "option-length",
        /// A source link-layer address of nobody.
        SourceLinkLayerAddress = "source-link-layer-address",
        /// An advertisement from an address that is not link-local.
        Source = "source",
    }
}

/// An ICMPv6 message as it arrived.
#[derive(Debug, Clone, Copy)]
pub struct Arrived<'a> {
    /// The message from its type on.
    pub message: &'a [u8],
    /// Source address of the packet.
    pub source: Ipv6Addr,
    /// Hop limit of the packet.
    pub hop_limit: u8,
}

/// A Router Solicitation. `mac` is the address of a sender that has neighbours, and a source address.
pub fn solicitation(mac: Option<Mac>) -> Vec<u8> {
    let mut message = vec![SOLICITATION, 0, 0, 0, 0, 0, 0, 0];
    put_source(&mut message, mac);
    message
}

/// The checks of a Router Solicitation: section 6.1.1.
pub fn check_solicitation(arrived: &Arrived<'_>) -> Result<(), Flaw> {
    let options = check(arrived, SOLICITATION, 8)?;
    let mut has_source = false;
    each_option(options, |kind, _| has_source |= kind == SOURCE_LINK_LAYER_ADDRESS)?;
    if has_source && arrived.source.is_unspecified() {
        return Err(Flaw::SourceLinkLayerAddress);
    }
    Ok(())
}

impl Advertisement {
    /// The message.
    pub fn encode(&self, mac: Option<Mac>) -> Vec<u8> {
        let mut message = vec![ADVERTISEMENT, 0, 0, 0, self.hop_limit.unwrap_or(0), 0];
        message.extend(self.router_lifetime_s.to_be_bytes());
        message.extend([0; 8]); // Reachable time, retransmission timer: unspecified.
        put_source(&mut message, mac);
        if let Some(mtu_bytes) = self.mtu_bytes {
            message.extend([MTU, 1, 0, 0]);
            message.extend(mtu_bytes.to_be_bytes());
        }
        for prefix in &self.prefixes {
            let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
            let flags = flag(prefix.on_link, ON_LINK) | flag(prefix.autonomous, AUTONOMOUS);
            message.extend([PREFIX_INFORMATION, 4, prefix.prefix.bits, flags]);
            message.extend(prefix.valid_s.to_be_bytes());
            message.extend(prefix.preferred_s.to_be_bytes());
            message.extend([0; 4]);
            message.extend(prefix.prefix.address.octets());
        }
        message.extend(self.pref64.iter().flat_map(Pref64::encode));
        message
    }

    /// Reads a message, with the checks of section 6.1.2. Options that are unknown or invalid are skipped.
    pub fn parse(arrived: &Arrived<'_>) -> Result<Self, Flaw> {
        let options = check(arrived, ADVERTISEMENT, 16)?;
        if !arrived.source.is_unicast_link_local() {
            return Err(Flaw::Source);
        }
        let header: &[u8; 8] = arrived.message.first_chunk().ok_or(Flaw::Length)?;
        let mut advertisement = Self {
            router_lifetime_s: u16::from_be_bytes([header[6], header[7]]),
            hop_limit: Some(header[4]).filter(|&hop_limit| hop_limit != 0),
            mtu_bytes: None,
            prefixes: Vec::new(),
            pref64: Vec::new(),
        };
        each_option(options, |kind, option| match kind {
            MTU => advertisement.mtu_bytes = number(option, 4).or(advertisement.mtu_bytes),
            PREFIX_INFORMATION => advertisement.prefixes.extend(prefix(option)),
            pref64::KIND => advertisement.pref64.extend(Pref64::parse(option)),
            _ => (),
        })?;
        Ok(advertisement)
    }
}

/// The checks that both messages have in common. Returns the options.
fn check<'a>(arrived: &Arrived<'a>, kind: u8, header_bytes: usize) -> Result<&'a [u8], Flaw> {
    let options = arrived.message.get(header_bytes..).ok_or(Flaw::Length)?;
    match *arrived.message {
        _ if arrived.hop_limit != HOP_LIMIT => Err(Flaw::HopLimit),
        [found, ..] if found != kind => Err(Flaw::Type),
        [_, code, ..] if code != 0 => Err(Flaw::Code),
        _ => Ok(options),
    }
}

/// Options are a type, a length in units of eight bytes, and their value.
fn each_option(mut options: &[u8], mut visit: impl FnMut(u8, &[u8])) -> Result<(), Flaw> {
    while !options.is_empty() {
        let &[kind, units] = options.first_chunk().ok_or(Flaw::OptionLength)?;
        let length = usize::from(units) * 8;
        let (option, rest) = options.split_at_checked(length).filter(|_| length > 0).ok_or(Flaw::OptionLength)?;
        visit(kind, option);
        options = rest;
    }
    Ok(())
}

fn prefix(option: &[u8]) -> Option<PrefixInformation> {
    let option: &[u8; 32] = option.try_into().ok()?;
    let (bits, flags) = (option[2], option[3]);
    let address: [u8; 16] = option[16..].try_into().ok()?;
    // Bits beyond the length are to be ignored.
    let mask = match bits {
        0 => 0,
        1..=128 => u128::MAX << (128 - bits),
        _ => return None,
    };
    Some(PrefixInformation {
        prefix: Ipv6Net { address: Ipv6Addr::from(u128::from_be_bytes(address) & mask), bits },
        on_link: flags & ON_LINK != 0,
        autonomous: flags & AUTONOMOUS != 0,
        valid_s: number(option, 4)?,
        preferred_s: number(option, 8)?,
    })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

fn put_source(message: &mut Vec<u8>, mac: Option<Mac>) {
    if let Some(mac) = mac {
        message.extend([SOURCE_LINK_LAYER_ADDRESS, 1]);
        message.extend(mac);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);

    fn arrived(message: &[u8]) -> Arrived<'_> {
        Arrived { message, source: ROUTER, hop_limit: HOP_LIMIT }
    }

    #[test]
    fn solicitations_are_checked_by_rfc_4861_section_6_1_1() {
        let message = solicitation(Some([2, 0, 0, 0, 0, 1]));
        let good = arrived(&message);
        assert_eq!(check_solicitation(&good), Ok(()));
        assert_eq!(check_solicitation(&arrived(&solicitation(None))), Ok(()));
        assert_eq!(check_solicitation(&Arrived { hop_limit: 254, ..good }), Err(Flaw::HopLimit));
        let nobody = Arrived { source: Ipv6Addr::UNSPECIFIED, ..good };
        assert_eq!(check_solicitation(&nobody), Err(Flaw::SourceLinkLayerAddress));
        assert_eq!(check_solicitation(&Arrived { message: &message[..8], ..nobody }), Ok(()));
        for (at, value, flaw) in
            [(0, 134, Flaw::Type), (1, 1, Flaw::Code), (9, 0, Flaw::OptionLength), (9, 2, Flaw::OptionLength)]
        {
            let mut message = message.clone();
            message[at] = value;
            assert_eq!(check_solicitation(&arrived(&message)), Err(flaw));
        }
        assert_eq!(check_solicitation(&arrived(&message[..7])), Err(Flaw::Length));
    }

    #[test]
    fn advertisements_are_checked_by_rfc_4861_section_6_1_2() {
        let advertisement = Advertisement {
            router_lifetime_s: 1800,
            hop_limit: None,
            mtu_bytes: None,
            prefixes: vec![],
            pref64: vec![],
        };
        let message = advertisement.encode(None);
        let good = arrived(&message);
        assert_eq!(Advertisement::parse(&good), Ok(advertisement));
        let global = "2001:db8::1".parse().expect("an address");
        assert_eq!(Advertisement::parse(&Arrived { source: global, ..good }), Err(Flaw::Source));
        assert_eq!(Advertisement::parse(&Arrived { hop_limit: 64, ..good }), Err(Flaw::HopLimit));
        assert_eq!(Advertisement::parse(&Arrived { message: &message[..15], ..good }), Err(Flaw::Length));
    }

    fn prefixes() -> impl Strategy<Value = PrefixInformation> {
        (any::<u128>(), 0..=128_u8, any::<[bool; 2]>(), any::<[u32; 2]>()).prop_map(|(address, bits, flags, times)| {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            PrefixInformation {
                prefix: Ipv6Net { address: Ipv6Addr::from(address & mask), bits },
                on_link: flags[0],
                autonomous: flags[1],
                valid_s: times[0],
                preferred_s: times[1],
            }
        })
    }

    fn pref64s() -> impl Strategy<Value = Pref64> {
        (any::<u32>(), 0..8191_u32).prop_map(|(first, units)| Pref64 {
            prefix: Ipv6Net { address: Ipv6Addr::from_bits(u128::from(first) << 96), bits: 96 },
            lifetime_s: units * 8,
        })
    }

    proptest! {
        #[test]
        fn what_is_said_is_read(
            router_lifetime_s: u16,
            hop_limit in proptest::option::of(1..=255_u8),
            mtu_bytes: Option<u32>,
            prefixes in proptest::collection::vec(prefixes(), 0..5),
            pref64 in proptest::collection::vec(pref64s(), 0..3),
            mac: Option<Mac>,
        ) {
            let advertisement = Advertisement { router_lifetime_s, hop_limit, mtu_bytes, prefixes, pref64 };
            prop_assert_eq!(Advertisement::parse(&arrived(&advertisement.encode(mac))), Ok(advertisement));
        }

        #[test]
        fn no_message_is_a_panic(mut message in proptest::collection::vec(any::<u8>(), 0..120), options in any::<[u8; 4]>()) {
            for (kind, header_bytes) in [(SOLICITATION, 8), (ADVERTISEMENT, 16)] {
                if let [found, code, ..] = &mut message[..] {
                    (*found, *code) = (kind, 0);
                }
                // Options that are understood are rare among random bytes.
                if let Some(first) = message.get_mut(header_bytes..header_bytes + 4) {
                    first.copy_from_slice(&[[0, 1, 3, 5, 38, 39][usize::from(options[0] % 6)], options[1] % 6, options[2], options[3]]);
                }
                let _ = check_solicitation(&arrived(&message));
                let _ = Advertisement::parse(&arrived(&message));
            }
        }
    }
}
