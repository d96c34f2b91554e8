//! `translator-add`, `translator-remove`, `translator-counters`: translators of the node.

use serde::Deserialize;
use serde_json::json;
use sixbench_plane::spec::Engine;
use sixbench_plane::{TranslatorSpec, Translators};
use sixbench_wire::addresses::Ipv6Net;

use crate::error::{Outcome, to_value};
use crate::translate::siit::Settings;

/// The request `translator-counters`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TranslatorCountersRequest {
    #[serde(default)]
    device: Option<String>,
}

/// The request `translator-add`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Add {
    device: String,
    mtu_bytes: u32,
    mapping: Mapping,
    #[serde(default)]
    through_node: bool,
    #[serde(default)]
    engine: Engine,
}

/// The settings of the core: how the addresses of one family follow from those of the other, and the rest.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Mapping {
    /// RFC 7915, without state.
    Siit(Settings),
}

impl Add {
    /// The same with this prefix in the place of any.
    pub fn with_prefix(mut self, prefix: Ipv6Net) -> Self {
        let Mapping::Siit(settings) = &mut self.mapping;
        settings.set_prefix(prefix);
        self
    }
}

/// Makes a translator. It carries packets when this returns.
pub fn add(translators: &mut Translators, request: Add) -> Outcome {
    let Add { device, mtu_bytes, mapping: Mapping::Siit(settings), through_node, engine } = request;
    to_value(&translators.add(&TranslatorSpec {
        device,
        mtu_bytes,
        settings: settings.into(),
        through_node,
        engine,
    })?)
}

/// Takes a translator away and returns its last counters.
pub fn remove(translators: &mut Translators, device: &str) -> Outcome {
    to_value(&translators.remove(device)?)
}

/// Reads the counters of one translator, or of all.
pub fn counters(translators: &Translators, request: &TranslatorCountersRequest) -> Outcome {
    let reports = translators.counters(request.device.as_deref())?;
    Ok(json!({ "translators": to_value(&reports)? }))
}
