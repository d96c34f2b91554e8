//! The form of each numbered frame of a flow: its network, its family and its ports. Pure.

use super::extensions::Extensions;
use super::layout::{FILL, FrameAddresses, MARK_BYTES, Mark, Template, signature};
use super::networks::{Draws, Networks};
use super::ports::Ports;
use crate::datagram::Phase;

/// The share of frames that go natively, over the other family, past the translators or tunnels of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NativeShare {
    per_mille: u64,
}

impl NativeShare {
    /// A share from 0 to 1, which is rounded to a thousandth.
    pub fn new(ratio: f64) -> Self {
        Self { per_mille: (ratio.clamp(0.0, 1.0) * 1000.0).round() as u64 }
    }

    /// True if any frames go natively.
    pub fn is_any(self) -> bool {
        self.per_mille > 0
    }

    /// Number of the first `frames` frames that go natively. They are spread evenly.
    pub fn among(self, frames: u64) -> u64 {
        (u128::from(frames) * u128::from(self.per_mille) / 1000) as u64
    }

    /// True if that frame goes natively.
    #[inline]
    pub fn has(self, sequence: u64) -> bool {
        self.per_mille > 0 && self.among(sequence + 1) > self.among(sequence)
    }
}

/// The frames of a flow.
#[derive(Debug)]
pub struct Forms {
    /// Frames to each network; the first is the receiver's own address.
    of_path: Vec<Template>,
    native: Option<Template>,
    share: NativeShare,
    draws: Draws,
    ports: Ports,
    /// Length of the frames without their heads.
    rest_bytes: usize,
    longest_head_bytes: usize,
    /// The bytes in front of each mark.
    signature: [u8; 8],
}

impl Forms {
    /// The frames of a flow by the way of its own frames and that of native ones; with that token, payload and
    /// extension headers.
    pub fn new(
        (of_path, native): (&FrameAddresses, Option<&FrameAddresses>),
        networks: Option<Networks>,
        share: NativeShare,
        ports: Ports,
        extensions: Extensions,
        (token, payload_bytes): (u64, usize),
    ) -> Self {
        let template = |addresses: &FrameAddresses| Template::new(addresses, extensions, token, payload_bytes);
        let others = networks.iter().flat_map(Networks::addresses);
        let to_others = others.map(|destination| template(&FrameAddresses { destination, ..*of_path }));
        let of_path: Vec<Template> = std::iter::once(template(of_path)).chain(to_others).collect();
        let native = native.map(template);
        let heads = of_path.iter().chain(&native).map(Template::head_bytes);
        Self {
            longest_head_bytes: heads.max().unwrap_or(0),
            draws: Draws::new(of_path.len(), token),
            of_path,
            native,
            share,
            ports,
            rest_bytes: payload_bytes - MARK_BYTES,
            signature: signature(token).to_be_bytes(),
        }
    }

    /// The length of the longest frame, without its check sequence.
    pub fn longest_bytes(&self) -> usize {
        self.longest_head_bytes + self.rest_bytes
    }

    /// The number of a frame that was written before, if it is one of the measured flow.
    pub fn number_of(&self, frame: &[u8]) -> Option<u64> {
        let mark_of = |template: &Template| {
            let mark = frame.get(template.head_bytes() - MARK_BYTES..)?.strip_prefix(&self.signature)?;
            // Its time does not matter.
            Some(Mark::decode(mark.first_chunk()?, 0))
        };
        let mark = self.of_path.iter().take(1).chain(&self.native).find_map(mark_of)?;
        (mark.phase == Phase::Measured).then_some(mark.sequence.into())
    }

    /// Writes a frame to where another one of the flow may have been, or [`FILL`] alone, and gives its length.
    #[inline]
    pub fn write(&self, sequence: u64, mark: &Mark, into: &mut [u8]) -> usize {
        let native = self.native.as_ref().filter(|_| self.share.has(sequence));
        let template = native.unwrap_or_else(|| &self.of_path[self.draws.of(sequence)]);
        let head_bytes = template.head_bytes();
        template.write(self.ports.of(sequence), mark, &mut into[..head_bytes]);
        // The end of a longer head.
        let longest = (head_bytes + self.rest_bytes).min(self.longest_head_bytes);
        if let Some(left) = into.get_mut(head_bytes..longest) {
            left.fill(FILL);
        }
        head_bytes + self.rest_bytes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::ports::PortChoice;
    use super::super::reading::{Read, Sought};
    use super::*;
    const TOKEN: u64 = 5;

    fn addresses(source: &str, destination: &str) -> FrameAddresses {
        FrameAddresses {
            source_ethernet: [2; 6],
            destination_ethernet: [4; 6],
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            hop_limit: 64,
        }
    }

    #[test]
    fn every_frame_is_read_whatever_was_in_its_place_before() {
        let (of_path, native) = (addresses("2001:2::2", "2001:2::3"), addresses("198.18.0.1", "198.18.0.2"));
        let networks = Networks::parse("2001:2:0:fe00::/64", 255);
        let share = NativeShare::new(0.1);
        let ports = Ports::new(PortChoice::PseudoRandom(7), (1, 2), TOKEN, true);
        for payload_bytes in [18, 19, 500] {
            let form = (TOKEN, payload_bytes);
            let forms =
                Forms::new((&of_path, Some(&native)), networks, share, ports.clone(), Extensions::HopByHop, form);
            let sought = |addresses: &FrameAddresses, networks| {
                Sought::new(
                    (addresses.source, addresses.destination),
                    networks,
                    TOKEN,
                    payload_bytes,
                    Extensions::HopByHop,
                )
            };
            let (of_path, native) = (sought(&of_path, networks), sought(&native, None));
            let mut slot = vec![FILL; forms.longest_bytes()];
            let mut destinations = BTreeSet::new();
            for sequence in 0..2000 {
                let mark = Mark { sequence, sent_realtime_ns: 1 << 60, phase: Phase::Measured };
                let length = forms.write(sequence.into(), &mark, &mut slot);
                assert_eq!(forms.number_of(&slot[..length]), Some(sequence.into()));
                assert_eq!(forms.number_of(&slot[..40]), None);
                let by = if share.has(sequence.into()) { &native } else { &of_path };
                let read = by.read(&slot[..length], 1 << 60);
                assert!(matches!(read, Read::Whole(read_mark, _) if read_mark == mark), "{sequence} {read:?}");
                if !by.is_ipv4() {
                    destinations.insert(slot[38..54].to_vec());
                }
            }
            assert_eq!(destinations.len(), 256);
            let mark = Mark { sequence: 1, sent_realtime_ns: 1 << 60, phase: Phase::WarmUp };
            let length = forms.write(1, &mark, &mut slot);
            assert_eq!(forms.number_of(&slot[..length]), None);
        }
    }

    proptest! {
        #[test]
        fn natives_are_as_many_as_they_should_and_spread(per_mille in 0_u32..=1000, frames in 0_u64..5000) {
            let share = NativeShare::new(f64::from(per_mille) / 1000.0);
            let natives = (0..frames).filter(|&sequence| share.has(sequence)).count() as u64;
            prop_assert_eq!(natives, share.among(frames));
            prop_assert_eq!(natives, frames * u64::from(per_mille) / 1000);
        }
    }
}
