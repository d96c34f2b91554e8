//! The tunnels of the packet vectors.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Value, json};
use sixbench_plane::Spec;

/// Every tunnel that a vector has.
pub fn tunnels() -> &'static [Spec] {
    static TUNNELS: OnceLock<Vec<Spec>> = OnceLock::new();
    TUNNELS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/tunnel");
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(folder).expect("the vectors") {
            let text = fs::read(entry.expect("an entry").path()).expect("a file");
            let vector: Value = serde_json::from_slice(&text).expect("a vector");
            let mut spec = vector["tunnel"].clone();
            spec["device"] = json!("sb0");
            spec["underlay"] = json!(["c0"]);
            let spec: Spec = serde_json::from_value(spec).expect("a tunnel");
            spec.compile().expect("a tunnel");
            found.insert(vector["tunnel"].to_string(), spec);
        }
        found.into_values().collect()
    })
}
