//! The datagrams of traffic models are those of `vectors/traffic-models.json`, on every machine and in every version.
//!
//! The Python tests hold the same file against scipy's distributions. `SIXBENCH_UPDATE_GOLDEN=1` writes it.

use std::path::PathBuf;

use serde_json::{Value, json};
use sixbench_traffic::models::{Model, Plain, Round};
use sixbench_traffic::params::Params;

const DATAGRAMS: usize = 1000;

fn cases() -> Vec<Value> {
    let sizes = |kind: &str| format!("sizes_{kind}_bytes");
    let case = |gaps: Value, sizes: Value| {
        let mut all = gaps.as_object().unwrap().clone();
        all.extend(sizes.as_object().unwrap().clone());
        all.insert("seed".into(), 20_261_121.into());
        Value::Object(all)
    };
    let (mean, stdev, min, max) = (sizes("mean"), sizes("stdev"), sizes("min"), sizes("max"));
    vec![
        case(json!({"gaps": "constant", "gaps_mean_ns": 1_000_000}), json!({"sizes": "constant", &mean: 200})),
        case(
            json!({"gaps": "uniform", "gaps_min_ns": 500_000, "gaps_max_ns": 1_500_000}),
            json!({"sizes": "uniform", &min: 64, &max: 1400}),
        ),
        case(json!({"gaps": "exponential", "gaps_mean_ns": 1_000_000}), json!({"sizes": "exponential", &mean: 4000})),
        case(
            json!({"gaps": "pareto", "gaps_mean_ns": 1_000_000, "gaps_shape": 1.5}),
            json!({"sizes": "pareto", &mean: 900, "sizes_shape": 2.5}),
        ),
        case(
            json!({"gaps": "normal", "gaps_mean_ns": 1_000_000, "gaps_stdev_ns": 150_000}),
            json!({"sizes": "normal", &mean: 700, &stdev: 100}),
        ),
        case(
            json!({"gaps": "gamma", "gaps_mean_ns": 1_000_000, "gaps_shape": 0.5}),
            json!({"sizes": "gamma", &mean: 800, "sizes_shape": 4}),
        ),
        case(
            json!({"gaps_mean_ns": 10_000_000, "on_ns": 300_000_000, "off_ns": 700_000_000, "on_off": "exponential"}),
            json!({&mean: 172}),
        ),
    ]
}

fn model(given: &Value) -> Model {
    let mut params = Params::new("udp-stream", given).unwrap();
    let model = Model::read(&mut params, Plain::default(), 32..=65_507).unwrap().unwrap();
    params.finish().unwrap();
    model
}

#[test]
fn a_seed_is_the_same_datagrams_everywhere() {
    let vectors: Vec<Value> = cases()
        .into_iter()
        .map(|params| {
            let flow: Vec<_> = model(&params).datagrams(Round::Measured).take(DATAGRAMS).collect();
            json!({
                "params": params,
                "due_ns": flow.iter().map(|datagram| datagram.due_ns).collect::<Vec<_>>(),
                "payload_bytes": flow.iter().map(|datagram| datagram.payload_bytes).collect::<Vec<_>>(),
            })
        })
        .collect();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/traffic-models.json");
    if std::env::var_os("SIXBENCH_UPDATE_GOLDEN").is_some() {
        let lines: Vec<_> = vectors.iter().map(Value::to_string).collect();
        std::fs::write(&path, format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    }
    let kept: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(kept.len(), vectors.len());
    for (kept, found) in kept.iter().zip(&vectors) {
        assert!(kept == found, "the datagrams of {} have changed", found["params"]);
    }
}

#[test]
fn no_datagram_is_due_before_the_one_before_it_nor_has_a_size_that_cannot_be_sent() {
    for given in cases() {
        let model = model(&given);
        let mut last_ns = 0;
        for (index, datagram) in model.datagrams(Round::WarmUp).take(20_000).enumerate() {
            assert!(index > 0 || datagram.due_ns == 0);
            assert!(datagram.due_ns >= last_ns);
            assert!((model.min_bytes()..=model.max_bytes()).contains(&datagram.payload_bytes), "{given}");
            last_ns = datagram.due_ns;
        }
        assert!(model.min_bytes() >= 32 && model.max_bytes() <= 65_507);
    }
}

#[test]
fn no_rounding_adds_up() {
    let given = json!({"gaps": "constant", "sizes": "constant"});
    let plain = Plain { datagram_bytes: Some(100), rate_pps: Some(3), rate_bps: None };
    let mut params = Params::new("udp-stream", &given).unwrap();
    let model = Model::read(&mut params, plain, 32..=65_507).unwrap().unwrap();
    let due_ns = model.datagrams(Round::Measured).nth(3_000_000).unwrap().due_ns;
    assert!(due_ns.abs_diff(1_000_000_000_000_000) <= 1, "{due_ns}");
}
