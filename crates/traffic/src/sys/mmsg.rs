//! Many datagrams in one system call, with the kernel's notes on each.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use nix::errno::Errno;

use crate::pages::Placed;

/// Datagrams sent by one `sendmmsg`, each of a head of its own and of as much as it has room for of what all share.
#[derive(Default)]
pub struct SendBatch {
    parts: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
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

/// A control message that asks for send times of a datagram or a frame: its length, level and type, and the flags
/// (`SO_TIMESTAMPING`, since Linux 4.6).
#[repr(C, align(8))]
pub(super) struct AskForSendTimes(libc::cmsghdr, u32, u32);

impl AskForSendTimes {
    pub(super) fn new(flags: u32) -> Self {
        // SAFETY: all bytes 0 is a valid value of this struct of integers.
        let mut header: libc::cmsghdr = unsafe { std::mem::zeroed() };
        header.cmsg_len = (size_of::<libc::cmsghdr>() + size_of::<u32>()) as _;
        (header.cmsg_level, header.cmsg_type) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
        Self(header, flags, 0)
    }

    /// Gives it to a message that does not outlive it.
    pub(super) fn put_into(&mut self, message: &mut libc::msghdr) {
        message.msg_control = ptr::from_mut(self).cast();
        message.msg_controllen = size_of::<Self>() as _;
    }
}

impl SendBatch {
    /// Sends on a connected socket. Returns the number of `heads` that went out, at least one; or the error of the
    /// first.
    ///
    /// `payloads` are the lengths of the datagrams, from `N` to `N` and all of `rest`, which is the same in all calls.
    /// Where the kernel cuts, all lengths are the same.
    pub fn send<const N: usize>(
        &mut self,
        socket: BorrowedFd<'_>,
        heads: &[[u8; N]],
        payloads: impl Iterator<Item = usize>,
        rest: &[u8],
        manner: Manner,
    ) -> nix::Result<usize> {
        let segments = manner.segments.max(1);
        self.parts.clear();
        let parts_of_each = if segments > 1 {
            self.put_together(heads, payloads, rest, segments);
            1
        } else {
            self.put_in_parts(heads, payloads, rest);
            2
        };
        self.messages.clear();
        self.messages.extend(self.parts.chunks_mut(parts_of_each).map(|parts| {
            let mut message = empty_message();
            message.msg_hdr.msg_iov = parts.as_mut_ptr();
            message.msg_hdr.msg_iovlen = parts.len() as _;
            message
        }));
        let mut ask = AskForSendTimes::new(libc::SOF_TIMESTAMPING_TX_SCHED | libc::SOF_TIMESTAMPING_TX_SOFTWARE);
        if let (true, Some(first)) = (manner.is_timed, self.messages.first_mut()) {
            ask.put_into(&mut first.msg_hdr);
        }
        // SAFETY: every message points to `parts` and perhaps to `ask`, and every part to `heads`, `rest` or `pieces`;
        // all of them outlive the call and the kernel only reads what they point to.
        let sent = unsafe {
            libc::sendmmsg(socket.as_raw_fd(), self.messages.as_mut_ptr(), self.messages.len() as libc::c_uint, 0)
        };
        Errno::result(sent).map(|sent| (sent as usize * segments).min(heads.len()))
    }

    /// A head and what follows it are two parts, without a copy.
    fn put_in_parts<const N: usize>(&mut self, heads: &[[u8; N]], payloads: impl Iterator<Item = usize>, rest: &[u8]) {
        for (head, payload_bytes) in heads.iter().zip(payloads) {
            let rest_bytes = payload_bytes.saturating_sub(N).min(rest.len());
            self.parts.push(libc::iovec { iov_base: head.as_ptr().cast_mut().cast(), iov_len: N });
            self.parts.push(libc::iovec { iov_base: rest.as_ptr().cast_mut().cast(), iov_len: rest_bytes });
        }
    }

    /// Each message is one part.
    fn put_together<const N: usize>(
        &mut self,
        heads: &[[u8; N]],
        mut payloads: impl Iterator<Item = usize>,
        rest: &[u8],
        segments: usize,
    ) {
        let datagram_bytes = payloads.next().unwrap_or(N).clamp(N, N + rest.len());
        let whole = self.pieces.of::<N>(heads.len(), datagram_bytes, rest);
        for (head, datagram) in heads.iter().zip(whole.chunks_exact_mut(datagram_bytes)) {
            datagram[..N].copy_from_slice(head);
        }
        self.parts.extend(
            whole
                .chunks(segments * datagram_bytes)
                .map(|message| libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() }),
        );
    }
}

/// One datagram that was received.
#[derive(Debug)]
pub struct Received<'a> {
    /// The payload, cut to the buffer's size (of a raw IPv4 socket: with the IPv4 header).
    pub bytes: &'a [u8],
    /// Address of the sender; absent where the family is neither IPv4 nor IPv6.
    pub source: Option<IpAddr>,
    /// The port it was sent from.
    pub source_port: u16,
    /// The kernel's notes about it.
    pub notes: Notes,
}

/// Control messages of one datagram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Notes {
    /// Time at which the kernel received it (`SO_TIMESTAMPNS`).
    pub realtime_ns: Option<u64>,
    /// Datagrams the socket had dropped for want of space when this one was queued (`SO_RXQ_OVFL`); absent is none.
    pub drops: Option<u32>,
    /// The hop limit it came with (`IP_RECVTTL`, `IPV6_RECVHOPLIMIT`).
    pub hop_limit: Option<u8>,
    /// It is a super-packet, of datagrams of this payload but for the last one, which may be shorter (`UDP_GRO`).
    pub segment_bytes: Option<u32>,
}

impl<'a> Received<'a> {
    /// The datagrams of a super-packet, or the one that it is.
    pub fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let segment_bytes = self.notes.segment_bytes.filter(|&bytes| bytes > 0);
        let at = segment_bytes.map_or(self.bytes.len(), |bytes| (bytes as usize).min(self.bytes.len()));
        let (first, rest) = self.bytes.split_at(at);
        std::iter::once(first).chain(rest.chunks(at.max(1)))
    }
}

const NAME_BYTES: usize = size_of::<libc::sockaddr_in6>();
/// Room for the four control messages of [`Notes`], in words so that it is aligned as `cmsghdr` must be.
const CONTROL_WORDS: usize = 16;

/// Buffers for datagrams received by one `recvmmsg`. It is made in the thread that uses it.
pub struct ReceiveBatch {
    buffer_bytes: usize,
    buffers: Vec<u8>,
    names: Vec<[u8; NAME_BYTES]>,
    controls: Vec<[u64; CONTROL_WORDS]>,
    _parts: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
    filled: usize,
}

impl ReceiveBatch {
    /// Room for `count` datagrams of `buffer_bytes`. The memory is taken from the system as it is used.
    pub fn new(count: usize, buffer_bytes: usize) -> Self {
        let mut buffers = vec![0; count * buffer_bytes];
        let mut names = vec![[0; NAME_BYTES]; count];
        let mut controls = vec![[0; CONTROL_WORDS]; count];
        let mut parts: Vec<_> = buffers
            .chunks_exact_mut(buffer_bytes)
            .map(|buffer| libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer_bytes })
            .collect();
        let messages = names
            .iter_mut()
            .zip(&mut controls)
            .zip(&mut parts)
            .map(|((name, control), part)| {
                let mut message = empty_message();
                message.msg_hdr.msg_name = name.as_mut_ptr().cast();
                message.msg_hdr.msg_control = control.as_mut_ptr().cast();
                message.msg_hdr.msg_iov = part;
                message.msg_hdr.msg_iovlen = 1;
                message
            })
            .collect();
        let mut batch = Self { buffer_bytes, buffers, names, controls, _parts: parts, messages, filled: count };
        batch.reset();
        batch
    }

    /// Waits for one datagram, as long as the socket's receive timeout allows, and takes those that are there with it.
    /// Returns how many came; none is an error (`EAGAIN` after the timeout).
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> nix::Result<usize> {
        self.call(socket, libc::MSG_WAITFORONE)
    }

    /// Takes the datagrams that are there; `EAGAIN` where there are none.
    pub fn receive_ready(&mut self, socket: BorrowedFd<'_>) -> nix::Result<usize> {
        self.call(socket, libc::MSG_DONTWAIT)
    }

    /// The datagrams of the last call.
    pub fn datagrams(&self) -> impl Iterator<Item = Received<'_>> {
        self.messages[..self.filled].iter().enumerate().map(|(index, message)| {
            let start = index * self.buffer_bytes;
            let length = (message.msg_len as usize).min(self.buffer_bytes);
            let (source, source_port) = parse_name(&self.names[index]);
            let control_bytes: usize = message.msg_hdr.msg_controllen as _;
            Received {
                bytes: &self.buffers[start..start + length],
                source,
                source_port,
                notes: parse_control(&self.controls[index], control_bytes.min(CONTROL_WORDS * 8)),
            }
        })
    }

    fn call(&mut self, socket: BorrowedFd<'_>, flags: libc::c_int) -> nix::Result<usize> {
        self.reset();
        // SAFETY: every message points to a name, a control buffer, a part and through it a buffer of this struct, all
        // on the heap and never resized, with the lengths they have.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.messages.as_mut_ptr(),
                self.messages.len() as libc::c_uint,
                flags as _,
                ptr::null_mut(),
            )
        };
        self.filled = Errno::result(received)? as usize;
        Ok(self.filled)
    }

    /// Restores the lengths that the kernel overwrote in the last call.
    fn reset(&mut self) {
        for message in &mut self.messages[..self.filled] {
            message.msg_hdr.msg_namelen = NAME_BYTES as libc::socklen_t;
            message.msg_hdr.msg_controllen = (CONTROL_WORDS * 8) as _;
        }
        self.filled = 0;
    }
}

pub(super) fn empty_message() -> libc::mmsghdr {
    // SAFETY: all bytes 0 is a valid value of this struct of integers and pointers.
    unsafe { std::mem::zeroed() }
}

/// `sockaddr_in` or `sockaddr_in6`, by the offsets of the kernel's interface.
fn parse_name(name: &[u8; NAME_BYTES]) -> (Option<IpAddr>, u16) {
    let port = u16::from_be_bytes([name[2], name[3]]);
    let source = match i32::from(u16::from_ne_bytes([name[0], name[1]])) {
        libc::AF_INET => name[4..8].first_chunk::<4>().map(|&bytes| Ipv4Addr::from(bytes).into()),
        libc::AF_INET6 => name[8..24].first_chunk::<16>().map(|&bytes| Ipv6Addr::from(bytes).into()),
        _ => None,
    };
    (source, port)
}

/// Words of a `cmsghdr`: its length with the data; level and type.
const HEADER_WORDS: usize = 2;
const _: () = assert!(size_of::<libc::cmsghdr>() == 8 * HEADER_WORDS, "control messages are read as on 64-bit systems");

fn parse_control(words: &[u64; CONTROL_WORDS], filled_bytes: usize) -> Notes {
    let mut notes = Notes::default();
    let mut rest = &words[..filled_bytes / 8];
    // A control message is a header (length, level, type) and its data, padded to whole words.
    while let [length, kind, data @ ..] = rest {
        let Some(data_bytes) = usize::try_from(*length).ok().and_then(|n| n.checked_sub(HEADER_WORDS * 8)) else {
            break;
        };
        let kind = kind.to_ne_bytes();
        let level = i32::from_ne_bytes([kind[0], kind[1], kind[2], kind[3]]);
        let kind = i32::from_ne_bytes([kind[4], kind[5], kind[6], kind[7]]);
        note(&mut notes, level, kind, data, data_bytes);
        rest = data.get(data_bytes.div_ceil(8)..).unwrap_or_default();
    }
    notes
}

fn note(notes: &mut Notes, level: i32, kind: i32, data: &[u64], data_bytes: usize) {
    match (level, kind, data) {
        (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, [seconds, nanoseconds, ..]) if data_bytes >= 16 => {
            notes.realtime_ns = Some(seconds.wrapping_mul(1_000_000_000).wrapping_add(*nanoseconds));
        }
        (libc::SOL_SOCKET, libc::SO_RXQ_OVFL, [drops, ..]) if data_bytes >= 4 => notes.drops = Some(first_u32(*drops)),
        (libc::IPPROTO_IP, libc::IP_TTL, [hops, ..]) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT, [hops, ..])
            if data_bytes >= 4 =>
        {
            notes.hop_limit = u8::try_from(first_u32(*hops)).ok();
        }
        (libc::SOL_UDP, libc::UDP_GRO, [bytes, ..]) if data_bytes >= 4 => notes.segment_bytes = Some(first_u32(*bytes)),
        _ => {}
    }
}

/// The first 32 bits in memory.
fn first_u32(word: u64) -> u32 {
    let bytes = word.to_ne_bytes();
    u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A control buffer of these messages: level, type, data.
    fn control(messages: &[(i32, i32, &[u64], usize)]) -> ([u64; CONTROL_WORDS], usize) {
        let mut words = Vec::new();
        for (level, kind, data, data_bytes) in messages {
            words.push((16 + data_bytes) as u64);
            let (level, kind) = (level.to_ne_bytes(), kind.to_ne_bytes());
            words
                .push(u64::from_ne_bytes([level[0], level[1], level[2], level[3], kind[0], kind[1], kind[2], kind[3]]));
            words.extend_from_slice(data);
        }
        let filled = words.len() * 8;
        words.resize(CONTROL_WORDS, 0);
        (words.try_into().unwrap(), filled)
    }

    #[test]
    fn the_four_notes() {
        let mut small = [0; 8];
        small[..4].copy_from_slice(&64_u32.to_ne_bytes());
        let small = u64::from_ne_bytes(small);
        let (words, filled) = control(&[
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &[3, 5], 16),
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &[small], 4),
            (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT, &[small], 4),
            (libc::SOL_UDP, libc::UDP_GRO, &[small], 4),
        ]);
        let expected =
            Notes { realtime_ns: Some(3_000_000_005), drops: Some(64), hop_limit: Some(64), segment_bytes: Some(64) };
        assert_eq!(parse_control(&words, filled), expected);
        let (words, filled) = control(&[(libc::IPPROTO_IP, libc::IP_TTL, &[small], 4)]);
        assert_eq!(parse_control(&words, filled).hop_limit, Some(64));
        assert_eq!(parse_control(&words, 0), Notes::default());
    }

    #[test]
    fn what_the_kernel_is_to_cut_is_the_datagrams_one_behind_the_other() {
        use std::net::UdpSocket;
        use std::os::fd::AsFd;

        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        receiver.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        let rest: Vec<u8> = (10..110).collect();
        let mut batch = SendBatch::default();
        // Longer ones after short ones, fewer after more, and a last message with fewer datagrams than the others.
        for (datagram_bytes, count, segments) in [(24, 5, 2), (104, 7, 3), (104, 2, 3), (4, 4, 4), (24, 3, 1)] {
            crate::sys::set_socket_option(&sender, libc::SOL_UDP, libc::UDP_SEGMENT, datagram_bytes as i32).unwrap();
            let heads: Vec<[u8; 4]> = (0..count).map(|number| [number, datagram_bytes as u8, 1, 2]).collect();
            let manner = Manner { segments, is_timed: false };
            let payloads = std::iter::repeat(datagram_bytes);
            assert_eq!(batch.send(sender.as_fd(), &heads, payloads, &rest, manner), Ok(heads.len()));
            for head in &heads {
                let mut datagram = [0; 200];
                let length = receiver.recv(&mut datagram).unwrap();
                assert_eq!(datagram[..length], [&head[..], &rest[..datagram_bytes - 4]].concat());
            }
        }
    }

    #[test]
    fn a_super_packet_is_cut_as_it_was_joined() {
        let cut = |bytes: &'static [u8], segment_bytes| {
            let notes = Notes { segment_bytes, ..Notes::default() };
            Received { bytes, source: None, source_port: 0, notes }.datagrams().collect::<Vec<_>>()
        };
        assert_eq!(cut(b"aabbc", Some(2)), [&b"aa"[..], b"bb", b"c"]);
        assert_eq!(cut(b"aabb", Some(4)), [b"aabb"]);
        assert_eq!(cut(b"aabb", None), [b"aabb"]);
        assert_eq!(cut(b"", None), [b""]);
        assert_eq!(cut(b"ab", Some(0)), [b"ab"]);
    }

    #[test]
    fn names_of_both_families() {
        let mut name = [0; NAME_BYTES];
        assert_eq!(parse_name(&name), (None, 0));
        name[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        name[2..8].copy_from_slice(&[0x12, 0x34, 192, 0, 2, 1]);
        assert_eq!(parse_name(&name), (Some("192.0.2.1".parse().unwrap()), 0x1234));
        name[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
        name[8..24].copy_from_slice(&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
        assert_eq!(parse_name(&name), (Some("2001:db8::7".parse().unwrap()), 0x1234));
    }

    proptest! {
        #[test]
        fn any_control_bytes_are_read_without_panic(words in any::<[u64; CONTROL_WORDS]>(), filled in 0_usize..=128) {
            parse_control(&words, filled);
        }
    }
}
