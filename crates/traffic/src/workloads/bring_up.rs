//! `bring-up`: echo requests from a moment at which nothing answers, until one is answered.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use nix::errno::Errno;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use sixbench_measure::clock::{self, BothClocks, PreciseTimers};
use sixbench_measure::cpu;
use sixbench_packet::ReceiveBatch;
use socket2::{SockAddr, Socket};

use super::ping::{self, packet};
use crate::datagram_socket::{is_momentary, wait_until};
use crate::df::Df;
use crate::params::{self, MAX_TIME_NS, SECOND_NS};
use crate::session::{TypedWorkload, only};
use crate::workloads::tcp::io::pattern;
use crate::{Cancel, Endpoint, Error, Result, Server};

/// The workload.
pub struct BringUp;

const NAME: &str = "bring-up";
/// Data of an echo request, as those of ping(8).
const PAYLOAD_BYTES: usize = 56;
/// Room for an ICMP error with its quote (RFC 4443 section 2.4 (c)).
const BUFFER_BYTES: usize = 1280;
const AT_ONCE: usize = 8;
/// More requests than this a millisecond are a load and no probe.
const MIN_INTERVAL_NS: u64 = 100_000;

impl TypedWorkload for BringUp {
    type ClientResult = ClientResult;
    type ServerResult = ping::KernelResult;

    fn name(&self) -> &'static str {
        NAME
    }

    fn parameters(&self) -> Result<Value> {
        params::table(NAME, &json!({}), Settings::read)
    }

    fn serve(&self, endpoints: &[Endpoint], params: &Value, _: &Cancel) -> Result<Box<dyn Server<ping::KernelResult>>> {
        only(NAME, endpoints)?;
        params::read(NAME, params, Settings::read)?;
        Ok(Box::new(ping::Kernel))
    }

    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<ClientResult> {
        let endpoint = only(NAME, endpoints)?;
        let settings = params::read(NAME, params, Settings::read)?;
        let _timers = PreciseTimers::new();
        let socket = ping::open(endpoint, Df::Clear)?;
        let from = cpu::sample();
        let mut probing = Probing::new(endpoint, &socket);
        let answered = probing.until_answered(&settings, cancel)?;
        Ok(ClientResult {
            sent: probing.sent,
            refused: probing.refused,
            errors: probing.errors,
            began_ns: probing.began_ns,
            answered,
            cpu: cpu::Span { from, to: cpu::sample() },
        })
    }
}

/// The client's result, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClientResult {
    sent: u64,
    /// Requests that the kernel did not take, by its reason.
    refused: BTreeMap<String, u64>,
    /// ICMP errors about requests, by name.
    errors: BTreeMap<&'static str, u64>,
    began_ns: u64,
    /// Absent where nothing was answered in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered: Option<Answered>,
    cpu: cpu::Span,
}

/// The parameters, checked.
struct Settings {
    interval_ns: u64,
    timeout_ns: u64,
}

impl Settings {
    fn read(params: &mut params::Params<'_>) -> Result<Self> {
        Ok(Self {
            interval_ns: params.integer_or("interval_ns", MIN_INTERVAL_NS..=MAX_TIME_NS, SECOND_NS / 1_000)?,
            timeout_ns: params.time_ns("timeout_ns", 1, 10 * SECOND_NS)?,
        })
    }
}

/// The first answer. Times are of the monotonic clock.
#[derive(Debug, Serialize, JsonSchema)]
struct Answered {
    number: u64,
    sent_ns: u64,
    received_ns: u64,
}

struct Probing<'a> {
    endpoint: &'a Endpoint,
    socket: &'a Socket,
    identifier: u16,
    requests: packet::Requests,
    batch: ReceiveBatch,
    began_ns: u64,
    sent: u64,
    /// Requests that the kernel did not take, by its reason: there may be no route yet.
    refused: BTreeMap<String, u64>,
    /// ICMP errors about requests, by name.
    errors: BTreeMap<&'static str, u64>,
}

impl<'a> Probing<'a> {
    fn new(endpoint: &'a Endpoint, socket: &'a Socket) -> Self {
        let identifier = (endpoint.token.short() as u16) ^ std::process::id() as u16;
        Self {
            endpoint,
            socket,
            identifier,
            requests: packet::Requests::new(endpoint.peer.is_ipv4(), identifier, pattern(PAYLOAD_BYTES)),
            batch: ReceiveBatch::new(AT_ONCE, BUFFER_BYTES),
            began_ns: clock::monotonic_ns(),
            sent: 0,
            refused: BTreeMap::new(),
            errors: BTreeMap::new(),
        }
    }

    /// A request at each multiple of the interval; those whose time has passed are left out.
    fn until_answered(&mut self, settings: &Settings, cancel: &Cancel) -> Result<Option<Answered>> {
        let ends_ns = self.began_ns.saturating_add(settings.timeout_ns);
        let mut due_ns = self.began_ns;
        let mut number = 0;
        loop {
            cancel.check()?;
            if let Some(answered) = self.take()? {
                return Ok(Some(answered));
            }
            let now_ns = clock::monotonic_ns();
            if now_ns >= ends_ns {
                return Ok(None);
            }
            if now_ns >= due_ns {
                self.send(number);
                number += 1;
                due_ns += settings.interval_ns * ((now_ns - due_ns) / settings.interval_ns + 1);
            }
            wait_until(self.socket, due_ns.min(ends_ns));
        }
    }

    fn send(&mut self, number: u64) {
        // The mark brings the send time back; its clock is the monotonic one here, since nobody else reads it.
        let mark = packet::Mark { token: self.endpoint.token.short(), number, sent_realtime_ns: clock::monotonic_ns() };
        let to = SockAddr::from(SocketAddr::new(self.endpoint.peer, 0));
        match self.socket.send_to(self.requests.request(mark), &to) {
            Ok(_) => self.sent += 1,
            Err(error) => {
                let errno = error.raw_os_error().map_or(Errno::UnknownErrno, Errno::from_raw);
                *self.refused.entry(format!("{errno:?}")).or_default() += 1;
            }
        }
    }

    /// The first of the answers that are there.
    fn take(&mut self) -> Result<Option<Answered>> {
        match self.batch.receive_ready(self.socket.as_fd()) {
            Ok(_) => {}
            Err(errno) if is_momentary(errno) => return Ok(None),
            // An ICMP error about a request, or no route at the moment.
            Err(Errno::ENETUNREACH | Errno::EHOSTUNREACH) => return Ok(None),
            Err(e) => return Err(Error::system(format!("receiving answers of {NAME}"), "recvmmsg", e)),
        }
        let clocks = BothClocks::read();
        let peer = self.endpoint.peer;
        for datagram in self.batch.datagrams() {
            match packet::parse(datagram.bytes, peer, self.identifier, PAYLOAD_BYTES) {
                Some(packet::Message::Reply { mark, .. })
                    if mark.token == self.endpoint.token.short() && datagram.source == Some(peer) =>
                {
                    let (number, sent_ns) = (mark.number, mark.sent_realtime_ns);
                    let noted_ns = datagram.notes.realtime_ns.map(|noted| clocks.to_monotonic_ns(noted));
                    let received_ns =
                        noted_ns.map_or(clocks.monotonic_ns, |ns| ns.min(clocks.monotonic_ns)).max(sent_ns);
                    return Ok(Some(Answered { number, sent_ns, received_ns }));
                }
                Some(packet::Message::Error(name)) => *self.errors.entry(name).or_default() += 1,
                _ => {}
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;
    use crate::Workload;

    fn run(peer: &str) -> Option<Value> {
        let mut endpoint = Endpoint::on_loopback([127, 0, 0, 1].into());
        endpoint.peer = peer.parse().expect("an address");
        let params = json!({"timeout_ns": 20_000_000});
        match Workload::run(&BringUp, &endpoint, &params, &Cancel::default()) {
            // Only root may have raw sockets.
            Err(error) if error.kind() == Some(std::io::ErrorKind::PermissionDenied) => None,
            result => Some(result.expect("it ran")),
        }
    }

    #[test]
    fn it_ends_with_the_first_answer() {
        let Some(result) = run("127.0.0.1") else { return };
        let answered = &result["answered"];
        assert!(answered["received_ns"].as_u64() >= answered["sent_ns"].as_u64(), "{result}");
        assert!(answered["sent_ns"].as_u64() >= result["began_ns"].as_u64(), "{result}");
    }

    #[test]
    fn no_answer_is_no_time() {
        // Class E from a loopback address: the kernel refuses.
        let Some(result) = run("240.0.0.1") else { return };
        assert!(result.get("answered").is_none(), "{result}");
    }

    #[test]
    fn what_is_refused() {
        let endpoint = Endpoint::on_loopback([127, 0, 0, 1].into());
        for params in [json!({"interval_ns": 99_999}), json!({"timeout_ns": 0}), json!({"count": 1})] {
            let error = Workload::serve(&BringUp, &endpoint, &params, &Cancel::default()).err().expect("a refusal");
            assert_eq!(error.code, Code::BadParams, "{params}");
        }
    }
}
