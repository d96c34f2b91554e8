//! The schemas of results are those of `results.json`, against which the orchestrator's tests hold its own forms.
//!
//! `SIXBENCH_UPDATE_GOLDEN=1 cargo test -p sixbench-probes --test results` writes it anew.

use std::path::Path;

use serde_json::Value;

#[test]
fn the_schemas_are_those_that_the_orchestrator_is_held_against() {
    let schemas = sixbench_probes::results();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("results.json");
    if std::env::var("SIXBENCH_UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
        std::fs::write(&path, format!("{schemas:#}\n")).unwrap();
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(schemas, kept, "{} is not what the probes write", path.display());
}
