//! The translators of a node.
//!
//! A translator is a veth pair. Packets of either family are routed into its near end, and come in at it as packets of
//! the other, which the node forwards. So the node takes one from the hop limit twice: when it forwards a packet into
//! the device, and when it forwards the translation. [`sixbench_wire::siit`] decides.

mod budget;
mod counting;
mod fast;
mod spec;

use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use nix::net::if_::if_nametoindex;
use serde::Serialize;
use sixbench_packet::{Message, ReceiveBatch, SendBatch, With};
use sixbench_wire::reassembly::{Joined, Reassembly};
use sixbench_wire::siit::{Clause, Ports, Translator, Verdict};
use sixbench_wire::virtio;
use sixbench_wire::virtual_reassembly::{Amount, Taken, VirtualReassembly};

use crate::device::{Device, far_name, ip};
use crate::error::{no_translator, translator_exists};
use crate::features::Features;
use crate::slow::offload::{FrameHead, complete};
use crate::slow::{BATCH, BUFFER_BYTES, ETHERTYPE_IPV4, ETHERTYPE_IPV6, RECEIVE_BUFFER_BYTES, wait};
use crate::spec::Engine;
use crate::sys::FarSocket;
use crate::{Error, Result};
use budget::Budget;
use counting::Counts;
pub use counting::TranslatorReport;
pub use fast::{FastCounts, Program, TRANSLATE};
pub use spec::TranslatorSpec;

/// The near end's address: locally administered, and the same every time.
const MAC: [u8; 6] = [0x02, 0x46, 0, 0, 0, 1];

/// The translators of a node. With this value they go.
#[derive(Default)]
pub struct Translators(BTreeMap<String, Running>);

/// A translator's place in the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AddedTranslator {
    /// The index of its device.
    pub ifindex: u32,
}

/// A translator at work. Fields go in this order: first no packets come any more, then the device goes.
struct Running {
    /// Absent where user space carries all.
    program: Option<Program>,
    kept: Arc<Mutex<Kept>>,
    /// Closed to tell the thread to end.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
    device: Device,
}

/// The state that a translator's thread shares with those who ask for its counters.
struct Kept {
    counts: Counts,
    fragments: VirtualReassembly,
    packets: Reassembly,
    started: Instant,
}

impl Translators {
    /// Makes a translator, in the namespace of this thread. It carries packets when this returns.
    pub fn add(&mut self, spec: &TranslatorSpec) -> Result<AddedTranslator> {
        let translator = spec.compile()?;
        if self.0.contains_key(&spec.device) || if_nametoindex(spec.device.as_str()).is_ok() {
            return Err(translator_exists(&spec.device));
        }
        let device =
            Device::pair(spec.device.clone(), "making the translator's device", &commands(spec), &settings(spec))?;
        let ifindex = device.near_ifindex;
        let program = match spec.engine {
            Engine::Ebpf => {
                let mut program =
                    Program::load(&spec.device, translator.settings(), ifindex, spec.through_node, Features::here())?;
                program.attach()?;
                Some(program)
            }
            Engine::User => None,
        };
        let starting = |call| {
            let doing = format!("starting the translator {}", spec.device);
            move |error: io::Error| Error::system(doing, call, error)
        };
        let far = FarSocket::open(device.far_ifindex, RECEIVE_BUFFER_BYTES).map_err(starting("socket(AF_PACKET)"))?;
        let carrier = Carrier { translator, joins: spec.joins(), far, errors: Budget::new(Instant::now()) };
        let running = Running::start(device, program, carrier).map_err(starting("clone"))?;
        let failed = |call| move |error: io::Error| Error::system(format!("setting {} up", spec.device), call, error);
        ip(&format!("link set {} up\n", spec.device)).map_err(failed("ip -batch"))?;
        running.device.wait_until_sending().map_err(failed("netlink"))?;
        self.0.insert(spec.device.clone(), running);
        Ok(AddedTranslator { ifindex })
    }

    /// Takes a translator away, and returns its last counters.
    pub fn remove(&mut self, device: &str) -> Result<TranslatorReport> {
        let running = self.0.remove(device).ok_or_else(|| no_translator(device))?;
        running.report()
    }

    /// Every translator's counters, or one's.
    pub fn counters(&self, device: Option<&str>) -> Result<BTreeMap<String, TranslatorReport>> {
        if let Some(device) = device.filter(|&device| !self.0.contains_key(device)) {
            return Err(no_translator(device));
        }
        let asked = self.0.iter().filter(|(name, _)| device.is_none_or(|device| device == name.as_str()));
        asked.map(|(name, running)| Ok((name.clone(), running.report()?))).collect()
    }
}

impl Running {
    fn start(device: Device, program: Option<Program>, carrier: Carrier) -> io::Result<Self> {
        let kept = Arc::new(Mutex::new(Kept::new(Instant::now())));
        let (stopped, stop) = UnixStream::pair()?;
        let shared = Arc::clone(&kept);
        let thread =
            thread::Builder::new().name("translate".to_owned()).spawn(move || carrier.work(&shared, &stopped))?;
        Ok(Self { program, kept, stop: Some(stop), thread: Some(thread), device })
    }

    fn report(&self) -> Result<TranslatorReport> {
        let fast = self.program.as_ref().map(Program::counts).transpose()?.unwrap_or_default();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.count_missed(Instant::now());
        let mut waiting = kept.fragments.held.waiting();
        waiting.add(kept.packets.held.waiting());
        Ok(kept.counts.report(&fast, waiting))
    }
}

impl Kept {
    fn new(started: Instant) -> Self {
        Self {
            counts: Counts::default(),
            fragments: VirtualReassembly::default(),
            packets: Reassembly::default(),
            started,
        }
    }

    fn count_missed(&mut self, now: Instant) {
        let now = now.duration_since(self.started);
        self.counts.add_missed(self.fragments.held.take_missed(now));
        self.counts.add_missed(self.packets.held.take_missed(now));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The commands that make the translator's pair of devices, for `ip -batch`. The near end stays down: no packet is to
/// come before the program is attached.
fn commands(spec: &TranslatorSpec) -> String {
    let (near, far, mtu_bytes) = (&spec.device, far_name(&spec.device), spec.mtu_bytes);
    let mac = MAC.map(|octet| format!("{octet:02x}")).join(":");
    let lines = [
        format!("link add {near} mtu {mtu_bytes} address {mac} type veth peer name {far} mtu {mtu_bytes}"),
        format!("link set {near} arp off addrgenmode none"),
        format!("link set {far} arp off addrgenmode none up"),
        String::new(),
    ];
    lines.join("\n")
}

/// Packets go through the near end both ways. Errors that the translator sends itself have an address of the node.
fn settings(spec: &TranslatorSpec) -> Vec<(String, &'static str)> {
    let (near, far) = (&spec.device, far_name(&spec.device));
    let of = |family: &str, device: &str, setting: &str| format!("/proc/sys/net/{family}/conf/{device}/{setting}");
    vec![
        (of("ipv6", &far, "disable_ipv6"), "1"),
        (of("ipv6", near, "forwarding"), "1"),
        (of("ipv4", near, "forwarding"), "1"),
        (of("ipv4", near, "accept_local"), "1"),
        (of("ipv4", near, "rp_filter"), "0"),
    ]
}

/// The form in which a packet came.
#[derive(Debug, Clone, Copy)]
enum Arrival {
    Whole,
    /// The packet came in this many fragments, which were put together.
    Joined(Amount),
    /// The packet is a fragment, and the first one of its packet has these ports.
    Fragment(Ports),
}

/// The slow path: the packets that the program leaves to it, or all packets.
struct Carrier {
    translator: Translator,
    /// True if it puts fragments together that have to be.
    joins: bool,
    far: FarSocket,
    /// The limit on the errors that it sends itself.
    errors: Budget,
}

impl Carrier {
    fn work(mut self, kept: &Mutex<Kept>, stopped: &UnixStream) {
        let mut inbox = ReceiveBatch::new(BATCH, BUFFER_BYTES);
        let mut outbox = SendBatch::default();
        while wait(&self.far, stopped) {
            // An error is the device's (it is down); the next packet may come.
            if inbox.receive_ready(&self.far).is_ok() {
                self.translate_all(&mut inbox, &mut outbox, &mut kept.lock().unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    fn translate_all(&mut self, inbox: &mut ReceiveBatch, outbox: &mut SendBatch, kept: &mut Kept) {
        let mut outgoing = Vec::with_capacity(BATCH);
        let now = Instant::now();
        for received in inbox.packets() {
            let Some(frame) = complete(received.bytes) else { continue };
            if frame.ethertype == ETHERTYPE_IPV4 || frame.ethertype == ETHERTYPE_IPV6 {
                self.take(frame.packet, now, &mut outgoing, kept);
            }
        }
        kept.count_missed(now);
        let mut rest = &outgoing[..];
        while let Some((_, first)) = rest.first() {
            let messages = rest.iter().map(|(head, packet)| Message { head, body: packet, with: With::Nothing });
            let sent = outbox.send(&self.far, messages).unwrap_or_else(|_| {
                // The device is down, or its MTU is less than this.
                kept.counts.add_not_sent(first);
                1
            });
            rest = &rest[sent..];
        }
    }
}

impl Carrier {
    /// Translates a packet, and the fragments that waited for it.
    fn take(&mut self, packet: &[u8], now: Instant, outgoing: &mut Vec<(FrameHead, Vec<u8>)>, kept: &mut Kept) {
        if self.joins && self.translator.joins(packet, kept.packets.held.holds(packet)) {
            return self.take_together(packet, now, outgoing, kept);
        }
        let taken = match self.translator.needs_ports(packet) {
            true => kept.fragments.take(packet, packet, now.duration_since(kept.started)),
            false => Taken::Whole,
        };
        let counts = &mut kept.counts;
        match taken {
            Taken::Whole => _ = self.translate(packet, Arrival::Whole, now, outgoing, counts),
            Taken::Waits => {}
            Taken::Dropped(clause) => counts.add_dropped(packet, clause),
            Taken::Fragment { ports, waited } => {
                if self.translate(packet, Arrival::Fragment(ports), now, outgoing, counts) != Verdict::Translated {
                    kept.fragments.refuse(packet);
                    waited.iter().for_each(|fragment| counts.add_dropped(fragment, Clause::FirstFragmentDropped));
                    return;
                }
                for fragment in waited {
                    self.translate(&fragment, Arrival::Fragment(ports), now, outgoing, counts);
                }
            }
        }
    }

    /// Takes a fragment that waits for the others, and translates their packet if it is the last one.
    fn take_together(
        &mut self,
        packet: &[u8],
        now: Instant,
        outgoing: &mut Vec<(FrameHead, Vec<u8>)>,
        kept: &mut Kept,
    ) {
        match kept.packets.take(packet, now.duration_since(kept.started)) {
            Joined::NoFragment => _ = self.translate(packet, Arrival::Whole, now, outgoing, &mut kept.counts),
            Joined::Packet { packet, fragments } => {
                _ = self.translate(&packet, Arrival::Joined(fragments), now, outgoing, &mut kept.counts);
            }
            Joined::Waits => {}
            Joined::Dropped(clause) => kept.counts.add_dropped(packet, clause),
        }
    }

    /// Translates a packet, and returns its fate.
    fn translate(
        &mut self,
        packet: &[u8],
        arrival: Arrival,
        now: Instant,
        outgoing: &mut Vec<(FrameHead, Vec<u8>)>,
        counts: &mut Counts,
    ) -> Verdict {
        let decision = match arrival {
            Arrival::Whole => self.translator.translate(packet),
            Arrival::Joined(_) => self.translator.translate_joined(packet),
            Arrival::Fragment(ports) => self.translator.translate_fragment(packet, ports),
        };
        if decision.verdict == Verdict::Answered && !self.errors.take(now) {
            counts.add_unanswered(packet);
            return Verdict::Dropped;
        }
        match arrival {
            Arrival::Joined(fragments) => counts.add_joined(packet, fragments, &decision),
            Arrival::Whole | Arrival::Fragment(_) => counts.add(packet, &decision),
        }
        outgoing.extend(decision.packets.into_iter().map(|packet| (head(&packet), packet)));
        decision.verdict
    }
}

/// The header before a translation on its way into the far end.
fn head(packet: &[u8]) -> FrameHead {
    let mut head = [0; size_of::<FrameHead>()];
    let (_, ethernet) = head.split_at_mut(virtio::HEADER_BYTES);
    ethernet[..6].copy_from_slice(&MAC);
    let is_ipv6 = packet.first().is_some_and(|octet| octet >> 4 == 6);
    ethernet[12..].copy_from_slice(if is_ipv6 { &ETHERTYPE_IPV6 } else { &ETHERTYPE_IPV4 });
    head
}
