//! The demands of a session on its server, for the limits of a server for other machines.

use serde_json::Value;

/// The demands of a session, as far as its parameters say them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Connections, or streams of datagrams, at a time.
    pub flows: u64,
    /// Bytes of payload of the transactions at a time, where they are more than a message each.
    pub transaction_bytes: Option<u64>,
}

impl Load {
    /// The load by the parameters that most workloads have: the streams in each direction, or the connections in
    /// flight. The workload itself says whether they make sense.
    pub fn of(params: &Value) -> Self {
        let number = |key: &str| params.get(key).and_then(Value::as_u64).map_or(1, |number| number.max(1));
        let directions = if params.get("direction").is_some_and(|direction| direction == "both") { 2 } else { 1 };
        let flows = number("streams").saturating_mul(number("in_flight")).saturating_mul(directions);
        Self { flows, transaction_bytes: None }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_has_its_streams_in_each_direction_or_its_connections_in_flight() {
        for (params, expected) in [
            (json!({}), 1),
            (json!({"streams": 64, "direction": "forward"}), 64),
            (json!({"streams": 64, "direction": "both"}), 128),
            (json!({"in_flight": 1_000}), 1_000),
            (json!({"streams": u64::MAX, "in_flight": u64::MAX}), u64::MAX),
            (json!({"streams": 0}), 1),
        ] {
            assert_eq!(Load::of(&params), Load { flows: expected, transaction_bytes: None }, "{params}");
        }
    }
}
