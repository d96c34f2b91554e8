//! Work that the kernel leaves to devices, which a packet may still need: `struct virtio_net_hdr`.

use std::net::{Ipv4Addr, Ipv6Addr};

use sixbench_wire::ethernet::HEADER_BYTES as ETHERNET_BYTES;
use sixbench_wire::protocol::{TCP, UDP};
use sixbench_wire::virtio::{self, Checksum, Segments};
use sixbench_wire::{Span, checksum, tcp};

use super::rules::Inner;

/// The bytes before a packet: a virtual header and an Ethernet header.
pub type FrameHead = [u8; virtio::HEADER_BYTES + ETHERNET_BYTES];

/// A frame that came out of the device's far end, with the checksum that was left to the device.
#[allow(missing_docs)]
pub struct Frame<'a> {
    pub ethernet_destination: [u8; 6],
    pub ethertype: [u8; 2],
    pub packet: &'a [u8],
}

/// Writes the checksum that is missing. `None` for what is no frame.
pub fn complete(frame: &mut [u8]) -> Option<Frame<'_>> {
    let (header, frame) = frame.split_first_chunk_mut()?;
    if let Some(checksum) = virtio::Repr::parse(header).checksum {
        checksum.complete(frame)?;
    }
    let (ethernet, packet) = frame.split_first_chunk::<ETHERNET_BYTES>()?;
    Some(Frame { ethernet_destination: *ethernet.first_chunk()?, ethertype: [ethernet[12], ethernet[13]], packet })
}

/// The virtual header for `packet`, whose header is `inner`, on its way into a device of that MTU.
///
/// A raw socket gives packets as they are in the kernel: where a veth brought them, the checksum is still left to the
/// device; and where the receiving device put TCP segments together (GRO), they are longer than any link's MTU. Both
/// have the sum of the pseudo header as checksum, and are given back as what they are. (A checksum that is complete and
/// happens to be that number is right too if it is computed again.)
pub fn virtual_header(packet: &[u8], inner: &Inner, mtu_bytes: usize) -> virtio::Repr {
    let none = virtio::Repr::default();
    let offset_bytes: u16 = match inner.protocol {
        TCP => 16,
        UDP => 6,
        _ => return none,
    };
    if inner.is_fragment {
        return none;
    }
    let at = inner.header_bytes + usize::from(offset_bytes);
    if packet.get(at..at + 2) != Some(&pseudo_header_sum(inner).to_be_bytes()) {
        return none;
    }
    let start_bytes = (ETHERNET_BYTES + inner.header_bytes) as u16;
    let is_segment = inner.protocol == TCP && packet.len() > mtu_bytes;
    let segments = is_segment.then(|| segments(packet, inner, mtu_bytes)).flatten();
    virtio::Repr { checksum: Some(Checksum { start_bytes, offset_bytes }), segments }
}

/// The cuts by which the device makes segments no longer than its MTU.
fn segments(packet: &[u8], inner: &Inner, mtu_bytes: usize) -> Option<Segments> {
    let segment = tcp::Segment::parse(Span::whole(packet.get(inner.header_bytes..)?)).ok()?;
    let header_bytes = inner.header_bytes + segment.header_bytes();
    let segment_bytes = mtu_bytes.checked_sub(header_bytes).filter(|&bytes| bytes > 0)?;
    let frame_header_bytes = (ETHERNET_BYTES + header_bytes) as u16;
    Some(Segments::of_tcp(inner.version == 4, segment.has_cwr(), frame_header_bytes, segment_bytes as u16))
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
