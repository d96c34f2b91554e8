//! `sixbench-agent decode`: the headers of packets, a JSON object a line, as `docs/protocol.md` describes.

use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use sixbench_wire::Span;
use sixbench_wire::layers::{Layer, Layers, Link};

use crate::asked;

/// A line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    packet: String,
    /// Its length before it was cut off for the capture.
    wire_bytes: usize,
    begins_with: Start,
}

/// The header that a packet begins with.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Start {
    Ethernet,
    Ip,
}

/// Its headers.
#[derive(Serialize)]
struct Answer {
    wire_bytes: usize,
    layers: Vec<Layer>,
}

/// Answers standard input on standard output until it ends.
pub fn decode() -> ExitCode {
    asked::on_standard_streams("decode", answer)
}

fn answer(line: Option<&[u8]>) -> Result<Option<Answer>, String> {
    let Some(line) = line else { return Ok(None) };
    let Question { packet, wire_bytes, begins_with } = asked::read(line)?;
    let data = asked::bytes_of(&packet)?;
    let link = match begins_with {
        Start::Ethernet => Link::Ethernet,
        Start::Ip => Link::Ip,
    };
    Ok(Some(Answer { wire_bytes, layers: Layers::new(link, Span::new(&data, wire_bytes)).collect() }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::asked::conversation;
    use crate::capture::hex;

    /// UDP from 2001:db8:1::1 to 2001:db8:2::1.
    const UDP6: &str =
        "60000000000c114020010db800010000000000000000000120010db800020000000000000000000203e807d0000cbeef64617461";

    #[test]
    fn headers_are_told_from_the_outermost() {
        let bare = format!(r#"{{"packet": "{UDP6}", "wire_bytes": 52, "begins_with": "ip"}}"#);
        let framed = format!(
            r#"{{"packet": "00000000000200000000000186dd{UDP6}", "wire_bytes": 66, "begins_with": "ethernet"}}"#
        );
        let cut = format!(r#"{{"packet": "{}", "wire_bytes": 52, "begins_with": "ip"}}"#, &UDP6[..84]);
        let (answers, end) = conversation(answer, &[&bare, &framed, &cut]);
        assert_eq!(end, Ok(()));
        let kinds = |index: usize| {
            let layers = answers[index]["layers"].as_array().expect("layers");
            layers.iter().map(|layer| layer["kind"].as_str().expect("kind").to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(kinds(0), ["ipv6", "udp"]);
        assert_eq!(kinds(1), ["ethernet", "ipv6", "udp"]);
        assert_eq!(kinds(2), ["ipv6", "truncated"]);
        assert_eq!(answers[0]["layers"][1]["destination_port"], 2000);
        assert_eq!(answers[1]["wire_bytes"], 66);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (line, words) in [
            ("{}", "line 1: missing field `packet`"),
            (r#"{"packet": "6", "wire_bytes": 1, "begins_with": "ip"}"#, "two hexadecimal digits a byte"),
            (r#"{"packet": "60", "wire_bytes": 1, "begins_with": "wifi"}"#, "expected `ethernet` or `ip`"),
            (r#"{"packet": "60", "wire_bytes": -1, "begins_with": "ip"}"#, "line 1: invalid value"),
        ] {
            let refusal = conversation(answer, &[line]).1.expect_err("refused");
            assert!(refusal.contains(words), "{refusal}");
        }
    }

    proptest! {
        #[test]
        fn every_packet_is_answered(packet in prop::collection::vec(any::<u8>(), 0..200), wire_bytes: usize, is_ip: bool) {
            let begins_with = if is_ip { "ip" } else { "ethernet" };
            let line = json!({ "packet": hex(&packet), "wire_bytes": wire_bytes, "begins_with": begins_with }).to_string();
            let (answers, end) = conversation(answer, &[&line]);
            prop_assert_eq!((answers.len(), end), (1, Ok(())));
        }
    }
}
