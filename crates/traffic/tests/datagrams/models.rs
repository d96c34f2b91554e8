//! Flows of traffic models on loopback, in both families.

use crate::common::{FAMILIES, number, trial};
use serde_json::{Value, json};
use sixbench_traffic::models::{Model, Plain, Round};
use sixbench_traffic::params::Params;

const MS: u64 = 1_000_000;

/// What the model of these parameters says of the first datagrams: their payload.
fn drawn_bytes(model: &Value, count: usize) -> u64 {
    let mut params = Params::new("udp-stream", model).unwrap();
    let model = Model::read(&mut params, Plain::default(), 32..=65_507).unwrap().unwrap();
    model.datagrams(Round::Measured).take(count).map(|datagram| datagram.payload_bytes as u64).sum()
}

fn with(model: &Value, more: Value) -> Value {
    let mut all = model.as_object().unwrap().clone();
    all.extend(more.as_object().unwrap().clone());
    Value::Object(all)
}

#[test]
fn each_model_sends_what_it_says_and_all_of_it_arrives() {
    // 0, then 100 B; 2 ms later 300 B: LEB128 in Base64.
    let trace = "AGSAiXqsAg==";
    for model in [
        json!({"gaps": "uniform", "gaps_min_ns": MS / 2, "gaps_max_ns": MS, "sizes": "uniform", "sizes_min_bytes": 32, "sizes_max_bytes": 1400}),
        json!({"gaps": "exponential", "gaps_mean_ns": MS / 2, "sizes": "exponential", "sizes_mean_bytes": 500}),
        json!({"gaps": "pareto", "gaps_mean_ns": MS / 2, "gaps_shape": 3, "sizes": "pareto", "sizes_mean_bytes": 500, "sizes_shape": 1.8}),
        json!({"gaps": "normal", "gaps_mean_ns": MS / 2, "gaps_stdev_ns": MS / 10, "sizes": "normal", "sizes_mean_bytes": 500, "sizes_stdev_bytes": 90}),
        json!({"gaps": "gamma", "gaps_mean_ns": MS / 2, "gaps_shape": 2, "sizes": "gamma", "sizes_mean_bytes": 500, "sizes_shape": 2, "seed": 5}),
        json!({"gaps_mean_ns": MS / 2, "sizes_mean_bytes": 172, "on_ns": 20 * MS, "off_ns": 10 * MS, "on_off": "exponential"}),
        json!({"trace": trace}),
    ] {
        for address in FAMILIES {
            let params = with(&model, json!({"count": 200, "warmup_ns": 5 * MS}));
            let (client, server) = trial("udp-stream", address, &params);
            assert_eq!(number(&client, "sent"), 200, "{params}");
            assert_eq!(number(&client, "sent_bytes"), drawn_bytes(&model, 200), "{params}");
            assert_eq!((number(&server, "unique"), number(&server, "lost_middle")), (200, 0), "{params}");
            assert_eq!(number(&server, "unique_bytes"), number(&client, "sent_bytes"), "{params}");
            assert_eq!(server["strays"]["datagrams"], 0);
            assert_eq!(number(&client["lateness"], "count"), 200);
        }
    }
}

#[test]
fn a_duration_ends_a_model_and_what_is_due_is_sent_or_counted() {
    let model = json!({"gaps": "exponential", "gaps_mean_ns": MS, "sizes_mean_bytes": 100});
    let mut params = Params::new("udp-stream", &model).unwrap();
    let drawn = Model::read(&mut params, Plain::default(), 32..=65_507).unwrap().unwrap();
    let due = drawn.datagrams(Round::Measured).take_while(|datagram| datagram.due_ns < 100 * MS).count() as u64;
    for address in FAMILIES {
        let (client, _) = trial("udp-stream", address, &with(&model, json!({"duration_ns": 100 * MS})));
        assert_eq!(number(&client, "sent") + number(&client, "unsent"), due);
    }
}
