//! The Internet checksum: RFC 1071, and its incremental update: RFC 1624.
//!
//! Sums are 16 bits wide, folded, not yet complemented; checksums are complemented sums, as they stand in packets.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The checksum of `bytes`, in which the checksum field is zero. An odd last byte is padded with a zero.
pub fn checksum(bytes: &[u8]) -> u16 {
    !sum(bytes)
}

/// True if `bytes`, checksum field included, are as they were sent.
pub fn is_valid(bytes: &[u8]) -> bool {
    sum(bytes) == 0xffff
}

/// The checksum of an upper-layer packet (TCP, UDP, ICMPv6) under `pseudo_header`, the sum that [`pseudo_header_v4`] or
/// [`pseudo_header_v6`] gives. UDP additionally needs [`never_zero`].
pub fn upper_layer(pseudo_header: u16, bytes: &[u8]) -> u16 {
    !add(pseudo_header, sum(bytes))
}

/// True if an upper-layer packet, checksum field included, is as it was sent under this pseudo-header.
pub fn is_valid_upper_layer(pseudo_header: u16, bytes: &[u8]) -> bool {
    upper_layer(pseudo_header, bytes) == 0
}

/// A computed UDP checksum of zero is sent as all ones, since zero means that there is none: RFC 768, RFC 8200 section
/// 8.1.
pub fn never_zero(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}

/// The checksum after a part of what it covers changed from `old` to `new`: RFC 1624 equation 3. The parts may differ
/// in length, as when addresses of one family replace those of the other; each must begin at an even offset of what the
/// checksum covers, and only the last part of that may be odd in length.
pub fn update(checksum: u16, old: &[u8], new: &[u8]) -> u16 {
    update_sum(checksum, sum(old), sum(new))
}

/// [`update`], given the sums of the old and the new part.
pub fn update_sum(checksum: u16, old: u16, new: u16) -> u16 {
    !add(add(!checksum, !old), new)
}

/// The sum of IPv4's pseudo header (RFC 9293 section 3.1) for an upper-layer packet of `length` bytes.
pub fn pseudo_header_v4(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, length: u16) -> u16 {
    let addresses = add(sum(&source.octets()), sum(&destination.octets()));
    add(addresses, add(u16::from(protocol), length))
}

/// The sum of IPv6's pseudo header (RFC 8200 section 8.1) for an upper-layer packet of `length` bytes.
pub fn pseudo_header_v6(source: Ipv6Addr, destination: Ipv6Addr, protocol: u8, length: u32) -> u16 {
    let addresses = add(sum(&source.octets()), sum(&destination.octets()));
    add(addresses, add(u16::from(protocol), sum(&length.to_be_bytes())))
}

/// The ones' complement sum of `bytes` as big-endian numbers of 16 bits.
pub fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(2);
    let odd = words.remainder().first().map_or(0, |&last| u64::from(last) << 8);
    // 64 bits cannot overflow: that would take more than 2^48 words.
    fold(words.map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u64>() + odd)
}

/// The ones' complement sum of two numbers.
pub fn add(one: u16, other: u16) -> u16 {
    let (sum, carry) = one.overflowing_add(other);
    sum + u16::from(carry)
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_1071_section_3_example() {
        assert_eq!(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
    }

    #[test]
    fn rfc_1624_section_4_example() {
        // The case that RFC 1141's equation gets wrong: the header's sum is 0xcd7a + 0x5555, then 0xcd7a + 0x3285.
        assert_eq!(update(0xdd2f, &[0x55, 0x55], &[0x32, 0x85]), 0x0000);
    }

    #[test]
    fn an_odd_last_byte_is_the_high_half_of_a_word() {
        assert_eq!(sum(&[0x12]), 0x1200);
        assert_eq!(sum(&[0xff, 0xff, 0x12]), 0x1200);
        assert_eq!(sum(&[]), 0);
    }

    #[test]
    fn an_ipv4_header_with_its_checksum_is_valid() {
        let mut header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00,
            0xc7,
        ];
        let expected = checksum(&header);
        assert_eq!(expected, 0xb861);
        header[10..12].copy_from_slice(&expected.to_be_bytes());
        assert!(is_valid(&header));
        header[0] ^= 1;
        assert!(!is_valid(&header));
    }

    #[test]
    fn pseudo_headers_are_the_sums_of_their_bytes() {
        let (from, to) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 2));
        assert_eq!(pseudo_header_v4(from, to, 17, 12), sum(&[192, 0, 2, 1, 198, 51, 100, 2, 0, 17, 0, 12]));
        let (from, to) = (Ipv6Addr::LOCALHOST, Ipv6Addr::from_bits((0x2001_0db8 << 96) | 0xffff_0001));
        let mut bytes = from.octets().to_vec();
        bytes.extend(to.octets());
        bytes.extend([0, 1, 0xff, 0xff, 0, 0, 0, 58]);
        assert_eq!(pseudo_header_v6(from, to, 58, 0x1_ffff), sum(&bytes));
    }

    #[test]
    fn a_zero_udp_checksum_is_sent_as_all_ones() {
        assert_eq!(never_zero(0), 0xffff);
        assert_eq!(never_zero(7), 7);
    }
}
