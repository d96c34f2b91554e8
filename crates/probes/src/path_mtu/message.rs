//! The probes of `path-mtu`, and what comes about them. Pure: no bytes make it panic.

use std::net::IpAddr;

use crate::error_queue::Quoted;
use crate::ping::{self, ECHO_HEADER_BYTES};

/// The secret by which answers are known.
pub type Token = [u8; 8];

/// The transport of probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// Datagrams of UDP.
    Udp,
    /// Echo requests of ICMP.
    Icmp,
}

/// A version of QUIC that no server has, so that each answers with those that it has (RFC 9000 sections 6.1 and 15).
const RESERVED_VERSION: [u8; 4] = [0x1a, 0x2a, 0x3a, 0x4a];
/// A long header with the fixed bit (RFC 9000 section 17.2).
const LONG_HEADER: u8 = 0xc0;
const CONNECTION_ID_BYTES: u8 = 8;
const UDP_HEADER_BYTES: usize = 8;

impl Carrier {
    /// Bytes of a probe's headers before its payload, or before its ICMP message.
    fn header_bytes(self, address: IpAddr) -> usize {
        let ip_bytes = if address.is_ipv4() { 20 } else { 40 };
        ip_bytes + if self == Self::Udp { UDP_HEADER_BYTES } else { 0 }
    }
}

/// The message of a probe that makes a packet of this size.
pub fn probe(carrier: Carrier, address: IpAddr, size: u32, number: u16, token: &Token) -> Vec<u8> {
    let mut message = match carrier {
        Carrier::Udp => {
            let mut message = vec![LONG_HEADER];
            message.extend(RESERVED_VERSION);
            message.push(CONNECTION_ID_BYTES);
            message.extend(token);
            message.push(CONNECTION_ID_BYTES);
            message.extend(source_id(number, token));
            message
        }
        Carrier::Icmp => ping::echo(address.is_ipv4(), number, token),
    };
    let bytes = (size as usize).saturating_sub(carrier.header_bytes(address));
    message.resize(bytes.max(message.len()), 0);
    message
}

fn source_id(number: u16, token: &Token) -> [u8; 8] {
    let [high, low] = number.to_be_bytes();
    let [a, b, c, d, e, f, _, _] = *token;
    [high, low, a, b, c, d, e, f]
}

/// The number of the probe that a message answers; absent where it answers none.
pub fn answered(carrier: Carrier, is_ipv4: bool, message: &[u8], token: &Token) -> Option<u16> {
    match carrier {
        Carrier::Icmp => ping::reply_to(message, is_ipv4, token),
        Carrier::Udp => {
            // Version Negotiation has version 0, and our identifiers the other way round (RFC 9000 section 17.2.1).
            let [first, 0, 0, 0, 0, CONNECTION_ID_BYTES, rest @ ..] = message else { return None };
            let (destination, rest) = rest.split_first_chunk::<8>()?;
            let ours = [&[CONNECTION_ID_BYTES][..], token].concat();
            let number = u16::from_be_bytes([destination[0], destination[1]]);
            let is_ours = first & 0x80 != 0 && rest.starts_with(&ours) && *destination == source_id(number, token);
            is_ours.then_some(number)
        }
    }
}

/// Reads what an error quotes: of UDP the payload, of ICMP the message.
pub fn quoted(carrier: Carrier, quote: &[u8], token: &Token) -> Quoted {
    let (token_at, number_at) = match carrier {
        Carrier::Udp => (6, 15),
        Carrier::Icmp => (ECHO_HEADER_BYTES, 6),
    };
    let shown = quote.get(token_at..).unwrap_or_default();
    if !token.starts_with(&shown[..shown.len().min(token.len())]) {
        return Quoted::Other;
    }
    // The header of ICMP has the number before the token: a router that quotes no more than that tells it, too.
    match quote.get(number_at..).and_then(|bytes| bytes.first_chunk()) {
        Some(number) => Quoted::Number(u16::from_be_bytes(*number)),
        None => Quoted::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::*;

    const TOKEN: Token = *b"tokentok";
    const FOUR: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const SIX: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

    #[test]
    fn probes_make_packets_of_their_size_and_are_known_again() {
        for carrier in [Carrier::Udp, Carrier::Icmp] {
            for (address, ip_bytes) in [(FOUR, 20), (SIX, 40)] {
                let message = probe(carrier, address, 1_280, 513, &TOKEN);
                let udp_bytes = if carrier == Carrier::Udp { 8 } else { 0 };
                assert_eq!(message.len() + udp_bytes + ip_bytes, 1_280);
                assert_eq!(quoted(carrier, &message, &TOKEN), Quoted::Number(513));
                assert_eq!(quoted(carrier, &message[..4], &TOKEN), Quoted::Nothing);
                let of_header = if carrier == Carrier::Icmp { Quoted::Number(513) } else { Quoted::Nothing };
                assert_eq!(quoted(carrier, &message[..ECHO_HEADER_BYTES], &TOKEN), of_header);
                assert_eq!(quoted(carrier, &message, b"tokentak"), Quoted::Other);
            }
        }
    }

    #[test]
    fn version_negotiation_answers_a_probe() {
        let message = probe(Carrier::Udp, FOUR, 1_280, 7, &TOKEN);
        let (ours, theirs) = (&message[6..14], &message[15..23]);
        let answer = |first: u8, version: [u8; 4], to: &[u8], from: &[u8]| {
            [&[first][..], &version, &[8], to, &[8], from, &[0, 0, 0, 1]].concat()
        };
        let right = answer(0xf5, [0; 4], theirs, ours);
        assert_eq!(answered(Carrier::Udp, true, &right, &TOKEN), Some(7));
        for wrong in [
            answer(0x40, [0; 4], theirs, ours),
            answer(0xf5, [0, 0, 0, 1], theirs, ours),
            answer(0xf5, [0; 4], ours, theirs),
            message.clone(),
            right[..20].to_vec(),
        ] {
            assert_eq!(answered(Carrier::Udp, true, &wrong, &TOKEN), None);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_panic(bytes: Vec<u8>, is_udp: bool, is_ipv4: bool) {
            let carrier = if is_udp { Carrier::Udp } else { Carrier::Icmp };
            prop_assert_eq!(answered(carrier, is_ipv4, &bytes, &TOKEN), None);
            let _ = quoted(carrier, &bytes, &TOKEN);
        }
    }
}
