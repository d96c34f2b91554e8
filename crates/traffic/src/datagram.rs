//! The 32 bytes that every datagram of a workload starts with (see "Workload requests" in the protocol document).
//!
//! Pure: bytes in, values out.

use std::net::IpAddr;

/// Length of the [`Header`] on the wire.
pub const HEADER_BYTES: usize = 32;

/// The largest UDP payload over IPv4: 65535 bytes without the IPv4 header (which counts itself) and the UDP header
/// (RFC 768, RFC 791 section 3.1).
pub const MAX_PAYLOAD_BYTES_V4: u64 = 65535 - 20 - 8;

/// The largest UDP payload to that family: in IPv6 it is 65535 bytes without the UDP header alone (RFC 8200 section 3).
pub fn max_payload_bytes(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(_) => MAX_PAYLOAD_BYTES_V4,
        IpAddr::V6(_) => 65535 - 8,
    }
}

/// The phase of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The warm-up before the measured window; its datagrams are numbered apart.
    WarmUp = 0,
    /// The measured window.
    Measured = 1,
}

/// The contents of a datagram's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The first bytes of the trial's token.
    pub token: u64,
    /// Position in its phase, from 0.
    pub sequence: u64,
    /// When it was sent, on the realtime clock.
    pub sent_realtime_ns: u64,
    /// Its phase.
    pub phase: Phase,
}

impl Header {
    /// The bytes on the wire.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&self.token.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.sent_realtime_ns.to_be_bytes());
        bytes[24] = self.phase as u8;
        bytes
    }

    /// The header of a datagram; absent where it is too short or the phase is none. The last 7 bytes are ignored.
    pub fn decode(datagram: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER_BYTES] = datagram.first_chunk()?;
        let phase = match bytes[24] {
            0 => Phase::WarmUp,
            1 => Phase::Measured,
            _ => return None,
        };
        Some(Self { token: word(bytes, 0), sequence: word(bytes, 8), sent_realtime_ns: word(bytes, 16), phase })
    }
}

/// A datagram by which one end of a flow sends the other a number. `kind` says which number it is: a value that is
/// neither a [`Phase`] nor a kind of [`crate::cookie::Kind`].
pub fn encode_number(token: u64, number: u64, kind: u8) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&token.to_be_bytes());
    bytes[8..16].copy_from_slice(&number.to_be_bytes());
    bytes[24] = kind;
    bytes
}

/// The number in such a datagram.
pub fn decode_number(datagram: &[u8], token: u64, kind: u8) -> Option<u64> {
    let number = word(datagram.first_chunk()?, 8);
    (encode_number(token, number, kind)[..] == *datagram).then_some(number)
}

fn word(bytes: &[u8; HEADER_BYTES], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_be_bytes(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_layout_of_the_protocol_document() {
        let header = Header {
            token: 0x0102_0304_0506_0708,
            sequence: 0x1112_1314_1516_1718,
            sent_realtime_ns: 0x2122_2324_2526_2728,
            phase: Phase::Measured,
        };
        let mut expected = [0; 32];
        expected[..8].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        expected[8..16].copy_from_slice(&[0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]);
        expected[16..24].copy_from_slice(&[0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28]);
        expected[24] = 1;
        assert_eq!(header.encode(), expected);
        assert_eq!(Header::decode(&expected), Some(header));
    }

    #[test]
    fn short_datagrams_and_unknown_phases_are_none() {
        assert_eq!(Header::decode(&[0; 31]), None);
        let mut bytes = [0; 40];
        bytes[24] = 2;
        assert_eq!(Header::decode(&bytes), None);
    }

    proptest! {
        #[test]
        fn any_bytes_decode_without_panic_and_back(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(header) = Header::decode(&bytes) {
                prop_assert_eq!(&header.encode()[..25], &bytes[..25]);
            }
        }
    }
}
