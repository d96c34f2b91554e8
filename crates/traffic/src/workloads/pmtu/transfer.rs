//! TCP's way to the path MTU: an ordinary connection that sends, and the size of segments on which it settles.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::{TimeSpec, TimeValLike};
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;

use crate::cancel::Stop;
use crate::workloads::tcp::info::TcpInfo;
use crate::workloads::tcp::io as tcp_io;
use crate::workloads::tcp::preamble::PREAMBLE_BYTES;
use crate::{Error, Result};

/// Interval between looks at the state of the connection.
const TICK_NS: i64 = 2_000_000;
/// Data sent by one call.
const CHUNK_BYTES: usize = 64 << 10;
/// Length of a TCP header without options; the timestamps option has the length to which every Linux pads it (RFC 7323
/// appendix A).
const TCP_HEADER_BYTES: u64 = 20;
const TIMESTAMPS_BYTES: u64 = 12;

/// The outcome of a transfer.
pub struct Transfer {
    sent_bytes: u64,
    is_complete: bool,
    transfer_ns: u64,
    last: TcpInfo,
    /// The MSS with which data was acknowledged, and since when.
    settled: Option<(u64, u64)>,
    ip_header_bytes: u64,
}

/// Sends this many bytes and waits until the peer has closed. Where nothing is acknowledged for `stall_ns`, it has
/// stalled.
pub fn send(mut stream: TcpStream, is_ipv4: bool, bytes: u64, stall_ns: u64, stop: &Stop) -> Result<Transfer> {
    let failed = |call| move |e: io::Error| Error::system("sending by TCP over the path", call, e);
    stream.set_nonblocking(true).map_err(failed("fcntl"))?;
    let chunk = tcp_io::pattern(CHUNK_BYTES);
    let started_ns = clock::monotonic_ns();
    let mut transfer = Transfer {
        sent_bytes: 0,
        is_complete: false,
        transfer_ns: 0,
        last: TcpInfo::of(&stream).map_err(failed("getsockopt(TCP_INFO)"))?,
        settled: None,
        ip_header_bytes: if is_ipv4 { 20 } else { 40 },
    };
    let mut moved_ns = started_ns;
    let mut is_shut = false;
    loop {
        stop.check()?;
        if transfer.sent_bytes < bytes {
            let left = chunk.len().min(usize::try_from(bytes - transfer.sent_bytes).unwrap_or(usize::MAX));
            match stream.write(&chunk[..left]) {
                Ok(n) => transfer.sent_bytes += n as u64,
                Err(e) if tcp_io::is_pause(&e) => {}
                // The peer, or the path, has ended it: that is a stall with a cause.
                Err(_) => break,
            }
        } else if !is_shut {
            is_shut = true;
            if stream.shutdown(Shutdown::Write).is_err() {
                break;
            }
        }
        let info = TcpInfo::of(&stream).map_err(failed("getsockopt(TCP_INFO)"))?;
        let now_ns = clock::monotonic_ns();
        if transfer.note(&info, now_ns - started_ns) {
            moved_ns = now_ns;
        }
        match stream.read(&mut [0; 1]) {
            Ok(0) => {
                transfer.is_complete = is_shut;
                break;
            }
            // It has nothing to say.
            Ok(_) => break,
            Err(e) if tcp_io::is_pause(&e) => {}
            Err(_) => break,
        }
        if now_ns - moved_ns >= stall_ns {
            break;
        }
        let events =
            if transfer.sent_bytes < bytes { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
        let mut fds = [PollFd::new(stream.as_fd(), events)];
        // An interrupted wait only leads to looking again.
        let _ = ppoll(&mut fds, Some(TimeSpec::nanoseconds(TICK_NS)), None);
    }
    transfer.transfer_ns = clock::monotonic_ns() - started_ns;
    if !transfer.is_complete {
        tcp_io::reset(stream);
    }
    Ok(transfer)
}

/// Takes what the peer sends until it closes or resets, or nothing has come for `patience_ns`. Returns the number of
/// bytes.
pub fn receive(mut stream: TcpStream, patience_ns: u64, stop: &Stop) -> Result<u64> {
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut received_bytes = 0;
    let mut moved_ns = clock::monotonic_ns();
    loop {
        stop.check()?;
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(received_bytes),
            Ok(n) => {
                received_bytes += n as u64;
                moved_ns = clock::monotonic_ns();
            }
            Err(e) if tcp_io::is_pause(&e) => {
                if clock::monotonic_ns() - moved_ns >= patience_ns {
                    tcp_io::reset(stream);
                    return Ok(received_bytes);
                }
            }
            // A sender that has stalled resets.
            Err(_) => return Ok(received_bytes),
        }
    }
}

impl Transfer {
    /// Enters a look at the connection. Returns true if data has been acknowledged since the one before.
    fn note(&mut self, info: &TcpInfo, after_ns: u64) -> bool {
        let (Some(acked), Some(before)) = (info.bytes_acked, self.last.bytes_acked) else { return false };
        let has_moved = acked > before;
        // The preamble is a small segment, which says nothing of large ones. SYN counts as a byte.
        if has_moved && acked > PREAMBLE_BYTES as u64 + 1 {
            if let Some(mss) = info.mss_bytes.filter(|&mss| self.settled.is_none_or(|(settled, _)| settled != mss)) {
                self.settled = Some((mss, after_ns));
            }
        }
        self.last = *info;
        has_moved
    }

    /// The size of the IP packets that it settled on; absent where it stalled.
    pub fn packet_bytes(&self) -> Option<u64> {
        let mss_bytes = self.last.mss_bytes.filter(|_| self.is_complete)?;
        let options_bytes = if self.last.has_timestamps { TIMESTAMPS_BYTES } else { 0 };
        Some(mss_bytes + options_bytes + TCP_HEADER_BYTES + self.ip_header_bytes)
    }

    /// Time from which on it sent acknowledged data in packets of that size; absent where it stalled.
    pub fn converged_ns(&self) -> Option<u64> {
        self.settled.filter(|_| self.is_complete).map(|(_, after_ns)| after_ns)
    }

    /// `tcp` of the results.
    pub fn tally(&self) -> TransferTally {
        TransferTally {
            stalled: !self.is_complete,
            sent_bytes: self.sent_bytes,
            transfer_ns: self.transfer_ns,
            mss_bytes: self.last.mss_bytes,
            pmtu_bytes: self.last.pmtu_bytes,
            retransmits: self.last.retransmits,
            bytes_acked: self.last.bytes_acked,
        }
    }
}

/// TCP's way, by the names of the protocol document. What the kernel does not tell is absent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TransferTally {
    stalled: bool,
    sent_bytes: u64,
    transfer_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mss_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pmtu_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retransmits: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_acked: Option<u64>,
}
