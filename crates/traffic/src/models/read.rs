//! A model out of a workload's parameters.

use std::ops::RangeInclusive;

use super::periods::MIN_PERIOD_NS;
use super::{Bounded, Distribution, Drawn, Model, OnOff, Trace};
use crate::Result;
use crate::params::{MAX_TIME_NS, Params, SECOND_NS};

/// A shape outside of this means nothing that could be sent.
const SHAPES: RangeInclusive<f64> = 0.01..=1e6;

/// Faster than any flow that is drawn goes; bounds the work of counting what could not be sent.
const MIN_MEAN_GAP_NS: f64 = 1000.0;

const KINDS: [(&str, Kind); 6] = [
    ("constant", Kind::Constant),
    ("uniform", Kind::Uniform),
    ("exponential", Kind::Exponential),
    ("pareto", Kind::Pareto),
    ("normal", Kind::Normal),
    ("gamma", Kind::Gamma),
];

/// A distribution's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Constant,
    Uniform,
    Exponential,
    Pareto,
    Normal,
    Gamma,
}

/// Names of the parameters of a distribution.
struct Names {
    kind: &'static str,
    mean: &'static str,
    stdev: &'static str,
    shape: &'static str,
    min: &'static str,
    max: &'static str,
    /// Another parameter that gives the mean.
    instead: &'static str,
}

const GAPS: Names = Names {
    kind: "gaps",
    mean: "gaps_mean_ns",
    stdev: "gaps_stdev_ns",
    shape: "gaps_shape",
    min: "gaps_min_ns",
    max: "gaps_max_ns",
    instead: "`rate_pps`, `rate_bps`",
};
const SIZES: Names = Names {
    kind: "sizes",
    mean: "sizes_mean_bytes",
    stdev: "sizes_stdev_bytes",
    shape: "sizes_shape",
    min: "sizes_min_bytes",
    max: "sizes_max_bytes",
    instead: "`datagram_bytes`",
};

/// Values of the parameters of a flow without a model, where they are given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain {
    /// The size of each datagram, or their mean.
    pub datagram_bytes: Option<usize>,
    /// Datagrams a second.
    pub rate_pps: Option<u64>,
    /// Bits of payload a second.
    pub rate_bps: Option<u64>,
}

impl Plain {
    fn is_any(&self) -> bool {
        self.datagram_bytes.is_some() || self.rate_pps.is_some() || self.rate_bps.is_some()
    }

    /// The mean gap in nanoseconds.
    fn gap_ns(&self, mean_bytes: f64) -> Option<f64> {
        let of_bps = |bps| mean_bytes * 8.0 * SECOND_NS as f64 / bps as f64;
        self.rate_pps.map(|pps| SECOND_NS as f64 / pps as f64).or(self.rate_bps.map(of_bps))
    }
}

/// The keys of a distribution as they were given.
#[derive(Debug, Clone, Copy)]
struct Given {
    kind: Kind,
    mean: Option<f64>,
    stdev: Option<f64>,
    shape: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
}

impl Model {
    /// Reads the keys of a model: absent where there are none. Datagrams may have the sizes of `sizes_bytes`.
    pub fn read(params: &mut Params, plain: Plain, sizes_bytes: RangeInclusive<u64>) -> Result<Option<Self>> {
        let trace = params.text("trace")?;
        let seed = params.integer("seed", 0..=u64::MAX)?;
        let gaps = Given::read(params, &GAPS, 0..=MAX_TIME_NS)?;
        let sizes = Given::read(params, &SIZES, sizes_bytes.clone())?;
        let on_off = read_on_off(params)?;
        let is_drawn = gaps.is_some() || sizes.is_some() || on_off.is_some();
        if let Some(text) = trace {
            if is_drawn || plain.is_any() {
                return Err(
                    params.refuse("`trace` gives times and sizes; leave out the other parameters that give them")
                );
            }
            let trace = Trace::decode(text, sizes_bytes).map_err(|why| params.refuse(format!("`trace` {why}")))?;
            return Ok(Some(Self::Traced(trace)));
        }
        if !is_drawn {
            // A flow of equal datagrams at equal distances is the same with every seed.
            return Ok(None);
        }
        let most = (*sizes_bytes.start() as f64, *sizes_bytes.end() as f64);
        let sizes = complete(params, &SIZES, sizes, plain.datagram_bytes.map(|bytes| bytes as f64), most)?;
        let gap_ns = plain.gap_ns(sizes.distribution.mean());
        let gaps = complete(params, &GAPS, gaps, gap_ns, (0.0, MAX_TIME_NS as f64))?;
        if gaps.distribution.mean() < MIN_MEAN_GAP_NS {
            return Err(params.refuse("the mean of `gaps` must be at least 1000 ns"));
        }
        Ok(Some(Self::Drawn(Drawn { gaps, sizes, on_off, seed: seed.unwrap_or(0) })))
    }
}

impl Given {
    fn read(params: &mut Params, names: &Names, range: RangeInclusive<u64>) -> Result<Option<Self>> {
        let mut value = |name, default: Option<u64>| -> Result<Option<f64>> {
            let given = params.integer(name, range.clone())?;
            if let Some(default) = default {
                params.unless_given(default);
            }
            Ok(given.map(|number| number as f64))
        };
        let (least, most) = (*range.start(), *range.end());
        let (mean, min, max) =
            (value(names.mean, None)?, value(names.min, Some(least))?, value(names.max, Some(most))?);
        let stdev = params.integer(names.stdev, 0..=*range.end())?.map(|number| number as f64);
        let shape = params.number(names.shape, SHAPES)?;
        let is_named = params.text(names.kind)?.is_some();
        let kind = params.choice(names.kind, &KINDS)?;
        let is_any = is_named || [mean, stdev, shape, min, max].iter().any(Option::is_some);
        Ok(is_any.then_some(Self { kind, mean, stdev, shape, min, max }))
    }
}

/// A distribution with all that it needs and nothing else. `mean` is what other keys say of it.
fn complete(
    params: &Params,
    names: &Names,
    given: Option<Given>,
    mean: Option<f64>,
    (least, most): (f64, f64),
) -> Result<Bounded> {
    let nothing = Given { kind: Kind::Constant, mean: None, stdev: None, shape: None, min: None, max: None };
    let given = given.unwrap_or(nothing);
    let (word, kind) = KINDS.into_iter().find(|(_, kind)| *kind == given.kind).unwrap_or(KINDS[0]);
    let needs_mean = kind != Kind::Uniform;
    let takes_bounds = kind != Kind::Constant;
    for (name, value, is_wanted, is_optional) in [
        (names.stdev, given.stdev, kind == Kind::Normal, false),
        (names.shape, given.shape, matches!(kind, Kind::Pareto | Kind::Gamma), false),
        (names.min, given.min, takes_bounds, needs_mean),
        (names.max, given.max, takes_bounds, needs_mean),
    ] {
        if value.is_some() && !is_wanted {
            return Err(params.refuse(format!("`{name}` has no meaning if `{}` is {word}", names.kind)));
        }
        if value.is_none() && is_wanted && !is_optional {
            return Err(params.refuse(format!("`{}` {word} needs `{name}`", names.kind)));
        }
    }
    let means = [given.mean, mean].into_iter().flatten().collect::<Vec<_>>();
    let mean = match (means[..].len(), needs_mean) {
        (1, true) => means[0],
        (0, false) => 0.0,
        (_, true) => {
            let (mine, other) = (names.mean, names.instead);
            return Err(params.refuse(format!("exactly one of `{mine}`, {other} must be given")));
        }
        (_, false) => {
            return Err(params.refuse(format!(
                "`{}` uniform has the mean that follows from `{}` and `{}`; leave out `{}` and {}",
                names.kind, names.min, names.max, names.mean, names.instead
            )));
        }
    };
    let (min, max) = (given.min.unwrap_or(least), given.max.unwrap_or(most));
    if min > max {
        return Err(params.refuse(format!("`{}` must be at most `{}`", names.min, names.max)));
    }
    let shape = given.shape.unwrap_or(0.0);
    if kind == Kind::Pareto && shape <= 1.0 {
        return Err(
            params.refuse(format!("`{}` must be above 1; otherwise a Pareto distribution has no mean", names.shape))
        );
    }
    let (min, max) = if kind == Kind::Constant { (mean, mean) } else { (min, max) };
    if needs_mean && !(min..=max).contains(&mean) {
        return Err(
            params.refuse(format!("the mean of `{}` must be from `{}` to `{}`", names.kind, names.min, names.max))
        );
    }
    let distribution = match kind {
        Kind::Constant => Distribution::Constant { value: mean },
        Kind::Uniform => Distribution::Uniform { min, max },
        Kind::Exponential => Distribution::Exponential { mean },
        Kind::Pareto => Distribution::Pareto { mean, shape },
        Kind::Normal => Distribution::Normal { mean, stdev: given.stdev.unwrap_or(0.0) },
        Kind::Gamma => Distribution::Gamma { mean, shape },
    };
    Ok(Bounded { distribution, least: min, most: max })
}

fn read_on_off(params: &mut Params) -> Result<Option<OnOff>> {
    let on_ns = params.integer("on_ns", MIN_PERIOD_NS..=MAX_TIME_NS)?;
    let off_ns = params.integer("off_ns", MIN_PERIOD_NS..=MAX_TIME_NS)?;
    let shape = params.number("on_off_shape", SHAPES)?;
    let is_named = params.text("on_off")?.is_some();
    let kinds = KINDS.map(|(word, kind)| (word, Some(kind)));
    let kind = params.choice("on_off", &kinds)?.unwrap_or(Kind::Constant);
    let (Some(on_ns), Some(off_ns)) = (on_ns, off_ns) else {
        if on_ns.is_some() || off_ns.is_some() || shape.is_some() || is_named {
            return Err(params.refuse("a source that is on and off needs `on_ns` and `off_ns`"));
        }
        return Ok(None);
    };
    let period = |mean_ns: u64| -> Option<Distribution> {
        let mean = mean_ns as f64;
        match (kind, shape) {
            (Kind::Constant, None) => Some(Distribution::Constant { value: mean }),
            (Kind::Exponential, None) => Some(Distribution::Exponential { mean }),
            (Kind::Pareto, Some(shape)) if shape > 1.0 => Some(Distribution::Pareto { mean, shape }),
            _ => None,
        }
    };
    match (period(on_ns), period(off_ns)) {
        (Some(on), Some(off)) => Ok(Some(OnOff { on, off })),
        _ => Err(params.refuse(
            "`on_off` must be constant, exponential, or pareto with an `on_off_shape` above 1; only pareto has a shape",
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Code;

    fn read(value: &Value, plain: Plain) -> Result<Option<Model>> {
        let mut params = Params::new("w", value)?;
        let model = Model::read(&mut params, plain, 32..=65_507)?;
        params.finish()?;
        Ok(model)
    }

    fn reason(value: Value, plain: Plain) -> String {
        let error = read(&value, plain).unwrap_err();
        assert_eq!(error.code, Code::BadParams);
        error.to_string().replace("parameters of w: ", "")
    }

    const PLAIN: Plain = Plain { datagram_bytes: Some(1000), rate_pps: None, rate_bps: Some(8_000_000) };

    fn drawn(value: Value, plain: Plain) -> Drawn {
        match read(&value, plain).unwrap() {
            Some(Model::Drawn(drawn)) => drawn,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_rate_is_a_mean_gap() {
        let exponential = drawn(json!({"gaps": "exponential", "seed": 9}), PLAIN);
        assert_eq!(exponential.gaps.distribution, Distribution::Exponential { mean: 1e6 });
        assert_eq!(exponential.sizes.distribution, Distribution::Constant { value: 1000.0 });
        assert_eq!(exponential.seed, 9);
        let plain = Plain { rate_pps: Some(3), rate_bps: None, ..PLAIN };
        let sized = drawn(json!({"sizes": "normal", "sizes_stdev_bytes": 50}), plain);
        assert_eq!(sized.gaps.distribution, Distribution::Constant { value: 1e9 / 3.0 });
        // Uniform sizes have a mean of their own, which the rate is divided by.
        let plain = Plain { datagram_bytes: None, ..PLAIN };
        let uniform = drawn(json!({"sizes": "uniform", "sizes_min_bytes": 100, "sizes_max_bytes": 300}), plain);
        assert_eq!(uniform.gaps.distribution.mean(), 200_000.0);
        assert_eq!(read(&json!({}), PLAIN).unwrap(), None);
        assert_eq!(read(&json!({"seed": 1}), PLAIN).unwrap(), None);
    }

    #[test]
    fn what_is_wrong_and_what_would_be_right() {
        for (value, expected) in [
            (json!({"gaps": "pareto"}), "`gaps` pareto needs `gaps_shape`"),
            (
                json!({"gaps": "pareto", "gaps_shape": 1}),
                "`gaps_shape` must be above 1; otherwise a Pareto distribution has no mean",
            ),
            (json!({"gaps": "exponential", "gaps_shape": 2}), "`gaps_shape` has no meaning if `gaps` is exponential"),
            (
                json!({"gaps": "exponential", "gaps_mean_ns": 5}),
                "exactly one of `gaps_mean_ns`, `rate_pps`, `rate_bps` must be given",
            ),
            (
                json!({"gaps": "gamma", "gaps_shape": 0.001}),
                "`gaps_shape` must be a number from 0.01 to 1000000, not 0.001",
            ),
            (
                json!({"sizes": "exponential", "sizes_min_bytes": 90, "sizes_max_bytes": 80}),
                "`sizes_min_bytes` must be at most `sizes_max_bytes`",
            ),
            (
                json!({"gaps": "exponential", "gaps_max_ns": 0}),
                "the mean of `gaps` must be from `gaps_min_ns` to `gaps_max_ns`",
            ),
            (json!({"gaps": "uniform", "gaps_max_ns": 5}), "`gaps` uniform needs `gaps_min_ns`"),
            (
                json!({"sizes": "uniform", "sizes_min_bytes": 64, "sizes_max_bytes": 80}),
                "`sizes` uniform has the mean that follows from `sizes_min_bytes` and `sizes_max_bytes`; leave out `sizes_mean_bytes` and `datagram_bytes`",
            ),
            (json!({"on_ns": 1_000_000}), "a source that is on and off needs `on_ns` and `off_ns`"),
            (
                json!({"on_ns": 1_000_000, "off_ns": 1_000_000, "on_off": "gamma"}),
                "`on_off` must be constant, exponential, or pareto with an `on_off_shape` above 1; only pareto has a shape",
            ),
            (json!({"trace": "AAA="}), "`trace` gives times and sizes; leave out the other parameters that give them"),
        ] {
            assert_eq!(reason(value, PLAIN), expected);
        }
        let fast = Plain { rate_bps: Some(u64::MAX), ..PLAIN };
        assert_eq!(reason(json!({"gaps": "exponential"}), fast), "the mean of `gaps` must be at least 1000 ns");
        let text = reason(json!({"trace": "AAA="}), Plain::default());
        assert_eq!(text, "`trace` has a datagram of 0 bytes: from 32 to 65507 can be sent");
    }
}
