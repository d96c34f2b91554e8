//! The ports of frames: one pair, or pseudo-random ones (RFC 4814 section 4.5). Pure.

use sixbench_measure::random::{Random, Stream};

use crate::Result;
use crate::params::Params;

/// RFC 4814 section 4.5: source ports from 1024 on, destination ports up to 49151.
const SOURCES: (u16, u16) = (1024, 65535);
const DESTINATIONS: (u16, u16) = (1, 49151);
/// Number of pairs that are drawn unless `flows` says otherwise, and the most that it may ask for.
const MAX_FLOWS: u64 = 65536;

/// The choice of ports by the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortChoice {
    /// The ports of the session.
    Fixed,
    /// So many pairs, in turn.
    PseudoRandom(u64),
}

impl PortChoice {
    /// Reads `ports` and `flows`.
    pub fn read(params: &mut Params<'_>) -> Result<Self> {
        let is_random = params.choice("ports", &[("fixed", false), ("pseudo-random", true)])?;
        let flows = params.integer("flows", 1..=MAX_FLOWS)?;
        match (is_random, flows) {
            (true, flows) => Ok(Self::PseudoRandom(flows.unwrap_or(MAX_FLOWS))),
            (false, None | Some(1)) => Ok(Self::Fixed),
            (false, Some(_)) => Err(params.refuse("`flows` has pairs of ports only with `ports` `pseudo-random`")),
        }
    }
}

/// The ports of one direction's frames, by their sequence numbers.
#[derive(Debug, Clone)]
pub struct Ports(Vec<(u16, u16)>);

impl Ports {
    /// `fixed`: the sender's and the receiver's. Pseudo-random ones follow from the seed; the server's frames have
    /// those of the client's the other way round.
    pub fn new(choice: PortChoice, fixed: (u16, u16), seed: u64, is_client: bool) -> Self {
        let PortChoice::PseudoRandom(flows) = choice else { return Self(vec![fixed]) };
        let mut random = Random::new(seed, Stream::Ports, 0);
        let mut draw = |(first, last): (u16, u16)| {
            let count = u64::from(last - first) + 1;
            first + (random.next_u64() % count) as u16
        };
        let pairs = (0..flows).map(|_| (draw(SOURCES), draw(DESTINATIONS)));
        Self(
            pairs
                .map(|(source, destination)| if is_client { (source, destination) } else { (destination, source) })
                .collect(),
        )
    }

    /// The ports of that frame.
    #[inline]
    pub fn of(&self, sequence: u64) -> (u16, u16) {
        self.0[(sequence % self.0.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn drawn_ports_are_in_the_ranges_of_rfc_4814_and_come_in_turn() {
        let there = Ports::new(PortChoice::PseudoRandom(1000), (7, 9), 5, true);
        let back = Ports::new(PortChoice::PseudoRandom(1000), (9, 7), 5, false);
        let mut pairs = std::collections::BTreeSet::new();
        for sequence in 0..1000 {
            let (source, destination) = there.of(sequence);
            assert!(source >= 1024 && (1..=49151).contains(&destination));
            assert_eq!(back.of(sequence), (destination, source));
            pairs.insert((source, destination));
        }
        assert!(pairs.len() > 990);
        assert_eq!(there.of(1000), there.of(0));
    }

    #[test]
    fn fixed_ports_are_one_pair() {
        assert_eq!(Ports::new(PortChoice::Fixed, (7, 9), 5, true).of(123), (7, 9));
        let value = json!({"flows": 2});
        let error = PortChoice::read(&mut Params::new("frames", &value).unwrap()).unwrap_err();
        assert!(error.to_string().contains("only with `ports` `pseudo-random`"));
    }
}
