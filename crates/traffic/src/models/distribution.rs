//! The distributions of times and sizes, as D-ITG has them.

use sixbench_measure::quantile::standard_normal;
use sixbench_measure::random::Random;

/// A distribution of values. Units are the caller's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Constant {
        /// The value.
        value: f64,
    },
    /// Every value from `min` to `max` alike.
    Uniform {
        /// The least.
        min: f64,
        /// The most.
        max: f64,
    },
    /// The gaps of a Poisson process, where the values are times.
    Exponential {
        /// The mean.
        mean: f64,
    },
    /// Type I, from mean x (shape - 1) / shape on.
    Pareto {
        /// The mean.
        mean: f64,
        /// The tail index, above 1: with less there is no mean.
        shape: f64,
    },
    /// Gaussian.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        stdev: f64,
    },
    /// Gamma, with the scale mean / shape.
    Gamma {
        /// The mean.
        mean: f64,
        /// The shape, above 0: 1 is exponential.
        shape: f64,
    },
}

impl Distribution {
    /// The mean.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant { value } => value,
            Self::Uniform { min, max } => (min + max) / 2.0,
            Self::Exponential { mean }
            | Self::Pareto { mean, .. }
            | Self::Normal { mean, .. }
            | Self::Gamma { mean, .. } => mean,
        }
    }

    /// The next value. All but the gamma distribution's are the quantile of one random number (inverse transform).
    ///
    /// Only `libm` written in Rust is used, so that the last bit does not depend on the machine's C library.
    pub fn draw(&self, random: &mut Random) -> f64 {
        match *self {
            Self::Constant { value } => value,
            Self::Uniform { min, max } => min + (max - min) * random.unit(),
            Self::Exponential { mean } => -mean * libm::log(random.unit()),
            Self::Pareto { mean, shape } => mean * (shape - 1.0) / shape * libm::exp(-libm::log(random.unit()) / shape),
            Self::Normal { mean, stdev } => mean + stdev * standard_normal(random.unit()),
            Self::Gamma { mean, shape } => mean / shape * standard_gamma(shape, random),
        }
    }
}

/// Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS 26 (2000): section 4, and section 6
/// for shapes under 1.
fn standard_gamma(shape: f64, random: &mut Random) -> f64 {
    if shape < 1.0 {
        let above = standard_gamma(shape + 1.0, random);
        return above * libm::exp(libm::log(random.unit()) / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = standard_normal(random.unit());
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        if libm::log(random.unit()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sixbench_measure::random::Stream;

    const DRAWS: usize = 200_000;

    /// Mean and standard deviation of many values.
    fn moments(distribution: Distribution) -> (f64, f64) {
        let mut random = Random::new(7, Stream::Gaps, 0);
        let values: Vec<f64> = (0..DRAWS).map(|_| distribution.draw(&mut random)).collect();
        let mean = values.iter().sum::<f64>() / DRAWS as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / DRAWS as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn moments_are_those_of_the_textbook() {
        for (distribution, stdev) in [
            (Distribution::Constant { value: 3.0 }, 0.0),
            (Distribution::Uniform { min: 2.0, max: 14.0 }, 12.0 / 12_f64.sqrt()),
            (Distribution::Exponential { mean: 5.0 }, 5.0),
            // scale = 5 x 5 / 6; variance = scale^2 x shape / ((shape - 1)^2 (shape - 2)).
            (Distribution::Pareto { mean: 5.0, shape: 6.0 }, (5.0 * 5.0 / 6.0) * (6.0 / (25.0 * 4.0_f64)).sqrt()),
            (Distribution::Normal { mean: 100.0, stdev: 15.0 }, 15.0),
            (Distribution::Gamma { mean: 8.0, shape: 4.0 }, 4.0),
            (Distribution::Gamma { mean: 2.0, shape: 0.25 }, 4.0),
        ] {
            let (mean, measured) = moments(distribution);
            // Five standard errors of the mean.
            let error = 5.0 * stdev / (DRAWS as f64).sqrt();
            assert!((mean - distribution.mean()).abs() <= error + 1e-9, "{distribution:?}: mean {mean}");
            assert!((measured - stdev).abs() <= 0.03 * stdev + 1e-6, "{distribution:?}: standard deviation {measured}");
        }
    }

    #[test]
    fn a_pareto_value_is_never_under_its_scale() {
        let mut random = Random::new(1, Stream::Sizes, 0);
        let distribution = Distribution::Pareto { mean: 300.0, shape: 1.5 };
        let least = (0..DRAWS).map(|_| distribution.draw(&mut random)).fold(f64::INFINITY, f64::min);
        assert!((100.0..100.1).contains(&least), "{least}");
    }
}
