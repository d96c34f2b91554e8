//! The datagrams of `pmtu`: probes, filled up to their size, and their acknowledgements. Pure.

/// Length of a datagram's beginning; an acknowledgement has nothing more.
pub const MESSAGE_BYTES: usize = 32;

/// The kind of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A probe, which is to be acknowledged.
    Probe,
    /// Acknowledges a probe.
    Acknowledgement {
        /// The hop limit that the probe came with; absent where the kernel did not tell.
        hop_limit: Option<u8>,
    },
}

/// A datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The first bytes of the trial's token.
    pub token: u64,
    /// Number of the probe, counted from 1 by its sender.
    pub number: u64,
    /// The kind of the datagram.
    pub kind: Kind,
    /// Size of the probe as an IP packet.
    pub packet_bytes: u32,
}

/// The headers before the payload of a UDP datagram: IP without options or extensions, and UDP.
pub fn header_bytes(is_ipv4: bool) -> u32 {
    if is_ipv4 { 20 + 8 } else { 40 + 8 }
}

/// The smallest packet that carries a probe.
pub fn small_packet_bytes(is_ipv4: bool) -> u32 {
    header_bytes(is_ipv4) + MESSAGE_BYTES as u32
}

impl Message {
    /// Its bytes.
    pub fn encode(&self) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[..8].copy_from_slice(&self.token.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_be_bytes());
        (bytes[16], bytes[17]) = match self.kind {
            Kind::Probe => (1, 0),
            Kind::Acknowledgement { hop_limit } => (2, hop_limit.unwrap_or(0)),
        };
        bytes[20..24].copy_from_slice(&self.packet_bytes.to_be_bytes());
        bytes
    }

    /// Reads a datagram; nothing where it is none, of another token, or of another length than it says. A translator
    /// may have given it the headers of the other family.
    pub fn decode(datagram: &[u8], token: u64) -> Option<Self> {
        let message = Self::decode_start(datagram)?;
        let is_whole = match message.kind {
            Kind::Probe => [true, false].into_iter().any(|is_ipv4| {
                message.packet_bytes.checked_sub(header_bytes(is_ipv4)).map(|bytes| bytes as usize)
                    == Some(datagram.len())
            }),
            Kind::Acknowledgement { .. } => datagram.len() == MESSAGE_BYTES,
        };
        (message.token == token && is_whole).then_some(message)
    }

    /// Number and size of the probe of ours that an error quotes the start of.
    pub fn quoted(quote: &[u8], token: u64) -> Option<(u64, u32)> {
        let message = Self::decode_start(quote)?;
        (message.token == token && message.kind == Kind::Probe).then_some((message.number, message.packet_bytes))
    }

    fn decode_start(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; MESSAGE_BYTES] = bytes.first_chunk()?;
        let word = |at: usize| bytes[at..at + 8].iter().fold(0, |word, byte| (word << 8) | u64::from(*byte));
        let kind = match (bytes[16], bytes[17]) {
            (1, 0) => Kind::Probe,
            (2, hop_limit) => Kind::Acknowledgement { hop_limit: (hop_limit > 0).then_some(hop_limit) },
            _ => return None,
        };
        let packet_bytes = (word(16) & 0xffff_ffff) as u32;
        let message = Self { token: word(0), number: word(8), kind, packet_bytes };
        (message.encode() == *bytes).then_some(message)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PROBE: Message = Message { token: 0x0102_0304_0506_0708, number: 9, kind: Kind::Probe, packet_bytes: 1500 };

    #[test]
    fn the_layout_of_the_protocol_document() {
        let mut expected = [0; 32];
        expected[..8].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        expected[15] = 9;
        expected[16] = 1;
        expected[22..24].copy_from_slice(&[5, 220]);
        assert_eq!(PROBE.encode(), expected);
        let answer = Message { kind: Kind::Acknowledgement { hop_limit: Some(61) }, ..PROBE };
        (expected[16], expected[17]) = (2, 61);
        assert_eq!(answer.encode(), expected);
        assert_eq!(Message::decode(&expected, PROBE.token), Some(answer));
    }

    #[test]
    fn a_probe_has_the_length_it_says() {
        let mut bytes = PROBE.encode().to_vec();
        bytes.resize(1472, 7);
        assert_eq!(Message::decode(&bytes, PROBE.token), Some(PROBE));
        assert_eq!(Message::decode(&bytes, PROBE.token + 1), None);
        assert_eq!(Message::decode(&bytes[..1471], PROBE.token), None);
        assert_eq!(Message::decode(&bytes[..1452], PROBE.token), Some(PROBE), "of an IPv6 packet");
        assert_eq!(Message::quoted(&bytes[..40], PROBE.token), Some((9, 1500)));
        assert_eq!(Message::quoted(&bytes[..31], PROBE.token), None);
        assert_eq!((small_packet_bytes(true), small_packet_bytes(false)), (60, 80));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            Message::decode(&bytes, 0);
            Message::quoted(&bytes, 0);
        }
    }
}
