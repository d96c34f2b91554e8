//! DHCP for IPv4: [RFC 2131](https://www.rfc-editor.org/rfc/rfc2131#section-2), options of RFC 2132, and the one by
//! which a server asks clients to do without IPv4 ([RFC 8925](https://www.rfc-editor.org/rfc/rfc8925)). No I/O.
//!
//! Nothing here panics, whatever the bytes.

use std::net::Ipv4Addr;

/// The UDP port of servers: RFC 2131 section 4.1.
pub const SERVER_PORT: u16 = 67;
/// The UDP port of clients.
pub const CLIENT_PORT: u16 = 68;

/// The option IPv6-Only Preferred: RFC 8925 section 3.1. A client that can do without IPv4 asks for it, and a server
/// answers with a time.
pub const IPV6_ONLY_PREFERRED: u8 = 108;
/// Shortest time for which a client does without IPv4: MIN_V6ONLY_WAIT of RFC 8925 section 3.4.
pub const MIN_V6ONLY_WAIT_S: u32 = 300;

/// Length of the fields before the options: RFC 2131 section 2, with the magic cookie of section 3.
const FIXED_BYTES: usize = 240;
const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// Places of the fields `sname` and `file`, which may have options too (RFC 2132 section 9.3).
const SERVER_NAME: std::ops::Range<usize> = 44..108;
const FILE: std::ops::Range<usize> = 108..236;
/// Messages are no shorter, as those of BOOTP: RFC 1542 section 2.1.
const LEAST_BYTES: usize = 300;
/// Ethernet: RFC 1700.
const ETHERNET: u8 = 1;
const BROADCAST: u16 = 0x8000;

const PAD: u8 = 0;
const SUBNET_MASK: u8 = 1;
const ROUTER: u8 = 3;
const REQUESTED_ADDRESS: u8 = 50;
const LEASE_TIME: u8 = 51;
const OVERLOAD: u8 = 52;
const MESSAGE_TYPE: u8 = 53;
const SERVER_IDENTIFIER: u8 = 54;
const PARAMETER_REQUEST_LIST: u8 = 55;
const END: u8 = 255;

crate::named! {
    /// The type of a message: RFC 2132 section 9.6.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[allow(missing_docs)]
    pub enum Kind by name {
        Discover = "discover",
        Offer = "offer",
        Request = "request",
        Decline = "decline",
        Ack = "ack",
        Nak = "nak",
        Release = "release",
        Inform = "inform",
    }
}

impl Kind {
    /// The number of the type. Types are numbered in their order, from 1.
    fn number(self) -> u8 {
        self as u8 + 1
    }

    fn of(number: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.number() == number)
    }

    /// True if a server sends messages of this type.
    pub fn is_reply(self) -> bool {
        matches!(self, Self::Offer | Self::Ack | Self::Nak)
    }
}

crate::named! {
    /// The reason why bytes are no DHCP message.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Flaw by reason {
        /// It is shorter than what precedes the options.
        Length = "length",
        /// It is of BOOTP, or of another protocol.
        Cookie = "cookie",
        /// The hardware address is not that of an Ethernet interface.
        Hardware = "hardware-address",
        /// An option ends after the message does.
        Option = "option-length",
        /// There is no message type, an unknown one, or that of the other side.
        Type = "message-type",
    }
}

/// A message, as far as addresses and RFC 8925 need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The type of the message. It also shows whether a client or a server sent it.
    pub kind: Kind,
    /// The client's number of the exchange (`xid`).
    pub id: u32,
    /// True if the client wants answers by broadcast.
    pub is_broadcast: bool,
    /// The address that the client has (`ciaddr`); unspecified: none.
    pub client: Ipv4Addr,
    /// The address that it gets (`yiaddr`); unspecified: none.
    pub yours: Ipv4Addr,
    /// The relay agent (`giaddr`); unspecified: none.
    pub relay: Ipv4Addr,
    /// The client's Ethernet address (`chaddr`).
    pub hardware: [u8; 6],
    /// The address that the client asks for.
    pub requested: Option<Ipv4Addr>,
    /// The address of the server that sends the message, or that it is for.
    pub server: Option<Ipv4Addr>,
    /// Time for which the address is leased, in seconds.
    pub lease_s: Option<u32>,
    /// Bits of the network's prefix.
    pub prefix_bits: Option<u8>,
    /// The first of the network's routers.
    pub router: Option<Ipv4Addr>,
    /// The options that the client wants (the parameter request list).
    pub wanted: Vec<u8>,
    /// Time for which the client is to do without IPv4, in seconds (V6ONLY_WAIT, RFC 8925).
    pub v6only_wait_s: Option<u32>,
}

impl Message {
    /// A message that says nothing more.
    pub fn new(kind: Kind, id: u32, hardware: [u8; 6]) -> Self {
        let none = Ipv4Addr::UNSPECIFIED;
        Self {
            kind,
            id,
            is_broadcast: false,
            client: none,
            yours: none,
            relay: none,
            hardware,
            requested: None,
            server: None,
            lease_s: None,
            prefix_bits: None,
            router: None,
            wanted: Vec::new(),
            v6only_wait_s: None,
        }
    }

    /// True if the client says that it can do without IPv4: RFC 8925 section 3.2.
    pub fn wants_v6only(&self) -> bool {
        self.wanted.contains(&IPV6_ONLY_PREFERRED)
    }

    /// The payload of the datagram. More than 255 wanted options are cut off.
    pub fn encode(&self) -> Vec<u8> {
        let op = if self.kind.is_reply() { 2 } else { 1 };
        let mut bytes = vec![op, ETHERNET, self.hardware.len() as u8, 0];
        bytes.extend(self.id.to_be_bytes());
        bytes.extend([0, 0]); // Seconds since the client began.
        bytes.extend((if self.is_broadcast { BROADCAST } else { 0 }).to_be_bytes());
        for address in [self.client, self.yours, Ipv4Addr::UNSPECIFIED, self.relay] {
            bytes.extend(address.octets());
        }
        bytes.extend(self.hardware);
        bytes.resize(FIXED_BYTES - COOKIE.len(), 0);
        bytes.extend(COOKIE);
        let mut put = |code: u8, value: &[u8]| {
            bytes.extend([code, value.len() as u8]);
            bytes.extend(value);
        };
        put(MESSAGE_TYPE, &[self.kind.number()]);
        if let Some(bits) = self.prefix_bits {
            put(SUBNET_MASK, &mask(bits).to_be_bytes());
        }
        for (code, address) in
            [(ROUTER, self.router), (REQUESTED_ADDRESS, self.requested), (SERVER_IDENTIFIER, self.server)]
        {
            if let Some(address) = address {
                put(code, &address.octets());
            }
        }
        for (code, seconds) in [(LEASE_TIME, self.lease_s), (IPV6_ONLY_PREFERRED, self.v6only_wait_s)] {
            if let Some(seconds) = seconds {
                put(code, &seconds.to_be_bytes());
            }
        }
        if !self.wanted.is_empty() {
            put(PARAMETER_REQUEST_LIST, &self.wanted[..self.wanted.len().min(usize::from(u8::MAX))]);
        }
        bytes.push(END);
        bytes.resize(bytes.len().max(LEAST_BYTES), PAD);
        bytes
    }

    /// Reads the payload of a datagram. Options that are not understood, or whose values have another length than
    /// theirs, are skipped.
    pub fn parse(bytes: &[u8]) -> Result<Self, Flaw> {
        let (fixed, options) = bytes.split_at_checked(FIXED_BYTES).ok_or(Flaw::Length)?;
        if fixed[FIXED_BYTES - COOKIE.len()..] != COOKIE {
            return Err(Flaw::Cookie);
        }
        let hardware: [u8; 6] = number_at(fixed, 28).ok_or(Flaw::Length)?;
        if fixed[1] != ETHERNET || usize::from(fixed[2]) != hardware.len() {
            return Err(Flaw::Hardware);
        }
        let mut found = Options::default();
        found.read(options)?;
        // This tells which of the two fields have options; `file` comes first (RFC 2131 section 4.1).
        let overload = found.overload;
        for (bit, field) in [(1, FILE), (2, SERVER_NAME)] {
            if overload & bit != 0 {
                found.read(&fixed[field])?;
            }
        }
        let kind = found.kind.and_then(Kind::of).ok_or(Flaw::Type)?;
        if fixed[0] != if kind.is_reply() { 2 } else { 1 } {
            return Err(Flaw::Type);
        }
        let address = |at| number_at(fixed, at).map_or(Ipv4Addr::UNSPECIFIED, Ipv4Addr::from);
        Ok(Self {
            kind,
            id: number_at(fixed, 4).map_or(0, u32::from_be_bytes),
            is_broadcast: number_at(fixed, 10).map_or(0, u16::from_be_bytes) & BROADCAST != 0,
            client: address(12),
            yours: address(16),
            relay: address(24),
            hardware,
            requested: found.requested,
            server: found.server,
            lease_s: found.lease_s,
            prefix_bits: found.prefix_bits,
            router: found.router,
            wanted: found.wanted,
            v6only_wait_s: found.v6only_wait_s,
        })
    }
}

/// The values that the options hold. Where an option comes several times the last one counts, except that the parts of
/// the parameter request list are joined (RFC 3396).
#[derive(Default)]
struct Options {
    kind: Option<u8>,
    overload: u8,
    requested: Option<Ipv4Addr>,
    server: Option<Ipv4Addr>,
    lease_s: Option<u32>,
    prefix_bits: Option<u8>,
    router: Option<Ipv4Addr>,
    wanted: Vec<u8>,
    v6only_wait_s: Option<u32>,
}

impl Options {
    fn read(&mut self, mut field: &[u8]) -> Result<(), Flaw> {
        while let Some((&code, rest)) = field.split_first() {
            match code {
                PAD => {
                    field = rest;
                    continue;
                }
                END => break,
                _ => (),
            }
            let (&length, rest) = rest.split_first().ok_or(Flaw::Option)?;
            let (value, rest) = rest.split_at_checked(usize::from(length)).ok_or(Flaw::Option)?;
            self.take(code, value);
            field = rest;
        }
        Ok(())
    }

    fn take(&mut self, code: u8, value: &[u8]) {
        let seconds = || value.try_into().map(u32::from_be_bytes).ok();
        let address = || value.try_into().map(|octets: [u8; 4]| Ipv4Addr::from(octets)).ok();
        match code {
            MESSAGE_TYPE => self.kind = single(value).or(self.kind),
            OVERLOAD => self.overload = single(value).unwrap_or(self.overload),
            REQUESTED_ADDRESS => self.requested = address().or(self.requested),
            SERVER_IDENTIFIER => self.server = address().or(self.server),
            LEASE_TIME => self.lease_s = seconds().or(self.lease_s),
            IPV6_ONLY_PREFERRED => self.v6only_wait_s = seconds().or(self.v6only_wait_s),
            SUBNET_MASK => self.prefix_bits = seconds().and_then(bits_of).or(self.prefix_bits),
            ROUTER => self.router = number_at(value, 0).map(Ipv4Addr::from).or(self.router),
            PARAMETER_REQUEST_LIST => {
                let room = usize::from(u8::MAX) - self.wanted.len();
                self.wanted.extend(&value[..value.len().min(room)]);
            }
            _ => (),
        }
    }
}

fn number_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn single(value: &[u8]) -> Option<u8> {
    if let [number] = *value { Some(number) } else { None }
}

fn mask(bits: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0)
}

/// The length of the prefix of a mask; `None` if ones come after zeros.
fn bits_of(mask: u32) -> Option<u8> {
    let bits = mask.leading_ones();
    (mask.count_ones() == bits).then_some(bits as u8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

    fn discover() -> Message {
        Message { wanted: vec![1, 3, 108], is_broadcast: true, ..Message::new(Kind::Discover, 0x1234_5678, MAC) }
    }

    fn offer() -> Message {
        Message {
            yours: Ipv4Addr::new(198, 18, 0, 1),
            server: Some(Ipv4Addr::new(198, 18, 0, 2)),
            router: Some(Ipv4Addr::new(198, 18, 0, 2)),
            lease_s: Some(600),
            prefix_bits: Some(24),
            v6only_wait_s: Some(1800),
            ..Message::new(Kind::Offer, 0x1234_5678, MAC)
        }
    }

    /// The message with these options instead.
    fn with_options(message: &Message, options: &[u8]) -> Vec<u8> {
        [&message.encode()[..FIXED_BYTES], options].concat()
    }

    #[test]
    fn a_discover_has_the_form_of_rfc_2131_section_2() {
        let bytes = discover().encode();
        assert_eq!(bytes[..12], [1, 1, 6, 0, 0x12, 0x34, 0x56, 0x78, 0, 0, 0x80, 0]);
        assert_eq!(bytes[28..34], MAC);
        assert_eq!(bytes[236..240], [99, 130, 83, 99]);
        // RFC 8925 section 3.2: the code is in the parameter request list.
        assert_eq!(bytes[240..249], [53, 1, 1, 55, 3, 1, 3, 108, 255]);
        assert_eq!(bytes.len(), LEAST_BYTES);
        assert!(Message::parse(&bytes).is_ok_and(|read| read.wants_v6only()));
    }

    #[test]
    fn option_108_has_the_form_of_rfc_8925_section_3_1() {
        let bytes = offer().encode();
        assert!(bytes.windows(6).any(|option| option == [108, 4, 0, 0, 0x07, 0x08]));
        assert_eq!(Message::parse(&bytes), Ok(offer()));
        // An option of another length than 4 is ignored.
        for option in [&[108, 3, 0, 0, 7][..], &[108, 5, 0, 0, 7, 8, 0], &[108, 0]] {
            let bytes = with_options(&offer(), &[&[53, 1, 2], option, &[255]].concat());
            assert_eq!(Message::parse(&bytes).map(|read| read.v6only_wait_s), Ok(None), "{option:?}");
        }
    }

    #[test]
    fn options_go_on_in_other_fields() {
        // RFC 2132 section 9.3 and RFC 3396: the parameter request list is in three parts.
        let mut bytes = with_options(&discover(), &[53, 1, 1, 52, 1, 3, 55, 1, 1, 255]);
        bytes[FILE][..4].copy_from_slice(&[55, 1, 3, 255]);
        bytes[SERVER_NAME][..5].copy_from_slice(&[0, 55, 1, 108, 255]);
        assert_eq!(Message::parse(&bytes).map(|read| read.wanted), Ok(vec![1, 3, 108]));
    }

    #[test]
    fn what_is_no_message() {
        let good = offer().encode();
        let changed = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            Message::parse(&bytes)
        };
        assert_eq!(Message::parse(&good[..FIXED_BYTES - 1]), Err(Flaw::Length));
        assert_eq!(changed(239, 98), Err(Flaw::Cookie));
        assert_eq!(changed(1, 6), Err(Flaw::Hardware));
        assert_eq!(changed(2, 8), Err(Flaw::Hardware));
        assert_eq!(changed(0, 1), Err(Flaw::Type));
        assert_eq!(changed(242, 9), Err(Flaw::Type));
        assert_eq!(Message::parse(&with_options(&offer(), &[255])), Err(Flaw::Type));
        assert_eq!(Message::parse(&with_options(&offer(), &[53, 2, 2])), Err(Flaw::Option));
        assert_eq!(Message::parse(&with_options(&offer(), &[53])), Err(Flaw::Option));
    }

    #[test]
    fn a_mask_has_its_ones_first() {
        for bits in 0..=32 {
            assert_eq!(bits_of(mask(bits)), Some(bits));
        }
        assert_eq!(bits_of(0xff00_ff00), None);
    }

    proptest! {
        #[test]
        fn what_is_said_is_read(
            id: u32, hardware: [u8; 6], yours: u32, server: Option<u32>, lease_s: Option<u32>, bits in proptest::option::of(0..=32_u8),
            wanted in proptest::collection::vec(any::<u8>(), 0..=255), v6only_wait_s: Option<u32>, kind in 0..8_usize, is_broadcast: bool,
        ) {
            let message = Message {
                yours: yours.into(), server: server.map(Ipv4Addr::from), router: server.map(Ipv4Addr::from), lease_s,
                prefix_bits: bits, wanted, v6only_wait_s, is_broadcast, ..Message::new(Kind::ALL[kind], id, hardware)
            };
            prop_assert_eq!(Message::parse(&message.encode()), Ok(message));
        }

        #[test]
        fn what_is_read_may_be_said(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            if let Ok(read) = Message::parse(&with_options(&offer(), &bytes)) {
                prop_assert_eq!(Message::parse(&read.encode()), Ok(read));
            }
        }

        #[test]
        fn no_bytes_are_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = Message::parse(&bytes);
        }
    }
}
