//! The impairments of a link, as requests give them.

use serde::Deserialize;

use crate::Result;
use crate::error::bad_link;

/// The longest delay.
pub const MAX_DELAY_NS: u64 = 3_600_000_000_000;
/// Quantiles that a distribution may be given by.
pub const MAX_QUANTILES: usize = 65_536;
/// Numbers that a list of packets may have.
pub const MAX_LISTED: usize = 65_536;
/// The most memory that the packets of a link may take.
pub const MAX_HELD_BYTES: u64 = 4 << 30;
/// The largest frame: an Ethernet header and the largest super-packet.
pub const MAX_FRAME_BYTES: usize = 14 + 65_550;

/// An emulated link: packets that enter one of two interfaces leave by the other.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Its name, for later requests.
    pub link: String,
    /// Its two interfaces.
    pub interfaces: [String; 2],
    /// Impairments of packets that enter by the first.
    #[serde(default)]
    pub forward: Impairments,
    /// Impairments of packets that enter by the second.
    #[serde(default)]
    pub reverse: Impairments,
    /// The largest frame, from the Ethernet header on.
    pub frame_bytes: usize,
    /// The most memory that its packets may take; more are dropped as `no_room`.
    pub held_bytes: u64,
}

/// Impairments of the packets of one direction.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Impairments {
    /// Bits per second on the wire, with preamble, gap and FCS: packets are no closer together than that. 0: they take
    /// no time.
    pub wire_bps: u64,
    /// The delay before jitter.
    pub delay_ns: u64,
    /// Jitter: equally spaced quantiles, in order, of what is added to the delay. A sum below 0 is 0. None: no jitter.
    pub jitter_ns: Vec<i64>,
    /// Correlation of one packet's jitter with the next one's, from 0 to under 1.
    pub jitter_correlation: f64,
    /// Packets leave in the order in which they came: none before the one that came before it.
    pub in_order: bool,
    /// Packets that vanish.
    pub loss: Option<Loss>,
    /// Packets that come twice.
    pub duplicate: Option<Chosen>,
    /// Packets of which one bit is flipped.
    pub corrupt: Option<Chosen>,
    /// Packets that overtake those before them: they are not delayed.
    pub reorder: Option<Chosen>,
    /// Packets that are held back until this many later ones have passed.
    pub late: Option<Late>,
    /// Seed of all random choices.
    pub seed: u64,
}

/// Packets at random, or by number from 0.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Chosen {
    /// Each with this probability.
    Ratio(f64),
    /// Exactly these, in order.
    Packets(Vec<u64>),
}

/// The packets that vanish.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// Each with this probability.
    Ratio(f64),
    /// Exactly these, in order.
    Packets(Vec<u64>),
    /// In bursts (Gilbert 1960, Elliott 1963): a good and a bad state.
    GilbertElliott(GilbertElliott),
}

/// Two states with their losses.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability that a packet in the good state is followed by one in the bad state.
    pub to_bad: f64,
    /// Probability that a packet in the bad state is followed by one in the good state.
    pub to_good: f64,
    /// Probability of a loss in the good state.
    pub loss_in_good: f64,
    /// Probability of a loss in the bad state.
    pub loss_in_bad: f64,
}

/// Packets that are held back.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Late {
    /// Their numbers from 0, in order.
    pub packets: Vec<u64>,
    /// Number of later packets that pass first.
    pub by: u64,
}

impl Spec {
    /// Checks what the types cannot say.
    pub fn check(&self) -> Result<()> {
        let reason = (self.interfaces[0] == self.interfaces[1])
            .then(|| format!("both of its interfaces are {}", self.interfaces[0]))
            .or_else(|| {
                (!(64..=MAX_FRAME_BYTES).contains(&self.frame_bytes))
                    .then(|| format!("frame_bytes is from 64 to {MAX_FRAME_BYTES}, not {}", self.frame_bytes))
            })
            .or_else(|| {
                (self.held_bytes > MAX_HELD_BYTES)
                    .then(|| format!("held_bytes is at most {MAX_HELD_BYTES}, not {}", self.held_bytes))
            })
            .or_else(|| self.forward.flaw())
            .or_else(|| self.reverse.flaw());
        reason.map_or(Ok(()), |reason| Err(bad_link(&self.link, reason)))
    }
}

impl Impairments {
    /// The first mistake in the impairments, as a sentence.
    pub fn flaw(&self) -> Option<String> {
        if self.delay_ns > MAX_DELAY_NS || self.jitter_ns.iter().any(|jitter| jitter.unsigned_abs() > MAX_DELAY_NS) {
            return Some(format!("delay_ns and jitter_ns are at most {MAX_DELAY_NS}"));
        }
        if self.jitter_ns.len() == 1 || self.jitter_ns.len() > MAX_QUANTILES {
            return Some(format!("jitter_ns has from 2 to {MAX_QUANTILES} quantiles, not {}", self.jitter_ns.len()));
        }
        if !self.jitter_ns.is_sorted() {
            return Some("the quantiles of jitter_ns are not in order".to_owned());
        }
        if !(0.0..1.0).contains(&self.jitter_correlation) {
            return Some(format!("jitter_correlation is from 0 to under 1, not {}", self.jitter_correlation));
        }
        let chosen = [("duplicate", &self.duplicate), ("corrupt", &self.corrupt), ("reorder", &self.reorder)];
        chosen
            .iter()
            .find_map(|(name, chosen)| match chosen.as_ref()? {
                Chosen::Ratio(ratio) => not_a_ratio(name, *ratio),
                Chosen::Packets(packets) => not_a_list(name, packets),
            })
            .or_else(|| match self.loss.as_ref()? {
                Loss::Ratio(ratio) => not_a_ratio("loss", *ratio),
                Loss::Packets(packets) => not_a_list("loss", packets),
                Loss::GilbertElliott(states) => [
                    ("to_bad", states.to_bad),
                    ("to_good", states.to_good),
                    ("loss_in_good", states.loss_in_good),
                    ("loss_in_bad", states.loss_in_bad),
                ]
                .iter()
                .find_map(|(name, ratio)| not_a_ratio(name, *ratio)),
            })
            .or_else(|| {
                let late = self.late.as_ref()?;
                let is_in_place = late.by == 0;
                not_a_list("late", &late.packets)
                    .or_else(|| is_in_place.then(|| "late is by at least 1 packet".to_owned()))
            })
    }
}

fn not_a_ratio(name: &str, ratio: f64) -> Option<String> {
    (!(0.0..=1.0).contains(&ratio)).then(|| format!("{name} is a ratio from 0 to 1, not {ratio}"))
}

fn not_a_list(name: &str, packets: &[u64]) -> Option<String> {
    if packets.len() > MAX_LISTED {
        return Some(format!("{name} lists at most {MAX_LISTED} packets, not {}", packets.len()));
    }
    (!packets.is_sorted_by(|one, next| one < next))
        .then(|| format!("the packets of {name} are not in order, each once"))
}
