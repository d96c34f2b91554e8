//! Gives addresses on one device.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Mutex;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use sixbench_wire::dhcp::{CLIENT_PORT, Kind, Message, SERVER_PORT};

use super::frames::{EVERYBODY, Ends, frame, payload_for};
use super::link::Link;
use super::pool::{Outcome, Pool};
use crate::worker::{Stop, is_readable, lock};
use crate::{Error, Result};

const MAX_ADDRESSES: u32 = 4096;
const DEFAULT_LEASE_S: u32 = 600;
const MAX_FRAME_BYTES: usize = 2048;

/// The request `dhcp-serve`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ServeRequest {
    pub device: String,
    pub server: Ipv4Addr,
    pub prefix_bits: u8,
    pub first: Ipv4Addr,
    pub last: Ipv4Addr,
    #[serde(default = "default_lease_s")]
    pub lease_s: u32,
    #[serde(default)]
    pub v6only_wait_s: Option<u32>,
}

fn default_lease_s() -> u32 {
    DEFAULT_LEASE_S
}

/// Counts of the messages that were received, answered and ignored.
#[derive(Debug, Clone, Default, Serialize)]
#[allow(missing_docs)]
pub struct DhcpCounters {
    /// Counts of messages by type.
    pub messages: BTreeMap<&'static str, u64>,
    /// Answers that asked a client to do without IPv4.
    pub v6only: u64,
    pub ignored: BTreeMap<&'static str, u64>,
}

/// A server at work.
pub type Server = crate::Server<DhcpCounters>;

impl Server {
    /// Answers when this returns, in the namespace of this thread.
    pub fn start(request: &ServeRequest) -> Result<Self> {
        check(request)?;
        let link = Link::open(&request.device)?;
        let &ServeRequest { server, prefix_bits, first, last, lease_s, v6only_wait_s, .. } = request;
        let pool = Pool::new(server, prefix_bits, [first, last], lease_s, v6only_wait_s);
        Self::begin("dhcp", move |counters, stop| serve(&link, pool, counters, stop))
    }
}

fn check(request: &ServeRequest) -> Result<()> {
    let refuse = |reason: String| Err(Error::bad_params(format!("dhcp-serve on {}: {reason}", request.device)));
    let &ServeRequest { server, prefix_bits, first, last, lease_s, .. } = request;
    if !(1..=31).contains(&prefix_bits) {
        return refuse(format!("prefix_bits is {prefix_bits}, not 1 to 31"));
    }
    let network = |address: Ipv4Addr| address.to_bits() >> (32 - u32::from(prefix_bits));
    if first > last || [first, last].map(network) != [network(server); 2] {
        return refuse(format!(
            "the addresses from {first} to {last} are not in the network of {server}/{prefix_bits}"
        ));
    }
    if (first..=last).contains(&server) {
        return refuse(format!("the server's own address {server} is among the addresses that it leases"));
    }
    if last.to_bits() - first.to_bits() >= MAX_ADDRESSES {
        return refuse(format!("there are more than {MAX_ADDRESSES} addresses from {first} to {last}"));
    }
    if lease_s == 0 { refuse("lease_s is 0".to_owned()) } else { Ok(()) }
}

fn serve(link: &Link, mut pool: Pool, counters: &Mutex<DhcpCounters>, stop: &Stop) {
    let begun = Instant::now();
    let mut buffer = [0; MAX_FRAME_BYTES];
    while is_readable(link, stop) {
        // An error, such as that the device is down, is told once.
        let Ok(Some(arrived)) = link.receive(&mut buffer) else { continue };
        let Some(payload) = payload_for(SERVER_PORT, arrived) else { continue };
        let mut counters = lock(counters);
        let mut ignore = |reason| *counters.ignored.entry(reason).or_default() += 1;
        let message = match Message::parse(payload) {
            Ok(message) => message,
            Err(flaw) => {
                ignore(flaw.reason());
                continue;
            }
        };
        match pool.take(&message, begun.elapsed().as_secs()) {
            Outcome::Ignored(reason) => ignore(reason),
            Outcome::Followed => *counters.messages.entry(message.kind.name()).or_default() += 1,
            Outcome::Answered(answer) => {
                if link.send(&to_client(link, pool.server, &answer)).is_err() {
                    ignore("not-answered");
                    continue;
                }
                for kind in [message.kind, answer.kind] {
                    *counters.messages.entry(kind.name()).or_default() += 1;
                }
                counters.v6only += u64::from(answer.v6only_wait_s.is_some());
            }
        }
    }
}

/// The frame with an answer, to the destination of RFC 2131 section 4.1.
fn to_client(link: &Link, server: Ipv4Addr, answer: &Message) -> Vec<u8> {
    let everybody = (EVERYBODY, Ipv4Addr::BROADCAST);
    let (hardware, address) = match *answer {
        Message { kind: Kind::Nak, .. } => everybody,
        Message { client, hardware, .. } if !client.is_unspecified() => (hardware, client),
        Message { is_broadcast: true, .. } => everybody,
        Message { yours, hardware, .. } => (hardware, yours),
    };
    frame(Ends { from: (link.mac, server, SERVER_PORT), to: (hardware, address, CLIENT_PORT) }, &answer.encode())
}
