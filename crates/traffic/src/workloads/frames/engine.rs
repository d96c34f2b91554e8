//! Hands frames to an interface and takes frames from one: by packet sockets, or by XDP where it is available.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock::BothClocks;
use sixbench_netlink::Client;

use super::ends::Ends;
use super::forms::Forms;
use super::layout::{FCS_BYTES, FILL, signature};
use super::reading::Sought;
use super::stamps::{self, StampTally, Stamper, Stamps, Wanted};
use super::{NAME, Settings};
use crate::datagram_socket::wait_for_any;
use crate::frame_batch::FrameBatch;
use crate::sys::ring::{Frame, Place, Ring, StampedRing, Tag};
use crate::sys::xsk;
use crate::{Error, Result, error_queue};

/// The engine that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Packet sockets.
    Packet,
    /// XDP at the interfaces that have it, else packet sockets.
    Xdp,
}

impl Engine {
    /// Engines by the names of the parameter.
    pub const NAMES: &[(&'static str, Self)] = &[("packet", Self::Packet), ("xdp", Self::Xdp)];
}

/// Frames that go by one call of a packet socket, of those that are due.
const AT_ONCE: usize = 32;
/// Size of the send buffer, for frames on their way out.
const SEND_BUFFER_BYTES: usize = 32 << 20;
/// The beginning of a frame, with all headers and the mark.
const HEAD_BYTES: usize = 256;

/// The sockets of a side, opened before it knows its frames.
pub struct Engines {
    /// The receiving end, if this side receives.
    pub intake: Option<Intake>,
    /// The XDP sender, if there is one.
    pub sender: Option<xsk::Sender>,
    /// The reason why it does not use XDP, where that was wanted.
    pub refused: Option<String>,
    /// The interface that stamps frames by hardware.
    pub stamper: Wanted<Stamper>,
}

impl Engines {
    /// Opens the sockets for frames that the peers of the ends send, and for frames to them.
    pub fn open(ends: &Ends, settings: &Settings, receives: bool, sends: bool) -> Result<Self> {
        // The size does not matter: the signature is in front of it.
        let (of_path, native) = ends.sought(0, settings);
        let places_of = |sought: Sought| sought.signature_at().map(|at| Place { is_ipv4: sought.is_ipv4(), at });
        let mut places: Vec<Place> = std::iter::once(of_path).chain(native).flat_map(places_of).collect();
        places.dedup();
        let mark = signature(ends.path.token.short());
        let sought = receives.then_some((&places[..], mark));
        let (halves, refused) = match settings.engine {
            Engine::Packet => (None, None),
            Engine::Xdp => match open_xsk(ends, settings, sought, sends) {
                Ok(halves) => (Some(halves), None),
                Err(error) => (None, Some(error.to_string())),
            },
        };
        let stamper = settings.hardware_stamps.then(|| match settings.engine {
            Engine::Packet => Stamper::turn_on(ends),
            Engine::Xdp => Err("frames by XDP have none".to_owned()),
        });
        let (receiver, sender) = halves.map_or((None, None), |halves| (halves.receiver, halves.sender));
        let intake = if receives {
            let ring = Ring::open(&places, mark).map_err(|e| {
                let doing = "opening a packet socket with a ring for frames, which needs CAP_NET_RAW";
                Error::system(doing, "socket or mmap", e)
            })?;
            let stamping = stamper.clone().map(|stamper| {
                let stamper = stamper?;
                let one_of = stamps::one_of(settings, settings.incoming_pps(ends.is_client));
                let ring = StampedRing::open(&places, mark, Tag { ifindex: stamper.ifindex, one_of });
                Ok((stamper, ring.map_err(|error| format!("opening a ring for tagged frames: {error}"))?))
            });
            Some(Intake { ring, xsk: receiver, refused: refused.clone(), stamping })
        } else {
            None
        };
        Ok(Self { intake, sender, refused, stamper })
    }
}

/// An AF_XDP socket at the interface by which the peer is reached.
fn open_xsk(ends: &Ends, settings: &Settings, sought: Option<(&[Place], u64)>, sends: bool) -> io::Result<xsk::Halves> {
    let unfit = |reason: &str| Err(io::Error::new(io::ErrorKind::Unsupported, reason));
    if ends.path.is_open() {
        return unfit("the peer is not known yet");
    }
    // The other side's frames may have the longer header.
    if settings.frame_bytes - FCS_BYTES + 20 > xsk::LONGEST_BYTES {
        return unfit("the frames are too long");
    }
    let mut client = Client::open()?;
    let route = client.route(ends.path.peer, Some(ends.path.address.ip()), ends.path.address.interface())?;
    let Some(ifindex) = route.and_then(|route| route.link) else { return unfit("there is no route to the peer") };
    let link = client.link(ifindex)?;
    if sends && link.queue.as_deref().is_some_and(|queue| queue != "noqueue") {
        return unfit("the interface has a queue, which frames by XDP would pass");
    }
    xsk::open(ifindex, sought, sends.then_some(FILL))
}

/// The sending end of a flow.
pub struct Outlet {
    means: Sending,
    /// The reason why it does not use XDP, where that was wanted.
    refused: Option<String>,
    /// Times at which the interface has sent tagged frames.
    stamping: Wanted<Stamps>,
}

enum Sending {
    Packets(OwnedFd, FrameBatch),
    Xdp(xsk::Sender),
}

impl Outlet {
    /// An outlet of a flow's frames by that interface: by XDP, if there is a sender for it.
    pub fn open(
        sender: Option<xsk::Sender>,
        refused: Option<String>,
        stamping: Wanted<Stamps>,
        forms: &Forms,
        ifindex: u32,
    ) -> Result<Self> {
        let means = match sender {
            Some(sender) => Sending::Xdp(sender),
            None => Sending::Packets(packet_socket(ifindex)?, FrameBatch::new(AT_ONCE, forms.longest_bytes(), FILL)),
        };
        if let (Sending::Packets(socket, _), Some(Ok(_))) = (&means, &stamping) {
            error_queue::ask_for_hardware_times(socket)?;
        }
        Ok(Self { means, refused, stamping })
    }

    /// Frames that go together at most.
    pub fn at_once(&self) -> usize {
        match self.means {
            Sending::Packets(..) => AT_ONCE,
            Sending::Xdp(_) => xsk::AT_ONCE,
        }
    }

    /// The place of a frame, of the first [`Outlet::at_once`].
    #[inline]
    pub fn place(&mut self, index: usize) -> &mut [u8] {
        match &mut self.means {
            Sending::Packets(_, batch) => batch.place(index),
            Sending::Xdp(sender) => sender.place(index),
        }
    }

    /// Sends the frames in the first places, which have these lengths. Returns the number sent, at least one; or the
    /// error of the first. `first`: the number of the first one, if they are of the measured flow.
    pub fn send(&mut self, lengths: &[usize], first: Option<u64>) -> nix::Result<usize> {
        let one_of = self.stamping.as_ref().and_then(|stamping| stamping.as_ref().ok()).map(|stamps| stamps.one_of);
        let tags = first.zip(one_of);
        let is_tagged =
            |index: usize| tags.is_some_and(|(first, one_of)| (first + index as u64) % u64::from(one_of) == 0);
        match &mut self.means {
            Sending::Packets(socket, batch) => batch.send(socket.as_fd(), lengths, is_tagged),
            Sending::Xdp(sender) => sender.send(lengths),
        }
    }

    /// Notes when the interface has sent tagged frames, as far as it has reported it. Returns true if it has yet to
    /// report some of the first `sent` frames.
    pub fn note_stamps(&mut self, forms: &Forms, sent: u64) -> bool {
        let (Sending::Packets(socket, _), Some(Ok(stamps))) = (&self.means, &mut self.stamping) else { return false };
        let mut head = [0; HEAD_BYTES];
        while stamps.awaits_any_of(sent) {
            let Some((length, hardware_ns)) = error_queue::next_sent_frame(socket, &mut head) else { return true };
            if let Some(number) = head.get(..length).and_then(|head| forms.number_of(head)) {
                stamps.note(number, hardware_ns);
            }
        }
        false
    }

    /// The engine and the stamps, for a sender's result.
    pub fn tally(&self) -> EngineTally {
        EngineTally {
            engine: match &self.means {
                Sending::Packets(..) => "packet socket",
                Sending::Xdp(sender) => sender.name(),
            },
            engine_refused: self.refused.clone(),
            hardware_stamps: self.stamping.as_ref().and_then(|stamping| stamping.as_ref().ok()).map(Stamps::tally),
            hardware_stamps_refused: self.stamping.as_ref().and_then(|stamping| stamping.as_ref().err().cloned()),
        }
    }
}

/// The engine of one end of a flow and the stamps of its interface, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EngineTally {
    engine: &'static str,
    /// The reason why it is not the engine that was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    engine_refused: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hardware_stamps: Option<StampTally>,
    /// The reason why there are no stamps, where they were wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    hardware_stamps_refused: Option<String>,
}

/// A packet socket that sends by the queue of the interface, so that its rate holds, and receives nothing.
fn packet_socket(ifindex: u32) -> Result<OwnedFd> {
    let doing = "opening a packet socket for frames, which needs CAP_NET_RAW";
    let socket = sixbench_packet::open().map_err(|e| Error::system(doing, "socket", e))?;
    sixbench_packet::set_send_buffer(&socket, SEND_BUFFER_BYTES)
        .map_err(|e| Error::system(doing, "setsockopt(SO_SNDBUF)", e))?;
    sixbench_packet::bind(&socket, ifindex, sixbench_packet::NO_PROTOCOL)
        .map_err(|e| Error::system(doing, "bind", e))?;
    Ok(socket)
}

/// The receiving end of a flow: a ring of a packet socket, and before it an AF_XDP socket where there is one.
pub struct Intake {
    ring: Ring,
    xsk: Option<xsk::Receiver>,
    /// The reason why there is no AF_XDP socket, where one was wanted.
    refused: Option<String>,
    /// A ring of tagged frames, with the stamps of the interface.
    stamping: Wanted<(Stamper, StampedRing)>,
}

impl Intake {
    /// Gives the frames that have come to `each`. Returns true if there were any.
    pub fn take(&mut self, mut each: impl FnMut(Frame<'_>)) -> bool {
        let is_taken = match &mut self.xsk {
            None => false,
            Some(xsk) => xsk.take(BothClocks::read().lead_ns, &mut each),
        };
        self.ring.take(each) || is_taken
    }

    /// The interface that stamps tagged frames, if any.
    pub fn stamper(&self) -> Option<&Stamper> {
        self.stamping.as_ref()?.as_ref().ok().map(|(stamper, _)| stamper)
    }

    /// Gives the tagged frames that have come to `each`, with the times of the interface.
    pub fn take_stamped(&mut self, mut each: impl FnMut(&[u8], Option<u64>)) {
        if let Some(Ok((_, ring))) = &mut self.stamping {
            while ring.take(&mut each) {}
        }
    }

    /// Waits for frames, at most this long. Returns true if there may be some.
    pub fn wait(&self, patience: Duration) -> bool {
        match &self.xsk {
            None => wait_for_any(&[self.ring.as_fd()], patience),
            Some(xsk) => wait_for_any(&[xsk.as_fd(), self.ring.as_fd()], patience),
        }
    }

    /// Number of frames for which there was no room, since it was opened.
    pub fn dropped(&mut self) -> Result<u64> {
        let doing = || format!("counting lost {NAME}");
        let of_ring = self.ring.dropped().map_err(|e| Error::system(doing(), "getsockopt(PACKET_STATISTICS)", e))?;
        let of_xsk = self.xsk.as_ref().map_or(Ok(0), xsk::Receiver::dropped);
        Ok(of_ring + of_xsk.map_err(|e| Error::system(doing(), "getsockopt(XDP_STATISTICS)", e))?)
    }

    /// The engine and the stamps, for a receiver's result.
    pub fn tally(&self, stamps: Option<&Stamps>) -> EngineTally {
        EngineTally {
            engine: self.xsk.as_ref().map_or("packet ring", xsk::Receiver::name),
            engine_refused: self.refused.clone(),
            hardware_stamps: stamps.map(Stamps::tally),
            hardware_stamps_refused: self.stamping.as_ref().and_then(|stamping| stamping.as_ref().err().cloned()),
        }
    }
}
