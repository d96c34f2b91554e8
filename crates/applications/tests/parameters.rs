//! The table of parameters is that of `parameters.json`, against which the orchestrator's tests hold its own.
//!
//! `SIXBENCH_UPDATE_GOLDEN=1 cargo test -p sixbench-applications --test parameters` writes it anew.

use std::path::Path;

use serde_json::Value;

#[test]
fn the_table_is_the_one_that_the_orchestrator_is_held_against() {
    let listed = sixbench_traffic::parameters(sixbench_applications::registry()).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("parameters.json");
    if std::env::var("SIXBENCH_UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
        std::fs::write(&path, format!("{listed:#}\n")).unwrap();
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(listed, kept, "{} is not what the workloads read", path.display());
}
