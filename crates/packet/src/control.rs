//! Control messages, which go with a datagram to the kernel or come with one from it (cmsg(3)), and socket addresses as
//! the kernel writes them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// Words of a `cmsghdr`: its length with the data; level and type.
const HEADER_WORDS: usize = 2;
const _: () = assert!(size_of::<libc::cmsghdr>() == 8 * HEADER_WORDS, "control messages are read as on 64-bit systems");

/// A control message that came with a datagram.
#[derive(Debug, Clone, Copy)]
pub struct ControlMessage<'a> {
    /// The protocol that it belongs to, such as `SOL_SOCKET`.
    pub level: libc::c_int,
    /// Its type, of that level.
    pub kind: libc::c_int,
    data: &'a [u64],
    data_bytes: usize,
}

impl ControlMessage<'_> {
    /// A word of 8 bytes of the data, by its number.
    pub fn u64(&self, index: usize) -> Option<u64> {
        self.data.get(index).copied().filter(|_| (index + 1) * 8 <= self.data_bytes)
    }

    /// A word of 4 bytes of the data, by its number.
    pub fn u32(&self, index: usize) -> Option<u32> {
        let bytes = self.data.get(index / 2)?.to_ne_bytes();
        let [a, b, c, d, e, f, g, h] = bytes;
        let word = u32::from_ne_bytes(if index % 2 == 0 { [a, b, c, d] } else { [e, f, g, h] });
        Some(word).filter(|_| (index + 1) * 4 <= self.data_bytes)
    }

    /// Nanoseconds of a `timespec` in the data, by its number among such. A time before the epoch is none.
    pub fn time_ns(&self, index: usize) -> Option<u64> {
        let [seconds, nanoseconds] = [2 * index, 2 * index + 1].map(|word| self.u64(word));
        // Negative numbers are too large.
        seconds?.checked_mul(1_000_000_000)?.checked_add(nanoseconds?)
    }

    /// The socket address that begins at this word of 8 bytes.
    pub fn name(&self, at: usize) -> Name {
        let mut name = Name::default();
        let bytes = self.data_bytes.saturating_sub(8 * at).min(NAME_BYTES);
        for (to, from) in name.0[..bytes].chunks_mut(8).zip(self.data.get(at..).unwrap_or_default()) {
            to.copy_from_slice(&from.to_ne_bytes()[..to.len()]);
        }
        name
    }
}

/// The control messages in what the kernel wrote.
pub fn messages(words: &[u64]) -> impl Iterator<Item = ControlMessage<'_>> {
    let mut rest = words;
    std::iter::from_fn(move || {
        // A control message is a header (length, level, type) and its data, padded to whole words.
        let [length, kind, data @ ..] = rest else { return None };
        let data_bytes = usize::try_from(*length).ok()?.checked_sub(HEADER_WORDS * 8)?;
        rest = data.get(data_bytes.div_ceil(8)..).unwrap_or_default();
        let [a, b, c, d, e, f, g, h] = kind.to_ne_bytes();
        let (level, kind) = (i32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes([e, f, g, h]));
        Some(ControlMessage { level, kind, data, data_bytes: data_bytes.min(8 * data.len()) })
    })
}

/// Control messages of a received datagram, as far as they are known here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Notes {
    /// Time at which the kernel received it (`SO_TIMESTAMPNS`), on the realtime clock.
    pub realtime_ns: Option<u64>,
    /// Datagrams the socket had dropped for want of space when this one was queued (`SO_RXQ_OVFL`); absent is none.
    pub drops: Option<u32>,
    /// The hop limit it came with (`IP_RECVTTL`, `IPV6_RECVHOPLIMIT`).
    pub hop_limit: Option<u8>,
    /// The traffic class it came with (`IPV6_RECVTCLASS`).
    pub traffic_class: Option<u8>,
    /// It is a super-packet, of datagrams of this payload but for the last one, which may be shorter (`UDP_GRO`).
    pub segment_bytes: Option<u32>,
}

impl Notes {
    /// Reads those in what the kernel wrote.
    pub fn of(words: &[u64]) -> Self {
        let mut notes = Self::default();
        messages(words).for_each(|message| notes.add(&message));
        notes
    }

    fn add(&mut self, message: &ControlMessage<'_>) {
        let octet = || message.u32(0).and_then(|value| u8::try_from(value).ok());
        match (message.level, message.kind) {
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) => self.realtime_ns = message.time_ns(0),
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => self.drops = message.u32(0),
            (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => self.hop_limit = octet(),
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => self.traffic_class = octet(),
            (libc::SOL_UDP, libc::UDP_GRO) => self.segment_bytes = message.u32(0),
            _ => {}
        }
    }
}

/// Words of the longest control messages that are sent: two numbers, or an address with an interface.
const SENT_WORDS: usize = 6;

/// Control messages that go with a datagram to the kernel.
#[derive(Debug, Clone, Copy, Default)]
pub struct SentControl {
    pub(crate) words: [u64; SENT_WORDS],
    pub(crate) filled: usize,
}

impl SentControl {
    /// Adds a message whose data is a number. There is room for two.
    pub fn push_u32(&mut self, level: libc::c_int, kind: libc::c_int, value: u32) {
        self.push(level, kind, &value.to_ne_bytes());
    }

    /// The address and the interface that a datagram of IPv6 is sent from (`IPV6_PKTINFO`, RFC 3542 section 6).
    pub fn from_interface(source: Ipv6Addr, ifindex: u32) -> Self {
        let mut data = [0; 20];
        data[..16].copy_from_slice(&source.octets());
        data[16..].copy_from_slice(&ifindex.to_ne_bytes());
        let mut control = Self::default();
        control.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &data);
        control
    }

    fn push(&mut self, level: libc::c_int, kind: libc::c_int, data: &[u8]) {
        let [level, kind] = [level, kind].map(libc::c_int::to_ne_bytes);
        let [[a, b, c, d], [e, f, g, h]] = [level, kind];
        let words = &mut self.words[self.filled..];
        words[0] = (8 * HEADER_WORDS + data.len()) as u64;
        words[1] = u64::from_ne_bytes([a, b, c, d, e, f, g, h]);
        for (to, from) in words[HEADER_WORDS..].iter_mut().zip(data.chunks(8)) {
            let mut bytes = [0; 8];
            bytes[..from.len()].copy_from_slice(from);
            *to = u64::from_ne_bytes(bytes);
        }
        self.filled += HEADER_WORDS + data.len().div_ceil(8);
    }
}

/// Length of the longest socket address of IP.
pub(crate) const NAME_BYTES: usize = size_of::<libc::sockaddr_in6>();

/// A socket address as the kernel writes and reads it: `sockaddr_in`, `sockaddr_in6` or the beginning of another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Name(pub(crate) [u8; NAME_BYTES]);

impl Name {
    /// The address of IP and the port; absent where it is of another family.
    #[inline]
    pub fn address(&self) -> Option<SocketAddr> {
        let name = &self.0;
        let port = u16::from_be_bytes([name[2], name[3]]);
        match i32::from(u16::from_ne_bytes([name[0], name[1]])) {
            libc::AF_INET => {
                let octets = name[4..8].first_chunk::<4>()?;
                Some(SocketAddr::new(Ipv4Addr::from(*octets).into(), port))
            }
            libc::AF_INET6 => {
                let octets = name[8..24].first_chunk::<16>()?;
                let scope_id = u32::from_ne_bytes([name[24], name[25], name[26], name[27]]);
                Some(SocketAddrV6::new(Ipv6Addr::from(*octets), port, 0, scope_id).into())
            }
            _ => None,
        }
    }

    /// The kind of device (an `ARPHRD_` constant) of a packet socket, and true if the device sends the packet.
    pub fn link(&self) -> (u16, bool) {
        (u16::from_ne_bytes([self.0[8], self.0[9]]), self.0[10] == libc::PACKET_OUTGOING)
    }

    /// The name of an address and a port, and its length.
    pub(crate) fn of(address: SocketAddr) -> (Self, usize) {
        let mut name = Self::default();
        name.0[2..4].copy_from_slice(&address.port().to_be_bytes());
        match address.ip() {
            IpAddr::V4(ip) => {
                name.0[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
                name.0[4..8].copy_from_slice(&ip.octets());
                (name, size_of::<libc::sockaddr_in>())
            }
            IpAddr::V6(ip) => {
                name.0[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
                name.0[8..24].copy_from_slice(&ip.octets());
                if let SocketAddr::V6(address) = address {
                    name.0[24..].copy_from_slice(&address.scope_id().to_ne_bytes());
                }
                (name, NAME_BYTES)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A control buffer of these messages: level, type, data.
    fn control(messages: &[(i32, i32, &[u8])]) -> Vec<u64> {
        let mut words = Vec::new();
        for (level, kind, data) in messages {
            words.push((16 + data.len()) as u64);
            let (level, kind) = (level.to_ne_bytes(), kind.to_ne_bytes());
            words
                .push(u64::from_ne_bytes([level[0], level[1], level[2], level[3], kind[0], kind[1], kind[2], kind[3]]));
            for chunk in data.chunks(8) {
                let mut bytes = [0; 8];
                bytes[..chunk.len()].copy_from_slice(chunk);
                words.push(u64::from_ne_bytes(bytes));
            }
        }
        words
    }

    #[test]
    fn notes_of_a_datagram() {
        let (small, time) = (64_u32.to_ne_bytes(), [3_u64.to_ne_bytes(), 5_u64.to_ne_bytes()].concat());
        let words = control(&[
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &time),
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &small),
            (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT, &small),
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &small),
            (libc::SOL_UDP, libc::UDP_GRO, &small),
        ]);
        let expected = Notes {
            realtime_ns: Some(3_000_000_005),
            drops: Some(64),
            hop_limit: Some(64),
            traffic_class: Some(64),
            segment_bytes: Some(64),
        };
        assert_eq!(Notes::of(&words), expected);
        assert_eq!(Notes::of(&control(&[(libc::IPPROTO_IP, libc::IP_TTL, &small)])).hop_limit, Some(64));
        assert_eq!(Notes::of(&[]), Notes::default());
        // A message that is cut short gives nothing.
        assert_eq!(Notes::of(&control(&[(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &time[..12])])), Notes::default());
    }

    #[test]
    fn sent_messages_are_read_again() {
        let mut control = SentControl::default();
        control.push_u32(libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT, 7);
        control.push_u32(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, 184);
        let notes = Notes::of(&control.words[..control.filled]);
        assert_eq!((notes.hop_limit, notes.traffic_class), (Some(7), Some(184)));
        let control = SentControl::from_interface(Ipv6Addr::LOCALHOST, 5);
        let message = messages(&control.words[..control.filled]).next().unwrap();
        assert_eq!((message.kind, message.u32(3), message.u32(4)), (libc::IPV6_PKTINFO, Some(1_u32.to_be()), Some(5)));
    }

    #[test]
    fn names_of_both_families() {
        assert_eq!(Name::default().address(), None);
        for text in ["192.0.2.1:4660", "[2001:db8::7]:4660", "[fe80::1%3]:80"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(Name::of(address).0.address(), Some(address));
        }
        let (name, length) = Name::of("192.0.2.1:4660".parse().unwrap());
        assert_eq!((&name.0[2..8], length), (&[0x12, 0x34, 192, 0, 2, 1][..], 16));
    }

    proptest! {
        #[test]
        fn any_control_bytes_are_read_without_panic(words in any::<[u64; 16]>(), filled in 0_usize..=16, at in 0_usize..20) {
            Notes::of(&words[..filled]);
            for message in messages(&words[..filled]) {
                let _ = (message.name(at).address(), message.u32(at), message.u64(at), message.time_ns(at));
            }
        }
    }
}
