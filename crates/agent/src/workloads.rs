//! The workloads of this agent, from all crates that have some.

use std::sync::LazyLock;

use serde_json::{Value, json};
use sixbench_traffic::{Result, Workload};

static ALL: LazyLock<Vec<&'static dyn Workload>> =
    LazyLock::new(|| [sixbench_traffic::registry(), sixbench_applications::registry()].concat());

/// The workload of that name, or `unknown-workload`.
pub fn find(name: &str) -> Result<&'static dyn Workload> {
    sixbench_traffic::find(&ALL, name)
}

/// The parameters of every workload, by its name.
pub fn parameters() -> Result<Value> {
    sixbench_traffic::parameters(&ALL)
}

/// The JSON Schemas of the results of every workload, by its name, and of every probe, by its request.
pub fn results() -> Value {
    let mut generator = sixbench_traffic::schemas::generator();
    let workloads = sixbench_traffic::workload_results(&ALL, &mut generator);
    let probes = sixbench_probes::result_schemas(&mut generator);
    json!({"workloads": workloads, "probes": probes, "$defs": generator.take_definitions(true)})
}
