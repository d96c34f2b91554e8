//! The checksums of TCP and UDP, which cover addresses: RFC 7915 sections 4.5 and 5.5. Other transport headers are
//! carried as they are.

use super::Clause;
use super::ends::Ends;
use crate::udp;
use crate::{checksum, protocol};

/// The sums of what checksums cover besides the message, in either family.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sums {
    pub ipv4: u16,
    pub ipv6: u16,
}

impl Sums {
    /// The sums of addresses. The other parts of the pseudo header are the same in both families.
    pub fn of(ends: &Ends) -> Self {
        let ipv4 = ends.ipv4.map(|address| address.octets());
        let ipv6 = ends.ipv6.map(|address| address.octets());
        Self { ipv4: checksum::sum(ipv4.as_flattened()), ipv6: checksum::sum(ipv6.as_flattened()) }
    }

    /// The sums of ICMP, which has no pseudo header, and of ICMPv6.
    pub fn icmp(self, message_bytes: usize) -> Self {
        let length = checksum::sum(&(message_bytes as u32).to_be_bytes());
        Self { ipv4: 0, ipv6: checksum::add(self.ipv6, checksum::add(u16::from(protocol::ICMPV6), length)) }
    }

    /// The one before and the one after.
    pub fn to_ipv6(self) -> [u16; 2] {
        [self.ipv4, self.ipv6]
    }

    /// The one before and the one after.
    pub fn to_ipv4(self) -> [u16; 2] {
        [self.ipv6, self.ipv4]
    }
}

/// A payload behind room for headers.
pub(super) fn blank(room: usize, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(room + payload.len());
    out.resize(room, 0);
    out.extend_from_slice(payload);
    out
}

/// Puts the sum of one pseudo header in the place of another's. False where there should be a checksum, but there is
/// not.
pub(super) fn update(protocol: u8, message: &mut [u8], [old, new]: [u16; 2]) -> bool {
    let at = match protocol {
        protocol::TCP => 16,
        protocol::UDP => 6,
        _ => return true,
    };
    let Some(field) = message.get_mut(at..at + 2) else { return false };
    let before = u16::from_be_bytes([field[0], field[1]]);
    if protocol == protocol::UDP && before == 0 {
        return true; // There is none: RFC 768, RFC 6935.
    }
    let after = checksum::update_sum(before, old, new);
    let after = if protocol == protocol::UDP { checksum::never_zero(after) } else { after };
    field.copy_from_slice(&after.to_be_bytes());
    true
}

/// True if a message is UDP without a checksum.
pub(super) fn lacks_checksum(protocol: u8, message: &[u8]) -> bool {
    protocol == protocol::UDP && message.get(6..8) == Some(&[0, 0])
}

/// Gives a whole UDP datagram its checksum. `addresses`: their sum.
pub(super) fn compute(datagram: &mut [u8], addresses: u16) -> Result<(), Clause> {
    let length = u16::from_be_bytes([datagram[4], datagram[5]]);
    let datagram = datagram.get_mut(..usize::from(length)).ok_or(Clause::Malformed)?;
    if datagram.len() < udp::HEADER_BYTES {
        return Err(Clause::Malformed);
    }
    let pseudo = checksum::add(addresses, checksum::add(u16::from(protocol::UDP), length));
    let computed = checksum::never_zero(checksum::upper_layer(pseudo, datagram));
    datagram[6..8].copy_from_slice(&computed.to_be_bytes());
    Ok(())
}
