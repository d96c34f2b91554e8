//! A socket of quinn that counts its datagrams: their bytes, and the marks of congestion with which they come (RFC 9000
//! section 13.4). quinn's own statistics do not tell the marks, and end with each connection. At a server that was told
//! no peer it is the door, too.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use schemars::JsonSchema;
use serde::Serialize;

use crate::counted::Carried;
use crate::door::{Arrival, Door};

/// Number of datagrams that came, by their ECN field (RFC 3168 section 5). Those of strangers are among them where the
/// server was told its peer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Marks {
    /// Not capable of ECN: the sender does not use it, or the path has cleared the field.
    pub not_ect: u64,
    /// ECT(0), with which quinn sends.
    pub ect0: u64,
    /// ECT(1).
    pub ect1: u64,
    /// Congestion experienced.
    pub ce: u64,
}

impl Marks {
    /// Both counts together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            not_ect: self.not_ect + other.not_ect,
            ect0: self.ect0 + other.ect0,
            ect1: self.ect1 + other.ect1,
            ce: self.ce + other.ce,
        }
    }
}

/// The counts of a socket's datagrams so far, which others read. Those of the exchange of cookies are not among them.
#[derive(Debug, Clone, Default)]
pub struct DatagramCounts(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    by_mark: [AtomicU64; 4],
    sent_bytes: AtomicU64,
    received_bytes: AtomicU64,
}

impl DatagramCounts {
    /// The number of those that came, by mark.
    pub fn marks(&self) -> Marks {
        let [not_ect, ect1, ect0, ce] = [0, 1, 2, 3].map(|bits: usize| self.0.by_mark[bits].load(Ordering::Relaxed));
        Marks { not_ect, ect0, ect1, ce }
    }

    /// The payload of UDP: what the kernel took, and what came.
    pub fn carried(&self) -> Carried {
        let Counters { sent_bytes, received_bytes, .. } = &*self.0;
        Carried { sent: sent_bytes.load(Ordering::Relaxed), received: received_bytes.load(Ordering::Relaxed) }
    }

    fn add_sent(&self, bytes: usize) {
        self.0.sent_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Adds datagrams that came together, with the same mark.
    fn add_received(&self, mark: Option<EcnCodepoint>, datagrams: usize, bytes: usize) {
        let bits = mark.map_or(0, |mark| mark as usize);
        self.0.by_mark[bits].fetch_add(datagrams as u64, Ordering::Relaxed);
        self.0.received_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// The socket, in this thread's runtime, and its counts. With a door, only the peer's datagrams come through it.
pub fn counted(
    socket: std::net::UdpSocket,
    door: Option<Arc<Door>>,
) -> io::Result<(Arc<dyn AsyncUdpSocket>, DatagramCounts)> {
    let counts = DatagramCounts::default();
    Ok((counting(socket, door, counts.clone())?, counts))
}

/// [`counted`], with counts that may have begun at another socket.
pub fn counting(
    socket: std::net::UdpSocket,
    door: Option<Arc<Door>>,
    counts: DatagramCounts,
) -> io::Result<Arc<dyn AsyncUdpSocket>> {
    Ok(Arc::new(Counting { socket: TokioRuntime.wrap_udp_socket(socket)?, counts, door }))
}

#[derive(Debug)]
struct Counting {
    socket: Arc<dyn AsyncUdpSocket>,
    counts: DatagramCounts,
    door: Option<Arc<Door>>,
}

impl Counting {
    /// True if datagrams, all of one sender, are the peer's. Those of the exchange of cookies are answered.
    fn lets_in(&self, door: &Door, datagrams: &[u8], received: &RecvMeta) -> bool {
        let mut are_admitted = true;
        for datagram in datagrams.chunks(received.stride.max(1)) {
            let arrival = door.take(datagram, received.addr);
            are_admitted &= arrival == Arrival::Admitted;
            if let Arrival::Answer(answer) = arrival {
                // An answer that cannot be sent is lost; the client asks again.
                let _ = self.socket.try_send(&Transmit {
                    destination: received.addr,
                    ecn: None,
                    contents: &answer,
                    segment_size: None,
                    src_ip: received.dst_ip,
                });
            }
        }
        are_admitted
    }
}

impl AsyncUdpSocket for Counting {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.socket).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.socket.try_send(transmit)?;
        self.counts.add_sent(transmit.contents.len());
        Ok(())
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let messages = ready!(self.socket.poll_recv(context, buffers, meta))?;
        for (received, buffer) in meta[..messages].iter_mut().zip(buffers.iter()) {
            if let Some(door) = &self.door {
                if !self.lets_in(door, &buffer[..received.len], received) {
                    // quinn takes no datagram out of it.
                    received.len = 0;
                    continue;
                }
            }
            // The kernel puts datagrams together only if their fields are the same.
            let datagrams = received.len.div_ceil(received.stride.max(1));
            self.counts.add_received(received.ecn, datagrams, received.len);
        }
        Poll::Ready(Ok(messages))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.socket.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_count_by_their_mark_and_with_their_bytes() {
        let counts = DatagramCounts::default();
        counts.add_received(None, 1, 1200);
        counts.add_received(Some(EcnCodepoint::Ect0), 2, 2400);
        counts.add_received(Some(EcnCodepoint::Ect1), 3, 60);
        counts.add_received(Some(EcnCodepoint::Ce), 4, 4800);
        counts.add_sent(1452);
        assert_eq!(counts.marks(), Marks { not_ect: 1, ect0: 2, ect1: 3, ce: 4 });
        assert_eq!(counts.carried(), Carried { sent: 1452, received: 8460 });
    }
}
