//! `emulate-add`, `emulate-change`, `emulate-record`, `emulate-remove`: links with a known truth.

use serde::Deserialize;
use serde_json::json;
use sixbench_emulate::{Emulator, Impairments, Restart, Spec, no_link};
use sixbench_wire::token::Token;

use crate::error::{Error, Outcome};

/// The request `emulate-change`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    link: String,
    forward: Impairments,
    reverse: Impairments,
    #[serde(default)]
    continues: bool,
}

/// The request `emulate-record`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    link: String,
    #[serde(default)]
    restart: bool,
    #[serde(default)]
    token: Option<Token>,
}

/// The emulated links of the node; its thread starts with the first.
#[derive(Default)]
pub struct Emulation(Option<Emulator>);

impl Emulation {
    /// Joins two interfaces.
    pub fn add(&mut self, spec: Spec) -> Outcome {
        let emulator = match &self.0 {
            Some(emulator) => emulator,
            None => self.0.insert(Emulator::start()?),
        };
        emulator.add(spec)?;
        Ok(json!({}))
    }

    /// Changes what happens to packets.
    pub fn change(&self, change: Change) -> Outcome {
        self.emulator(&change.link)?.change(&change.link, [change.forward, change.reverse], change.continues)?;
        Ok(json!({}))
    }

    /// The record of the packets of a link.
    pub fn record(&self, request: &Record) -> Outcome {
        let mark = request.token.map(|token| token.short().to_be_bytes());
        let restart = request.restart.then_some(Restart { mark });
        self.emulator(&request.link)?.record(&request.link, restart)
    }

    /// Number of packets of all links that are under way in the emulator; `None` where the node emulates none.
    pub fn waiting(&self) -> Result<Option<usize>, Error> {
        self.0.as_ref().map(Emulator::held).transpose()
    }

    /// Takes a link away.
    pub fn remove(&self, link: &str) -> Outcome {
        self.emulator(link)?.remove(link)
    }

    fn emulator(&self, link: &str) -> Result<&Emulator, Error> {
        self.0.as_ref().ok_or_else(|| no_link(link))
    }
}
