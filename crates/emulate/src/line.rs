//! One direction of a link, which decides on each packet that has come.

use sixbench_wire::{Span, ethernet, ipv4, ipv6, protocol, virtio};

use crate::decision::{Decision, Decisions};
use crate::packets::{Arrived, Departures, Pool};
use crate::record::Record;
use crate::socket::{Arrival, PacketSocket};
use crate::spec::Impairments;
use crate::wire::{Wire, wire_bytes};

/// Time after which a packet that is held back leaves, though not all of the packets that were to pass it have come.
pub const GIVE_UP_NS: u64 = 500_000_000;

/// A direction of a link.
pub struct Line {
    /// The socket by which its packets leave.
    pub socket: std::rc::Rc<PacketSocket>,
    /// Counts and times of its packets.
    pub record: Record,
    decisions: Decisions,
    held: Vec<Held>,
    wire: Wire,
}

/// A packet that is held back.
struct Held {
    /// Number of the packet after which it leaves.
    passes_after: u64,
    gives_up_ns: u64,
    length: usize,
    buffer: Box<[u8]>,
}

impl Line {
    /// A direction whose packets leave by that socket.
    pub fn new(socket: std::rc::Rc<PacketSocket>, impairments: Impairments) -> Self {
        let wire = Wire::new(impairments.wire_bps);
        Self { socket, record: Record::default(), decisions: Decisions::new(impairments), held: Vec::new(), wire }
    }

    /// Changes the impairments of packets from the next one on, and counts them from 0 unless it `continues`.
    pub fn change(&mut self, impairments: Impairments, continues: bool) {
        self.wire.change(impairments.wire_bps);
        if continues {
            self.decisions.change(impairments);
        } else {
            self.decisions = Decisions::new(impairments);
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
        if is_control(&buffer[virtio::HEADER_BYTES..length]) {
            self.record.control_packets += 1;
            return departures.add(entered_ns + self.decisions.plain_delay_ns(), index, None, length, buffer);
        }
        let number = self.decisions.count();
        let Decision { is_lost, is_duplicated, flipped, overtakes, late_by, delay_ns } = self.decisions.decide();
        self.record.packets += 1;
        let mut due_ns = entered_ns + delay_ns;
        if is_lost {
            self.record.lose(&buffer[..length]);
            pool.give(buffer);
        } else {
            due_ns = self.wire.leave(due_ns, wire_bytes, self.decisions.in_order());
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

    /// Number of packets that are held back.
    pub fn held_back(&self) -> usize {
        self.held.len()
    }

    /// The time when the first packet that is held back is given up.
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

/// True if the impairments leave a frame alone: address resolution, neighbour discovery, group membership. The packets
/// that a link chooses must not depend on when a neighbour was asked for.
fn is_control(frame: &[u8]) -> bool {
    let Ok(frame) = ethernet::Frame::parse(Span::whole(frame)) else { return true };
    match frame.ethertype() {
        ethernet::ethertype::IPV4 => {
            ipv4::Packet::parse(frame.payload()).is_ok_and(|packet| packet.protocol() == protocol::IGMP)
        }
        ethernet::ethertype::IPV6 => ipv6::Packet::parse(frame.payload()).is_ok_and(|packet| {
            let first = packet.payload().captured().first();
            match packet.next_header() {
                // Multicast listener reports have a hop-by-hop option before them (RFC 2710, RFC 3810).
                protocol::HOP_BY_HOP => first == Some(&protocol::ICMPV6),
                protocol::ICMPV6 => first.is_some_and(|kind| (133..=137).contains(kind)),
                _ => false,
            }
        }),
        _ => true,
    }
}

/// Flips one bit of what the Ethernet header carries. The checksum is completed before, as a device would, or the
/// kernel would compute it over the flipped bit.
fn flip(packet: &mut [u8], bit: u64) {
    let Some((header, frame)) = packet.split_first_chunk_mut() else { return };
    let offloads = virtio::Repr::parse(header);
    if offloads.checksum.is_some_and(|checksum| checksum.complete(frame).is_some()) {
        *header = virtio::Repr { checksum: None, ..offloads }.emit();
    }
    let bits = 8 * frame.len().saturating_sub(ethernet::HEADER_BYTES) as u64;
    if bits > 0 {
        let bit = bit % bits;
        frame[ethernet::HEADER_BYTES + (bit / 8) as usize] ^= 1 << (bit % 8);
    }
}
