//! Packets that leave the device: out of its far end, encapsulated, by a raw socket.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use nix::errno::Errno;
use sixbench_packet::{Destination, Message, ReceiveBatch, SendBatch, With};
use socket2::Socket;

use super::counting::{ThreadCounts, lock};
use super::offload::{Frame, complete};
use super::rules::{self, Inner, Outer};
use super::{BATCH, BUFFER_BYTES, ETHERTYPE_IPV4, ETHERTYPE_IPV6, carrier, icmp, wait};
use crate::abi::Outcome;
use crate::device::Device;
use crate::spec::Spec;
use crate::sys::{self, FarSocket};

/// The sending direction of a tunnel.
pub struct Sender {
    spec: Spec,
    far: FarSocket,
    /// The socket of packets that the kernel may fragment.
    fragmenting: Socket,
    whole: Socket,
    counts: Arc<Mutex<ThreadCounts>>,
}

/// A packet of the batch that is to be sent.
struct Outgoing<'a> {
    packet: &'a [u8],
    inner: Inner,
    outer: Outer,
    destination: Destination,
}

impl Sender {
    pub fn open(
        spec: &Spec,
        device: &Device,
        counts: Arc<Mutex<ThreadCounts>>,
    ) -> Result<Self, (&'static str, io::Error)> {
        Ok(Self {
            spec: spec.clone(),
            far: FarSocket::open(device.far_ifindex, carrier::RECEIVE_BUFFER_BYTES)
                .map_err(|error| ("socket(AF_PACKET)", error))?,
            fragmenting: carrier::sender(spec, false).map_err(|error| ("socket(SOCK_RAW)", error))?,
            whole: carrier::sender(spec, true).map_err(|error| ("socket(SOCK_RAW)", error))?,
            counts,
        })
    }

    pub fn work(self, stopped: &UnixStream) {
        let mut inbox = ReceiveBatch::new(BATCH, BUFFER_BYTES);
        let mut outbox = SendBatch::default();
        while wait(&self.far, stopped) {
            // An error is the device's (it is down); the next packet may come.
            if inbox.receive_ready(&self.far).is_ok() {
                self.send_all(&mut inbox, &mut outbox, &mut lock(&self.counts));
            }
        }
    }

    fn send_all(&self, inbox: &mut ReceiveBatch, outbox: &mut SendBatch, counts: &mut ThreadCounts) {
        let mut outgoing = Vec::with_capacity(BATCH);
        for received in inbox.packets() {
            let Some(frame) = complete(received.bytes) else { continue };
            match self.prepare(&frame) {
                Ok(prepared) => outgoing.push(prepared),
                Err(reason) => counts.lose(reason, frame.packet.len()),
            }
        }
        let mut rest = &outgoing[..];
        while let Some(first) = rest.first() {
            let alike = rest.iter().take_while(|next| next.outer.dont_fragment == first.outer.dont_fragment).count();
            let sent = match self.send(&rest[..alike], outbox) {
                Ok(count) => {
                    rest[..count].iter().for_each(|sent| counts.carry(sent.packet.len()));
                    count
                }
                Err(error) => {
                    match self.resolve(first, error, outbox) {
                        Ok(()) => counts.carry(first.packet.len()),
                        Err(reason) => counts.lose(reason, first.packet.len()),
                    }
                    1
                }
            };
            rest = &rest[sent..];
        }
    }

    fn prepare<'a>(&self, frame: &Frame<'a>) -> Result<Outgoing<'a>, Outcome> {
        if ![ETHERTYPE_IPV4, ETHERTYPE_IPV6].contains(&frame.ethertype) {
            return Err(Outcome::InnerFamily);
        }
        let inner = Inner::read(frame.packet)?;
        let packet = &frame.packet[..inner.bytes];
        let outer = rules::encapsulate(&self.spec, &inner, packet, frame.ethernet_destination)?;
        // The kernel takes none of 0; a packet with it does not get far in either case.
        let destination = Destination { address: outer.destination, ttl: outer.ttl.max(1), tos: outer.tos };
        Ok(Outgoing { packet, inner, outer, destination })
    }

    /// Sends packets that are alike in DF. Returns the number sent, or the error of the first one.
    fn send(&self, packets: &[Outgoing<'_>], outbox: &mut SendBatch) -> nix::Result<usize> {
        let dont_fragment = packets.first().is_some_and(|first| first.outer.dont_fragment);
        let socket = if dont_fragment { &self.whole } else { &self.fragmenting };
        outbox.send(socket, packets.iter().map(message))
    }

    /// Decides about a packet that could not be sent, by the error.
    fn resolve(&self, packet: &Outgoing<'_>, error: Errno, outbox: &mut SendBatch) -> Result<(), Outcome> {
        match error {
            Errno::EMSGSIZE if packet.outer.dont_fragment => self.send_too_big(packet, outbox),
            Errno::EAGAIN | Errno::ENOBUFS | Errno::ENOMEM => Err(Outcome::NoRoom),
            _ => Err(Outcome::NoRoute),
        }
    }

    /// Fragments a packet that is too long, if IPv6 guarantees its length, or it may be fragmented. The source of
    /// others gets an error: RFC 4213 section 3.2.2, RFC 2473 sections 7.1 and 7.2.
    fn send_too_big(&self, packet: &Outgoing<'_>, outbox: &mut SendBatch) -> Result<(), Outcome> {
        let inner = &packet.inner;
        if !inner.dont_fragment || (inner.version == 6 && packet.packet.len() <= 1280) {
            let sent = outbox.send(&self.fragmenting, std::iter::once(message(packet)));
            return sent.map(|_| ()).map_err(|_| Outcome::NoRoute);
        }
        let path_bytes = sys::path_mtu_bytes(packet.destination.address).map_err(|_| Outcome::NoRoute)?;
        let tunnel_bytes = path_bytes.saturating_sub(self.spec.overhead_bytes());
        icmp::send(icmp::too_big(tunnel_bytes), packet.packet, inner).map_err(|_| Outcome::NoRoute)?;
        Err(Outcome::OuterTooBig)
    }
}

fn message<'a>(packet: &'a Outgoing<'_>) -> Message<'a> {
    Message { head: packet.outer.gre.as_bytes(), body: packet.packet, with: With::Destination(packet.destination) }
}
