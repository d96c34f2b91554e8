//! The two ways by datagrams to the path MTU: learned by the kernel from ICMP, and found by probing.

use std::net::IpAddr;

use serde_json::{Map, Value, json};
use sixbench_measure::clock;

use super::message::small_packet_bytes;
use super::prober::{HOP_LIMIT, Prober, Sent, Spent, What};
use super::search::{MAX_PROBES, Phase, Search};
use crate::Result;
use crate::df::Df;
use crate::path_mtu;
use crate::session::Endpoint;

/// Number of greetings that are tried, and the longest wait for an answer: neighbours have to be resolved first, which
/// is tried for a second.
const GREETINGS: u64 = 4;
const GREETING_PATIENCE_NS: u64 = 1_000_000_000;
/// A path with more links than this whose MTU falls is no path.
const MAX_STEPS: usize = 255;

/// The result of small datagrams that got to the peer and back.
pub struct Greeting {
    /// The round trip.
    pub rtt_ns: u64,
    /// Routers on the way there; absent where the peer's kernel does not tell, or something changed the hop limit.
    pub routers: Option<u8>,
}

/// Sends small datagrams until one is acknowledged.
pub fn greet(prober: &mut Prober, patience_ns: u64) -> Result<Option<Greeting>> {
    prober.set_df(Df::Clear)?;
    for attempt in 1..=GREETINGS {
        let patience_ns = patience_ns.saturating_mul(attempt).clamp(GREETING_PATIENCE_NS / 4, GREETING_PATIENCE_NS);
        let sent_ns = clock::monotonic_ns();
        let small_bytes = small_packet_bytes(prober.is_ipv4());
        if let Sent::Probe(number) = prober.send(small_bytes, HOP_LIMIT)? {
            while let Some(event) = prober.wait(sent_ns + patience_ns)? {
                if let (true, What::Acknowledged { hop_limit, .. }) = (event.number == Some(number), event.what) {
                    let rtt_ns = clock::monotonic_ns() - sent_ns;
                    return Ok(Some(Greeting {
                        rtt_ns,
                        routers: hop_limit.and_then(|left| HOP_LIMIT.checked_sub(left)),
                    }));
                }
            }
        }
    }
    Ok(None)
}

/// The MTU of the interface, from its refusal of a packet that is larger than any interface carries.
pub fn interface_bytes(prober: &mut Prober) -> Result<Option<u32>> {
    prober.set_df(Df::Probe)?;
    let most = if prober.is_ipv4() { 65_535 } else { 65_575 };
    Ok(match prober.send(most, HOP_LIMIT)? {
        Sent::Probe(_) => Some(most),
        Sent::Refused { mtu_bytes } => mtu_bytes.map(|mtu| mtu.min(most)),
    })
}

/// The path MTU that the kernel learned from ICMP.
pub struct Kernel {
    /// The path MTU as the kernel knows it at the end.
    pub bytes: u32,
    /// Time from the beginning until a packet of that size arrived; absent where none did.
    pub converged_ns: Option<u64>,
    /// True if packets of that size were lost without an error.
    pub is_silent: bool,
    /// The errors, in their order.
    pub errors: Vec<TooBigError>,
    /// Probes that were not acknowledged.
    pub lost: u64,
    /// The cost of all of its probes.
    pub spent: Spent,
}

/// A Packet Too Big or Fragmentation Needed.
pub struct TooBigError {
    from: Option<IpAddr>,
    /// The MTU in the error.
    pub mtu_bytes: u32,
    packet_bytes: u32,
    after_ns: u64,
}

/// Sends packets as large as the path MTU that the kernel knows, with DF, until one arrives or no error comes.
pub fn learn(prober: &mut Prober, endpoint: &Endpoint, patience_ns: u64) -> Result<Kernel> {
    prober.set_df(Df::Set)?;
    prober.clear()?;
    let started_ns = clock::monotonic_ns();
    let before = prober.spent;
    let mut kernel = Kernel {
        bytes: path_mtu::known_bytes(endpoint)?,
        converged_ns: None,
        is_silent: false,
        errors: Vec::new(),
        lost: 0,
        spent: Spent::default(),
    };
    let mut silences = 0;
    for _ in 0..MAX_STEPS {
        match ask(prober, kernel.bytes, patience_ns)? {
            Answer::Acknowledged => {
                kernel.converged_ns = Some(clock::monotonic_ns() - started_ns);
                break;
            }
            Answer::TooBig { from, mtu_bytes } => {
                kernel.lost += 1;
                let after_ns = clock::monotonic_ns() - started_ns;
                kernel.errors.push(TooBigError { from, mtu_bytes, packet_bytes: kernel.bytes, after_ns });
            }
            Answer::Refused => {}
            Answer::Nothing => {
                kernel.lost += 1;
                silences += 1;
                if silences < MAX_PROBES {
                    continue;
                }
                kernel.is_silent = true;
                break;
            }
        }
        silences = 0;
        let bytes = path_mtu::known_bytes(endpoint)?;
        if bytes >= kernel.bytes {
            // The kernel got the error, and did not take its MTU: less than it allows, or not less than before.
            break;
        }
        kernel.bytes = bytes;
    }
    kernel.spent = prober.spent.since(before);
    Ok(kernel)
}

enum Answer {
    Acknowledged,
    TooBig { from: Option<IpAddr>, mtu_bytes: u32 },
    Refused,
    Nothing,
}

fn ask(prober: &mut Prober, packet_bytes: u32, patience_ns: u64) -> Result<Answer> {
    let Sent::Probe(number) = prober.send(packet_bytes, HOP_LIMIT)? else { return Ok(Answer::Refused) };
    let until_ns = clock::monotonic_ns() + patience_ns;
    while let Some(event) = prober.wait(until_ns)? {
        match event.what {
            What::Acknowledged { .. } if event.number == Some(number) => return Ok(Answer::Acknowledged),
            What::TooBig { from, mtu_bytes } if event.number.is_none_or(|refused| refused == number) => {
                return Ok(Answer::TooBig { from, mtu_bytes });
            }
            _ => {}
        }
    }
    Ok(Answer::Nothing)
}

impl Kernel {
    /// `kernel` of the results.
    pub fn to_json(&self) -> Value {
        let errors: Vec<_> = self.errors.iter().map(TooBigError::to_json).collect();
        json!({
            "confirmed": self.converged_ns.is_some(), "silent": self.is_silent, "errors": errors,
            "probes": self.spent.probes, "probe_bytes": self.spent.probe_bytes, "lost_probes": self.lost,
        })
    }
}

impl TooBigError {
    fn to_json(&self) -> Value {
        let Self { from, mtu_bytes, packet_bytes, after_ns } = self;
        let mut error = json!({"reported_mtu_bytes": mtu_bytes, "packet_bytes": packet_bytes, "after_ns": after_ns});
        if let Some(from) = from {
            error["address"] = json!(from);
        }
        error
    }

    /// The sender of the error.
    pub fn from(&self) -> Option<IpAddr> {
        self.from
    }
}

/// The result of probing by datagrams.
pub struct Probed {
    /// The search at its end.
    pub search: Search,
    converged_ns: u64,
    lost: u64,
    spent: Spent,
}

/// Searches the path MTU by probes that the peer acknowledges (RFC 8899), and confirms it once. ICMP errors about them
/// are counted, and not used: this way is to be compared with ICMP's.
pub fn probe(prober: &mut Prober, maximum_bytes: u32, patience_ns: u64) -> Result<Probed> {
    prober.set_df(Df::Probe)?;
    prober.clear()?;
    let started_ns = clock::monotonic_ns();
    let before = prober.spent;
    let mut probed = Probed {
        search: Search::new(prober.is_ipv4(), maximum_bytes),
        converged_ns: 0,
        lost: 0,
        spent: Spent::default(),
    };
    let mut is_confirming = false;
    while let Some(bytes) = probed.search.next_bytes() {
        is_confirming = match (probed.search.phase() == Phase::SearchComplete, is_confirming) {
            (true, false) => {
                probed.converged_ns = clock::monotonic_ns() - started_ns;
                true
            }
            (is_complete, _) => is_complete,
        };
        let is_acknowledged = match prober.send(bytes, HOP_LIMIT)? {
            Sent::Probe(number) => wait_for(prober, number, patience_ns, &mut probed.search)?,
            Sent::Refused { .. } => false,
        };
        if !is_acknowledged {
            probed.lost += 1;
            probed.search.lost();
        } else if is_confirming && probed.search.next_bytes() == Some(bytes) {
            break;
        }
    }
    probed.spent = prober.spent.since(before);
    Ok(probed)
}

/// Waits for the acknowledgement of a probe. Returns true if it comes in time. Late ones count for the search as well.
fn wait_for(prober: &mut Prober, number: u64, patience_ns: u64, search: &mut Search) -> Result<bool> {
    let until_ns = clock::monotonic_ns() + patience_ns;
    while let Some(event) = prober.wait(until_ns)? {
        if let What::Acknowledged { packet_bytes, .. } = event.what {
            search.acknowledged(packet_bytes);
            if event.number == Some(number) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

impl Probed {
    /// Adds `probed` and the time that it took to a result.
    pub fn to_json(&self) -> Value {
        let mut probed = Map::new();
        let state = match self.search.phase() {
            Phase::Base => "base",
            Phase::Error => "error",
            Phase::Searching => "searching",
            Phase::SearchComplete => "search-complete",
            Phase::Unreachable => "disabled",
        };
        probed.insert("state".into(), state.into());
        probed.insert("black_holes".into(), self.search.black_holes().into());
        probed.insert("probes".into(), self.spent.probes.into());
        probed.insert("probe_bytes".into(), self.spent.probe_bytes.into());
        probed.insert("lost_probes".into(), self.lost.into());
        if let Some(bytes) = self.search.too_large_bytes() {
            probed.insert("too_large_bytes".into(), bytes.into());
        }
        Value::Object(probed)
    }

    /// The path MTU, where the search was completed.
    pub fn bytes(&self) -> Option<u32> {
        self.search.proven_bytes().filter(|_| self.search.phase() == Phase::SearchComplete)
    }

    /// Time until the search was completed; absent where it was not.
    pub fn converged_ns(&self) -> Option<u64> {
        self.bytes().map(|_| self.converged_ns)
    }

    /// Probes that were not acknowledged.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl Spent {
    fn since(self, before: Self) -> Self {
        Self { probes: self.probes - before.probes, probe_bytes: self.probe_bytes - before.probe_bytes }
    }
}
