//! Work that the kernel leaves to devices, which a packet may still need: `struct virtio_net_hdr`.

use std::net::{Ipv4Addr, Ipv6Addr};

use sixbench_wire::checksum;

use super::rules::Inner;
use crate::sys::VIRTUAL_HEADER_BYTES;

/// An Ethernet header.
pub const ETHERNET_BYTES: usize = 14;

/// Before the packet: a virtual header and an Ethernet header.
pub type FrameHead = [u8; VIRTUAL_HEADER_BYTES + ETHERNET_BYTES];

const TCP: u8 = 6;
const UDP: u8 = 17;

/// VIRTIO_NET_HDR_F_NEEDS_CSUM.
const NEEDS_CHECKSUM: u8 = 1;
/// VIRTIO_NET_HDR_GSO_TCPV4, _TCPV6 and _ECN.
const GSO_TCP_V4: u8 = 1;
const GSO_TCP_V6: u8 = 4;
const GSO_ECN: u8 = 0x80;
/// TCP's CWR flag, which only the first segment may have: RFC 3168 section 6.1.2.
const CWR: u8 = 0x80;

/// A frame that came out of the device's far end, with the checksum that was left to the device.
#[allow(missing_docs)]
pub struct Frame<'a> {
    pub ethernet_destination: [u8; 6],
    pub ethertype: [u8; 2],
    pub packet: &'a [u8],
}

/// Writes the checksum that is missing. `None` for what is no frame.
pub fn complete(frame: &mut [u8]) -> Option<Frame<'_>> {
    let header: [u8; VIRTUAL_HEADER_BYTES] = *frame.first_chunk()?;
    let frame = frame.get_mut(VIRTUAL_HEADER_BYTES..)?;
    if header[0] & NEEDS_CHECKSUM != 0 {
        let start = usize::from(u16::from_ne_bytes([header[6], header[7]]));
        let at = start + usize::from(u16::from_ne_bytes([header[8], header[9]]));
        // Zero would mean "none" to UDP: RFC 768. For others all ones is the same number.
        let sum = checksum::never_zero(checksum::checksum(frame.get(start..)?));
        frame.get_mut(at..at + 2)?.copy_from_slice(&sum.to_be_bytes());
    }
    let (ethernet, packet) = frame.split_first_chunk::<ETHERNET_BYTES>()?;
    Some(Frame { ethernet_destination: *ethernet.first_chunk()?, ethertype: [ethernet[12], ethernet[13]], packet })
}

/// The virtual header for `packet`, whose header is `inner`, on its way into a device of that MTU.
///
/// A raw socket gives packets as they are in the kernel: where a veth brought them, the checksum is still left to the device; and where the receiving
/// device put TCP segments together (GRO), they are longer than any link's MTU. Both have the sum of the pseudo header as checksum, and are given back as what
/// they are. (A checksum that is complete and happens to be that number is right too if it is computed again.)
pub fn virtual_header(packet: &[u8], inner: &Inner, mtu_bytes: usize) -> [u8; VIRTUAL_HEADER_BYTES] {
    let none = [0; VIRTUAL_HEADER_BYTES];
    let offset = match inner.protocol {
        TCP => 16,
        UDP => 6,
        _ => return none,
    };
    if inner.fragment_offset != 0 || inner.more_fragments {
        return none;
    }
    let at = inner.header_bytes + offset;
    if packet.get(at..at + 2) != Some(&pseudo_header_sum(inner).to_be_bytes()) {
        return none;
    }
    let mut header = none;
    header[0] = NEEDS_CHECKSUM;
    header[6..8].copy_from_slice(&((ETHERNET_BYTES + inner.header_bytes) as u16).to_ne_bytes());
    header[8..10].copy_from_slice(&(offset as u16).to_ne_bytes());
    if inner.protocol == TCP && packet.len() > mtu_bytes {
        let data_offset = usize::from(packet[inner.header_bytes + 12] >> 4) * 4;
        let header_bytes = inner.header_bytes + data_offset;
        if data_offset >= 20 && header_bytes < mtu_bytes {
            let has_cwr = packet[inner.header_bytes + 13] & CWR != 0;
            header[1] = if inner.version == 4 { GSO_TCP_V4 } else { GSO_TCP_V6 } | if has_cwr { GSO_ECN } else { 0 };
            header[2..4].copy_from_slice(&((ETHERNET_BYTES + header_bytes) as u16).to_ne_bytes());
            header[4..6].copy_from_slice(&((mtu_bytes - header_bytes) as u16).to_ne_bytes());
        }
    }
    header
}

fn pseudo_header_sum(inner: &Inner) -> u16 {
    let bytes = inner.bytes - inner.header_bytes;
    let [source, destination] = [inner.source.0, inner.destination.0];
    if inner.version == 6 {
        let [source, destination] = [source, destination].map(Ipv6Addr::from);
        checksum::pseudo_header_v6(source, destination, inner.protocol, bytes as u32)
    } else {
        let [source, destination] = [source, destination].map(|[a, b, c, d, ..]| Ipv4Addr::new(a, b, c, d));
        checksum::pseudo_header_v4(source, destination, inner.protocol, bytes as u16)
    }
}
