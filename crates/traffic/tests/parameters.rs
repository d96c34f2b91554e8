//! The table of parameters is that of `parameters.json`, against which the orchestrator's tests hold its own.
//!
//! `SIXBENCH_UPDATE_GOLDEN=1 cargo test -p sixbench-traffic --test parameters` writes it anew.

use std::path::Path;

use serde_json::Value;

#[test]
fn the_table_is_the_one_that_the_orchestrator_is_held_against() {
    let listed = sixbench_traffic::parameters(sixbench_traffic::registry()).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("parameters.json");
    if std::env::var("SIXBENCH_UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
        std::fs::write(&path, format!("{listed:#}\n")).unwrap();
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(listed, kept, "{} is not what the workloads read", path.display());
}

#[test]
fn every_parameter_has_a_type_and_a_default_that_it_takes() {
    let listed = sixbench_traffic::parameters(sixbench_traffic::registry()).unwrap();
    for (workload, parameters) in listed.as_object().unwrap() {
        for (name, form) in parameters.as_object().unwrap() {
            assert!(form["type"].is_string(), "{workload}: {name}");
            if let (Some(default), Some(least)) =
                (form.get("default").and_then(Value::as_u64), form["minimum"].as_u64())
            {
                assert!((least..=form["maximum"].as_u64().unwrap()).contains(&default), "{workload}: {name}");
            }
        }
    }
}
