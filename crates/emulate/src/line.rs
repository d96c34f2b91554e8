//! One direction of a link: what becomes of a packet that has come.

use sixbench_wire::{checksum, ethernet, protocol};

use crate::fate::{Fate, Fates};
use crate::packets::{Arrived, Departures, Pool};
use crate::record::Record;
use crate::spec::Impairments;
use crate::sys::{Arrival, PacketSocket, VIRTUAL_HEADER_BYTES};
use crate::wire::{Wire, wire_bytes};

/// RFC 3376.
const IGMP: u8 = 2;

/// How long a packet that is held back waits for those that are to pass it.
pub const GIVE_UP_NS: u64 = 500_000_000;

/// A direction of a link.
pub struct Line {
    /// Where its packets leave.
    pub socket: std::rc::Rc<PacketSocket>,
    /// What was done to its packets.
    pub record: Record,
    fates: Fates,
    held: Vec<Held>,
    wire: Wire,
}

/// A packet that is held back.
struct Held {
    /// Until the packet of this number has passed.
    passes_after: u64,
    gives_up_ns: u64,
    length: usize,
    buffer: Box<[u8]>,
}

impl Line {
    /// A direction whose packets leave by that socket.
    pub fn new(socket: std::rc::Rc<PacketSocket>, impairments: Impairments) -> Self {
        let wire = Wire::new(impairments.wire_bps);
        Self { socket, record: Record::default(), fates: Fates::new(impairments), held: Vec::new(), wire }
    }

    /// Changes what happens to the packets from the next one on, and counts them from 0 unless it `continues`.
    pub fn change(&mut self, impairments: Impairments, continues: bool) {
        self.wire.change(impairments.wire_bps);
        if continues {
            self.fates.change(impairments);
        } else {
            self.fates = Fates::new(impairments);
        }
    }

    /// Decides on a packet that has come and is in `buffer`.
    pub fn accept(
        &mut self,
        index: usize,
        arrival: &Arrival,
        mut buffer: Box<[u8]>,
        pool: &mut Pool,
        departures: &mut Departures,
    ) {
        let length = arrival.length;
        self.record.user_timestamps += u64::from(arrival.is_user_time);
        let wire_bytes = wire_bytes(&buffer[..length]);
        let entered_ns = self.wire.enter(arrival.monotonic_ns, wire_bytes);
        if is_control(&buffer[VIRTUAL_HEADER_BYTES..length]) {
            self.record.control_packets += 1;
            return departures.add(entered_ns + self.fates.plain_delay_ns(), index, None, length, buffer);
        }
        let number = self.fates.count();
        let Fate { is_lost, is_duplicated, flipped, overtakes, late_by, delay_ns } = self.fates.decide();
        self.record.packets += 1;
        let mut due_ns = entered_ns + delay_ns;
        if is_lost {
            self.record.lose(&buffer[..length]);
            pool.give(buffer);
        } else {
            due_ns = self.wire.leave(due_ns, wire_bytes, self.fates.in_order());
            self.record.overtaking += u64::from(overtakes);
            if let Some(bit) = flipped {
                flip(&mut buffer[..length], bit);
                self.record.corrupted += 1;
            }
            if is_duplicated {
                match pool.take() {
                    Some(mut copy) => {
                        copy[..length].copy_from_slice(&buffer[..length]);
                        self.record.duplicated += 1;
                        let arrived = Arrived { at_ns: entered_ns, number: None };
                        departures.add(due_ns, index, Some(arrived), length, copy);
                    }
                    None => self.record.no_room += 1,
                }
            }
            match late_by {
                None => {
                    let arrived = Arrived { at_ns: entered_ns, number: Some(number) };
                    departures.add(due_ns, index, Some(arrived), length, buffer);
                }
                Some(by) => {
                    self.record.late += 1;
                    let gives_up_ns = due_ns + GIVE_UP_NS;
                    self.held.push(Held { passes_after: number + by, gives_up_ns, length, buffer });
                }
            }
        }
        self.let_pass(index, number, due_ns, departures);
    }

    /// How many packets are held back.
    pub fn held_back(&self) -> usize {
        self.held.len()
    }

    /// When the first packet that is held back is given up.
    pub fn gives_up_ns(&self) -> Option<u64> {
        self.held.iter().map(|held| held.gives_up_ns).min()
    }

    /// Lets go what waited too long.
    pub fn give_up(&mut self, index: usize, now_ns: u64, departures: &mut Departures) {
        for held in self.let_go(|held| held.gives_up_ns <= now_ns) {
            self.record.late_given_up += 1;
            departures.add(held.gives_up_ns, index, None, held.length, held.buffer);
        }
    }

    fn let_pass(&mut self, index: usize, number: u64, due_ns: u64, departures: &mut Departures) {
        for held in self.let_go(|held| held.passes_after <= number) {
            departures.add(due_ns, index, None, held.length, held.buffer);
        }
    }

    fn let_go(&mut self, goes: impl Fn(&Held) -> bool) -> Vec<Held> {
        if !self.held.iter().any(&goes) {
            return Vec::new();
        }
        let (gone, stay) = std::mem::take(&mut self.held).into_iter().partition(goes);
        self.held = stay;
        gone
    }
}

/// Whether the impairments leave a frame alone: address resolution, neighbour discovery, group membership. Which packets a
/// link chooses must not depend on when a neighbour was asked for.
fn is_control(frame: &[u8]) -> bool {
    let Some(packet) = frame.get(ethernet::HEADER_BYTES..) else { return true };
    match u16::from_be_bytes([frame[12], frame[13]]) {
        ethernet::ethertype::IPV4 => packet.get(9) == Some(&IGMP),
        ethernet::ethertype::IPV6 => match packet.get(6) {
            // Multicast listener reports have a hop-by-hop option before them (RFC 2710, RFC 3810).
            Some(&protocol::HOP_BY_HOP) => packet.get(40) == Some(&protocol::ICMPV6),
            Some(&protocol::ICMPV6) => packet.get(40).is_some_and(|kind| (133..=137).contains(kind)),
            _ => false,
        },
        _ => true,
    }
}

/// Flips one bit of what the Ethernet header carries. The checksum is completed before, or the kernel would compute it
/// over the flipped bit.
fn flip(packet: &mut [u8], bit: u64) {
    let (header, frame) = packet.split_at_mut(VIRTUAL_HEADER_BYTES);
    complete_checksum(header, frame);
    let bits = 8 * frame.len().saturating_sub(ethernet::HEADER_BYTES) as u64;
    if bits > 0 {
        let bit = bit % bits;
        frame[ethernet::HEADER_BYTES + (bit / 8) as usize] ^= 1 << (bit % 8);
    }
}

/// What a device does for a packet that was left to it (`struct virtio_net_hdr`, VIRTIO_NET_HDR_F_NEEDS_CSUM): the field
/// holds the sum of the pseudo header.
fn complete_checksum(header: &mut [u8], frame: &mut [u8]) {
    const NEEDS_CHECKSUM: u8 = 1;
    if header[0] & NEEDS_CHECKSUM == 0 {
        return;
    }
    let start = usize::from(u16::from_ne_bytes([header[6], header[7]]));
    let at = start + usize::from(u16::from_ne_bytes([header[8], header[9]]));
    if at + 2 > frame.len() {
        return;
    }
    let sum = checksum::never_zero(checksum::checksum(&frame[start..]));
    frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    header[0] &= !NEEDS_CHECKSUM;
}
