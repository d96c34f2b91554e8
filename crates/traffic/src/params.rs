//! Reads a workload's parameters: every key is known, typed and in range, or `bad-params` names the right values. The
//! same readings describe the parameters ([`table`]), so that orchestrators can be checked against them.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use crate::error::bad_params;
use crate::{Error, Result};

/// One second.
pub const SECOND_NS: u64 = 1_000_000_000;
/// The longest time any parameter may ask for: a day.
pub const MAX_TIME_NS: u64 = 24 * 3_600 * SECOND_NS;
/// Interval of a series where none is asked for.
pub const DEFAULT_INTERVAL_NS: u64 = 100_000_000;
/// Shortest interval of a series: below it, the reading of clocks would cost more than it is worth.
const MIN_INTERVAL_NS: u64 = 1_000_000;

/// The limit that ends a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// `duration_ns`: time in the measured window.
    Duration(u64),
    /// `count`: transactions, datagrams or probes.
    Count(u64),
    /// `bytes`: payload.
    Bytes(u64),
}

impl Limit {
    /// The length of the window, where time limits it.
    pub fn duration_ns(self) -> Option<u64> {
        match self {
            Limit::Duration(ns) => Some(ns),
            Limit::Count(_) | Limit::Bytes(_) => None,
        }
    }

    /// The number that limits it, if a number does.
    pub fn count(self) -> Option<u64> {
        match self {
            Limit::Count(count) => Some(count),
            Limit::Duration(_) | Limit::Bytes(_) => None,
        }
    }

    /// True if a closed loop is over after this many rounds and so much time.
    #[inline]
    pub fn is_reached(self, count: u64, elapsed_ns: u64) -> bool {
        match self {
            Limit::Duration(ns) => elapsed_ns >= ns,
            Limit::Count(limit) => count >= limit,
            Limit::Bytes(_) => false,
        }
    }
}

/// A workload's `params` object, read key by key. [`Params::finish`] refuses keys that were not asked for.
pub struct Params<'a> {
    workload: &'static str,
    object: &'a Map<String, Value>,
    known: Vec<(&'static str, Form)>,
}

/// The values that a parameter may have, and its default.
struct Form {
    /// `type`, and its bounds or choices.
    bounds: Value,
    default: Option<Value>,
}

/// Reads the parameters of a workload: with `by`, which asks for every one that there is.
pub fn read<T>(workload: &'static str, value: &Value, by: impl FnOnce(&mut Params<'_>) -> Result<T>) -> Result<T> {
    let mut params = Params::new(workload, value)?;
    let read = by(&mut params)?;
    params.finish()?;
    Ok(read)
}

/// The parameters that `by` asks for, by name: `type`, `minimum` and `maximum` or `choices`, and `default`, which is
/// absent where there is none.
///
/// `example` has what must be given.
pub fn table<T>(
    workload: &'static str,
    example: &Value,
    by: impl FnOnce(&mut Params<'_>) -> Result<T>,
) -> Result<Value> {
    let mut params = Params::new(workload, example)?;
    by(&mut params)?;
    let forms = params.known.into_iter().map(|(name, Form { mut bounds, default })| {
        if let Some(default) = default {
            bounds["default"] = default;
        }
        (name.to_owned(), bounds)
    });
    Ok(Value::Object(forms.collect()))
}

impl<'a> Params<'a> {
    /// Fails where `params` is not an object.
    pub fn new(workload: &'static str, params: &'a Value) -> Result<Self> {
        match params {
            Value::Object(object) => Ok(Self { workload, object, known: Vec::new() }),
            other => Err(bad_params(workload, format!("must be an object, not {}", shorten(other)))),
        }
    }

    /// `bad-params` of this workload.
    pub fn refuse(&self, reason: impl Display) -> Error {
        bad_params(self.workload, reason.to_string())
    }

    /// An integer in a range, or absent.
    pub fn integer(&mut self, name: &'static str, range: RangeInclusive<u64>) -> Result<Option<u64>> {
        let bounds = json!({"type": "integer", "minimum": range.start(), "maximum": range.end()});
        let Some(value) = self.take(name, bounds) else { return Ok(None) };
        match value.as_u64() {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            _ => Err(self.refuse(format!(
                "`{name}` must be an integer from {} to {}, not {}",
                range.start(),
                range.end(),
                shorten(value)
            ))),
        }
    }

    /// An integer in a range, with a default.
    pub fn integer_or(&mut self, name: &'static str, range: RangeInclusive<u64>, default: u64) -> Result<u64> {
        let given = self.integer(name, range)?;
        Ok(self.or_default(given, default))
    }

    /// A number without a unit in a range, or absent.
    pub fn number(&mut self, name: &'static str, range: RangeInclusive<f64>) -> Result<Option<f64>> {
        let bounds = json!({"type": "number", "minimum": range.start(), "maximum": range.end()});
        let Some(value) = self.take(name, bounds) else { return Ok(None) };
        match value.as_f64() {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            _ => Err(self.refuse(format!(
                "`{name}` must be a number from {} to {}, not {}",
                range.start(),
                range.end(),
                shorten(value)
            ))),
        }
    }

    /// A number without a unit in a range, with a default.
    pub fn number_or(&mut self, name: &'static str, range: RangeInclusive<f64>, default: f64) -> Result<f64> {
        let given = self.number(name, range)?;
        Ok(self.or_default(given, default))
    }

    /// A size that becomes a buffer in memory, or absent.
    pub fn size(&mut self, name: &'static str, range: RangeInclusive<u64>) -> Result<Option<usize>> {
        self.integer(name, range)?
            .map(|bytes| usize::try_from(bytes).map_err(|_| self.refuse(format!("`{name}` is too large here"))))
            .transpose()
    }

    /// A size that becomes a buffer in memory, with a default.
    pub fn size_or(&mut self, name: &'static str, range: RangeInclusive<u64>, default: usize) -> Result<usize> {
        let given = self.size(name, range)?;
        Ok(self.or_default(given, default))
    }

    /// Sets the default of the parameter that was asked for last.
    pub fn unless_given(&mut self, default: impl Into<Value>) {
        if let Some((_, form)) = self.known.last_mut() {
            form.default = Some(default.into());
        }
    }

    /// A length of time of at most a day, with a default; `at_least` is often 0 or 1.
    pub fn time_ns(&mut self, name: &'static str, at_least: u64, default: u64) -> Result<u64> {
        self.integer_or(name, at_least..=MAX_TIME_NS, default)
    }

    /// `interval_ns`: of the series, at least 1 ms.
    pub fn interval_ns(&mut self) -> Result<u64> {
        self.time_ns("interval_ns", MIN_INTERVAL_NS, DEFAULT_INTERVAL_NS)
    }

    /// `true` or `false`, with a default.
    pub fn flag(&mut self, name: &'static str, default: bool) -> Result<bool> {
        let given = match self.take(name, json!({"type": "flag"})) {
            None => None,
            Some(Value::Bool(value)) => Some(*value),
            Some(other) => return Err(self.refuse(format!("`{name}` must be true or false, not {}", shorten(other)))),
        };
        Ok(self.or_default(given, default))
    }

    /// A text, or absent.
    pub fn text(&mut self, name: &'static str) -> Result<Option<&'a str>> {
        match self.take(name, json!({"type": "text"})) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.refuse(format!("`{name}` must be a text, not {}", shorten(other)))),
        }
    }

    /// A text, with a default.
    pub fn text_or(&mut self, name: &'static str, default: &'a str) -> Result<&'a str> {
        let given = self.text(name)?;
        Ok(self.or_default(given, default))
    }

    /// One of a list of words, with the first as the default.
    pub fn choice<T: Copy>(&mut self, name: &'static str, choices: &[(&'static str, T)]) -> Result<T> {
        let text = self.text(name)?;
        let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
        if let Some((_, form)) = self.known.last_mut() {
            form.bounds = json!({"type": "choice", "choices": words});
        }
        self.unless_given(words.first().copied());
        let choice = match text {
            None => choices.first(),
            Some(text) => choices.iter().find(|(word, _)| *word == text),
        };
        choice.map(|(_, value)| *value).ok_or_else(|| {
            self.refuse(format!("`{name}` must be one of {}, not {:?}", words.join(", "), text.unwrap_or_default()))
        })
    }

    /// Exactly one of these limits (`duration_ns`, `count`, `bytes`).
    pub fn limit(&mut self, names: &[&'static str]) -> Result<Limit> {
        let mut limits = Vec::new();
        for &name in names {
            let limit = match name {
                "duration_ns" => self.integer(name, 1..=MAX_TIME_NS)?.map(Limit::Duration),
                "count" => self.integer(name, 1..=u64::MAX)?.map(Limit::Count),
                _ => self.integer(name, 1..=u64::MAX)?.map(Limit::Bytes),
            };
            limits.extend(limit);
        }
        match limits[..] {
            [limit] => Ok(limit),
            _ => Err(self.refuse(format!("exactly one of `{}` must be given", names.join("`, `")))),
        }
    }

    /// Refuses keys that no reading asked for.
    pub fn finish(self) -> Result<()> {
        match self.object.keys().find(|key| !self.known.iter().any(|(name, _)| name == key)) {
            None => Ok(()),
            Some(key) => Err(self.refuse(format!("unknown key {key:?}; known are {}", self.names().join(", ")))),
        }
    }

    fn names(&self) -> Vec<&'static str> {
        self.known.iter().map(|(name, _)| *name).collect()
    }

    fn take(&mut self, name: &'static str, bounds: Value) -> Option<&'a Value> {
        self.known.retain(|(known, _)| *known != name);
        self.known.push((name, Form { bounds, default: None }));
        self.object.get(name)
    }

    /// The value of the parameter that was asked for last, with its default.
    fn or_default<T: Copy + Into<Value>>(&mut self, given: Option<T>, default: T) -> T {
        self.unless_given(default);
        given.unwrap_or(default)
    }
}

/// A value as an error message shows it.
fn shorten(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(57).chain("...".chars()).collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Code;

    fn reason(error: Error) -> String {
        assert_eq!(error.code, Code::BadParams);
        error.to_string()
    }

    #[test]
    fn values_and_defaults() {
        let value = json!({"a": 5, "b": true, "c": "two", "duration_ns": 7});
        let mut params = Params::new("w", &value).unwrap();
        assert_eq!(params.integer("a", 0..=9).unwrap(), Some(5));
        assert_eq!(params.integer_or("absent", 0..=9, 3).unwrap(), 3);
        assert!(params.flag("b", false).unwrap());
        assert_eq!(params.choice("c", &[("one", 1), ("two", 2)]).unwrap(), 2);
        assert_eq!(params.choice("absent", &[("one", 1), ("two", 2)]).unwrap(), 1);
        assert_eq!(params.limit(&["duration_ns", "count"]).unwrap(), Limit::Duration(7));
        params.finish().unwrap();
    }

    #[test]
    fn a_table_has_bounds_choices_and_defaults() {
        let forms = table("w", &json!({"count": 1}), |params| {
            params.limit(&["count"])?;
            params.integer_or("n", 1..=9, 3)?;
            params.text("n-words")?;
            params.flag("f", true)?;
            params.number("x", 0.5..=1.5)?;
            params.choice("c", &[("one", 1), ("two", 2)])
        });
        let expected = json!({
            "count": {"type": "integer", "minimum": 1, "maximum": u64::MAX},
            "n": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
            "n-words": {"type": "text"},
            "f": {"type": "flag", "default": true},
            "x": {"type": "number", "minimum": 0.5, "maximum": 1.5},
            "c": {"type": "choice", "choices": ["one", "two"], "default": "one"},
        });
        assert_eq!(forms.unwrap(), expected);
    }

    #[test]
    fn an_unknown_key_is_named_with_the_known_ones() {
        let value = json!({"sneds": 1});
        let mut params = Params::new("w", &value).unwrap();
        params.integer("sends", 0..=9).unwrap();
        assert_eq!(reason(params.finish().unwrap_err()), "parameters of w: unknown key \"sneds\"; known are sends");
    }

    #[test]
    fn what_is_wrong_and_what_would_be_right() {
        for (value, expected) in [
            (json!({"a": 10}), "`a` must be an integer from 0 to 9, not 10"),
            (json!({"a": -1}), "`a` must be an integer from 0 to 9, not -1"),
            (json!({"a": 1.0}), "`a` must be an integer from 0 to 9, not 1.0"),
            (json!({"a": null}), "`a` must be an integer from 0 to 9, not null"),
        ] {
            let error = Params::new("w", &value).unwrap().integer("a", 0..=9).unwrap_err();
            assert_eq!(reason(error), format!("parameters of w: {expected}"));
        }
        let value = json!({"c": "three"});
        let error = Params::new("w", &value).unwrap().choice("c", &[("one", 1), ("two", 2)]).unwrap_err();
        assert_eq!(reason(error), "parameters of w: `c` must be one of one, two, not \"three\"");
        assert_eq!(reason(Params::new("w", &json!([])).err().unwrap()), "parameters of w: must be an object, not []");
    }

    #[test]
    fn exactly_one_limit() {
        for value in [json!({}), json!({"count": 1, "duration_ns": 1})] {
            let error = Params::new("w", &value).unwrap().limit(&["duration_ns", "count"]).unwrap_err();
            assert_eq!(reason(error), "parameters of w: exactly one of `duration_ns`, `count` must be given");
        }
    }
}
