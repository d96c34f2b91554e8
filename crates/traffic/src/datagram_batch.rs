//! Datagrams that are sent by one system call, each of a head of its own and of as much as it has room for of what all
//! share.

use std::os::fd::AsFd;

use sixbench_packet::{Message, SendBatch, With};

use crate::pages::Placed;

/// Sends batches of datagrams. Its memory is kept from one to the next.
#[derive(Default)]
pub struct DatagramBatch {
    batch: SendBatch,
    pieces: Pieces,
}

/// Datagrams of one length, one behind the other, for messages that the kernel cuts: it copies one long part faster
/// than two short ones for each datagram.
#[derive(Default)]
struct Pieces {
    bytes: Placed,
    /// Length of each datagram.
    datagram_bytes: usize,
}

impl Pieces {
    /// This many datagrams with the shared bytes in their place, whose heads are not written yet.
    fn of<const N: usize>(&mut self, count: usize, datagram_bytes: usize, rest: &[u8]) -> &mut [u8] {
        let length = count * datagram_bytes;
        if self.datagram_bytes != datagram_bytes || self.bytes.len() < length {
            self.bytes = Placed::to_be_copied(length);
            self.datagram_bytes = datagram_bytes;
            for datagram in self.bytes.chunks_exact_mut(datagram_bytes) {
                datagram[N..].copy_from_slice(&rest[..datagram_bytes - N]);
            }
        }
        &mut self.bytes[..length]
    }
}

/// The way of sending a batch.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Number of datagrams that go to the kernel as one message, to be cut by it (`UDP_SEGMENT`); 1 cuts nothing.
    pub segments: usize,
    /// True if the kernel is to note when the first message enters the device's queue, and when the device has it.
    pub is_timed: bool,
}

impl Manner {
    /// Control messages of the message of that number.
    fn with(self, index: usize) -> With {
        match self.is_timed && index == 0 {
            true => With::TimesWanted(libc::SOF_TIMESTAMPING_TX_SCHED | libc::SOF_TIMESTAMPING_TX_SOFTWARE),
            false => With::Nothing,
        }
    }
}

impl DatagramBatch {
    /// Sends on a connected socket. Returns the number of `heads` that went out, at least one; or the error of the
    /// first.
    ///
    /// `payloads` are the lengths of the datagrams, from `N` to `N` and all of `rest`, which is the same in all calls.
    /// Where the kernel cuts, all lengths are the same.
    pub fn send<const N: usize>(
        &mut self,
        socket: impl AsFd,
        heads: &[[u8; N]],
        mut payloads: impl Iterator<Item = usize>,
        rest: &[u8],
        manner: Manner,
    ) -> nix::Result<usize> {
        if manner.segments <= 1 {
            let datagrams = heads.iter().zip(payloads).enumerate();
            return self.batch.send(
                socket,
                datagrams.map(|(index, (head, payload_bytes))| {
                    let rest_bytes = payload_bytes.saturating_sub(N).min(rest.len());
                    Message { head, body: &rest[..rest_bytes], with: manner.with(index) }
                }),
            );
        }
        let datagram_bytes = payloads.next().unwrap_or(N).clamp(N, N + rest.len());
        let whole = self.pieces.of::<N>(heads.len(), datagram_bytes, rest);
        for (head, datagram) in heads.iter().zip(whole.chunks_exact_mut(datagram_bytes)) {
            datagram[..N].copy_from_slice(head);
        }
        let messages = whole.chunks(manner.segments * datagram_bytes).enumerate();
        let sent = self.batch.send(
            socket,
            messages.map(|(index, message)| Message { head: message, body: &[], with: manner.with(index) }),
        )?;
        Ok((sent * manner.segments).min(heads.len()))
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn what_the_kernel_is_to_cut_is_the_datagrams_one_behind_the_other() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        receiver.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        let rest: Vec<u8> = (10..110).collect();
        let mut batch = DatagramBatch::default();
        // Longer ones after short ones, fewer after more, and a last message with fewer datagrams than the others.
        for (datagram_bytes, count, segments) in [(24, 5, 2), (104, 7, 3), (104, 2, 3), (4, 4, 4), (24, 3, 1)] {
            crate::sys::set_socket_option(&sender, libc::SOL_UDP, libc::UDP_SEGMENT, datagram_bytes as i32).unwrap();
            let heads: Vec<[u8; 4]> = (0..count).map(|number| [number, datagram_bytes as u8, 1, 2]).collect();
            let manner = Manner { segments, is_timed: false };
            let payloads = std::iter::repeat(datagram_bytes);
            assert_eq!(batch.send(&sender, &heads, payloads, &rest, manner), Ok(heads.len()));
            for head in &heads {
                let mut datagram = [0; 200];
                let length = receiver.recv(&mut datagram).unwrap();
                assert_eq!(datagram[..length], [&head[..], &rest[..datagram_bytes - 4]].concat());
            }
        }
    }
}
