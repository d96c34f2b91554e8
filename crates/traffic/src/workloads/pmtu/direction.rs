//! One direction of a path, from its sender: all ways to its MTU, one after the other, and the hop that limits it.

use std::net::{IpAddr, TcpStream};

use serde_json::{Map, Value, json};

use super::Settings;
use super::locate::{Location, Place};
use super::prober::Prober;
use super::trace::Trace;
use super::transfer::{self, Transfer};
use super::ways::{self, Greeting, Kernel, Probed};
use crate::df::Df;
use crate::session::Endpoint;
use crate::workloads::tcp::Stop;
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

/// Measures the direction from here to the peer; `connect` makes the connection for the transfer. The socket answers
/// again when this returns.
pub fn measure(
    prober: &mut Prober,
    endpoint: &Endpoint,
    settings: &Settings,
    stop: &Stop,
    beginning: &Beginning,
    connect: impl FnOnce() -> Result<TcpStream>,
) -> Result<Value> {
    let mut result = Map::new();
    result.insert("before_bytes".into(), beginning.before_bytes.into());
    result.insert("forgotten".into(), beginning.is_forgotten.into());
    result.insert("start_bytes".into(), beginning.start_bytes.into());
    forget(endpoint, settings);
    if prober.is_connected() {
        if let Some(greeting) = ways::greet(prober, settings.probe_timeout_ns)? {
            by_datagrams(prober, endpoint, settings, stop, &greeting, &mut result)?;
        }
        prober.clear()?;
        prober.set_df(Df::Clear)?;
    }
    result.insert("probes".into(), prober.spent.probes.into());
    result.insert("probe_bytes".into(), prober.spent.probe_bytes.into());
    result.insert("errors".into(), prober.errors());

    forget(endpoint, settings);
    let tcp =
        transfer::send(connect()?, endpoint.peer.is_ipv4(), settings.transfer_bytes, settings.stall_timeout_ns, stop)?;
    if let Some(bytes) = tcp.packet_bytes() {
        result.insert("tcp_bytes".into(), bytes.into());
    }
    insert_time(&mut result, "tcp", tcp.converged_ns());
    result.insert("tcp".into(), Transfer::to_json(&tcp));
    Ok(Value::Object(result))
}

fn by_datagrams(
    prober: &mut Prober,
    endpoint: &Endpoint,
    settings: &Settings,
    stop: &Stop,
    greeting: &Greeting,
    result: &mut Map<String, Value>,
) -> Result<()> {
    let patience_ns = settings.probe_timeout_ns.max(greeting.rtt_ns.saturating_mul(PATIENCE_ROUND_TRIPS));
    result.insert("rtt_ns".into(), greeting.rtt_ns.into());
    result.insert("probe_timeout_ns".into(), patience_ns.into());
    if let Some(routers) = greeting.routers {
        result.insert("routers".into(), routers.into());
    }
    let kernel = ways::learn(prober, endpoint, patience_ns)?;
    result.insert("kernel_bytes".into(), kernel.bytes.into());
    insert_time(result, "kernel", kernel.converged_ns);
    result.insert("kernel".into(), kernel.to_json());

    let Some(interface_bytes) = ways::interface_bytes(prober)? else { return Ok(()) };
    result.insert("interface_bytes".into(), interface_bytes.into());
    let probed = ways::probe(prober, interface_bytes, patience_ns)?;
    if let Some(bytes) = probed.bytes() {
        result.insert("probed_bytes".into(), bytes.into());
    }
    insert_time(result, "probed", probed.converged_ns());
    result.insert("lost_probes".into(), (kernel.lost + probed.lost()).into());
    result.insert("probed".into(), probed.to_json());

    let searched =
        Searched { black_hole_bytes: black_hole_bytes(&kernel, &probed), too_large_bytes: too_large(&probed) };
    if let (Some(routers), true) = (greeting.routers, searched.is_anything()) {
        let mut trace = Trace::start(prober, stop, endpoint.peer, routers, patience_ns)?;
        searched.locate(&mut trace, &kernel, result)?;
    }
    Ok(())
}

fn insert_time(result: &mut Map<String, Value>, way: &str, converged_ns: Option<u64>) {
    if let (Some(converged_ns), Value::Object(times)) =
        (converged_ns, result.entry("converged_ns").or_insert_with(|| json!({})))
    {
        times.insert(way.to_owned(), converged_ns.into());
    }
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

    fn locate(&self, trace: &mut Trace<'_>, kernel: &Kernel, result: &mut Map<String, Value>) -> Result<()> {
        result.insert("hops".into(), json!(trace.addresses()));
        let limiting = self.too_large_bytes.map(|bytes| trace.locate(bytes)).transpose()?;
        if let Some(limiting) = limiting {
            result.insert("limiting_hop".into(), limiting_hop(&limiting, kernel));
        }
        let Some(bytes) = self.black_hole_bytes else { return Ok(()) };
        let hole = match limiting {
            Some(limiting) if self.too_large_bytes == Some(bytes) => limiting,
            _ => trace.locate(bytes)?,
        };
        // Packets that arrive, or are refused aloud, are in no black hole after all.
        if hole.place != Place::Nowhere && hole.error.is_none() {
            let mut black_hole = location_fields(&hole);
            black_hole.insert("packet_bytes".into(), bytes.into());
            for (name, address) in [("before", hole.before), ("after", hole.after)] {
                insert_address(&mut black_hole, name, address);
            }
            result.insert("black_hole".into(), Value::Object(black_hole));
        }
        Ok(())
    }
}

/// `index`, or where it is not certain the first and the last that it may be.
fn location_fields(location: &Location) -> Map<String, Value> {
    let mut fields = Map::new();
    match location.place {
        Place::At(index) => fields.insert("index".into(), index.into()),
        Place::Between(first, last) => fields.insert("between".into(), json!([first, last])),
        Place::Unknown | Place::Nowhere => None,
    };
    fields
}

fn limiting_hop(location: &Location, kernel: &Kernel) -> Value {
    let mut hop = location_fields(location);
    let is_certain = matches!(location.place, Place::At(_));
    // The sender of the error in the search, else that of the last error to the kernel: both are at the narrowest link
    // that tells.
    let error = location.error.or(kernel.errors.last().map(|error| (error.from(), error.mtu_bytes)));
    insert_address(&mut hop, "address", error.and_then(|(from, _)| from).or(location.before.filter(|_| is_certain)));
    if let Some((_, mtu_bytes)) = error {
        hop.insert("reported_mtu_bytes".into(), mtu_bytes.into());
    }
    Value::Object(hop)
}

fn insert_address(object: &mut Map<String, Value>, name: &str, address: Option<IpAddr>) {
    if let Some(address) = address {
        object.insert(name.to_owned(), json!(address));
    }
}
