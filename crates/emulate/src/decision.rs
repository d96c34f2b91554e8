//! Decides the fate of each packet: drawn or listed, the same for a seed on every machine. No clock, no socket.

use sixbench_measure::quantile::standard_normal;
use sixbench_measure::random::{Random, Stream};

use crate::spec::{Chosen, GilbertElliott, Impairments, Loss};

/// The fate of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Decision {
    /// The packet vanishes; nothing else happens to it.
    pub is_lost: bool,
    /// The packet comes twice.
    pub is_duplicated: bool,
    /// The bit that is flipped: this number modulo the number of bits.
    pub flipped: Option<u64>,
    /// The packet is not delayed.
    pub overtakes: bool,
    /// The packet is held back until this many later packets have passed.
    pub late_by: Option<u64>,
    /// The delay of the packet.
    pub delay_ns: u64,
}

/// The decisions of a direction's packets, one after the other.
///
/// Each property has random numbers of its own, the same count for every packet, so that changing one property leaves
/// what the others choose as it was.
#[derive(Debug)]
pub struct Decisions {
    impairments: Impairments,
    number: u64,
    loss: LossState,
    duplicate: Choice,
    corrupt: Choice,
    reorder: Choice,
    bits: Random,
    delays: Random,
    /// The last packet's jitter as a standard normal variable.
    last_normal: Option<f64>,
}

impl Decisions {
    /// The decisions from the first packet on.
    pub fn new(impairments: Impairments) -> Self {
        let random = |stream| Random::new(impairments.seed, stream, 0);
        Self {
            number: 0,
            loss: LossState { chosen: random(Stream::Losses), states: random(Stream::LossStates), is_bad: false },
            duplicate: Choice(random(Stream::Duplicates)),
            corrupt: Choice(random(Stream::Corruption)),
            reorder: Choice(random(Stream::Reordering)),
            bits: random(Stream::Bits),
            delays: random(Stream::Delays),
            last_normal: None,
            impairments,
        }
    }

    /// Changes the impairments from the next packet on. Its number, and what is drawn for it, are what they would have
    /// been: impairments that are not changed choose the same packets. The seed stays the same.
    pub fn change(&mut self, impairments: Impairments) {
        self.impairments = impairments;
    }

    /// Number of packets that were decided on.
    pub fn count(&self) -> u64 {
        self.number
    }

    /// The decision on the next packet.
    pub fn decide(&mut self) -> Decision {
        let (number, impairments) = (self.number, &self.impairments);
        self.number += 1;
        let bit = self.bits.next_u64();
        let is_duplicated = self.duplicate.takes(impairments.duplicate.as_ref(), number);
        let is_corrupted = self.corrupt.takes(impairments.corrupt.as_ref(), number);
        let overtakes = self.reorder.takes(impairments.reorder.as_ref(), number);
        let is_lost = self.loss.takes(impairments.loss.as_ref(), number);
        let delay_ns = self.delay();
        if is_lost {
            return Decision { is_lost, ..Decision::default() };
        }
        let late = self.impairments.late.as_ref().filter(|late| late.packets.binary_search(&number).is_ok());
        Decision {
            is_lost,
            is_duplicated,
            flipped: is_corrupted.then_some(bit),
            overtakes,
            late_by: late.map(|late| late.by),
            delay_ns: if overtakes { 0 } else { delay_ns },
        }
    }

    /// True if packets leave in the order in which they came.
    pub fn in_order(&self) -> bool {
        self.impairments.in_order
    }

    /// The delay of a packet that the impairments do not choose from: the configured one, without jitter.
    pub fn plain_delay_ns(&self) -> u64 {
        self.impairments.delay_ns
    }

    fn delay(&mut self) -> u64 {
        let Impairments { delay_ns, jitter_ns, jitter_correlation, .. } = &self.impairments;
        if jitter_ns.is_empty() {
            return *delay_ns;
        }
        let mut share = self.delays.unit();
        if *jitter_correlation > 0.0 {
            // A Gaussian copula: neighbours are correlated, and each value still has the distribution asked for.
            let fresh = standard_normal(share);
            let rho = *jitter_correlation;
            let normal = self.last_normal.map_or(fresh, |last| rho * last + (1.0 - rho * rho).sqrt() * fresh);
            self.last_normal = Some(normal);
            share = 0.5 * libm::erfc(-normal / std::f64::consts::SQRT_2);
        }
        let place = share * (jitter_ns.len() - 1) as f64;
        let below = (place as usize).min(jitter_ns.len() - 2);
        let (low, high) = (jitter_ns[below] as f64, jitter_ns[below + 1] as f64);
        let jitter = low + (high - low) * (place - below as f64);
        (*delay_ns as f64 + jitter).round().max(0.0) as u64
    }
}

/// Chooses packets at random or by number.
#[derive(Debug)]
struct Choice(Random);

impl Choice {
    fn takes(&mut self, chosen: Option<&Chosen>, number: u64) -> bool {
        let drawn = self.0.unit();
        match chosen {
            None => false,
            Some(Chosen::Ratio(ratio)) => drawn < *ratio,
            Some(Chosen::Packets(packets)) => packets.binary_search(&number).is_ok(),
        }
    }
}

#[derive(Debug)]
struct LossState {
    chosen: Random,
    states: Random,
    is_bad: bool,
}

impl LossState {
    fn takes(&mut self, loss: Option<&Loss>, number: u64) -> bool {
        let (drawn, change) = (self.chosen.unit(), self.states.unit());
        match loss {
            None => false,
            Some(Loss::Ratio(ratio)) => drawn < *ratio,
            Some(Loss::Packets(packets)) => packets.binary_search(&number).is_ok(),
            Some(Loss::GilbertElliott(GilbertElliott { to_bad, to_good, loss_in_good, loss_in_bad })) => {
                let is_lost = drawn < if self.is_bad { *loss_in_bad } else { *loss_in_good };
                self.is_bad = if self.is_bad { change >= *to_good } else { change < *to_bad };
                is_lost
            }
        }
    }
}
