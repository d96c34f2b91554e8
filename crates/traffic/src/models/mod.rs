//! Traffic models: the due time and the size of each datagram of a flow, where these vary.
//!
//! Pure: a seed gives the same datagrams on every machine, in every version that passes `tests/traffic_models.rs`. No
//! clock, no socket. `udp-stream` asks [`Model::read`] and follows [`Model::datagrams`].

mod distribution;
mod periods;
mod read;
mod trace;

pub use distribution::Distribution;
pub use periods::OnOff;
pub use read::Plain;
pub use trace::{MAX_PACKETS, Trace};

use periods::Periods;
use sixbench_measure::random::{Random, Stream};

/// Times and sizes of a flow of datagrams.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// Times and sizes are drawn.
    Drawn(Drawn),
    /// Times and sizes are those of a capture.
    Traced(Trace),
}

/// Times and sizes that are drawn, each from its distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// Time from one datagram to the next, in nanoseconds. While a source is off, no time passes here.
    pub gaps: Bounded,
    /// UDP payload, in bytes.
    pub sizes: Bounded,
    /// Absent: it always sends.
    pub on_off: Option<OnOff>,
    /// Seed of all draws.
    pub seed: u64,
}

/// A distribution whose values outside some bounds are put to the nearest bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    /// The distribution that the values are drawn from.
    pub distribution: Distribution,
    /// The least value.
    pub least: f64,
    /// The largest value.
    pub most: f64,
}

impl Bounded {
    fn draw(&self, random: &mut Random) -> f64 {
        self.distribution.draw(random).clamp(self.least, self.most)
    }
}

/// Flows of one model that have other draws of the same seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// The flow of the measured time.
    Measured = 0,
    /// The flow of the warm-up before it.
    WarmUp = 1,
}

impl Model {
    /// The largest datagram that can occur.
    pub fn max_bytes(&self) -> usize {
        match self {
            Self::Drawn(drawn) => drawn.sizes.most.round() as usize,
            Self::Traced(trace) => trace.max_bytes(),
        }
    }

    /// The smallest datagram that can occur.
    pub fn min_bytes(&self) -> usize {
        match self {
            Self::Drawn(drawn) => drawn.sizes.least.round() as usize,
            Self::Traced(trace) => trace.min_bytes(),
        }
    }

    /// The mean time between datagrams while a source is on, before the bounds.
    pub fn mean_gap_ns(&self) -> f64 {
        match self {
            Self::Drawn(drawn) => drawn.gaps.distribution.mean(),
            Self::Traced(trace) => trace.mean_gap_ns() as f64,
        }
    }

    /// The datagrams, without end.
    pub fn datagrams(&self, round: Round) -> Datagrams {
        let source = match self.clone() {
            Self::Traced(trace) => Source::Traced(trace),
            Self::Drawn(drawn) => Source::Drawn {
                gaps: (drawn.gaps, Random::new(drawn.seed, Stream::Gaps, round as u64)),
                sizes: (drawn.sizes, Random::new(drawn.seed, Stream::Sizes, round as u64)),
                periods: drawn.on_off.map(|on_off| Periods::new(on_off, drawn.seed, round as u64)),
            },
        };
        Datagrams { source, index: 0, due_ns: 0, fraction_ns: 0.0 }
    }
}

/// One datagram of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// When it is due, since the start of the flow: the first one at once.
    pub due_ns: u64,
    /// Its UDP payload.
    pub payload_bytes: usize,
}

/// The datagrams of a flow, in the order of time.
#[derive(Debug, Clone)]
pub struct Datagrams {
    source: Source,
    index: u64,
    due_ns: u64,
    /// The part of the due time that is less than a nanosecond: kept, so that no rounding adds up.
    fraction_ns: f64,
}

#[derive(Debug, Clone)]
enum Source {
    Drawn { gaps: (Bounded, Random), sizes: (Bounded, Random), periods: Option<Periods> },
    Traced(Trace),
}

impl Iterator for Datagrams {
    type Item = Datagram;

    fn next(&mut self) -> Option<Datagram> {
        let is_first = self.index == 0;
        let payload_bytes = match &mut self.source {
            Source::Traced(trace) => {
                let (gap_ns, payload_bytes) = trace.at(self.index);
                self.due_ns = self.due_ns.saturating_add(gap_ns);
                payload_bytes
            }
            Source::Drawn { gaps, sizes, periods } => {
                if !is_first {
                    let gap_ns = gaps.0.draw(&mut gaps.1);
                    self.fraction_ns += periods.as_mut().map_or(gap_ns, |periods| periods.pass(gap_ns));
                    let whole_ns = self.fraction_ns.floor();
                    self.due_ns = self.due_ns.saturating_add(whole_ns as u64);
                    self.fraction_ns -= whole_ns;
                }
                sizes.0.draw(&mut sizes.1).round() as usize
            }
        };
        self.index += 1;
        Some(Datagram { due_ns: self.due_ns, payload_bytes })
    }
}
