//! `vectors/siit`, `vectors/sessions` and `vectors/softwires`: one file a rule.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use sixbench_wire::siit::Clause;

use super::answers;
use crate::asked::conversation;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    #[serde(rename = "description")]
    _description: String,
    siit: Option<Value>,
    /// The settings of a stateful translator.
    nat64: Option<Value>,
    /// An lwAFTR.
    softwire: Option<Value>,
    /// Packets before this one, each with its time.
    #[serde(default)]
    before: Vec<Value>,
    packet: String,
    verdict: String,
    reason: String,
    packets: Vec<String>,
}

#[test]
fn every_vector_of_a_translator_has_its_outcome() {
    let (stateless, count) = reasons_of("siit");
    assert!(count >= 259, "{count} vectors");
    let (stateful, _) = reasons_of("sessions");
    let (tunnelled, count) = reasons_of("softwires");
    assert!(count >= 53, "{count} vectors");
    let names: BTreeSet<_> = Clause::ALL.iter().map(|clause| clause.name().to_owned()).collect();
    let tested: BTreeSet<_> =
        [stateless, stateful, tunnelled].into_iter().flatten().filter(|reason| names.contains(reason)).collect();
    // These clauses are only counted, with the packet that shows that it is too late.
    let counted = [Clause::FirstFragmentMissing, Clause::TooManyFragments];
    let all = Clause::ALL.iter().filter(|clause| !counted.contains(clause));
    assert_eq!(tested, all.map(|clause| clause.name().to_owned()).collect());
}

/// The reasons of the vectors in a folder, and how many vectors there are.
fn reasons_of(folder: &str) -> (BTreeSet<String>, usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(folder);
    let mut wrong = Vec::new();
    let mut reasons = BTreeSet::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("text");
        let vector: Vector = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = json!([vector.verdict, vector.reason, vector.packets]);
        let decision = decided(&vector).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        if decision != expected {
            wrong.push(format!("{name}:\n  gives {decision}\n    not {expected}"));
        }
        reasons.insert(vector.reason);
        count += 1;
    }
    wrong.sort();
    assert!(wrong.is_empty(), "{} of {count} vectors:\n{}", wrong.len(), wrong.join("\n"));
    (reasons, count)
}

fn decided(vector: &Vector) -> Result<Value, String> {
    let setup = match (&vector.softwire, &vector.nat64) {
        (Some(softwire), _) => with_devices(softwire),
        (None, None) => json!({"mechanism": "siit", "siit": vector.siit}),
        (None, Some(nat64)) => json!({"mechanism": "nat64", "siit": vector.siit, "nat64": nat64}),
    };
    let last = vector.before.iter().filter_map(|before| before["time_ns"].as_u64()).max().unwrap_or(0);
    let question = json!({"packet": vector.packet, "time_ns": last});
    let lines = std::iter::once(&setup).chain(&vector.before).chain(std::iter::once(&question));
    let lines: Vec<_> = lines.map(Value::to_string).collect();
    let (answered, end) = conversation(answers(), &lines.iter().map(String::as_str).collect::<Vec<_>>());
    end?;
    // A last line counts the fragments that waited in vain.
    let answer = answered.get(vector.before.len()).ok_or("no answer")?;
    Ok(json!([answer["verdict"], answer["reason"], answer["packets"]]))
}

/// The first line for an lwAFTR: `device` and `underlay` have no effect.
fn with_devices(softwire: &Value) -> Value {
    let mut line = softwire.clone();
    line["mechanism"] = json!("tunnel");
    let others = line["others"].as_array().cloned().unwrap_or_default();
    line["others"] = others.into_iter().map(with_device).collect();
    line["tunnel"] = with_device(line["tunnel"].clone());
    line
}

fn with_device(mut tunnel: Value) -> Value {
    tunnel["device"] = json!("t");
    tunnel["underlay"] = json!(["u"]);
    tunnel
}
