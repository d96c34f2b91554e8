//! What the lwAFTR says of packets that its binding table binds to nobody: RFC 7596 section 6.2.

use std::net::{Ipv4Addr, Ipv6Addr};

use sixbench_wire::icmp::{V4Repr, V6Repr};
use sixbench_wire::{Span, icmp_error, ipv4, ipv6};

use super::{Way, too_long};
use crate::abi::Outcome;
use crate::slow::rules::Inner;

/// The error for the source of a packet that was dropped so. `None` where it is not told, or there is no address to tell it from.
pub fn answer(
    way: Way,
    packet: &[u8],
    outcome: Outcome,
    own4: Option<Ipv4Addr>,
    own6: Option<Ipv6Addr>,
) -> Option<Vec<u8>> {
    let inner = Inner::read(packet).ok()?;
    let about = &packet[..inner.bytes];
    if !too_long::may_be_told(about, &inner) {
        return None;
    }
    match (way, outcome) {
        (Way::In, Outcome::NoMapping) => {
            let source = ipv4::Packet::parse(Span::whole(about)).ok()?.source();
            let told = V4Repr::Unreachable { code: 1, quoted_words: 0, mtu_bytes: 0 };
            Some(icmp_error::v4_packet(told, about, (own4?, source), 0, 0))
        }
        (Way::Out, Outcome::SourceNotPeer | Outcome::InnerSourceMismatch) => {
            let source = ipv6::Packet::parse(Span::whole(about)).ok()?.source();
            let told = V6Repr::Unreachable { code: 5, quoted_words: 0 };
            Some(icmp_error::v6_packet(told, about, (own6?, source)))
        }
        _ => None,
    }
}
