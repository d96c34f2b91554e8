//! Flows of traffic models on loopback, in both families.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::common::{FAMILIES, MS, number, trial};
use serde_json::{Value, json};
use sixbench_traffic::models::{Model, Plain, Round};
use sixbench_traffic::params::Params;

/// Payload of the first `count` datagrams of the model of these parameters.
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
fn a_packet_log_has_each_datagram() {
    let model = json!({"gaps": "exponential", "gaps_mean_ns": MS / 2, "sizes": "exponential", "sizes_mean_bytes": 500});
    let column = |log: &Value, name: &str, bytes: usize| -> Vec<u64> {
        let all = STANDARD.decode(log[name].as_str().unwrap()).unwrap();
        all.chunks(bytes).map(|one| one.iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte))).collect()
    };
    for address in FAMILIES {
        let params = with(&model, json!({"count": 100, "warmup_ns": 5 * MS, "packet_log": true}));
        let (client, server) = trial("udp-stream", address, &params);
        let (sent, arrived) = (&client["packet_log"], &server["packet_log"]);
        assert_eq!((number(sent, "omitted"), number(arrived, "omitted")), (0, 0));
        assert_eq!(column(sent, "payload_bytes", 2).iter().sum::<u64>(), number(&client, "sent_bytes"));
        assert_eq!(column(arrived, "sequence", 4), (0..100).collect::<Vec<_>>());
        let (left, came) = (column(sent, "sent_realtime_ns", 8), column(arrived, "received_realtime_ns", 8));
        assert!(left.is_sorted() && left.len() == 100);
        assert_eq!(came[99] - came[0], number(&server, "measured_ns"));
        assert_eq!(came[0] - left[0], came[0].abs_diff(left[0]));
        let without = trial("udp-stream", address, &with(&model, json!({"count": 1})));
        assert!(without.0.get("packet_log").is_none() && without.1.get("packet_log").is_none());
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
