//! `vectors/siit`: one file a rule.

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
    siit: Value,
    packet: String,
    verdict: String,
    reason: String,
    packets: Vec<String>,
}

#[test]
fn every_vector_of_a_translator_has_its_outcome() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/siit");
    let mut wrong = Vec::new();
    let mut reasons = BTreeSet::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("text");
        let vector: Vector = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = json!([vector.verdict, vector.reason, vector.packets]);
        let found = decided(&vector).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        if found != expected {
            wrong.push(format!("{name}:\n  gives {found}\n    not {expected}"));
        }
        reasons.insert(vector.reason);
        count += 1;
    }
    wrong.sort();
    assert!(wrong.is_empty(), "{} of {count} vectors:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 259, "{count} vectors");
    assert_eq!(reasons, Clause::ALL.iter().map(|clause| clause.name().to_owned()).collect());
}

fn decided(vector: &Vector) -> Result<Value, String> {
    let setup = json!({"mechanism": "siit", "siit": vector.siit});
    let question = json!({"packet": vector.packet});
    let (answered, end) = conversation(answers(), &[&setup.to_string(), &question.to_string()]);
    end?;
    let [answer] = answered.as_slice() else { return Err(format!("{} answers", answered.len())) };
    Ok(json!([answer["verdict"], answer["reason"], answer["packets"]]))
}
