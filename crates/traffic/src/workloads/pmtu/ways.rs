//! The two ways by datagrams to the path MTU: learned by the kernel from ICMP, and found by probing.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Serialize;
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

/// A Packet Too Big or Fragmentation Needed, by the names of the protocol document.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TooBigError {
    /// The sender of the error.
    #[serde(rename = "address", skip_serializing_if = "Option::is_none")]
    pub from: Option<IpAddr>,
    /// The MTU in the error.
    #[serde(rename = "reported_mtu_bytes")]
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
    pub fn tally(&self) -> KernelTally {
        KernelTally {
            confirmed: self.converged_ns.is_some(),
            silent: self.is_silent,
            errors: self.errors.clone(),
            spent: self.spent,
            lost_probes: self.lost,
        }
    }
}

/// The kernel's way, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KernelTally {
    /// True if a packet of the size that the kernel knows arrived.
    confirmed: bool,
    /// True if packets of that size were lost without an error.
    silent: bool,
    errors: Vec<TooBigError>,
    #[serde(flatten)]
    spent: Spent,
    lost_probes: u64,
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
    /// `probed` of the results.
    pub fn tally(&self) -> ProbedTally {
        ProbedTally {
            state: self.search.phase(),
            black_holes: self.search.black_holes(),
            spent: self.spent,
            lost_probes: self.lost,
            too_large_bytes: self.search.too_large_bytes(),
        }
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

/// Probing's way, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProbedTally {
    state: Phase,
    /// Number of times that a size that had been confirmed was not any more.
    black_holes: u32,
    #[serde(flatten)]
    spent: Spent,
    lost_probes: u64,
    /// The smallest size that does not arrive; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    too_large_bytes: Option<u32>,
}

impl Spent {
    fn since(self, before: Self) -> Self {
        Self { probes: self.probes - before.probes, probe_bytes: self.probe_bytes - before.probe_bytes }
    }
}
