//! Stateless translation between IPv6 and IPv4: RFC 7915, with addresses by RFC 6052 and RFC 7757.
//!
//! [`Translator::translate`] takes a whole packet of either family and says what becomes of it, by which clause, and with which packets. Nothing is dropped
//! without a clause.
//!
//! ICMP errors of IPv6 routers that no address of IPv4 stands for come from the translator's own address (RFC 6791 section 2 has a pool of them).

mod addresses;
mod icmp;
#[cfg(test)]
mod tests;
mod to_ipv4;
mod to_ipv6;

use std::net::{Ipv4Addr, Ipv6Addr};

use addresses::Mapping;
pub use addresses::{Ipv4Net, Ipv6Net, Net, Prefix6};

use crate::{Span, checksum, ipv4, ipv6, protocol};

/// The hop limit of errors that the translator sends itself.
const HOP_LIMIT: u8 = 64;
/// The least MTU of IPv6, and what an error of ICMPv6 has at most: RFC 8200 section 5, RFC 4443 section 2.4.
const LEAST_MTU6: usize = 1280;
/// What an error of ICMP has at most: RFC 1812 section 4.3.2.3.
const ERROR4_BYTES: usize = 576;
const MIN_MTU4: u32 = 68;

/// What a translator is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Those of RFC 6052. The first one is for IPv4 addresses that nothing else maps.
    pub prefixes: Vec<Prefix6>,
    /// The table of RFC 7757. The first mapping that fits holds.
    pub explicit: Vec<(Ipv4Net, Ipv6Net)>,
    /// The source of errors that the translator sends to IPv4 hosts.
    pub own4: Ipv4Addr,
    /// The source of errors that the translator sends to IPv6 hosts.
    pub own6: Ipv6Addr,
    /// UDP over IPv4 without a checksum.
    pub zero_checksum: ZeroChecksum,
    /// To which IPv4 packets without DF are fragmented: RFC 7915 section 4.
    pub lowest_ipv6_mtu: u32,
    /// Of the next hop in IPv4.
    pub mtu4: u32,
    /// Of the next hop in IPv6.
    pub mtu6: u32,
}

/// What becomes of UDP over IPv4 without a checksum: RFC 7915 section 4.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum ZeroChecksum {
    #[default]
    Drop,
    /// It gets one, unless it comes in fragments.
    Compute,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            prefixes: Vec::new(),
            explicit: Vec::new(),
            own4: Ipv4Addr::new(192, 0, 0, 8), // RFC 7600: of a node that has none of its own.
            own6: Ipv6Addr::UNSPECIFIED,
            zero_checksum: ZeroChecksum::Drop,
            lowest_ipv6_mtu: LEAST_MTU6 as u32,
            mtu4: 1500,
            mtu6: 1500,
        }
    }
}

impl Settings {
    /// What is wrong, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.prefixes.is_empty() {
            return Err("there is no prefix for IPv4 addresses (RFC 6052), such as 64:ff9b:1::/96".to_owned());
        }
        self.prefixes.iter().try_for_each(Prefix6::check)?;
        self.explicit.iter().try_for_each(|&(ipv4, ipv6)| Mapping(ipv4, ipv6).check())?;
        let least = LEAST_MTU6 as u32;
        if !(least..=65_535).contains(&self.lowest_ipv6_mtu) || !(least..=65_535).contains(&self.mtu6) {
            return Err(format!(
                "the lowest IPv6 MTU is {} and that of the next hop {}, and must be {least} to 65535",
                self.lowest_ipv6_mtu, self.mtu6
            ));
        }
        if !(MIN_MTU4..=65_535).contains(&self.mtu4) {
            return Err(format!("the IPv4 MTU is {}, and must be {MIN_MTU4} to 65535", self.mtu4));
        }
        Ok(())
    }
}

/// A translator.
#[derive(Debug, Clone)]
pub struct Translator {
    settings: Settings,
    /// Of the next IPv4 packet that may be fragmented.
    identification: u16,
}

/// What becomes of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// In one word.
    pub fate: Fate,
    /// The rule that decided.
    pub clause: Clause,
    /// What is to be sent: the translation, in fragments if there are several; or the error.
    pub packets: Vec<Vec<u8>>,
}

/// What becomes of a packet, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It goes on in the other family.
    Translated,
    /// Its source is told of an error by ICMP, in its own family.
    Answered,
    /// Nothing is sent.
    Dropped,
}

macro_rules! clauses {
    ($($clause:ident $name:literal $section:literal $meaning:literal,)*) => {
        /// The rules.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Clause { $(#[doc = $meaning] $clause,)* }

        impl Clause {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$clause,)*];

            /// Such as `fragment-needed`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$clause => $name,)* }
            }

            /// Such as `RFC 7915 section 4.1`.
            pub fn clause(self) -> &'static str {
                match self { $(Self::$clause => $section,)* }
            }
        }
    };
}

clauses! {
    ToIpv6 "to-ipv6" "RFC 7915 section 4.1" "An IPv4 packet of which nothing is special.",
    ToIpv4 "to-ipv4" "RFC 7915 section 5.1" "An IPv6 packet of which nothing is special.",
    Fragmented "fragmented" "RFC 7915 section 4" "An IPv4 packet without DF that is cut, so that it passes every IPv6 link.",
    FragmentToIpv6 "fragment-to-ipv6" "RFC 7915 section 4.1" "A fragment of IPv4.",
    FragmentToIpv4 "fragment-to-ipv4" "RFC 7915 section 5.1.1" "A packet of IPv6 with a Fragment header.",
    ErrorToIpv6 "error-to-ipv6" "RFC 7915 section 4.2" "An ICMP error, and the packet in it.",
    ErrorToIpv4 "error-to-ipv4" "RFC 7915 section 5.2" "An ICMPv6 error, and the packet in it.",
    ChecksumComputed "checksum-computed" "RFC 7915 section 4.5" "UDP that had no checksum got one.",
    FragmentationNeeded "fragmentation-needed" "RFC 7915 section 4.1" "An IPv4 packet with DF that is too long.",
    PacketTooBig "packet-too-big" "RFC 7915 section 5.1" "An IPv6 packet that is too long.",
    HopLimit "hop-limit" "RFC 7915 sections 4.1 and 5.1" "The hop limit was used up.",
    SourceRoute "source-route" "RFC 7915 section 4.1" "A source route that was not yet followed to its end.",
    RoutingHeader "routing-header" "RFC 7915 section 5.1" "A routing header that was not yet followed to its end.",
    Malformed "malformed" "RFC 791, RFC 8200" "What is no packet, or is not whole.",
    NotUnicast "not-unicast" "RFC 7915 sections 4.1 and 5.1" "An address that is no host's.",
    NoMapping "no-mapping" "RFC 7915 section 5.1" "An IPv6 address that nothing maps to IPv4.",
    ZeroChecksum "zero-checksum" "RFC 7915 section 4.5" "UDP over IPv4 without a checksum.",
    FragmentedIcmp "fragmented-icmp" "RFC 7915 sections 4.2 and 5.2" "ICMP in fragments.",
    UntranslatedIcmp "untranslated-icmp" "RFC 7915 sections 4.2 and 5.2" "An ICMP message that the other family has not.",
    ErrorInError "error-in-error" "RFC 7915 sections 4.3 and 5.3" "An ICMP error about an ICMP error.",
    QuotedPacket "quoted-packet" "RFC 7915 sections 4.3 and 5.3" "An ICMP error whose packet cannot be translated.",
}

/// A packet that goes no further.
#[derive(Debug)]
struct Stop {
    clause: Clause,
    /// What its source is told.
    answer: Option<Vec<u8>>,
}

impl From<Clause> for Stop {
    fn from(clause: Clause) -> Self {
        Self { clause, answer: None }
    }
}

/// What goes on, and by which clause.
type Outcome = Result<(Clause, Vec<Vec<u8>>), Stop>;

impl Translator {
    /// A translator with settings that are right.
    pub fn new(settings: Settings) -> Result<Self, String> {
        settings.check()?;
        Ok(Self { settings, identification: 0 })
    }

    /// Says what becomes of a packet of either family, which is whole.
    pub fn translate(&mut self, packet: &[u8]) -> Decision {
        let span = Span::whole(packet);
        let outcome = match packet.first().map(|octet| octet >> 4) {
            Some(4) => match ipv4::Packet::parse(span) {
                Ok(parsed) if checksum::is_valid(&packet[..parsed.header_bytes()]) => {
                    self.packet_to_ipv6(packet, &parsed)
                }
                _ => Err(Clause::Malformed.into()),
            },
            Some(6) => match ipv6::Packet::parse(span) {
                Ok(parsed) => self.packet_to_ipv4(packet, &parsed),
                Err(_) => Err(Clause::Malformed.into()),
            },
            _ => Err(Clause::Malformed.into()),
        };
        match outcome {
            Ok((clause, packets)) => Decision { fate: Fate::Translated, clause, packets },
            Err(Stop { clause, answer: Some(answer) }) => {
                Decision { fate: Fate::Answered, clause, packets: vec![answer] }
            }
            Err(Stop { clause, answer: None }) => Decision { fate: Fate::Dropped, clause, packets: Vec::new() },
        }
    }

    fn to_ipv6(&self, address: Ipv4Addr) -> Result<Ipv6Addr, Clause> {
        let first = address.octets()[0];
        if matches!(first, 0 | 127 | 224..) {
            return Err(Clause::NotUnicast);
        }
        let explicit = self.settings.explicit.iter().find_map(|&(ipv4, ipv6)| Mapping(ipv4, ipv6).to_ipv6(address));
        Ok(explicit.unwrap_or_else(|| self.settings.prefixes[0].embed(address)))
    }

    fn to_ipv4(&self, address: Ipv6Addr) -> Result<Ipv4Addr, Clause> {
        if address.is_multicast()
            || address.is_loopback()
            || address.is_unspecified()
            || address.is_unicast_link_local()
        {
            return Err(Clause::NotUnicast);
        }
        let explicit = self.settings.explicit.iter().find_map(|&(ipv4, ipv6)| Mapping(ipv4, ipv6).to_ipv4(address));
        let embedded = || self.settings.prefixes.iter().find_map(|prefix| prefix.embedded(address));
        let found = explicit.or_else(embedded).ok_or(Clause::NoMapping)?;
        if matches!(found.octets()[0], 0 | 127 | 224..) { Err(Clause::NotUnicast) } else { Ok(found) }
    }

    fn next_identification(&mut self) -> u16 {
        self.identification = self.identification.wrapping_add(1);
        self.identification
    }
}

/// Addresses of both families, source first.
#[derive(Debug, Clone, Copy)]
struct Ends {
    ipv4: [Ipv4Addr; 2],
    ipv6: [Ipv6Addr; 2],
}

impl Ends {
    fn octets4(&self) -> [u8; 8] {
        let mut octets = [0; 8];
        octets[..4].copy_from_slice(&self.ipv4[0].octets());
        octets[4..].copy_from_slice(&self.ipv4[1].octets());
        octets
    }

    fn octets6(&self) -> [u8; 32] {
        let mut octets = [0; 32];
        octets[..16].copy_from_slice(&self.ipv6[0].octets());
        octets[16..].copy_from_slice(&self.ipv6[1].octets());
        octets
    }
}

/// Where a transport header that the pseudo header's checksum covers has the checksum. The other parts of the pseudo header are the same in both families.
fn checksum_at(protocol: u8) -> Option<usize> {
    match protocol {
        protocol::TCP => Some(16),
        protocol::UDP => Some(6),
        _ => None,
    }
}

/// Changes the addresses that the checksum of TCP or UDP covers. False where it is not there.
fn update_checksum(protocol: u8, payload: &mut [u8], old: &[u8], new: &[u8]) -> bool {
    let Some(at) = checksum_at(protocol) else { return true };
    let Some(field) = payload.get_mut(at..at + 2) else { return false };
    let before = u16::from_be_bytes([field[0], field[1]]);
    if protocol == protocol::UDP && before == 0 {
        return true; // There is none: RFC 768, RFC 6935.
    }
    let after = checksum::update(before, old, new);
    let after = if protocol == protocol::UDP { checksum::never_zero(after) } else { after };
    field.copy_from_slice(&after.to_be_bytes());
    true
}
