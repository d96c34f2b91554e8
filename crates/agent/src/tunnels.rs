//! `tunnel-add`, `tunnel-remove`, `tunnel-counters`: tunnels that the node carries itself.

use serde::Deserialize;
use serde_json::json;
use sixbench_plane::{RunTimeRequest, Spec, Tunnels};

use crate::error::{Outcome, to_value};

/// The request `tunnel-counters`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunnelCountersRequest {
    #[serde(default)]
    device: Option<String>,
    #[serde(default)]
    run_time: Option<RunTimeRequest>,
}

/// Makes a tunnel. It carries packets when this returns.
pub fn add(tunnels: &mut Tunnels, spec: &Spec) -> Outcome {
    to_value(&tunnels.add(spec)?)
}

/// Takes a tunnel away and returns its last counters.
pub fn remove(tunnels: &mut Tunnels, device: &str) -> Outcome {
    to_value(&tunnels.remove(device)?)
}

/// Reads the counters of one tunnel, or of all.
pub fn counters(tunnels: &mut Tunnels, request: &TunnelCountersRequest) -> Outcome {
    let reports = tunnels.counters(request.device.as_deref(), request.run_time)?;
    Ok(json!({ "tunnels": to_value(&reports)? }))
}
