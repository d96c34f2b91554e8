//! `route`: the routers on the way to a server, by datagrams of UDP with small hop limits.
//!
//! All datagrams have the same addresses and ports, and over IPv6 the same flow label, so that routers which balance
//! load by these send them the same way (Augustin et al., Avoiding traceroute anomalies with Paris traceroute, IMC
//! 2006). The errors come by the socket's queue, for which no privilege is needed. Datagrams are told apart by a number
//! in their payload; where a router quotes no payload, by the order in which they were sent with that hop limit. If one
//! of these has no answer then, those that could be another's have no time.

use std::io::{self, Read};
use std::net::IpAddr;

use nix::poll::PollFlags;
use nix::sys::socket::{setsockopt, sockopt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sixbench_measure::{clock, random};
use sixbench_packet::{Error, LocalAddress, Result, error_queue as packet_errors, set_option};
use socket2::{Protocol, Socket, Type};

use crate::error_queue::{self, Entry, Quoted};
use crate::limits::{self, SECOND_NS};
use crate::local::{self, LocalEnd};
use crate::outcome::{Ending, Icmp, Meaning};
use crate::pacing::Pacer;
use crate::stream::wait_for;

const DEFAULT_TIMEOUT_NS: u64 = SECOND_NS;
const MAX_TIMEOUT_NS: u64 = 5 * SECOND_NS;
/// The first of the ports that traceroute has always used, at which nothing listens.
const DEFAULT_PORT: u16 = 33_434;
const DEFAULT_HOPS: u64 = 30;
const DEFAULT_PROBES: u64 = 3;
const DEFAULT_SILENT: u64 = 8;
/// Time between two datagrams.
const GAP_NS: u64 = SECOND_NS / 50;
const TOKEN_BYTES: usize = 8;
/// The token and a number; padding, so that the datagram is not the shortest one.
const PAYLOAD_BYTES: usize = 32;

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteRequest {
    address: IpAddr,
    port: Option<u16>,
    source: Option<LocalAddress>,
    /// The port that the datagrams are sent from.
    flow: Option<u16>,
    max_hops: Option<u64>,
    probes: Option<u64>,
    timeout_ns: Option<u64>,
    max_silent: Option<u64>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RouteResult {
    /// This end.
    #[serde(flatten)]
    pub local: LocalEnd,
    /// The hops, from the first on.
    pub hops: Vec<Hop>,
    /// The reason why there are no more.
    pub ended: Ended,
    /// The system's error where nothing was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The end of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The server answered.
    Reached,
    /// A router says that it does not go on.
    Unreachable,
    /// Too many hops in a row are silent.
    Silence,
    /// There are as many hops as were asked for.
    MaxHops,
    /// This machine does not send it.
    NoRoute,
}

/// A hop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hop {
    /// The hop limit that its datagrams had.
    pub hop_limit: u8,
    /// The end of each datagram, in the order in which they were sent.
    pub answers: Vec<HopAnswer>,
}

/// The end of a datagram.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HopAnswer {
    /// The end.
    pub outcome: HopOutcome,
    /// The sender of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<IpAddr>,
    /// Time until the answer came; absent where it is not known which datagram was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ns: Option<u64>,
    /// The ICMP error that is the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp: Option<Icmp>,
}

/// The kind of the end of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HopOutcome {
    /// Its hop limit was used up at a router.
    TimeExceeded,
    /// It came to the server.
    Answered,
    /// A router did not send it on.
    Unreachable,
    /// Nothing came in time.
    Silence,
}

impl HopAnswer {
    const SILENCE: Self = Self { outcome: HopOutcome::Silence, from: None, rtt_ns: None, icmp: None };
}

/// Finds the route.
///
/// # Errors
/// `bad-params` of a request that is out of bounds, `system` where the kernel refuses the means.
pub fn run(request: &RouteRequest, pacer: &Pacer) -> Result<RouteResult> {
    let port = limits::port(request.port.unwrap_or(DEFAULT_PORT))?;
    let max_hops = limits::within("max_hops", request.max_hops.unwrap_or(DEFAULT_HOPS), 1..=64)?;
    let probes = limits::within("probes", request.probes.unwrap_or(DEFAULT_PROBES), 1..=10)?;
    let max_silent = limits::within("max_silent", request.max_silent.unwrap_or(DEFAULT_SILENT), 1..=64)?;
    let timeout_ns = request.timeout_ns.unwrap_or(DEFAULT_TIMEOUT_NS);
    limits::within("timeout_ns", timeout_ns, 1_000_000..=MAX_TIMEOUT_NS)?;
    local::check_address(request.address, request.source)?;
    let token = random::secret().map_err(|e| Error::system("choosing the token of a route", "read", e))?;
    let kind = (Type::DGRAM, Protocol::UDP);
    let opened = local::open(request.address, kind, request.source, request.flow.unwrap_or(0))?;
    let socket = match local::connected(opened, local::peer(request.address, port, request.source)) {
        Ok(socket) => socket,
        Err(error) => return Ok(RouteResult::unsent(&error)),
    };
    prepare(&socket, request.address)?;
    let local = LocalEnd::of(&socket);
    let (address, probes) = (request.address, probes as usize);
    let mut tracing = Tracing { socket, pacer, address, token, probes, timeout_ns, sent: 0 };
    pacer.wait(request.address, 0, false);
    let (mut hops, mut silent) = (Vec::new(), 0);
    for hop_limit in 1..=max_hops as u8 {
        let hop = match tracing.hop(hop_limit)? {
            Ok(hop) => hop,
            Err(error) if hops.is_empty() => return Ok(RouteResult { local, ..RouteResult::unsent(&error) }),
            Err(error) => {
                let reason = Ending::unsent(&error).reason;
                return Ok(RouteResult { local, hops, ended: Ended::NoRoute, reason });
            }
        };
        let has = |outcome| hop.answers.iter().any(|answer| answer.outcome == outcome);
        silent = if hop.answers.iter().all(|answer| *answer == HopAnswer::SILENCE) { silent + 1 } else { 0 };
        let ended = match () {
            () if has(HopOutcome::Answered) => Some(Ended::Reached),
            () if has(HopOutcome::Unreachable) => Some(Ended::Unreachable),
            () if silent >= max_silent => Some(Ended::Silence),
            () => None,
        };
        hops.push(hop);
        if let Some(ended) = ended {
            return Ok(RouteResult { local, hops, ended, reason: None });
        }
    }
    Ok(RouteResult { local, hops, ended: Ended::MaxHops, reason: None })
}

impl RouteResult {
    fn unsent(error: &io::Error) -> Self {
        let reason = Ending::unsent(error).reason;
        Self { local: LocalEnd::default(), hops: Vec::new(), ended: Ended::NoRoute, reason }
    }
}

fn prepare(socket: &Socket, address: IpAddr) -> Result<()> {
    let doing = || format!("preparing datagrams to {address}");
    packet_errors::enable(socket, address.is_ipv6()).map_err(|e| Error::system(doing(), "setsockopt(RECVERR)", e))?;
    setsockopt(socket, sockopt::ReceiveTimestampns, &true)
        .map_err(|e| Error::system(doing(), "setsockopt(SO_TIMESTAMPNS)", e))
}

/// A datagram under way.
#[derive(Debug, Clone, Copy)]
struct Sent {
    number: u16,
    realtime_ns: u64,
}

struct Tracing<'a> {
    socket: Socket,
    pacer: &'a Pacer,
    address: IpAddr,
    token: [u8; TOKEN_BYTES],
    probes: usize,
    timeout_ns: u64,
    /// Number of datagrams so far.
    sent: u16,
}

impl Tracing<'_> {
    /// Sends the datagrams of a hop, and waits for their answers. An error inside says that this machine does not send.
    fn hop(&mut self, hop_limit: u8) -> Result<io::Result<Hop>> {
        let (level, name) = match self.address {
            IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TTL),
            IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS),
        };
        set_option(&self.socket, level, name, hop_limit.into())
            .map_err(|e| Error::system(format!("setting a hop limit of {hop_limit}"), "setsockopt", e))?;
        let mut datagrams = Datagrams::new(self.probes);
        for index in 0..self.probes {
            self.pacer.wait_for_packet(self.address, GAP_NS, false);
            let begun_ns = clock::monotonic_ns();
            match self.send() {
                Ok(sent) => datagrams.sent.push(sent),
                Err(error) => return Ok(Err(error)),
            }
            let is_last = index + 1 == self.probes;
            let wait_ns = if is_last { self.timeout_ns } else { GAP_NS.min(self.timeout_ns) };
            self.listen(begun_ns + wait_ns, is_last, &mut datagrams);
        }
        Ok(Ok(Hop { hop_limit, answers: datagrams.into_answers() }))
    }

    fn send(&mut self) -> io::Result<Sent> {
        let mut payload = self.token.to_vec();
        payload.extend(self.sent.to_be_bytes());
        payload.resize(PAYLOAD_BYTES, 0);
        let sent = Sent { number: self.sent, realtime_ns: clock::realtime_ns() };
        // The error about an earlier one makes the call fail once, and is in the queue.
        self.socket.send(&payload).or_else(|_| self.socket.send(&payload))?;
        self.sent += 1;
        Ok(sent)
    }

    /// Takes answers until that time, or until the last one is there.
    fn listen(&self, end_ns: u64, is_last: bool, datagrams: &mut Datagrams) {
        loop {
            for entry in error_queue::take(&self.socket) {
                let Entry::Error { icmp, meaning, quote, received_realtime_ns } = entry else { continue };
                let Some(outcome) = outcome_of(icmp, meaning, self.address) else { continue };
                let answer = HopAnswer { outcome, from: icmp.from, rtt_ns: None, icmp: Some(icmp) };
                let realtime_ns = received_realtime_ns.unwrap_or_else(clock::realtime_ns);
                datagrams.note(number_in(&quote, &self.token), answer, realtime_ns);
            }
            self.take_datagrams(datagrams);
            if (is_last && datagrams.silent() == 0) || !wait_for(&self.socket, PollFlags::POLLIN, end_ns) {
                return;
            }
            if clock::monotonic_ns() >= end_ns {
                return;
            }
        }
    }

    /// Datagrams come from the server alone.
    fn take_datagrams(&self, datagrams: &mut Datagrams) {
        let mut buffer = [0; 64];
        for _ in 0..self.probes {
            // An error is in the queue, too.
            let Ok(_) = (&self.socket).read(&mut buffer) else { return };
            let answer =
                HopAnswer { outcome: HopOutcome::Answered, from: Some(self.address), rtt_ns: None, icmp: None };
            datagrams.note(Quoted::Nothing, answer, clock::realtime_ns());
        }
    }
}

/// The datagrams of a hop, and their ends so far.
struct Datagrams {
    sent: Vec<Sent>,
    answers: Vec<HopAnswer>,
    /// True of an answer without a number that came while several datagrams had none.
    is_doubtful: Vec<bool>,
}

impl Datagrams {
    fn new(probes: usize) -> Self {
        Self { sent: Vec::new(), answers: vec![HopAnswer::SILENCE; probes], is_doubtful: vec![false; probes] }
    }

    /// Number of datagrams that were sent and have no answer.
    fn silent(&self) -> usize {
        self.answers.iter().take(self.sent.len()).filter(|answer| **answer == HopAnswer::SILENCE).count()
    }

    /// Notes an answer that came at this time: without a number, to the first datagram that has none.
    fn note(&mut self, quoted: Quoted, answer: HopAnswer, realtime_ns: u64) {
        let is_silent = |index: &usize| self.answers[*index] == HopAnswer::SILENCE;
        let index = match quoted {
            Quoted::Number(number) => self.sent.iter().position(|sent| sent.number == number).filter(is_silent),
            Quoted::Nothing => (0..self.sent.len()).find(is_silent),
            Quoted::Other => None,
        };
        let Some(index) = index else { return };
        self.is_doubtful[index] = quoted == Quoted::Nothing && self.silent() > 1;
        // A clock that was stepped back gives no time.
        let rtt_ns = realtime_ns.checked_sub(self.sent[index].realtime_ns);
        self.answers[index] = HopAnswer { rtt_ns, ..answer };
    }

    /// The ends. Where a datagram has none, an answer without a number may be that to a later one than it was noted
    /// for, and its time would be too long.
    fn into_answers(self) -> Vec<HopAnswer> {
        let is_complete = self.silent() == 0;
        let ends = self.answers.into_iter().zip(self.is_doubtful);
        let end = |(answer, is_doubtful): (HopAnswer, bool)| {
            if is_doubtful && !is_complete { HopAnswer { rtt_ns: None, ..answer } } else { answer }
        };
        ends.map(end).collect()
    }
}

/// The end of a datagram by an ICMP error; absent where it changes nothing.
fn outcome_of(icmp: Icmp, meaning: Meaning, server: IpAddr) -> Option<HopOutcome> {
    match meaning {
        Meaning::TimeExceeded => Some(HopOutcome::TimeExceeded),
        Meaning::Refused | Meaning::Unreachable if icmp.from == Some(server) => Some(HopOutcome::Answered),
        Meaning::Refused | Meaning::Unreachable => Some(HopOutcome::Unreachable),
        Meaning::TooBig(_) | Meaning::Notice => None,
    }
}

/// Reads what an error quotes of a payload. Pure.
pub fn number_in(quote: &[u8], token: &[u8; TOKEN_BYTES]) -> Quoted {
    let (shown, rest) = quote.split_at(quote.len().min(TOKEN_BYTES));
    match (token.starts_with(shown), rest) {
        (false, _) => Quoted::Other,
        (true, [high, low, ..]) => Quoted::Number(u16::from_be_bytes([*high, *low])),
        (true, _) => Quoted::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_server_on_loopback_is_one_hop_away() {
        for address in ["127.0.0.1", "::1"] {
            // Nothing is known to listen there, and if something does it is reached as well.
            let request = json!({"address": address, "timeout_ns": 5_000_000_000_u64, "probes": 2});
            let result = json!(run(&serde_json::from_value(request).unwrap(), &Pacer::default()).unwrap());
            assert_eq!((&result["ended"], &result["source"]), (&json!("reached"), &json!(address)), "{result}");
            let answers = result["hops"][0]["answers"].as_array().unwrap();
            assert_eq!(answers.len(), 2);
            assert!(answers.iter().all(|one| one["outcome"] == "answered" && one["from"] == address), "{result}");
        }
    }

    #[test]
    fn requests_are_bounded() {
        for wrong in [
            json!({"address": "::1", "max_hops": 65}),
            json!({"address": "::1", "probes": 0}),
            json!({"address": "::1", "timeout_ns": 6_000_000_000_u64}),
            json!({"address": "::1", "port": 0}),
            json!({"address": "::1", "source": "127.0.0.1"}),
        ] {
            assert!(run(&serde_json::from_value(wrong).unwrap(), &Pacer::default()).is_err());
        }
    }

    #[test]
    fn quotes_are_told_apart() {
        assert_eq!(number_in(b"tokentok\x01\x02rest", b"tokentok"), Quoted::Number(258));
        assert_eq!(number_in(b"tokentok\x01", b"tokentok"), Quoted::Nothing);
        assert_eq!(number_in(b"tok", b"tokentok"), Quoted::Nothing);
        assert_eq!(number_in(b"", b"tokentok"), Quoted::Nothing);
        assert_eq!(number_in(b"tokentak\x01\x02", b"tokentok"), Quoted::Other);
        assert_eq!(number_in(b"x", b"tokentok"), Quoted::Other);
    }

    #[test]
    fn an_answer_to_one_of_several_datagrams_has_no_time() {
        let answer = || HopAnswer { outcome: HopOutcome::TimeExceeded, ..HopAnswer::SILENCE };
        let times = |notes: &[(Quoted, u64)]| {
            let mut datagrams = Datagrams::new(3);
            for number in 0..3 {
                datagrams.sent.push(Sent { number, realtime_ns: 100 * u64::from(number) });
            }
            notes.iter().for_each(|(quoted, realtime_ns)| datagrams.note(*quoted, answer(), *realtime_ns));
            datagrams.into_answers().into_iter().map(|answer| answer.rtt_ns).collect::<Vec<_>>()
        };
        let nothing = Quoted::Nothing;
        // All are answered, so these are in their order.
        assert_eq!(times(&[(nothing, 1_000), (nothing, 1_100), (nothing, 1_200)]), [Some(1_000); 3]);
        // The first or the second of three may be lost.
        assert_eq!(times(&[(nothing, 1_100), (nothing, 1_200)]), [None; 3]);
        assert_eq!(times(&[(Quoted::Number(2), 1_200), (Quoted::Other, 1)]), [None, None, Some(1_000)]);
        assert_eq!(times(&[(Quoted::Number(7), 1_200)]), [None; 3]);
    }

    proptest! {
        #[test]
        fn no_quote_is_a_panic(quote: Vec<u8>) {
            prop_assert!(!matches!(number_in(&quote, b"tokentok"), Quoted::Number(_)));
        }
    }
}
