//! `ping`: echo requests of ICMP by the sockets that the kernel gives to ordinary users (icmp(7), Linux 3.0;
//! `net.ipv4.ping_group_range`).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::PollFlags;
use nix::sys::socket::{MsgFlags, setsockopt, sockopt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sixbench_measure::{clock, random};
use sixbench_packet::{Error, LocalAddress, MessageReader, Notes, Result, error_queue as packet_errors, set_option};
use socket2::{Protocol, Socket, Type};

use crate::error_queue::{self, Entry};
use crate::limits::{self, AskedRepeats, Repeats, SECOND_NS};
use crate::local::{self, LocalEnd};
use crate::outcome::{Ending, Meaning, Outcome};
use crate::pacing::Pacer;
use crate::stream::wait_for;

/// The least interval at a server that is not the user's.
const LEAST_INTERVAL_NS: u64 = SECOND_NS / 5;
const DEFAULT_TIMEOUT_NS: u64 = SECOND_NS;
/// Payload: the token at least, and at most what every link carries.
const PAYLOADS_BYTES: std::ops::RangeInclusive<u64> = TOKEN_BYTES as u64..=1_400;
const DEFAULT_PAYLOAD_BYTES: u64 = 56;
/// The first bytes of the payload, by which answers are known as ours.
const TOKEN_BYTES: usize = 8;
/// The header of an echo message (RFC 792, RFC 4443 section 4).
pub const ECHO_HEADER_BYTES: usize = 8;
const MAX_MESSAGE_BYTES: usize = 2_048;
/// Messages that are read at once.
const MOST_AT_ONCE: usize = 64;

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PingRequest {
    address: IpAddr,
    source: Option<LocalAddress>,
    count: Option<u64>,
    interval_ns: Option<u64>,
    payload_bytes: Option<u64>,
    timeout_ns: Option<u64>,
    /// The server is the user's own.
    #[serde(default)]
    mine: bool,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PingResult {
    /// This end.
    #[serde(flatten)]
    pub local: LocalEnd,
    /// The end of each request, in their order.
    pub replies: Vec<Reply>,
    /// Answers that came again.
    pub duplicates: u64,
    /// Messages that are no answers to these requests.
    pub strays: u64,
}

/// The end of an echo request.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Reply {
    /// Its number.
    pub sequence: u64,
    /// Time at which it was sent.
    pub begun_ns: u64,
    /// Its end.
    #[serde(flatten)]
    pub ending: Ending,
    /// Time until the answer or the error came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ns: Option<u64>,
    /// True if both times are the kernel's.
    pub kernel_stamps: bool,
    /// The hop limit that the answer had left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hop_limit: Option<u8>,
}

/// Sends the echo requests and takes the answers.
///
/// # Errors
/// `bad-params` of a request that is out of bounds, `system` where the kernel gives no such socket.
pub fn run(request: &PingRequest, pacer: &Pacer) -> Result<PingResult> {
    let PingRequest { address, source, mine, .. } = *request;
    let asked = AskedRepeats { count: request.count, interval_ns: request.interval_ns, timeout_ns: request.timeout_ns };
    let repeats = asked.checked(if mine { 0 } else { LEAST_INTERVAL_NS }, DEFAULT_TIMEOUT_NS)?;
    let payload_bytes =
        limits::within("payload_bytes", request.payload_bytes.unwrap_or(DEFAULT_PAYLOAD_BYTES), PAYLOADS_BYTES)?;
    local::check_address(address, source)?;
    let token = random::secret().map_err(|e| Error::system("choosing the token of a ping", "read", e))?;
    let socket = match open(address, source)? {
        Ok(socket) => socket,
        Err(error) => return Ok(PingResult::unsent(&repeats, &error)),
    };
    note_times(&socket, address)?;
    if let Err(error) = socket.connect(&local::peer(address, 0, source).into()) {
        return Ok(PingResult::unsent(&repeats, &error));
    }
    let begin_ns = pacer.wait(address, 0, mine);
    let mut pinging = Pinging {
        socket,
        address,
        token,
        payload_bytes: payload_bytes as usize,
        waiting: BTreeMap::new(),
        taken: Vec::new(),
        replies: Vec::new(),
        duplicates: 0,
        strays: 0,
    };
    pinging.work(&repeats, begin_ns, |due_ns| pacer.next_packet_ns(address, due_ns, LEAST_INTERVAL_NS, mine));
    let Pinging { socket, mut replies, duplicates, strays, .. } = pinging;
    replies.sort_by_key(|reply| reply.sequence);
    Ok(PingResult { local: LocalEnd { source_port: None, ..LocalEnd::of(&socket) }, replies, duplicates, strays })
}

/// A socket of ICMP that ordinary users may have.
///
/// # Errors
/// `system` where the kernel gives none.
pub fn open(address: IpAddr, source: Option<LocalAddress>) -> Result<std::io::Result<Socket>> {
    let protocol = if address.is_ipv4() { Protocol::ICMPV4 } else { Protocol::ICMPV6 };
    local::open(address, (Type::DGRAM, protocol), source, 0).map_err(|mut error| {
        if error.kind() == Some(std::io::ErrorKind::PermissionDenied) {
            error.message.push_str(
                "; sockets of ICMP are given to the groups in net.ipv4.ping_group_range: \
                 `sysctl net.ipv4.ping_group_range=\"0 2147483647\"` gives them to all",
            );
        }
        error
    })
}

/// Has the kernel note the times of sending and of receiving, and the hop limit.
fn note_times(socket: &Socket, address: IpAddr) -> Result<()> {
    let doing = "asking for times and hop limits of echoes";
    packet_errors::enable(socket, address.is_ipv6()).map_err(|e| Error::system(doing, "setsockopt(RECVERR)", e))?;
    setsockopt(socket, sockopt::ReceiveTimestampns, &true)
        .map_err(|e| Error::system(doing, "setsockopt(SO_TIMESTAMPNS)", e))?;
    let (level, name) = match address {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_RECVTTL),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT),
    };
    set_option(socket, level, name, 1).map_err(|e| Error::system(doing, "setsockopt(RECVTTL)", e))?;
    let flags = libc::SOF_TIMESTAMPING_TX_SOFTWARE
        | libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    // Without it the time of sending is the program's, and the result says so.
    let _ = set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as libc::c_int);
    Ok(())
}

/// A request that was sent.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    begun_ns: u64,
    sent_realtime_ns: u64,
    /// The kernel's time, where it came.
    kernel_realtime_ns: Option<u64>,
}

struct Pinging {
    socket: Socket,
    address: IpAddr,
    token: [u8; TOKEN_BYTES],
    payload_bytes: usize,
    waiting: BTreeMap<u16, Waiting>,
    /// The requests that the kernel took, in their order: it numbers the times of sending by that.
    taken: Vec<u16>,
    replies: Vec<Reply>,
    duplicates: u64,
    strays: u64,
}

impl Pinging {
    /// Sends the requests, each not before the time that `at` gives for when it is due.
    fn work(&mut self, repeats: &Repeats, begin_ns: u64, at: impl Fn(u64) -> u64) {
        let (mut due_ns, mut last_ns) = (begin_ns, begin_ns);
        for sequence in 0..repeats.count as u16 {
            self.listen(at(due_ns), repeats.timeout_ns, false);
            last_ns = clock::monotonic_ns();
            // A machine that was late does not make up for it by a burst.
            due_ns = last_ns + repeats.interval_ns;
            self.send(sequence, last_ns);
        }
        self.listen(last_ns + repeats.timeout_ns, repeats.timeout_ns, true);
        for (sequence, waiting) in std::mem::take(&mut self.waiting) {
            self.end(sequence, &waiting, Ending::of(Outcome::Silence), None, None);
        }
    }

    fn send(&mut self, sequence: u16, begun_ns: u64) {
        let message = self.message(sequence);
        let waiting = Waiting { begun_ns, sent_realtime_ns: clock::realtime_ns(), kernel_realtime_ns: None };
        // An error about an earlier one makes the call fail once.
        let sent = self.socket.send(&message).or_else(|_| {
            self.take_errors();
            self.socket.send(&message)
        });
        match sent {
            Ok(_) => {
                self.waiting.insert(sequence, waiting);
                self.taken.push(sequence);
            }
            Err(error) => self.end(sequence, &waiting, Ending::unsent(&error), None, None),
        }
    }

    fn message(&self, sequence: u16) -> Vec<u8> {
        let mut message = echo(self.address.is_ipv4(), sequence, &self.token);
        message.resize(ECHO_HEADER_BYTES + self.payload_bytes, b'6');
        message
    }

    /// Takes what comes until that time; or until all are answered, if nothing is sent any more.
    fn listen(&mut self, end_ns: u64, timeout_ns: u64, is_last: bool) {
        loop {
            self.take_errors();
            self.take_answers();
            self.expire(timeout_ns);
            if (is_last && self.waiting.is_empty()) || clock::monotonic_ns() >= end_ns {
                return;
            }
            wait_for(&self.socket, PollFlags::POLLIN, end_ns);
        }
    }

    fn expire(&mut self, timeout_ns: u64) {
        let now_ns = clock::monotonic_ns();
        let is_over = |waiting: &Waiting| now_ns.saturating_sub(waiting.begun_ns) >= timeout_ns;
        let over: Vec<u16> =
            self.waiting.iter().filter(|(_, one)| is_over(one)).map(|(&sequence, _)| sequence).collect();
        for sequence in over {
            if let Some(waiting) = self.waiting.remove(&sequence) {
                self.end(sequence, &waiting, Ending::of(Outcome::Silence), None, None);
            }
        }
    }

    fn take_errors(&mut self) {
        for entry in error_queue::take(&self.socket) {
            match entry {
                Entry::Sent(number, times) => {
                    let sequence = self.taken.get(number as usize);
                    let waiting = sequence.and_then(|sequence| self.waiting.get_mut(sequence));
                    if let (Some(waiting), Some(realtime_ns)) = (waiting, times.realtime_ns) {
                        // A time before the request is that of another one.
                        waiting.kernel_realtime_ns = Some(realtime_ns).filter(|&ns| ns >= waiting.sent_realtime_ns);
                    }
                }
                Entry::Error { meaning: Meaning::Notice, .. } => {}
                Entry::Error { icmp, meaning, quote, received_realtime_ns } => {
                    let Some(sequence) = request_in(&quote, &self.token) else {
                        self.strays += 1;
                        continue;
                    };
                    // Where nothing waits, it is late, or the second one about this request.
                    if let Some(waiting) = self.waiting.remove(&sequence) {
                        let ending = Ending::by_icmp(icmp, meaning);
                        self.end(sequence, &waiting, ending, received_realtime_ns, None);
                    }
                }
            }
        }
    }

    fn take_answers(&mut self) {
        let mut reader = MessageReader::default();
        let mut buffer = [0; MAX_MESSAGE_BYTES];
        for _ in 0..MOST_AT_ONCE {
            let bytes = match reader.read(self.socket.as_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(reading) => &buffer[..reading.bytes.min(MAX_MESSAGE_BYTES)],
                Err(Errno::EINTR) => continue,
                Err(_) => return,
            };
            let now_ns = clock::realtime_ns();
            let notes = Notes::of(reader.control_words());
            let is_peer = reader.name().address().map(|from| from.ip()) == Some(self.address);
            let sequence = reply_to(bytes, self.address.is_ipv4(), &self.token).filter(|_| is_peer);
            match sequence.map(|sequence| (sequence, self.waiting.remove(&sequence))) {
                // The time of sending may come after the answer.
                Some((sequence, Some(waiting))) => {
                    self.waiting.insert(sequence, waiting);
                    self.take_errors();
                    let Some(waiting) = self.waiting.remove(&sequence) else { continue };
                    let received = notes.realtime_ns.or(Some(now_ns));
                    let is_kernels = notes.realtime_ns.is_some();
                    self.answered(sequence, &waiting, received, is_kernels, notes.hop_limit);
                }
                // The first answer to a request whose time was over is late, and no duplicate.
                Some((sequence, None)) => self.duplicates += u64::from(self.is_answered(sequence)),
                None => self.strays += 1,
            }
        }
    }

    fn is_answered(&self, sequence: u16) -> bool {
        let is_it = |reply: &Reply| reply.sequence == u64::from(sequence);
        self.replies.iter().any(|reply| is_it(reply) && reply.ending.outcome == Outcome::Answered)
    }

    fn answered(
        &mut self,
        sequence: u16,
        waiting: &Waiting,
        received: Option<u64>,
        is_kernels: bool,
        hops: Option<u8>,
    ) {
        self.end(sequence, waiting, Ending::of(Outcome::Answered), received, hops);
        if let (false, Some(reply)) = (is_kernels, self.replies.last_mut()) {
            reply.kernel_stamps = false;
        }
    }

    fn end(
        &mut self,
        sequence: u16,
        waiting: &Waiting,
        ending: Ending,
        received_realtime_ns: Option<u64>,
        hop_limit: Option<u8>,
    ) {
        let sent_ns = waiting.kernel_realtime_ns.unwrap_or(waiting.sent_realtime_ns);
        // A clock that was stepped back gives no time.
        let rtt_ns = received_realtime_ns.and_then(|received_ns| received_ns.checked_sub(sent_ns));
        self.replies.push(Reply {
            sequence: sequence.into(),
            begun_ns: waiting.begun_ns,
            ending,
            rtt_ns,
            kernel_stamps: rtt_ns.is_some() && waiting.kernel_realtime_ns.is_some(),
            hop_limit,
        });
    }
}

impl PingResult {
    fn unsent(repeats: &Repeats, error: &std::io::Error) -> Self {
        let begun_ns = clock::monotonic_ns();
        let reply = |sequence| Reply {
            sequence,
            begun_ns,
            ending: Ending::unsent(error),
            rtt_ns: None,
            kernel_stamps: false,
            hop_limit: None,
        };
        let replies = (0..repeats.count).map(reply).collect();
        Self { local: LocalEnd::default(), replies, duplicates: 0, strays: 0 }
    }
}

const V4_ECHO: u8 = 8;
const V4_ECHO_REPLY: u8 = 0;
const V6_ECHO: u8 = 128;
const V6_ECHO_REPLY: u8 = 129;

/// An echo request whose payload is the token. The kernel writes the identifier and the checksum.
pub fn echo(is_ipv4: bool, number: u16, token: &[u8; TOKEN_BYTES]) -> Vec<u8> {
    let mut message = vec![if is_ipv4 { V4_ECHO } else { V6_ECHO }, 0, 0, 0, 0, 0];
    message.extend(number.to_be_bytes());
    message.extend(token);
    message
}

/// The number of the request that a message answers; absent where it is no answer to one with this token. Pure.
pub fn reply_to(message: &[u8], is_ipv4: bool, token: &[u8; TOKEN_BYTES]) -> Option<u16> {
    let [kind, 0, _, _, _, _, high, low, payload @ ..] = message else { return None };
    let expected = if is_ipv4 { V4_ECHO_REPLY } else { V6_ECHO_REPLY };
    (*kind == expected && payload.starts_with(token)).then_some(u16::from_be_bytes([*high, *low]))
}

/// The number of the request that an ICMP error quotes; absent where it quotes something else. Routers quote the header
/// (RFC 792), and many of them the token. Pure.
pub fn request_in(quote: &[u8], token: &[u8; TOKEN_BYTES]) -> Option<u16> {
    let [_, _, _, _, _, _, high, low, payload @ ..] = quote else { return None };
    let shown = &payload[..payload.len().min(TOKEN_BYTES)];
    token.starts_with(shown).then_some(u16::from_be_bytes([*high, *low]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn errors_are_about_requests_with_the_token_as_far_as_they_quote_it() {
        let message = [&[8, 0, 1, 2, 3, 4, 1, 2][..], b"tokentok", b"666"].concat();
        for bytes in [8, 11, 16, 19] {
            assert_eq!(request_in(&message[..bytes], b"tokentok"), Some(258));
        }
        assert_eq!(request_in(&message[..7], b"tokentok"), None);
        assert_eq!(request_in(&message[..11], b"another."), None);
    }

    #[test]
    fn answers_are_known_by_type_and_token() {
        let message = |kind| [&[kind, 0, 1, 2, 3, 4, 0, 7][..], b"tokentok", b"666"].concat();
        assert_eq!(reply_to(&message(0), true, b"tokentok"), Some(7));
        assert_eq!(reply_to(&message(129), false, b"tokentok"), Some(7));
        assert_eq!(reply_to(&message(8), true, b"tokentok"), None);
        assert_eq!(reply_to(&message(0), true, b"another."), None);
        assert_eq!(reply_to(&message(0)[..12], true, b"tokentok"), None);
    }

    #[test]
    fn bounds_are_checked_first() {
        for (params, words) in [
            (serde_json::json!({"address": "127.0.0.1", "interval_ns": 1}), "`interval_ns` must be from 200000000"),
            (serde_json::json!({"address": "127.0.0.1", "payload_bytes": 7}), "`payload_bytes`"),
        ] {
            let request: PingRequest = serde_json::from_value(params).unwrap();
            let error = run(&request, &Pacer::default()).unwrap_err();
            assert!(error.message.contains(words), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_message_is_a_panic(bytes: Vec<u8>, is_ipv4: bool) {
            prop_assert_eq!(reply_to(&bytes, is_ipv4, b"tokentok"), None);
            let _ = request_in(&bytes, b"tokentok");
        }
    }
}
