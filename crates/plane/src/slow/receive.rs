//! Packets that arrive for the tunnel: by a raw socket, decapsulated, into the device's far end.

use std::io;
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use sixbench_packet::{Message, ReceiveBatch, Received, SendBatch, With, error_queue};
use sixbench_wire::family::Family;
use sixbench_wire::{Span, ipv4, virtio};
use socket2::Socket;

use super::counting::{ThreadCounts, lock};
use super::long::{LongWay, MARK};
use super::offload::{FrameHead, virtual_header};
use super::on_link::OnLink;
use super::rules::{self, Inner};
use super::{BATCH, BUFFER_BYTES, Rivals, carrier, icmp, wait};
use crate::abi::{Address, Outcome};
use crate::device::Device;
use crate::spec::Spec;
use crate::sys::FarSocket;

/// The receiving direction of a tunnel.
pub struct Receiver {
    spec: Spec,
    near_ifindex: u32,
    carrier: Socket,
    far: FarSocket,
    rivals: Arc<Mutex<Rivals>>,
    counts: Arc<Mutex<ThreadCounts>>,
}

/// A packet of the batch that is to go into the device.
struct Incoming<'a> {
    head: FrameHead,
    packet: &'a [u8],
}

impl Incoming<'_> {
    /// True if it is longer than the device's MTU.
    fn is_long(&self) -> bool {
        self.head[virtio::HEADER_BYTES..].starts_with(&MARK)
    }
}

impl Receiver {
    pub fn open(
        spec: &Spec,
        device: &Device,
        rivals: Arc<Mutex<Rivals>>,
        counts: Arc<Mutex<ThreadCounts>>,
    ) -> Result<Self, (&'static str, io::Error)> {
        Ok(Self {
            spec: spec.clone(),
            near_ifindex: device.near_ifindex,
            carrier: carrier::receiver(spec).map_err(|error| ("socket(SOCK_RAW)", error))?,
            far: FarSocket::open_to_send(device.far_ifindex).map_err(|error| ("socket(AF_PACKET)", error))?,
            rivals,
            counts,
        })
    }

    pub fn work(self, stopped: &UnixStream) {
        let mut inbox = ReceiveBatch::new(BATCH, BUFFER_BYTES);
        let mut outbox = SendBatch::default();
        let mut quoted = vec![0; BUFFER_BYTES];
        let mut on_link = None;
        let mut long_way = LongWay::of(&self.spec.device);
        while wait(&self.carrier, stopped) {
            // An error is about a packet that was sent. Its details are in the error queue.
            if inbox.receive_ready(&self.carrier).is_ok() {
                let mut counts = lock(&self.counts);
                self.receive_all(&mut inbox, &mut outbox, &mut on_link, &mut long_way, &mut counts);
            }
            while self.relay_error(&mut quoted) {}
        }
    }

    fn receive_all(
        &self,
        inbox: &mut ReceiveBatch,
        outbox: &mut SendBatch,
        on_link: &mut Option<OnLink>,
        long_way: &mut LongWay,
        counts: &mut ThreadCounts,
    ) {
        let rivals = self.rivals.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let near_ifindex = self.near_ifindex;
        // It is opened by the first ISATAP packet that needs it.
        let mut is_on_link = |address: &Address| {
            if on_link.is_none() {
                *on_link = OnLink::open(near_ifindex).ok();
            }
            on_link.as_mut().is_some_and(|on_link| on_link.has(address))
        };
        let mut incoming = Vec::with_capacity(BATCH);
        for received in inbox.packets() {
            let bytes = received.bytes.len();
            match self.unwrap(received, &rivals, &mut is_on_link) {
                Ok(Some(long)) if long.is_long() && !long_way.open() => counts.lose(Outcome::InnerTooLong, bytes),
                Ok(Some(unwrapped)) => incoming.push(unwrapped),
                Ok(None) => {}
                Err(reason) => counts.lose(reason, bytes),
            }
        }
        let mut rest = &incoming[..];
        while let Some(first) = rest.first() {
            let messages = rest.iter().map(|next| Message { head: &next.head, body: next.packet, with: With::Nothing });
            let sent = match outbox.send(&self.far, messages) {
                Ok(count) => {
                    rest[..count].iter().for_each(|sent| counts.carry(sent.packet.len()));
                    count
                }
                // The device is down.
                Err(_) => {
                    counts.lose(Outcome::NoRoom, first.packet.len());
                    1
                }
            };
            rest = &rest[sent..];
        }
    }

    /// The packet inside, or `None` if the packet belongs to another tunnel.
    fn unwrap<'a>(
        &self,
        received: Received<&'a mut [u8]>,
        rivals: &Rivals,
        is_on_link: &mut dyn FnMut(&Address) -> bool,
    ) -> Result<Option<Incoming<'a>>, Outcome> {
        let (source, tos, payload) = match self.spec.outer {
            Family::Ipv4 => {
                // The kernel has checked the header, and put the packet together.
                let packet = ipv4::Packet::parse(Span::whole(received.bytes)).map_err(|_| Outcome::OuterTruncated)?;
                if !self.is_for_us(packet.destination()) {
                    return Ok(None);
                }
                let (source, tos, header_bytes) =
                    (packet.source().into(), packet.traffic_class(), packet.header_bytes());
                (source, tos, received.bytes.get_mut(header_bytes..).unwrap_or_default())
            }
            Family::Ipv6 => {
                let source = received.source.map_or(Address([0; 16]), Address::from);
                (source, received.notes.traffic_class.unwrap_or(0), received.bytes)
            }
        };
        if rivals.first.iter().any(|rival| rules::inspect(rival, &source, tos, payload, None, is_on_link).is_ok()) {
            return Ok(None);
        }
        let range = match rules::decapsulate(&self.spec, &source, tos, payload, None, is_on_link) {
            Ok(range) => range,
            Err(reason) if rivals.are_there && rules::may_be_anothers(reason) => return Ok(None),
            Err(reason) => return Err(reason),
        };
        let packet: &[u8] = payload.get(range).ok_or(Outcome::InnerLength)?;
        let inner = Inner::read(packet)?;
        Ok(Some(Incoming { head: self.head(packet, &inner, &source), packet }))
    }

    /// The socket of 6over4 has no address.
    fn is_for_us(&self, destination: Ipv4Addr) -> bool {
        !self.spec.mapping.uses_groups()
            || self.spec.local == destination
            || rules::is_6over4_group(destination.to_bits())
    }

    fn head(&self, packet: &[u8], inner: &Inner, source: &Address) -> FrameHead {
        let mut head = [0; size_of::<FrameHead>()];
        let (offloads, ethernet) = head.split_at_mut(virtio::HEADER_BYTES);
        let mtu_bytes = self.spec.mtu_bytes as usize;
        let left = virtual_header(packet, inner, mtu_bytes);
        offloads.copy_from_slice(&left.emit());
        ethernet[..6].copy_from_slice(&self.spec.near_mac());
        if self.spec.mapping.uses_groups() {
            if inner.destination.0[0] == 0xff {
                ethernet[..2].copy_from_slice(&[0x33, 0x33]);
                ethernet[2..6].copy_from_slice(&inner.destination.0[12..]);
            }
            ethernet[8..12].copy_from_slice(&source.0[..4]);
        }
        if left.segments.is_none() && packet.len() > mtu_bytes {
            ethernet[..6].copy_from_slice(&MARK);
        }
        ethernet[12..].copy_from_slice(if inner.version == 6 { &[0x86, 0xdd] } else { &[0x08, 0x00] });
        head
    }

    /// Takes an error that the carrier reported, and passes it on to the source of the packet. False if there was none.
    fn relay_error(&self, buffer: &mut [u8]) -> bool {
        let Ok(entry) = error_queue::next(&self.carrier, buffer) else { return false };
        if self.spec.mapping.peer().is_some_and(|peer| entry.destination.is_some_and(|to| to != peer)) {
            // It is about a packet of another tunnel of this address. A socket that was made before its route hears of
            // all of them.
            return true;
        }
        let is_unreachable = entry.error.is_some_and(|error| match error.origin {
            libc::SO_EE_ORIGIN_ICMP => icmp::is_unreachable(Family::Ipv4, error.kind, error.code),
            libc::SO_EE_ORIGIN_ICMP6 => icmp::is_unreachable(Family::Ipv6, error.kind, error.code),
            _ => false,
        });
        if is_unreachable {
            let mut counts = lock(&self.counts);
            match rules::quoted(&self.spec, &buffer[..entry.bytes]) {
                Some((packet, inner)) => {
                    let _ = icmp::send(icmp::UNREACHABLE, packet, &inner); // The packet is lost, whoever hears of it.
                    counts.lose(Outcome::CarrierUnreachable, packet.len());
                }
                None => counts.lose(Outcome::CarrierError, entry.bytes),
            }
        }
        true
    }
}
