//! The sections of RFCs that decisions follow.

use sixbench_wire::family::Family;

use super::Way;
use crate::abi::Outcome;
use crate::spec::{MapDomain, Mapping, Payload, Spec};

/// The section of an RFC by which a packet had that outcome; `None` where no RFC says so.
pub fn of(spec: &Spec, way: Way, packet: &[u8], outcome: Outcome) -> Option<&'static str> {
    let is_in = way == Way::In;
    Some(match outcome {
        Outcome::CarrierUnreachable | Outcome::CarrierError => {
            by_outer(spec, "RFC 4213 section 3.4", "RFC 2473 section 8.1")
        }
        Outcome::OuterTooBig if way == Way::Here => by_outer(spec, "RFC 4213 section 3.2.2", "RFC 2473 section 8.1"),
        Outcome::HopLimit => "RFC 1812 section 5.3.1",
        Outcome::IcmpRefused => "RFC 7596 section 8",
        Outcome::InnerChecksum => "RFC 1812 section 5.2.2",
        Outcome::IcmpChecksum => "RFC 5508 section 4.1",
        Outcome::EchoAnswered => match inner_version(packet) {
            6 => "RFC 4443 section 4.2",
            _ => "RFC 1122 section 3.2.2.6",
        },
        Outcome::Encapsulated | Outcome::NoMapping | Outcome::InnerFamily => encapsulation(spec, inner_version(packet)),
        Outcome::Decapsulated | Outcome::NotOurs | Outcome::InnerVersion if !is_in => decapsulation(spec),
        Outcome::OuterFragment => by_outer(spec, "RFC 791 section 3.2", "RFC 8200 section 4.5"),
        Outcome::OuterTruncated | Outcome::OuterChecksum => by_outer(spec, "RFC 791 section 3.1", "RFC 8200 section 3"),
        Outcome::OuterTooBig => match inner_version(packet) {
            6 => "RFC 8200 section 5",
            _ => "RFC 1191 section 4",
        },
        Outcome::SourceNotPeer | Outcome::OuterSourceMartian => match &spec.mapping {
            Mapping::SixToFour { .. } => "RFC 3964 section 5.1",
            Mapping::SixRd { .. } => "RFC 5969 section 12",
            Mapping::Map(domain) => checked(domain),
            Mapping::Fixed { .. } if spec.payload == Payload::Gre => return None,
            Mapping::Fixed { .. } | Mapping::Isatap { .. } | Mapping::SixOverFour { .. } => decapsulation(spec),
        },
        Outcome::InnerSourceMismatch | Outcome::InnerDestinationMismatch => match &spec.mapping {
            Mapping::SixRd { .. } => "RFC 5969 section 12",
            Mapping::Map(domain) => checked(domain),
            Mapping::SixToFour { .. } if is_in => "RFC 3964 section 5.2",
            Mapping::SixToFour { .. } => "RFC 3964 section 5.1",
            Mapping::Isatap { .. } => "RFC 5214 section 7.3",
            Mapping::Fixed { .. } | Mapping::SixOverFour { .. } => return None,
        },
        Outcome::GreFlags => "RFC 2784 section 2.2",
        Outcome::GreKeyMismatch => "RFC 2890 section 2.1",
        Outcome::GreProtocol => "RFC 2784 section 2.4",
        Outcome::InnerTruncated | Outcome::InnerLength | Outcome::InnerVersion => match spec.payload {
            Payload::Ipv6 => "RFC 8200 section 3",
            Payload::Ipv4 => "RFC 791 section 3.1",
            Payload::Gre => "RFC 2784 section 2",
        },
        Outcome::InnerSourceBogus | Outcome::InnerDestinationBogus => match spec.payload {
            Payload::Ipv6 => "RFC 4213 section 3.6",
            Payload::Ipv4 | Payload::Gre => "RFC 1812 section 5.3.7",
        },
        Outcome::EcnInvalid => "RFC 6040 section 4.2",
        Outcome::DestinationMartian => match &spec.mapping {
            Mapping::SixToFour { .. } => "RFC 3964 section 4.1",
            Mapping::Fixed { .. }
            | Mapping::SixRd { .. }
            | Mapping::Map(_)
            | Mapping::Isatap { .. }
            | Mapping::SixOverFour { .. } => "RFC 1812 section 5.3.7",
        },
        Outcome::NestedTooDeep => "RFC 2473 section 4.1.1",
        Outcome::RoutingLoop => "RFC 2473 section 4.1",
        // These tell how a packet is carried inside, or what no RFC says.
        Outcome::Undecided
        | Outcome::Decapsulated
        | Outcome::NotOurs
        | Outcome::OuterOptions
        | Outcome::GreChecksumPresent
        | Outcome::NeighbourUnresolved
        | Outcome::KernelRefused
        | Outcome::InnerSourceOffLink
        | Outcome::NoRoute
        | Outcome::InnerTooLong
        | Outcome::NoRoom => return None,
    })
}

fn inner_version(packet: &[u8]) -> u8 {
    packet.first().map_or(0, |first| first >> 4)
}

fn by_outer(spec: &Spec, ipv4: &'static str, ipv6: &'static str) -> &'static str {
    match spec.outer {
        Family::Ipv4 => ipv4,
        Family::Ipv6 => ipv6,
    }
}

fn encapsulation(spec: &Spec, inner: u8) -> &'static str {
    match (&spec.mapping, spec.payload) {
        (Mapping::SixToFour { .. }, _) => "RFC 3056 section 5.3",
        (Mapping::SixRd { .. }, _) => "RFC 5969 section 9",
        (Mapping::Map(domain), _) if domain.is_lightweight() => checked(domain),
        (Mapping::Map(_), _) => "RFC 7597 section 5",
        (Mapping::Isatap { .. }, _) => "RFC 5214 section 7.2",
        (Mapping::SixOverFour { .. }, _) => "RFC 2529 section 4",
        (Mapping::Fixed { .. }, Payload::Gre) if inner == 6 => "RFC 7676 section 3",
        (Mapping::Fixed { .. }, Payload::Gre) => "RFC 2784 section 2",
        (Mapping::Fixed { .. }, Payload::Ipv6) => by_outer(spec, "RFC 4213 section 3.5", "RFC 2473 section 3.1"),
        (Mapping::Fixed { .. }, Payload::Ipv4) => by_outer(spec, "RFC 2003 section 3", "RFC 2473 section 3.1"),
    }
}

fn decapsulation(spec: &Spec) -> &'static str {
    match (&spec.mapping, spec.payload) {
        (Mapping::SixToFour { .. }, _) => "RFC 3056 section 5.3",
        (Mapping::SixRd { .. }, _) => "RFC 5969 section 9.2",
        (Mapping::Map(domain), _) => checked(domain),
        (Mapping::Isatap { .. }, _) => "RFC 5214 section 7.3",
        (Mapping::SixOverFour { .. }, _) => "RFC 2529 section 4",
        (Mapping::Fixed { .. }, Payload::Gre) => "RFC 2784 section 2",
        (Mapping::Fixed { .. }, Payload::Ipv6) => by_outer(spec, "RFC 4213 section 3.6", "RFC 2473 section 3.3"),
        (Mapping::Fixed { .. }, Payload::Ipv4) => by_outer(spec, "RFC 2003 section 3", "RFC 2473 section 3.3"),
    }
}

/// The section about which addresses and ports are checked, and which outer ones they must go with.
fn checked(domain: &MapDomain) -> &'static str {
    match (domain.is_lightweight(), &domain.own) {
        (true, Some(_)) => "RFC 7596 section 5.2",
        (true, None) => "RFC 7596 section 6.2",
        (false, _) => "RFC 7597 section 8.1",
    }
}
