//! The schemas of results are those of `results.json`, against which the orchestrator's tests hold its own forms.
//!
//! `SIXBENCH_UPDATE_GOLDEN=1 cargo test -p sixbench-traffic --test results` writes it anew, one type a line.

use std::path::Path;

use serde_json::Value;

#[test]
fn the_schemas_are_those_that_the_orchestrator_is_held_against() {
    let schemas = sixbench_traffic::results(sixbench_traffic::registry());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("results.json");
    if std::env::var("SIXBENCH_UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
        std::fs::write(&path, one_type_a_line(&schemas)).unwrap();
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(schemas, kept, "{} is not what the workloads write", path.display());
}

fn one_type_a_line(schemas: &Value) -> String {
    let section = |name: &str| {
        let lines = schemas[name].as_object().unwrap().iter().map(|(name, schema)| format!("    \"{name}\": {schema}"));
        format!("  \"{name}\": {{\n{}\n  }}", lines.collect::<Vec<_>>().join(",\n"))
    };
    format!("{{\n{},\n{}\n}}\n", section("workloads"), section("$defs"))
}

#[test]
fn every_side_of_every_workload_is_an_object_of_a_type() {
    let schemas = sixbench_traffic::results(sixbench_traffic::registry());
    for workload in sixbench_traffic::registry() {
        for side in ["client", "server"] {
            let reference = schemas["workloads"][workload.name()][side]["$ref"].as_str().unwrap();
            let schema = schemas.pointer(reference.trim_start_matches('#')).unwrap();
            assert!(schema.get("properties").or(schema.get("anyOf")).is_some(), "{}: {schema}", workload.name());
        }
    }
}
