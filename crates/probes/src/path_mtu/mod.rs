//! `path-mtu`: the largest packet that arrives at a server, without its help.
//!
//! Probes have DF set and are of a size each: datagrams of UDP, which a server answers by Version Negotiation of QUIC
//! or by port unreachable, or echo requests. Packet Too Big is believed only where the kernel has found it to be about
//! a packet of this socket, and where it quotes our payload. A link that drops packets and says nothing is found by
//! silence, which counts only while shorter packets are still answered: servers limit the rate of ICMP errors.
//! TCP gives only the MSS of its handshake.

pub mod message;
pub mod search;

use std::io::{self, Read};
use std::net::IpAddr;
use std::thread;
use std::time::Duration;

use nix::poll::PollFlags;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sixbench_measure::{clock, random};
use sixbench_packet::{Error, LocalAddress, Result, error_queue as packet_errors};
use sixbench_traffic::df::Df;
use socket2::{Protocol, Socket, Type};

use self::message::{Carrier, Token, answered, probe, quoted};
use self::search::{Fate, Search};
use crate::error_queue::{self, Entry, Quoted};
use crate::limits::{self, SECOND_NS};
use crate::local;
use crate::outcome::{Ending, Meaning, Outcome};
use crate::pacing::Pacer;
use crate::stream::{self, wait_for};
use crate::{ping, vantage};

const DEFAULT_TIMEOUT_NS: u64 = SECOND_NS;
const MAX_TIMEOUT_NS: u64 = 5 * SECOND_NS;
const DEFAULT_TRIES: u64 = 2;
const DEFAULT_PORT: u16 = 443;
/// The least packet: it has a datagram of 1200 bytes, and servers of QUIC answer no shorter one (RFC 9000 section
/// 14.1).
const DEFAULT_LEAST_BYTES: u32 = 1_280;
/// Sizes that may be asked for.
const LEAST_BYTES: u32 = 128;
const MOST_BYTES: u32 = 9_000;
/// Time between two probes at a server that is not the user's.
const GAP_NS: u64 = SECOND_NS / 4;
/// Pause for a server that has stopped answering, and number of such pauses.
const REST: Duration = Duration::from_secs(1);
const MAX_RESTS: u32 = 8;
/// Probes of a request, at most.
const MAX_PROBES: usize = 120;
const MAX_REPORTS: usize = 16;

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathMtuRequest {
    address: IpAddr,
    port: Option<u16>,
    source: Option<LocalAddress>,
    by: Transport,
    least_bytes: Option<u32>,
    most_bytes: Option<u32>,
    timeout_ns: Option<u64>,
    tries: Option<u64>,
    /// The server is the user's own.
    #[serde(default)]
    mine: bool,
}

/// The transport of probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Transport {
    Udp,
    Icmp,
    Tcp,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PathMtuResult {
    /// The end: answered where a size was found, or a handshake.
    #[serde(flatten)]
    pub ending: Ending,
    /// The largest packet that arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
    /// MTU of the interface by which packets leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface_mtu_bytes: Option<u32>,
    /// The part that Packet Too Big had in it; absent by TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_too_big: Option<TooBig>,
    /// The reports of Packet Too Big.
    pub reports: Vec<Report>,
    /// The MSS of the handshake, without options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss_bytes: Option<u64>,
    /// The probes, in the order in which they ended.
    pub probes: Vec<Probe>,
}

/// The part that Packet Too Big had in a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TooBig {
    /// It came.
    Came,
    /// Packets that are too long disappear without it.
    Never,
    /// The largest packet that was sent arrived.
    NotNeeded,
}

/// A report of Packet Too Big.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Report {
    /// Its sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<IpAddr>,
    /// The MTU that it names; absent where it names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    mtu_bytes: Option<u32>,
    /// Size of the packet that it is about.
    probe_bytes: u32,
}

/// A probe of a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Probe {
    /// The size.
    bytes: u32,
    /// Its end.
    outcome: ProbeOutcome,
}

/// The end of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeOutcome {
    /// The server answered.
    Arrived,
    /// It was too long for a link.
    TooBig,
    /// Nothing came.
    Silence,
}

/// Searches.
///
/// # Errors
/// `bad-params` of a request that is out of bounds, `system` where the kernel refuses the means.
pub fn run(request: &PathMtuRequest, pacer: &Pacer) -> Result<PathMtuResult> {
    let PathMtuRequest { address, source, mine, .. } = *request;
    let port = limits::port(request.port.unwrap_or(DEFAULT_PORT))?;
    let timeout_ns = request.timeout_ns.unwrap_or(DEFAULT_TIMEOUT_NS);
    limits::within("timeout_ns", timeout_ns, 1_000_000..=MAX_TIMEOUT_NS)?;
    let tries = limits::within("tries", request.tries.unwrap_or(DEFAULT_TRIES), 1..=5)?;
    let interface_mtu_bytes = vantage::route_mtu(address);
    let most = request.most_bytes.unwrap_or(interface_mtu_bytes.unwrap_or(1_500).min(MOST_BYTES));
    let sizes = u64::from(LEAST_BYTES)..=u64::from(MOST_BYTES);
    limits::within("most_bytes", most.into(), sizes)?;
    let least = request.least_bytes.unwrap_or(DEFAULT_LEAST_BYTES.min(most));
    limits::within("least_bytes", least.into(), u64::from(LEAST_BYTES)..=u64::from(most))?;
    local::check_address(address, source)?;
    pacer.wait(address, 0, mine);
    let carrier = match request.by {
        Transport::Udp => Carrier::Udp,
        Transport::Icmp => Carrier::Icmp,
        Transport::Tcp => return by_tcp(address, port, source, timeout_ns, interface_mtu_bytes),
    };
    let token = random::secret().map_err(|e| Error::system("choosing the token of probes", "read", e))?;
    let opened = match carrier {
        Carrier::Udp => local::open(address, (Type::DGRAM, Protocol::UDP), source, 0)?,
        Carrier::Icmp => ping::open(address, source)?,
    };
    let mut result = PathMtuResult::new(interface_mtu_bytes);
    let socket = match local::connected(opened, local::peer(address, port, source)) {
        Ok(socket) => socket,
        Err(error) => return Ok(PathMtuResult { ending: Ending::unsent(&error), ..result }),
    };
    Df::Probe.apply(&socket, address)?;
    packet_errors::enable(&socket, address.is_ipv6())
        .map_err(|e| Error::system("asking for errors about probes", "setsockopt(RECVERR)", e))?;
    let prober = Prober { socket, pacer, mine, carrier, address, token, timeout_ns, number: 0 };
    let mut searching = Searching { prober, result: &mut result, tries, rests: 0 };
    let mut search = Search::new(least, most);
    let ending = searching.work(&mut search);
    result.finish(&search, most, ending);
    Ok(result)
}

/// The MSS of a handshake.
fn by_tcp(
    address: IpAddr,
    port: u16,
    source: Option<LocalAddress>,
    timeout_ns: u64,
    interface_mtu_bytes: Option<u32>,
) -> Result<PathMtuResult> {
    let attempt = stream::connect(local::peer(address, port, source), source, timeout_ns)?;
    let ending = attempt.socket.map_or_else(|ending| ending, |_| Ending::of(Outcome::Answered));
    Ok(PathMtuResult {
        ending,
        mss_bytes: attempt.handshake.mss_bytes,
        packet_too_big: None,
        ..PathMtuResult::new(interface_mtu_bytes)
    })
}

impl PathMtuResult {
    fn new(interface_mtu_bytes: Option<u32>) -> Self {
        Self {
            ending: Ending::of(Outcome::Silence),
            mtu_bytes: None,
            interface_mtu_bytes,
            packet_too_big: None,
            reports: Vec::new(),
            mss_bytes: None,
            probes: Vec::new(),
        }
    }

    /// The result of a search that ended like this.
    fn finish(&mut self, search: &Search, most: u32, ending: Ending) {
        self.ending = ending;
        if self.ending.outcome != Outcome::Answered {
            return;
        }
        self.mtu_bytes = search.largest();
        let is_lost = |probe: &Probe| probe.outcome == ProbeOutcome::Silence && Some(probe.bytes) > search.largest();
        self.packet_too_big = Some(match () {
            () if search.largest() == Some(most) => TooBig::NotNeeded,
            () if !self.reports.is_empty() => TooBig::Came,
            () if self.probes.iter().any(is_lost) => TooBig::Never,
            // This machine's own interface took no longer ones, which is no fault of the path.
            () => TooBig::NotNeeded,
        });
    }
}

/// A search under way.
struct Searching<'a> {
    prober: Prober<'a>,
    result: &'a mut PathMtuResult,
    tries: u64,
    rests: u32,
}

impl Searching<'_> {
    /// Probes until the search is over, or cannot go on.
    fn work(&mut self, search: &mut Search) -> Ending {
        while let Some(size) = search.next() {
            match self.fate(size, search.largest()) {
                Ok(fate) => search.note(size, fate),
                Err(ending) => return ending,
            }
            if search.largest().is_none() {
                return Ending::of(Outcome::Silence);
            }
        }
        Ending::of(Outcome::Answered)
    }

    /// The fate of packets of a size. Silence counts only if a packet of the size that is known to arrive does so
    /// right after it.
    fn fate(&mut self, size: u32, arrives: Option<u32>) -> std::result::Result<Fate, Ending> {
        let mut tried = 0;
        while tried < self.tries {
            let fate = self.probe(size)?;
            if fate != Fate::Silence {
                return Ok(fate);
            }
            let Some(arrives) = arrives else {
                tried += 1;
                continue;
            };
            if self.probe(arrives)? == Fate::Arrived {
                tried += 1;
                continue;
            }
            // It limits its rate, or is gone.
            self.rests += 1;
            if self.rests > MAX_RESTS {
                return Err(Ending::because(Outcome::Silence, "the server answered at first, and then no more"));
            }
            thread::sleep(REST);
        }
        Ok(Fate::Silence)
    }

    fn probe(&mut self, size: u32) -> std::result::Result<Fate, Ending> {
        if self.result.probes.len() >= MAX_PROBES {
            return Err(Ending::because(Outcome::Protocol, format!("no end after {MAX_PROBES} probes")));
        }
        let (fate, report) = self.prober.probe(size)?;
        let outcome = match fate {
            Fate::Arrived => ProbeOutcome::Arrived,
            Fate::TooBig(_) => ProbeOutcome::TooBig,
            Fate::Silence => ProbeOutcome::Silence,
        };
        self.result.probes.push(Probe { bytes: size, outcome });
        if let Some(report) = report.filter(|_| self.result.reports.len() < MAX_REPORTS) {
            self.result.reports.push(report);
        }
        Ok(fate)
    }
}

/// Sends probes one by one.
struct Prober<'a> {
    socket: Socket,
    pacer: &'a Pacer,
    mine: bool,
    carrier: Carrier,
    address: IpAddr,
    token: Token,
    timeout_ns: u64,
    number: u16,
}

impl Prober<'_> {
    /// Sends a probe and waits for its end.
    fn probe(&mut self, size: u32) -> std::result::Result<(Fate, Option<Report>), Ending> {
        self.pacer.wait_for_packet(self.address, GAP_NS, self.mine);
        self.number = self.number.wrapping_add(1);
        let message = probe(self.carrier, self.address, size, self.number, &self.token);
        // Entries of the queue are about earlier ones, and make the call fail once.
        let _ = error_queue::take(&self.socket);
        let sent = self.socket.send(&message).or_else(|_| {
            let _ = error_queue::take(&self.socket);
            self.socket.send(&message)
        });
        match sent {
            Ok(_) => self.wait(size),
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => Ok((Fate::TooBig(0), None)),
            Err(error) => Err(Ending::unsent(&error)),
        }
    }

    fn wait(&self, size: u32) -> std::result::Result<(Fate, Option<Report>), Ending> {
        let end_ns = clock::monotonic_ns() + self.timeout_ns;
        loop {
            for entry in error_queue::take(&self.socket) {
                let Entry::Error { icmp, meaning, quote, .. } = entry else { continue };
                let has_number = match quoted(self.carrier, &quote, &self.token) {
                    Quoted::Number(number) if number == self.number => true,
                    Quoted::Nothing => false,
                    Quoted::Number(_) | Quoted::Other => continue,
                };
                match meaning {
                    // This packet fits that link: it is about a longer one before (RFC 8899 section 4.6.2).
                    Meaning::TooBig(mtu) if !has_number && mtu >= size => {}
                    Meaning::TooBig(mtu) => {
                        let mtu_bytes = Some(mtu).filter(|&mtu| mtu > 0);
                        let report = Report { from: icmp.from, mtu_bytes, probe_bytes: size };
                        return Ok((Fate::TooBig(mtu), Some(report)));
                    }
                    Meaning::Notice => {}
                    // Whatever the server has against the packet, it has it.
                    _ if icmp.from == Some(self.address) => return Ok((Fate::Arrived, None)),
                    _ => return Err(Ending::by_icmp(icmp, meaning)),
                }
            }
            if self.is_answered() {
                return Ok((Fate::Arrived, None));
            }
            if clock::monotonic_ns() >= end_ns || !wait_for(&self.socket, PollFlags::POLLIN, end_ns) {
                return Ok((Fate::Silence, None));
            }
        }
    }

    /// True if the answer to the last probe is among the messages that are there.
    fn is_answered(&self) -> bool {
        let mut buffer = [0; 2_048];
        for _ in 0..64 {
            match (&self.socket).read(&mut buffer) {
                Ok(bytes) => {
                    let is_ipv4 = self.address.is_ipv4();
                    if answered(self.carrier, is_ipv4, &buffer[..bytes], &self.token) == Some(self.number) {
                        return true;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Nothing more is there, or an error, which is in the queue.
                Err(_) => return false,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_were_not_sent_are_no_black_hole() {
        let packet_too_big = |outcome, fate| {
            let (mut search, mut result) = (Search::new(1_280, 1_500), PathMtuResult::new(None));
            while let Some(bytes) = search.next() {
                let fits = bytes <= 1_400;
                search.note(bytes, if fits { Fate::Arrived } else { fate });
                result.probes.push(Probe { bytes, outcome: if fits { ProbeOutcome::Arrived } else { outcome } });
            }
            result.finish(&search, 1_500, Ending::of(Outcome::Answered));
            assert_eq!(result.mtu_bytes, Some(1_400));
            result.packet_too_big
        };
        // EMSGSIZE of this machine's interface comes without a report.
        assert_eq!(packet_too_big(ProbeOutcome::TooBig, Fate::TooBig(0)), Some(TooBig::NotNeeded));
        assert_eq!(packet_too_big(ProbeOutcome::Silence, Fate::Silence), Some(TooBig::Never));
    }
}
