//! `capture-start` and `capture-stop`: the first bytes of the packets that pass a device.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::net::if_::if_nametoindex;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::unistd::pipe2;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sixbench_measure::clock;
use sixbench_measure::sys::scheduling::RealTime;
use sixbench_wire::Span;
use sixbench_wire::layers::{Layers, Link, outermost_addresses};

use crate::error::{Code, Error, Outcome};
use crate::sys::{PacketSocket, Received};

const MAX_CAPTURES: usize = 16;
const MAX_PACKETS: usize = 4096;
const MAX_SNAPLEN_BYTES: usize = 65_535;
/// Most bytes of data of a capture: in hex it is twice as long, and a response must stay under 64 MiB.
const MAX_DATA_BYTES: usize = 16 << 20;
/// Least bytes of each packet that are read, so that its addresses are found however little is kept: an Ethernet
/// header, tags, and an IPv4 header with all options or an IPv6 header with some extensions.
const MIN_READ_BYTES: usize = 256;
/// Room for packets that the capture's thread has not read yet. Each takes at least a page of it, whatever its length.
const SOCKET_BUFFER_BYTES: usize = 8 << 20;
/// Packets read before the stop signal is looked at again.
const BATCH: usize = 64;

/// A request to begin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    capture: String,
    interface: String,
    #[serde(default)]
    addresses: Vec<IpAddr>,
    #[serde(default)]
    after_ns: u64,
    max_packets: usize,
    max_ns: u64,
    snaplen_bytes: usize,
}

/// The captures that were started and not yet stopped.
#[derive(Default)]
pub struct Captures {
    by_name: HashMap<String, Capture>,
}

struct Capture {
    /// Closed to stop it.
    stop: OwnedFd,
    /// The record that its thread sends when it has ended. The thread closes its socket after that, for which the
    /// kernel waits until every processor has seen that it is gone (`synchronize_net`): up to 20 ms that the capture's
    /// end need not take.
    record: Receiver<Result<Record, Error>>,
}

impl Captures {
    /// Begins a capture, which then works in a thread of its own. Unless it is to wait first, it sees packets when this
    /// returns.
    pub fn start(&mut self, start: Start) -> Outcome {
        start.check()?;
        let count = self.by_name.len();
        let Entry::Vacant(place) = self.by_name.entry(start.capture.clone()) else {
            return Err(Error::new(Code::CaptureExists, format!("there is a capture `{}` already", start.capture)));
        };
        if count >= MAX_CAPTURES {
            return Err(Error::new(Code::Busy, format!("there are {MAX_CAPTURES} captures already")));
        }
        let index = if_nametoindex(start.interface.as_str()).map_err(|errno| start.failed("if_nametoindex", errno))?;
        let socket = PacketSocket::open().map_err(|error| start.failed("socket", error))?;
        let (stopped, stop) = pipe2(OFlag::O_CLOEXEC).map_err(|errno| start.failed("pipe2", errno))?;
        let mut recorder = Recorder { start, index, socket, stopped, started_ns: None };
        if recorder.start.after_ns == 0 {
            recorder.open()?;
        }
        let (ended, record) = sync_channel(1);
        thread::Builder::new()
            .name("capture".to_owned())
            // Nobody listens any more where the node ends.
            .spawn(move || drop(ended.send(recorder.record())))
            .map_err(|error| Error::system("starting a capture's thread", "clone", error))?;
        place.insert(Capture { stop, record });
        Ok(json!({}))
    }

    /// Ends a capture, if it has not ended by itself, and returns its packets and counts.
    pub fn stop(&mut self, name: &str) -> Outcome {
        let capture = self
            .by_name
            .remove(name)
            .ok_or_else(|| Error::new(Code::NoCapture, format!("there is no capture `{name}`")))?;
        drop(capture.stop);
        match capture.record.recv() {
            Ok(record) => Ok(record?.render()),
            Err(_) => Err(Error::new(Code::Internal, format!("capture `{name}`: its thread panicked"))),
        }
    }
}

impl Start {
    fn check(&self) -> Result<(), Error> {
        let check = |name: &str, value: usize, max: usize| {
            let refuse = || Error::bad_request(format!("capture-start: {name} is {value}, not from 1 to {max}"));
            if (1..=max).contains(&value) { Ok(()) } else { Err(refuse()) }
        };
        check("max_packets", self.max_packets, MAX_PACKETS)?;
        check("snaplen_bytes", self.snaplen_bytes, MAX_SNAPLEN_BYTES)
    }

    fn failed(&self, call: &'static str, error: impl Into<io::Error>) -> Error {
        Error::system(format_args!("capturing on {}", self.interface), call, error)
    }

    fn is_wanted(&self, link: Link, packet: Span<'_>) -> bool {
        self.addresses.is_empty()
            || outermost_addresses(link, packet)
                .is_some_and(|(from, to)| self.addresses.iter().any(|address| *address == from || *address == to))
    }
}

/// A capture at work.
struct Recorder {
    start: Start,
    /// The index of the interface.
    index: u32,
    socket: PacketSocket,
    /// Readable (hung up) once the capture is to stop.
    stopped: OwnedFd,
    /// Time at which it began to see packets.
    started_ns: Option<u64>,
}

/// The record of a capture.
#[derive(Default)]
struct Record {
    packets: Vec<Packet>,
    data_bytes: usize,
    matched: u64,
    other_packets: u64,
    dropped: u64,
    started_ns: Option<u64>,
    ended_ns: Option<u64>,
    ended: Ended,
}

/// The reason why a capture ended.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Ended {
    /// It has `max_packets`.
    Packets,
    /// It has [`MAX_DATA_BYTES`].
    Bytes,
    /// `max_ns` are over.
    Time,
    /// `capture-stop` came.
    #[default]
    Stopped,
    InterfaceDown,
}

struct Packet {
    received: Received,
    data: Box<[u8]>,
}

impl Recorder {
    fn record(&mut self) -> Result<Record, Error> {
        let mut record = Record::default();
        let started_ns = match self.started_ns {
            Some(started_ns) => started_ns,
            None => {
                // It begins in the midst of a trial, whose threads may leave no time of the processor to others.
                let _first = RealTime::ask();
                if self.wait(None, self.start.after_ns)? {
                    return Ok(record);
                }
                self.open()?
            }
        };
        record.started_ns = Some(started_ns);
        record.ended = self.fill(&mut record, started_ns.saturating_add(self.start.max_ns))?;
        record.ended_ns = Some(clock::monotonic_ns());
        record.dropped =
            sixbench_packet::drops(&self.socket).map_err(|error| self.start.failed("getsockopt", error))?;
        Ok(record)
    }

    /// Begins to see packets.
    fn open(&mut self) -> Result<u64, Error> {
        self.socket.set_buffer_bytes(SOCKET_BUFFER_BYTES).map_err(|error| self.start.failed("setsockopt", error))?;
        self.socket.bind(self.index).map_err(|error| self.start.failed("bind", error))?;
        Ok(*self.started_ns.insert(clock::monotonic_ns()))
    }

    /// Reads packets until the capture ends, and returns the reason for the end.
    fn fill(&self, record: &mut Record, deadline_ns: u64) -> Result<Ended, Error> {
        let mut buffer = vec![0; self.start.snaplen_bytes.max(MIN_READ_BYTES)];
        loop {
            let is_stopped = self.wait(Some(&self.socket), deadline_ns.saturating_sub(clock::monotonic_ns()))?;
            let is_over = clock::monotonic_ns() >= deadline_ns;
            let ended = if is_over { Some(Ended::Time) } else { is_stopped.then_some(Ended::Stopped) };
            let ended = match ended {
                None => self.read(record, &mut buffer, BATCH)?,
                ended => ended,
            };
            match ended {
                None => (),
                Some(full @ (Ended::Packets | Ended::Bytes)) => return Ok(full),
                Some(ended) => {
                    // Packets that came in time and wait in the socket still belong to the capture.
                    self.socket.refuse_more().map_err(|error| self.start.failed("setsockopt", error))?;
                    return Ok(self.read(record, &mut buffer, usize::MAX)?.unwrap_or(ended));
                }
            }
        }
    }

    /// Reads at most `limit` of the packets that wait; `None` when the capture may go on.
    fn read(&self, record: &mut Record, buffer: &mut [u8], limit: usize) -> Result<Option<Ended>, Error> {
        for _ in 0..limit {
            match self.socket.receive(buffer) {
                Ok(Some(received)) => record.add(&self.start, received, buffer),
                Ok(None) => break,
                // Told once, and before the packets that wait.
                Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => return Ok(Some(Ended::InterfaceDown)),
                Err(error) => return Err(self.start.failed("recvmsg", error)),
            }
            if let Some(full) = record.is_full(&self.start) {
                return Ok(Some(full));
            }
        }
        Ok(None)
    }

    /// Waits until there is a packet, or the time is over, or the capture is to stop (`true`).
    fn wait(&self, socket: Option<&PacketSocket>, timeout_ns: u64) -> Result<bool, Error> {
        let mut descriptors = vec![PollFd::new(self.stopped.as_fd(), PollFlags::POLLIN)];
        descriptors.extend(socket.map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)));
        let timeout = TimeSpec::from_duration(Duration::from_nanos(timeout_ns));
        match ppoll(&mut descriptors, Some(timeout), None) {
            Ok(_) => Ok(descriptors[0].any().unwrap_or(false)),
            Err(Errno::EINTR) => Ok(false),
            Err(errno) => Err(self.start.failed("ppoll", errno)),
        }
    }
}

impl Record {
    fn add(&mut self, start: &Start, received: Received, buffer: &[u8]) {
        let captured = &buffer[..received.wire_bytes.min(buffer.len())];
        if !start.is_wanted(link(received), Span::new(captured, received.wire_bytes)) {
            self.other_packets += 1;
            return;
        }
        self.matched += 1;
        let data = &captured[..captured.len().min(start.snaplen_bytes)];
        self.data_bytes += data.len();
        self.packets.push(Packet { received, data: data.into() });
    }

    fn is_full(&self, start: &Start) -> Option<Ended> {
        if self.packets.len() >= start.max_packets {
            Some(Ended::Packets)
        } else if self.data_bytes >= MAX_DATA_BYTES {
            Some(Ended::Bytes)
        } else {
            None
        }
    }

    fn render(&self) -> Value {
        let mut answer = json!({
            "packets": self.packets.iter().map(Packet::render).collect::<Vec<_>>(),
            "matched": self.matched,
            "other_packets": self.other_packets,
            "dropped": self.dropped,
            "ended": self.ended,
        });
        for (name, value) in [("started_ns", self.started_ns), ("ended_ns", self.ended_ns)] {
            if let Some(value) = value {
                answer[name] = json!(value);
            }
        }
        answer
    }
}

impl Packet {
    fn render(&self) -> Value {
        let span = Span::new(&self.data, self.received.wire_bytes);
        let mut packet = json!({
            "wire_bytes": self.received.wire_bytes,
            "outgoing": self.received.outgoing,
            "data": hex(&self.data),
            "layers": Layers::new(link(self.received), span).collect::<Vec<_>>(),
        });
        if let Some(realtime_ns) = self.received.realtime_ns {
            packet["realtime_ns"] = json!(realtime_ns);
        }
        packet
    }
}

/// The header that packets of that kind of device begin with.
fn link(received: Received) -> Link {
    match received.device_type {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Link::Ethernet,
        _ => Link::Ip,
    }
}

pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 0x0f)]);
    bytes.iter().flat_map(|&byte| [digit(byte >> 4), digit(byte)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_two_digits_a_byte() {
        assert_eq!(hex(&[0x00, 0x1f, 0xa0, 0xff]), "001fa0ff");
    }
}
