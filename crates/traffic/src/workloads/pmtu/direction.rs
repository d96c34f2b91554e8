//! One direction of a path, from its sender: all ways to its MTU, one after the other, and the hop that limits it.

use std::collections::BTreeMap;
use std::net::{IpAddr, TcpStream};

use schemars::JsonSchema;
use serde::Serialize;

use super::Settings;
use super::locate::{Location, Place};
use super::prober::{Prober, Spent};
use super::trace::Trace;
use super::transfer::{self, TransferTally};
use super::ways::{self, Greeting, Kernel, KernelTally, Probed, ProbedTally};
use crate::cancel::Stop;
use crate::df::Df;
use crate::session::Endpoint;
use crate::{Result, path_mtu};

/// A wait for an acknowledgement is at least this many round trips.
const PATIENCE_ROUND_TRIPS: u64 = 3;

/// This host's knowledge of the way to the peer before the session.
pub struct Beginning {
    before_bytes: u32,
    start_bytes: u32,
    is_forgotten: bool,
}

/// Begins a session: what was learned before is forgotten, for it would also be in the MSS that this host tells the
/// peer's TCP.
pub fn begin(endpoint: &Endpoint, settings: &Settings) -> Result<Beginning> {
    let before_bytes = path_mtu::known_bytes(endpoint)?;
    let is_forgotten = forget(endpoint, settings);
    Ok(Beginning { before_bytes, start_bytes: path_mtu::known_bytes(endpoint)?, is_forgotten })
}

/// Has this host forget what it learned of the path, if the settings ask for that. Returns true if it did.
pub fn forget(endpoint: &Endpoint, settings: &Settings) -> bool {
    settings.forget && path_mtu::forget(endpoint.peer).is_ok()
}

/// One direction, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DirectionResult {
    before_bytes: u32,
    forgotten: bool,
    start_bytes: u32,
    /// Absent where no datagram gets through.
    #[serde(flatten)]
    datagrams: Option<DatagramResult>,
    /// The cost of all probes.
    #[serde(flatten)]
    spent: Spent,
    /// ICMP errors by name.
    errors: BTreeMap<&'static str, u64>,
    /// The size of packets that TCP settled on; absent where it stalled.
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_bytes: Option<u64>,
    tcp: TransferTally,
    #[serde(skip_serializing_if = "Converged::is_empty")]
    converged_ns: Converged,
}

/// The ways by datagrams.
#[derive(Debug, Serialize, JsonSchema)]
struct DatagramResult {
    rtt_ns: u64,
    probe_timeout_ns: u64,
    /// Routers on the way; absent where the peer's kernel does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    routers: Option<u8>,
    kernel_bytes: u32,
    kernel: KernelTally,
    /// Absent where the kernel does not tell the interface's MTU.
    #[serde(flatten)]
    probing: Option<ProbingResult>,
    #[serde(skip)]
    kernel_converged_ns: Option<u64>,
}

/// The search by probes, and where they end.
#[derive(Debug, Serialize, JsonSchema)]
struct ProbingResult {
    interface_bytes: u32,
    /// Absent where the search was not completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    probed_bytes: Option<u32>,
    probed: ProbedTally,
    /// Probes of both ways that were not acknowledged.
    lost_probes: u64,
    #[serde(flatten)]
    trace: Option<TraceResult>,
    #[serde(skip)]
    converged_ns: Option<u64>,
}

/// The hops of a path and those that limit it.
#[derive(Debug, Serialize, JsonSchema)]
struct TraceResult {
    /// The addresses of routers; absent are those that did not answer.
    hops: Vec<Option<IpAddr>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limiting_hop: Option<LimitingHop>,
    #[serde(skip_serializing_if = "Option::is_none")]
    black_hole: Option<BlackHole>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LimitingHop {
    #[serde(flatten)]
    place: PlaceTally,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reported_mtu_bytes: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BlackHole {
    #[serde(flatten)]
    place: PlaceTally,
    packet_bytes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<IpAddr>,
}

/// The number of a hop, or where it is not certain the first and the last that it may be. Both are absent where it is
/// unknown.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct PlaceTally {
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    between: Option<[u8; 2]>,
}

/// The times that the ways took; absent are those that did not end.
#[derive(Debug, Serialize, JsonSchema)]
struct Converged {
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp: Option<u64>,
}

impl Converged {
    fn is_empty(&self) -> bool {
        [self.kernel, self.probed, self.tcp] == [None; 3]
    }
}

/// Measures the direction from here to the peer; `connect` makes the connection for the transfer. The socket answers
/// again when this returns.
pub fn measure(
    prober: &mut Prober,
    endpoint: &Endpoint,
    settings: &Settings,
    stop: &Stop,
    beginning: &Beginning,
    connect: impl FnOnce() -> Result<TcpStream>,
) -> Result<DirectionResult> {
    let mut datagrams = None;
    forget(endpoint, settings);
    if prober.is_connected() {
        if let Some(greeting) = ways::greet(prober, settings.probe_timeout_ns)? {
            datagrams = Some(by_datagrams(prober, endpoint, settings, stop, &greeting)?);
        }
        prober.clear()?;
        prober.set_df(Df::Clear)?;
    }
    let (spent, errors) = (prober.spent, prober.errors().clone());
    forget(endpoint, settings);
    let tcp =
        transfer::send(connect()?, endpoint.peer.is_ipv4(), settings.transfer_bytes, settings.stall_timeout_ns, stop)?;
    let probing = datagrams.as_ref().and_then(|datagrams| datagrams.probing.as_ref());
    Ok(DirectionResult {
        before_bytes: beginning.before_bytes,
        forgotten: beginning.is_forgotten,
        start_bytes: beginning.start_bytes,
        spent,
        errors,
        tcp_bytes: tcp.packet_bytes(),
        tcp: tcp.tally(),
        converged_ns: Converged {
            kernel: datagrams.as_ref().and_then(|datagrams| datagrams.kernel_converged_ns),
            probed: probing.and_then(|probing| probing.converged_ns),
            tcp: tcp.converged_ns(),
        },
        datagrams,
    })
}

fn by_datagrams(
    prober: &mut Prober,
    endpoint: &Endpoint,
    settings: &Settings,
    stop: &Stop,
    greeting: &Greeting,
) -> Result<DatagramResult> {
    let patience_ns = settings.probe_timeout_ns.max(greeting.rtt_ns.saturating_mul(PATIENCE_ROUND_TRIPS));
    let kernel = ways::learn(prober, endpoint, patience_ns)?;
    let probing = match ways::interface_bytes(prober)? {
        Some(bytes) => Some(by_probes(prober, endpoint, stop, (greeting, &kernel), bytes, patience_ns)?),
        None => None,
    };
    Ok(DatagramResult {
        rtt_ns: greeting.rtt_ns,
        probe_timeout_ns: patience_ns,
        routers: greeting.routers,
        kernel_bytes: kernel.bytes,
        kernel: kernel.tally(),
        probing,
        kernel_converged_ns: kernel.converged_ns,
    })
}

fn by_probes(
    prober: &mut Prober,
    endpoint: &Endpoint,
    stop: &Stop,
    (greeting, kernel): (&Greeting, &Kernel),
    interface_bytes: u32,
    patience_ns: u64,
) -> Result<ProbingResult> {
    let probed = ways::probe(prober, interface_bytes, patience_ns)?;
    let searched =
        Searched { black_hole_bytes: black_hole_bytes(kernel, &probed), too_large_bytes: too_large(&probed) };
    let trace = match greeting.routers.filter(|_| searched.is_anything()) {
        Some(routers) => {
            let mut trace = Trace::start(prober, stop, endpoint.peer, routers, patience_ns)?;
            Some(searched.locate(&mut trace, kernel)?)
        }
        None => None,
    };
    Ok(ProbingResult {
        interface_bytes,
        probed_bytes: probed.bytes(),
        probed: probed.tally(),
        lost_probes: kernel.lost + probed.lost(),
        trace,
        converged_ns: probed.converged_ns(),
    })
}

/// The path MTU that the kernel knows, if packets of this size vanish without an error. Both ways have to agree that it
/// does not arrive, so that a few lost packets make no black hole.
fn black_hole_bytes(kernel: &Kernel, probed: &Probed) -> Option<u32> {
    (kernel.is_silent && probed.bytes()? < kernel.bytes).then_some(kernel.bytes)
}

/// The smallest size that does not arrive.
fn too_large(probed: &Probed) -> Option<u32> {
    probed.bytes().and(probed.search.too_large_bytes())
}

/// Sizes whose end is to be found.
struct Searched {
    black_hole_bytes: Option<u32>,
    too_large_bytes: Option<u32>,
}

impl Searched {
    fn is_anything(&self) -> bool {
        self.black_hole_bytes.is_some() || self.too_large_bytes.is_some()
    }

    fn locate(&self, trace: &mut Trace<'_>, kernel: &Kernel) -> Result<TraceResult> {
        let hops = trace.addresses();
        let limiting = self.too_large_bytes.map(|bytes| trace.locate(bytes)).transpose()?;
        let black_hole = match (self.black_hole_bytes, limiting) {
            (Some(bytes), Some(limiting)) if self.too_large_bytes == Some(bytes) => BlackHole::at(&limiting, bytes),
            (Some(bytes), _) => BlackHole::at(&trace.locate(bytes)?, bytes),
            (None, _) => None,
        };
        Ok(TraceResult { hops, limiting_hop: limiting.map(|limiting| LimitingHop::at(&limiting, kernel)), black_hole })
    }
}

impl PlaceTally {
    fn of(location: &Location) -> Self {
        match location.place {
            Place::At(index) => Self { index: Some(index), between: None },
            Place::Between(first, last) => Self { index: None, between: Some([first, last]) },
            Place::Unknown | Place::Nowhere => Self::default(),
        }
    }
}

impl BlackHole {
    /// Packets that arrive, or are refused aloud, are in no black hole after all.
    fn at(location: &Location, packet_bytes: u32) -> Option<Self> {
        let is_hole = location.place != Place::Nowhere && location.error.is_none();
        let Location { before, after, .. } = *location;
        is_hole.then(|| Self { place: PlaceTally::of(location), packet_bytes, before, after })
    }
}

impl LimitingHop {
    fn at(location: &Location, kernel: &Kernel) -> Self {
        let is_certain = matches!(location.place, Place::At(_));
        // The sender of the error in the search, else that of the last error to the kernel: both are at the narrowest
        // link that tells.
        let error = location.error.or(kernel.errors.last().map(|error| (error.from, error.mtu_bytes)));
        Self {
            place: PlaceTally::of(location),
            address: error.and_then(|(from, _)| from).or(location.before.filter(|_| is_certain)),
            reported_mtu_bytes: error.map(|(_, mtu_bytes)| mtu_bytes),
        }
    }
}
