//! `connections`: as many connections as the path carries, opened one after the other and kept open, TCP or UDP. At the
//! end each has to answer.
//!
//! A connection is checked by a message: the token and the number of the round. The server answers with a byte of the
//! token and the same number. Over UDP, whose connections have no handshake, the first round opens them.

mod client;
mod held;
mod round;
mod server;

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};
use sixbench_wire::token::Token;

use super::pacing::Interval;
use super::tcp::TcpOptions;
use crate::cancel::Stop;
use crate::params::{self, Params, SECOND_NS};
use crate::session::{TypedWorkload, only};
use crate::{Cancel, Endpoint, Error, Result, Server};

/// The workload `connections`.
pub struct Connections;

impl TypedWorkload for Connections {
    type ClientResult = client::ClientResult;
    type ServerResult = server::ServerResult;

    fn name(&self) -> &'static str {
        NAME
    }

    fn parameters(&self) -> Result<Value> {
        params::table(NAME, &json!({}), ConnectionsParams::read)
    }

    fn serve(
        &self,
        endpoints: &[Endpoint],
        params: &Value,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server<server::ServerResult>>> {
        let endpoint = only(NAME, endpoints)?;
        server::serve(endpoint, &ConnectionsParams::parse(params)?, cancel)
    }

    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<client::ClientResult> {
        let endpoint = only(NAME, endpoints)?;
        client::run(endpoint, &ConnectionsParams::parse(params)?, &Stop::new(cancel))
    }
}

const NAME: &str = "connections";
/// Each is a descriptor on the client, and over TCP on the server.
const MAX_COUNT: u64 = 1_000_000;
const DEFAULT_COUNT: u64 = 1_000;
const MAX_RATE_PER_S: u64 = 10_000_000;
/// Linux looks for a source port among those of one parity first, of which its default range has 14,116. With fewer
/// connections to a port of the server it finds one at once.
const CONNECTIONS_OF_PORT: u64 = 10_000;
const MAX_SERVER_PORTS: u64 = 128;
/// Descriptors besides those of connections.
const OTHER_DESCRIPTORS: u64 = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Tcp,
    Udp,
}

/// `params`, read and checked.
struct ConnectionsParams {
    transport: Transport,
    count: u64,
    /// Pace of opening; absent: as fast as they go.
    rate: Option<Interval>,
    hold_ns: u64,
    /// Time limit for a connection to be established, and for the answer at the end.
    timeout_ns: u64,
    server_ports: u16,
    options: TcpOptions,
}

impl ConnectionsParams {
    fn parse(params: &Value) -> Result<Self> {
        params::read(NAME, params, Self::read)
    }

    fn read(params: &mut Params<'_>) -> Result<Self> {
        let count = params.integer_or("count", 1..=MAX_COUNT, DEFAULT_COUNT)?;
        let server_ports = params.integer("server_ports", 1..=MAX_SERVER_PORTS)?;
        Ok(Self {
            transport: params.choice("transport", &[("tcp", Transport::Tcp), ("udp", Transport::Udp)])?,
            count,
            rate: params.integer("rate_per_s", 1..=MAX_RATE_PER_S)?.map(Interval::of_pps),
            hold_ns: params.time_ns("hold_ns", 0, 0)?,
            timeout_ns: params.time_ns("timeout_ns", 1, 2 * SECOND_NS)?,
            server_ports: server_ports.unwrap_or_else(|| count.div_ceil(CONNECTIONS_OF_PORT)) as u16,
            options: TcpOptions::read(params)?,
        })
    }
}

/// Length of the client's request on a connection in a round.
const REQUEST_BYTES: usize = 17;
/// Length of the server's answer.
const ANSWER_BYTES: usize = 2;

fn request(token: &Token, round: u8) -> [u8; REQUEST_BYTES] {
    let mut bytes = [round; REQUEST_BYTES];
    bytes[..16].copy_from_slice(&token.0);
    bytes
}

/// The number of the round, where it is a request of the trial.
fn round_of(bytes: &[u8], token: &Token) -> Option<u8> {
    match bytes.split_at_checked(16)? {
        (given, &[round]) if given == token.0 => Some(round),
        _ => None,
    }
}

fn answer(token: &Token, round: u8) -> [u8; ANSWER_BYTES] {
    [token.0[1], round]
}

/// Raises the limit of this process to this many open descriptors, or returns the reason why that is impossible.
fn allow_descriptors(count: u64) -> Result<()> {
    let needed = count + OTHER_DESCRIPTORS;
    let doing = || format!("opening {count} connections, each of which is a file descriptor");
    let (soft, hard) =
        getrlimit(Resource::RLIMIT_NOFILE).map_err(|e| Error::system(doing(), "getrlimit(RLIMIT_NOFILE)", e))?;
    if soft >= needed || setrlimit(Resource::RLIMIT_NOFILE, needed, hard.max(needed)).is_ok() {
        return Ok(());
    }
    let words = format!(
        "{needed} descriptors are needed, and this process may have {hard} (ulimit -Hn; the kernel's own limit is \
         fs.nr_open): ask for fewer connections, or raise the limit"
    );
    Err(Error::system(doing(), "setrlimit(RLIMIT_NOFILE)", io::Error::other(words)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn params_are_those_of_the_document() {
        let params = ConnectionsParams::parse(&json!({})).unwrap();
        assert_eq!((params.transport, params.count, params.server_ports), (Transport::Tcp, 1_000, 1));
        assert_eq!((params.rate.is_none(), params.hold_ns, params.timeout_ns), (true, 0, 2_000_000_000));
        assert_eq!(ConnectionsParams::parse(&json!({"count": 1_000_000})).unwrap().server_ports, 100);
        for params in [
            json!({"count": 0}),
            json!({"count": 1_000_001}),
            json!({"rate_per_s": 0}),
            json!({"server_ports": 129}),
            json!({"transport": "icmp"}),
            json!({"timeout_ns": 0}),
            json!({"duration_ns": 1}),
        ] {
            assert_eq!(ConnectionsParams::parse(&params).err().unwrap().code, Code::BadParams, "{params}");
        }
    }

    #[test]
    fn a_request_has_the_whole_token() {
        let token = Token(*b"0123456789abcdef");
        assert_eq!(round_of(&request(&token, 1), &token), Some(1));
        assert_eq!(round_of(&request(&token, 1), &Token([0; 16])), None);
        assert_eq!(round_of(&request(&token, 1)[..16], &token), None);
        assert_eq!(round_of(&[&request(&token, 1)[..], &[0]].concat(), &token), None);
    }

    #[test]
    fn a_limit_that_cannot_be_is_told() {
        allow_descriptors(1).unwrap();
        let error = allow_descriptors(u64::MAX >> 2).unwrap_err().to_string();
        assert!(error.contains("ask for fewer connections"), "{error}");
    }
}
