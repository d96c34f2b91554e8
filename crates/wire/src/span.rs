//! Bytes of which a capture may have kept only the first.

/// The reason why a view cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// The packet may be right, but the capture, or the first fragment, ends before the bytes that are needed.
    Truncated,
    /// The packet contradicts its format.
    Malformed(Defect),
}

crate::named! {
    /// The contradiction between a packet and its format.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Defect by reason {
        /// It is shorter than its header.
        Header = "the packet ends within this header",
        /// A length field says more than there is.
        Length = "its length field says more than the packet has",
        /// The version is not 4.
        NotIpv4 = "the version is not 4",
        /// The version is not 6.
        NotIpv6 = "the version is not 6",
        /// The version is neither.
        NotIp = "the version is neither 4 nor 6",
        /// IPv4's header length is under 20.
        HeaderLength = "the header length is under 20",
        /// IPv4's total length is under the header's.
        TotalLength = "the total length is under the header length",
        /// The packet has more extension headers than [`MAX_EXTENSIONS`](crate::ipv6::MAX_EXTENSIONS).
        Extensions = "more than 8 extension headers",
        /// GRE's version is not 0.
        GreVersion = "the version is not 0",
        /// GRE has the field that RFC 2784 took away.
        GreRouting = "it has the routing field that RFC 2784 took away",
        /// TCP's data offset is under 20.
        DataOffset = "the data offset is under 20",
        /// UDP's length is under 8.
        UdpLength = "the length is under 8",
        /// VXLAN's flag of a valid identifier is missing.
        Vxlan = "it is no VXLAN header",
    }
}

/// A stretch of a packet: the part of it that was captured, and how long it is on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<'a> {
    captured: &'a [u8],
    length: Option<usize>,
}

impl<'a> Span<'a> {
    /// A stretch of `length` bytes that begins with `captured`. More captured bytes than `length` are cut off.
    pub fn new(captured: &'a [u8], length: usize) -> Self {
        Self { captured: captured.get(..length).unwrap_or(captured), length: Some(length) }
    }

    /// A stretch that was captured as a whole.
    pub fn whole(bytes: &'a [u8]) -> Self {
        Self { captured: bytes, length: Some(bytes.len()) }
    }

    /// The same bytes as the beginning of a longer stretch, of unknown length, as in a first fragment.
    pub fn open_ended(&self) -> Self {
        Self { captured: self.captured, length: None }
    }

    /// Its captured bytes: the first ones.
    pub fn captured(&self) -> &'a [u8] {
        self.captured
    }

    /// Its length on the wire, where that is known.
    pub fn length(&self) -> Option<usize> {
        self.length
    }

    /// The first `N` bytes.
    pub fn first<const N: usize>(&self) -> Result<&'a [u8; N], Flaw> {
        self.check(N, Defect::Header)?;
        self.captured.first_chunk().ok_or(Flaw::Truncated)
    }

    /// The first `count` bytes, and the stretch after them.
    pub fn split(&self, count: usize) -> Result<(&'a [u8], Span<'a>), Flaw> {
        self.check(count, Defect::Header)?;
        let (head, rest) = self.captured.split_at_checked(count).ok_or(Flaw::Truncated)?;
        Ok((head, Span { captured: rest, length: self.length.map(|length| length - count) }))
    }

    /// The first `length` bytes of this stretch, without what follows: padding, or another packet's.
    pub fn limit(&self, length: usize) -> Result<Span<'a>, Flaw> {
        self.check(length, Defect::Length)?;
        Ok(Span::new(self.captured, length))
    }

    fn check(&self, needed: usize, otherwise: Defect) -> Result<(), Flaw> {
        match self.length {
            Some(length) if length < needed => Err(Flaw::Malformed(otherwise)),
            _ => Ok(()),
        }
    }
}

/// A big-endian number of 16 bits.
pub(crate) fn be16(high: u8, low: u8) -> u16 {
    u16::from_be_bytes([high, low])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_capture_lacks_is_truncated_and_what_the_packet_lacks_is_malformed() {
        let span = Span::new(&[1, 2, 3], 5);
        assert_eq!(span.first::<3>(), Ok(&[1, 2, 3]));
        assert_eq!(span.first::<4>(), Err(Flaw::Truncated));
        assert!(matches!(span.first::<6>(), Err(Flaw::Malformed(_))));
        assert_eq!(span.split(4), Err(Flaw::Truncated));
        assert!(matches!(span.split(6), Err(Flaw::Malformed(_))));
        assert_eq!(span.split(1), Ok((&[1][..], Span::new(&[2, 3], 4))));
    }

    #[test]
    fn a_limit_cuts_padding_off() {
        assert_eq!(Span::whole(&[1, 2, 3]).limit(2), Ok(Span::whole(&[1, 2])));
        assert_eq!(Span::new(&[1, 2], 9).limit(5).map(|span| span.length()), Ok(Some(5)));
        assert!(matches!(Span::whole(&[1]).limit(2), Err(Flaw::Malformed(_))));
    }

    #[test]
    fn the_beginning_of_a_fragmented_packet_may_only_be_truncated() {
        let span = Span::whole(&[1, 2]).open_ended();
        assert_eq!(span.first::<3>(), Err(Flaw::Truncated));
        assert_eq!(span.limit(5), Ok(Span::new(&[1, 2], 5)));
    }
}
