//! Packets that a node does not carry although its rules would carry them: those that no router forwards, and ICMP
//! messages that are damaged.

use sixbench_wire::{Span, checksum, ipv4, protocol};

use super::Whole;
use crate::abi::Outcome;

impl Whole {
    /// Looks at an IPv4 packet that is to be carried: as a router does that takes the hop (RFC 1812 sections 5.2.2 and
    /// 5.3.7), and, where a port decides whose a packet is, at the ICMP message in which one stands (RFC 5508 section
    /// 4.1). Packets of IPv6 pass.
    pub(super) fn check_forwarded(&self, bytes: &[u8]) -> Result<(), Outcome> {
        let Ok(packet) = ipv4::Packet::parse(Span::whole(bytes)) else { return Ok(()) };
        if self.node.takes_hop {
            let is_bogus = |first: u8| matches!(first, 0 | 127 | 224..);
            if !checksum::is_valid(&bytes[..packet.header_bytes()]) {
                return Err(Outcome::InnerChecksum);
            }
            if is_bogus(packet.source().octets()[0]) {
                return Err(Outcome::InnerSourceBogus);
            }
            if is_bogus(packet.destination().octets()[0]) {
                return Err(Outcome::InnerDestinationBogus);
            }
        }
        let is_whole_icmp = packet.protocol() == protocol::ICMP && packet.fragment().is_none();
        if is_whole_icmp && self.domains().next().is_some() && !checksum::is_valid(packet.payload().captured()) {
            return Err(Outcome::IcmpChecksum);
        }
        Ok(())
    }
}
