//! Many datagrams or packets in one system call.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use nix::errno::Errno;

use crate::control::{NAME_BYTES, Name, Notes, SentControl};

/// Room for all control messages of [`Notes`], in words so that it is aligned as `cmsghdr` must be.
const CONTROL_WORDS: usize = 20;

/// A datagram or packet that is to be sent: two parts, each of which may be empty.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// Sent first.
    pub head: &'a [u8],
    /// Sent after it, without a copy.
    pub body: &'a [u8],
    /// Control messages and destination.
    pub with: With,
}

/// Control messages and destination of a datagram or packet that is sent.
#[derive(Debug, Clone, Copy)]
pub enum With {
    /// Nothing: its socket is connected, or bound to a device.
    Nothing,
    /// Its destination.
    Destination(Destination),
    /// The wish for times at which it is sent: flags of `SO_TIMESTAMPING`, such as `SOF_TIMESTAMPING_TX_HARDWARE`.
    /// Linux 4.6.
    TimesWanted(u32),
}

/// The fields of the IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Destination {
    /// The address to send to.
    pub address: IpAddr,
    /// TTL or hop limit, at least 1.
    pub ttl: u8,
    /// TOS or traffic class.
    pub tos: u8,
}

impl Destination {
    /// The messages that set the TTL and the TOS of one packet.
    fn control(&self) -> SentControl {
        let (level, ttl, tos) = match self.address {
            IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TTL, libc::IP_TOS),
            IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT, libc::IPV6_TCLASS),
        };
        let mut control = SentControl::default();
        control.push_u32(level, ttl, self.ttl.into());
        control.push_u32(level, tos, self.tos.into());
        control
    }
}

impl<'a> Message<'a> {
    /// One part with nothing else.
    pub fn plain(bytes: &'a [u8]) -> Self {
        Self { head: bytes, body: &[], with: With::Nothing }
    }
}

/// The lists of one `sendmmsg`, kept for the next one. They are made in the thread that uses them.
#[derive(Default)]
pub struct SendBatch {
    parts: Vec<[libc::iovec; 2]>,
    names: Vec<Name>,
    controls: Vec<SentControl>,
    headers: Vec<libc::mmsghdr>,
}

impl SendBatch {
    /// Sends them. Returns the number sent, at least one where there are any; or the error of the first.
    pub fn send<'a>(&mut self, socket: impl AsFd, messages: impl Iterator<Item = Message<'a>>) -> nix::Result<usize> {
        self.parts.clear();
        self.names.clear();
        self.controls.clear();
        self.headers.clear();
        for message in messages {
            self.push(&message);
        }
        // The lists are complete, so that nothing in them moves any more.
        let (mut names, mut controls) = (self.names.iter_mut(), self.controls.iter_mut());
        for (header, parts) in self.headers.iter_mut().zip(&mut self.parts) {
            let first = usize::from(parts[0].iov_len == 0);
            header.msg_hdr.msg_iov = parts[first..].as_mut_ptr();
            if header.msg_hdr.msg_namelen > 0 {
                header.msg_hdr.msg_name = names.next().map_or(ptr::null_mut(), |name| name.0.as_mut_ptr().cast());
            }
            if header.msg_hdr.msg_controllen > 0 {
                header.msg_hdr.msg_control =
                    controls.next().map_or(ptr::null_mut(), |control| control.words.as_mut_ptr().cast());
            }
        }
        // SAFETY: every pointer in `headers` is to the lists above, and of `parts` to the messages' slices, which the
        // kernel only reads; all have the lengths that are given, and live through the call.
        let sent = unsafe {
            libc::sendmmsg(socket.as_fd().as_raw_fd(), self.headers.as_mut_ptr(), self.headers.len() as libc::c_uint, 0)
        };
        Errno::result(sent).map(|sent| sent as usize)
    }

    #[inline]
    fn push(&mut self, message: &Message<'_>) {
        self.parts.push(
            [message.head, message.body]
                .map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() }),
        );
        let mut header = empty_header();
        // The kernel copies one part faster than two.
        let parts = usize::from(!message.head.is_empty()) + usize::from(!message.body.is_empty());
        header.msg_hdr.msg_iovlen = parts as _;
        let control = match &message.with {
            With::Nothing => None,
            With::Destination(destination) => {
                let (name, name_bytes) = Name::of(SocketAddr::new(destination.address, 0));
                self.names.push(name);
                header.msg_hdr.msg_namelen = name_bytes as libc::socklen_t;
                Some(destination.control())
            }
            With::TimesWanted(flags) => {
                let mut control = SentControl::default();
                control.push_u32(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, *flags);
                Some(control)
            }
        };
        if let Some(control) = control {
            header.msg_hdr.msg_controllen = (8 * control.filled) as _;
            self.controls.push(control);
        }
        self.headers.push(header);
    }
}

/// One datagram or packet that was received. `B`: its bytes, shared or to be changed.
#[derive(Debug)]
pub struct Received<B> {
    /// The payload, cut to the buffer's size (of a raw IPv4 socket: with the IPv4 header).
    pub bytes: B,
    /// Address of the sender; absent where the family is neither IPv4 nor IPv6.
    pub source: Option<IpAddr>,
    /// The port it was sent from.
    pub source_port: u16,
    /// The kernel's notes about it.
    pub notes: Notes,
}

impl<'a> Received<&'a [u8]> {
    /// The datagrams of a super-packet, or the one that it is.
    pub fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let segment_bytes = self.notes.segment_bytes.filter(|&bytes| bytes > 0);
        let at = segment_bytes.map_or(self.bytes.len(), |bytes| (bytes as usize).min(self.bytes.len()));
        let (first, rest) = self.bytes.split_at(at);
        std::iter::once(first).chain(rest.chunks(at.max(1)))
    }
}

/// Headers of messages, with room for what the kernel writes of each, on the heap and never resized. The parts point to
/// buffers that somebody else has.
struct Slots {
    parts: Vec<libc::iovec>,
    names: Vec<Name>,
    controls: Vec<[u64; CONTROL_WORDS]>,
    headers: Vec<libc::mmsghdr>,
    /// Number of messages that the last call received.
    filled: usize,
}

impl Slots {
    /// Slots with room for names, or without.
    fn new(count: usize, has_names: bool) -> Self {
        let mut parts = vec![libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; count];
        let mut names = vec![Name::default(); if has_names { count } else { 0 }];
        let mut controls = vec![[0; CONTROL_WORDS]; count];
        let mut headers = vec![empty_header(); count];
        for ((header, part), control) in headers.iter_mut().zip(&mut parts).zip(&mut controls) {
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
        }
        for (header, name) in headers.iter_mut().zip(&mut names) {
            header.msg_hdr.msg_name = name.0.as_mut_ptr().cast();
        }
        Self { parts, names, controls, headers, filled: count }
    }

    /// Receives into the first of the slots, at most so many.
    ///
    /// # Safety
    /// The parts of these slots must point to memory of their length that nobody else looks at meanwhile.
    unsafe fn receive(&mut self, socket: impl AsFd, most: usize, flags: libc::c_int) -> nix::Result<usize> {
        // The kernel overwrote these lengths in the last call.
        let name_bytes = if self.names.is_empty() { 0 } else { NAME_BYTES };
        for header in &mut self.headers[..self.filled] {
            header.msg_hdr.msg_namelen = name_bytes as libc::socklen_t;
            header.msg_hdr.msg_controllen = (8 * CONTROL_WORDS) as _;
        }
        self.filled = 0;
        // SAFETY: every header points to a name, a control buffer and a part of this struct, all on the heap and never
        // resized, with the lengths they have. The caller answers for what the parts point to.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                self.headers.as_mut_ptr(),
                most.min(self.headers.len()) as libc::c_uint,
                flags as _,
                ptr::null_mut(),
            )
        };
        self.filled = Errno::result(received)? as usize;
        Ok(self.filled)
    }

    /// Length of a received message as the kernel gives it, and its notes.
    #[inline]
    fn length_and_notes(&self, index: usize) -> (usize, Notes) {
        let header = &self.headers[index];
        // This field's type differs among C libraries.
        let control_bytes: usize = header.msg_hdr.msg_controllen as _;
        (header.msg_len as usize, Notes::of(&self.controls[index][..(control_bytes / 8).min(CONTROL_WORDS)]))
    }
}

/// Buffers for datagrams or packets received by one `recvmmsg`. It is made in the thread that uses it.
pub struct ReceiveBatch {
    buffer_bytes: usize,
    buffers: Vec<u8>,
    slots: Slots,
}

impl ReceiveBatch {
    /// Room for `count` datagrams of `buffer_bytes`. The memory is taken from the system as it is used.
    pub fn new(count: usize, buffer_bytes: usize) -> Self {
        let mut buffers = vec![0; count * buffer_bytes];
        let mut slots = Slots::new(count, true);
        for (part, buffer) in slots.parts.iter_mut().zip(buffers.chunks_exact_mut(buffer_bytes)) {
            *part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer_bytes };
        }
        Self { buffer_bytes, buffers, slots }
    }

    /// Waits for one datagram, as long as the socket's receive timeout allows, and takes those that are there with it.
    /// Returns how many came; none is an error (`EAGAIN` after the timeout).
    pub fn receive(&mut self, socket: impl AsFd) -> nix::Result<usize> {
        self.call(socket, libc::MSG_WAITFORONE)
    }

    /// Takes the datagrams that are there; `EAGAIN` where there are none.
    pub fn receive_ready(&mut self, socket: impl AsFd) -> nix::Result<usize> {
        self.call(socket, libc::MSG_DONTWAIT)
    }

    fn call(&mut self, socket: impl AsFd, flags: libc::c_int) -> nix::Result<usize> {
        let count = self.slots.headers.len();
        // SAFETY: each part points to its piece of `buffers`, which is on the heap and never resized.
        unsafe { self.slots.receive(socket, count, flags) }
    }

    /// The datagrams of the last call.
    pub fn datagrams(&self) -> impl Iterator<Item = Received<&[u8]>> {
        let buffers = self.buffers.chunks_exact(self.buffer_bytes).take(self.slots.filled);
        buffers.enumerate().map(|(index, buffer)| {
            let (length, notes) = self.slots.length_and_notes(index);
            received(&buffer[..length.min(buffer.len())], &self.slots.names[index], notes)
        })
    }

    /// The same, to be changed.
    pub fn packets(&mut self) -> impl Iterator<Item = Received<&mut [u8]>> {
        let buffers = self.buffers.chunks_exact_mut(self.buffer_bytes).take(self.slots.filled);
        let slots = &self.slots;
        buffers.enumerate().map(|(index, buffer)| {
            let (length, notes) = slots.length_and_notes(index);
            let length = length.min(buffer.len());
            received(&mut buffer[..length], &slots.names[index], notes)
        })
    }
}

#[inline]
fn received<B>(bytes: B, name: &Name, notes: Notes) -> Received<B> {
    let address = name.address();
    let source_port = address.map_or(0, |address| address.port());
    Received { bytes, source: address.map(|address| address.ip()), source_port, notes }
}

/// As [`ReceiveBatch`], into buffers that are lent for each call and of packets whose sender has no address of IP.
pub struct LentReceiveBatch(Slots);

impl LentReceiveBatch {
    /// Room for the headers of so many packets.
    pub fn new(count: usize) -> Self {
        Self(Slots::new(count, false))
    }

    /// Takes the packets that are there into the first of the buffers; `EAGAIN` where there are none. Returns how many.
    pub fn receive_ready(&mut self, socket: impl AsFd, buffers: &mut [Box<[u8]>]) -> nix::Result<usize> {
        for (part, buffer) in self.0.parts.iter_mut().zip(&mut *buffers) {
            *part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        }
        // SAFETY: each of the first parts points to a buffer, which nobody else looks at meanwhile.
        unsafe { self.0.receive(socket, buffers.len(), libc::MSG_DONTWAIT) }
    }

    /// Lengths of the packets of the last call, no more than those of their buffers, and the notes about them.
    pub fn packets(&self) -> impl Iterator<Item = (usize, Notes)> {
        (0..self.0.filled).map(|index| {
            let (length, notes) = self.0.length_and_notes(index);
            (length.min(self.0.parts[index].iov_len), notes)
        })
    }
}

fn empty_header() -> libc::mmsghdr {
    // SAFETY: all bytes 0 is a valid value of this struct of integers and pointers.
    unsafe { std::mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::time::Duration;

    use super::*;

    #[test]
    fn parts_go_as_one_datagram_and_come_with_their_sender() {
        let receiver = UdpSocket::bind("[::1]:0").unwrap();
        let sender = UdpSocket::bind("[::1]:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let (mut outbox, mut inbox) = (SendBatch::default(), ReceiveBatch::new(8, 16));
        for _ in 0..2 {
            let parts: [[&[u8]; 2]; 4] = [[b"head", b"body"], [b"head", b""], [b"", b"body"], [b"", b""]];
            let messages = parts.iter().map(|[head, body]| Message { head, body, with: With::Nothing });
            assert_eq!(outbox.send(&sender, messages), Ok(4));
            let mut all = Vec::new();
            while all.len() < 4 {
                inbox.receive(&receiver).unwrap();
                for datagram in inbox.datagrams() {
                    assert_eq!(datagram.source, Some(sender.local_addr().unwrap().ip()));
                    assert_eq!(datagram.source_port, sender.local_addr().unwrap().port());
                    all.push(datagram.bytes.to_vec());
                }
            }
            assert_eq!(all, parts.map(|parts| parts.concat()));
            assert_eq!(inbox.receive_ready(&receiver), Err(Errno::EAGAIN));
            assert_eq!(inbox.datagrams().count(), 0);
        }
    }

    #[test]
    fn a_packet_longer_than_its_buffer_is_cut() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        let mut outbox = SendBatch::default();
        let texts: [&[u8]; 3] = [b"longer than four", b"abc", b"left"];
        assert_eq!(outbox.send(&sender, texts.iter().map(|text| Message::plain(text))), Ok(3));
        let mut inbox = LentReceiveBatch::new(8);
        let mut buffers = [vec![0; 4].into_boxed_slice(), vec![0; 4].into_boxed_slice()];
        assert_eq!(inbox.receive_ready(&receiver, &mut buffers), Ok(2));
        let lengths: Vec<_> = inbox.packets().map(|(length, _)| length).collect();
        assert_eq!((lengths, &buffers[0][..], &buffers[1][..3]), (vec![4, 3], &b"long"[..], &b"abc"[..]));
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
}
