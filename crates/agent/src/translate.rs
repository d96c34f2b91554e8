//! `sixbench-agent translate`: packets through a mechanism without a node, a JSON object a line, as `docs/protocol.md`
//! describes.

mod nat64;
pub mod siit;
#[cfg(test)]
mod vectors;

use std::process::ExitCode;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sixbench_plane::Spec;
use sixbench_plane::whole::{Node, Verdict, Whole};
use sixbench_wire::held_fragments::Amount;
use sixbench_wire::nat64::Nat64;
use sixbench_wire::reassembly::{Joined, Reassembly};
use sixbench_wire::siit::{Clause, Decision, Ports, Translator, Verdict as SiitVerdict};
use sixbench_wire::virtual_reassembly::{Taken, VirtualReassembly};

use crate::asked;
use crate::capture::hex;

/// The first line.
#[derive(Deserialize)]
#[serde(tag = "mechanism", rename_all = "lowercase", deny_unknown_fields)]
enum Setup {
    Tunnel {
        tunnel: Box<Spec>,
        /// The other ends of the same node.
        #[serde(default)]
        others: Vec<Spec>,
        #[serde(default)]
        node: Box<Node>,
    },
    Siit {
        siit: Box<siit::Settings>,
    },
    Nat64 {
        siit: Box<siit::Settings>,
        nat64: Box<nat64::Settings>,
    },
}

/// Every other line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    packet: String,
    /// Time since any instant, in nanoseconds.
    #[serde(default)]
    time_ns: u64,
}

/// The answer about a packet.
#[derive(Serialize)]
struct Answer {
    verdict: &'static str,
    reason: &'static str,
    section: Option<&'static str>,
    words: &'static str,
    packets: Vec<String>,
}

/// A line of output.
#[derive(Serialize)]
#[serde(untagged)]
enum Line {
    Answer(Answer),
    /// The last line: the number of fragments that waited in vain.
    End {
        fragments_in_vain: u64,
    },
}

enum Mechanism {
    Tunnel(Box<Whole>),
    Siit(Box<Translator>),
    Nat64(Box<Nat64>),
}

/// The form in which a packet came.
#[derive(Debug, Clone, Copy)]
enum Arrival {
    Whole,
    /// Its fragments were put together.
    Joined,
    /// The packet is a fragment, and the first one of its packet has these ports.
    Fragment(Ports),
}

/// A mechanism, the fragments whose ports it has to know, and those that it takes together.
struct Passage {
    mechanism: Mechanism,
    fragments: VirtualReassembly,
    packets: Reassembly,
    missed: Amount,
    now: Duration,
}

/// Answers standard input on standard output until it ends.
pub fn translate() -> ExitCode {
    asked::on_standard_streams("translate", answers())
}

/// Takes the first line for the mechanism, and answers every other one.
fn answers() -> impl FnMut(Option<&[u8]>) -> Result<Option<Line>, String> {
    let mut passage: Option<Passage> = None;
    move |line| match (&mut passage, line) {
        (None, Some(line)) => {
            passage = Some(Passage::of(Mechanism::read(line)?));
            Ok(None)
        }
        (Some(passage), Some(line)) => {
            let Question { packet, time_ns } = asked::read(line)?;
            Ok(Some(Line::Answer(passage.answer(&asked::bytes_of(&packet)?, Duration::from_nanos(time_ns)))))
        }
        (passage, None) => {
            let in_vain = passage.as_mut().map_or(0, Passage::fragments_in_vain);
            Ok((in_vain > 0).then_some(Line::End { fragments_in_vain: in_vain }))
        }
    }
}

impl Mechanism {
    fn read(line: &[u8]) -> Result<Self, String> {
        match asked::read(line)? {
            Setup::Tunnel { tunnel, others, node } => {
                let ends = std::iter::once(*tunnel).chain(others).collect();
                let whole = Whole::with_ends(ends, *node).map_err(|error| error.to_string())?;
                Ok(Self::Tunnel(Box::new(whole)))
            }
            Setup::Siit { siit } => Translator::new((*siit).into()).map(|translator| Self::Siit(Box::new(translator))),
            Setup::Nat64 { siit, nat64 } => {
                let translator = Nat64::new(nat64.with(siit.computing().into())?)?;
                Ok(Self::Nat64(Box::new(translator)))
            }
        }
    }

    /// True if a packet is a fragment that waits for the others. `others_wait`: true if some do already.
    fn joins(&self, packet: &[u8], others_wait: bool) -> bool {
        match self {
            Self::Tunnel(whole) => whole.joins(packet),
            Self::Siit(translator) => translator.is_own_fragment(packet),
            Self::Nat64(translator) => translator.joins(packet, others_wait),
        }
    }

    fn needs_ports(&self, packet: &[u8]) -> bool {
        match self {
            Self::Tunnel(whole) => whole.needs_ports(packet),
            Self::Siit(translator) => translator.needs_ports(packet),
            Self::Nat64(_) => true,
        }
    }

    /// The packet that has the ports.
    fn inner_of<'a>(&self, packet: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Tunnel(whole) => whole.inner_of(packet),
            Self::Siit(_) | Self::Nat64(_) => packet,
        }
    }

    fn answer(&mut self, packet: &[u8], arrival: Arrival, time: Duration) -> Answer {
        match self {
            Self::Tunnel(whole) => {
                let carried = match arrival {
                    Arrival::Fragment(ports) => whole.carry_fragment(packet, ports),
                    Arrival::Whole | Arrival::Joined => whole.carry(packet),
                };
                let (verdict, packets) = match &carried.verdict {
                    Verdict::Through(packets) => ("translated", &packets[..]),
                    Verdict::Answered(packets) => ("answered", &packets[..]),
                    Verdict::Dropped => ("dropped", &[][..]),
                };
                Answer::new(verdict, (carried.outcome.reason(), carried.section, carried.words()), packets)
            }
            Self::Siit(translator) => match arrival {
                Arrival::Fragment(ports) => Answer::of(&translator.translate_fragment(packet, ports)),
                Arrival::Whole | Arrival::Joined => Answer::of(&translator.translate(packet)),
            },
            Self::Nat64(translator) => Answer::of(&match arrival {
                Arrival::Fragment(ports) => translator.translate(packet, Some(ports), time),
                Arrival::Whole => translator.translate(packet, None, time),
                Arrival::Joined => translator.translate_joined(packet, time),
            }),
        }
    }
}

impl Passage {
    fn of(mechanism: Mechanism) -> Self {
        Self {
            mechanism,
            fragments: VirtualReassembly::default(),
            packets: Reassembly::default(),
            missed: Amount::default(),
            now: Duration::ZERO,
        }
    }

    fn answer(&mut self, packet: &[u8], time: Duration) -> Answer {
        // Captures of several interfaces are not always in order.
        self.now = self.now.max(time);
        if !self.mechanism.joins(packet, self.packets.held.holds(packet)) {
            return self.answer_arrival(packet, Arrival::Whole, time);
        }
        // Fragments that came before the first one of a datagram without a checksum wait for its ports.
        let mut together = match self.waited_for(packet) {
            Ok(waited) => waited,
            Err(clause) => return Answer::by("dropped", clause, &[]),
        };
        together.push(packet.to_vec());
        for fragment in &together {
            match self.packets.take(fragment, self.now) {
                Joined::NoFragment => return self.answer_arrival(fragment, Arrival::Whole, time),
                Joined::Packet { packet, .. } => return self.answer_arrival(&packet, Arrival::Joined, time),
                Joined::Waits => {}
                Joined::Dropped(clause) => return Answer::by("dropped", clause, &[]),
            }
        }
        Answer::by("waits", Clause::FragmentHeld, &[])
    }

    /// The fragments that waited for the ports of this one of a NAT64, which are put together with it.
    fn waited_for(&mut self, packet: &[u8]) -> Result<Vec<Vec<u8>>, Clause> {
        let is_nat64 = matches!(self.mechanism, Mechanism::Nat64(_));
        if !is_nat64 || self.packets.held.holds(packet) || !self.fragments.held.holds(packet) {
            return Ok(Vec::new());
        }
        match self.fragments.take(packet, packet, self.now) {
            Taken::Fragment { waited, .. } => Ok(waited),
            Taken::Dropped(clause) => Err(clause),
            Taken::Whole | Taken::Waits => Ok(Vec::new()),
        }
    }

    /// Number of fragments that waited for others in vain.
    fn fragments_in_vain(&mut self) -> u64 {
        self.missed.add(self.fragments.held.take_missed(self.now));
        self.missed.add(self.packets.held.take_missed(self.now));
        self.missed.packets + self.fragments.held.waiting().packets + self.packets.held.waiting().packets
    }

    /// The answer about a packet that is taken as it is, or whose fragments were put together.
    fn answer_arrival(&mut self, packet: &[u8], arrival: Arrival, time: Duration) -> Answer {
        let taken = match self.mechanism.needs_ports(packet) {
            true => self.fragments.take(self.mechanism.inner_of(packet), packet, self.now),
            false => Taken::Whole,
        };
        match taken {
            Taken::Whole => self.mechanism.answer(packet, arrival, time),
            Taken::Waits => Answer::by("waits", Clause::FragmentWaits, &[]),
            Taken::Dropped(clause) => Answer::by("dropped", clause, &[]),
            Taken::Fragment { ports, waited } => {
                let arrival = Arrival::Fragment(ports);
                let mut answer = self.mechanism.answer(packet, arrival, time);
                if answer.verdict != "translated" {
                    self.fragments.refuse(self.mechanism.inner_of(packet));
                    self.missed.add(Amount::of(waited.iter().map(Vec::len)));
                    return answer;
                }
                for fragment in waited {
                    answer.packets.extend(self.mechanism.answer(&fragment, arrival, time).packets);
                }
                answer
            }
        }
    }
}

impl Answer {
    fn of(decision: &Decision) -> Self {
        let verdict = match decision.verdict {
            SiitVerdict::Translated => "translated",
            SiitVerdict::Answered => "answered",
            SiitVerdict::Dropped => "dropped",
        };
        Self::by(verdict, decision.clause, &decision.packets)
    }

    fn by(verdict: &'static str, clause: Clause, packets: &[Vec<u8>]) -> Self {
        Self::new(verdict, (clause.name(), Some(clause.clause()), clause.words()), packets)
    }

    /// The answer by a rule: its name, where it is written, and its words.
    fn new(
        verdict: &'static str,
        (reason, section, words): (&'static str, Option<&'static str>, &'static str),
        packets: &[Vec<u8>],
    ) -> Self {
        Self { verdict, reason, section, words, packets: packets.iter().map(|packet| hex(packet)).collect() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::asked::{MAX_LINE_BYTES, conversation};

    const SIX_IN_FOUR: &str = r#"{"mechanism": "tunnel", "tunnel": {"device": "t", "underlay": ["u"], "mtu_bytes": 1480, "outer": "ipv4", "payload": "ipv6", "local": "192.0.2.1", "mapping": {"kind": "fixed", "remote": "192.0.2.2"}}}"#;
    const SIIT: &str = r#"{"mechanism": "siit", "siit": {"prefixes": ["64:ff9b:1::/96"], "explicit": [["192.0.2.1/32", "2001:db8::1/128"]], "own4": "198.18.1.1"}}"#;
    const NAT64: &str = r#"{"mechanism": "nat64", "siit": {"prefixes": ["64:ff9b:1::/96"]}, "nat64": {"pool": [{"net": "192.0.2.1/32", "first": 1024, "last": 65535}]}}"#;
    /// UDP from 2001:db8:1::1 to 2001:db8:2::1.
    const UDP6: &str =
        "60000000000c114020010db800010000000000000000000120010db800020000000000000000000203e807d0000cbeef64617461";

    fn answers(lines: &[&str]) -> (Vec<Value>, Result<(), String>) {
        conversation(super::answers(), lines)
    }

    fn refusal(lines: &[&str]) -> String {
        answers(lines).1.expect_err("refused")
    }

    #[test]
    fn a_tunnel_carries_a_packet_in_and_says_what_it_dropped() {
        let question = format!(r#"{{"packet": "{UDP6}"}}"#);
        let (given, end) = answers(&[SIX_IN_FOUR, &question, r#"{"packet": ""}"#]);
        assert_eq!(end, Ok(()));
        assert_eq!(
            (&given[0]["verdict"], &given[0]["reason"], &given[0]["section"]),
            (&json!("translated"), &json!("encapsulated"), &json!("RFC 4213 section 3.5"))
        );
        assert_eq!(given[0]["words"], "The outer headers are put before the packet.");
        let outer = given[0]["packets"][0].as_str().expect("hexadecimal");
        assert!(outer.starts_with("45000048") && outer.ends_with(UDP6), "{outer}");
        assert_eq!((&given[1]["verdict"], &given[1]["packets"]), (&json!("dropped"), &json!([])));
    }

    #[test]
    fn siit_is_told_its_settings() {
        let from_host = UDP6.replacen("20010db8000100000000000000000001", "20010db8000000000000000000000001", 1);
        let to_ipv4 = from_host.replacen("20010db8000200000000000000000002", "0064ff9b0001000000000000c6120202", 1);
        let (given, end) = answers(&[SIIT, &format!(r#"{{"packet": "{to_ipv4}"}}"#), r#"{"packet": "60"}"#]);
        assert_eq!(end, Ok(()));
        assert_eq!((&given[0]["verdict"], &given[0]["reason"]), (&json!("translated"), &json!("to-ipv4")));
        assert!(given[0]["packets"][0].as_str().expect("hexadecimal").ends_with("64617461"));
        assert_eq!((&given[1]["verdict"], &given[1]["reason"]), (&json!("dropped"), &json!("malformed")));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (lines, words) in [
            (&["{"][..], "line 1: EOF while parsing"),
            (&[r#"{"mechanism": "nat"}"#], "unknown variant `nat`, expected one of `tunnel`, `siit`, `nat64`"),
            (&[r#"{"mechanism": "siit", "siit": {"prefixes": []}}"#], "line 1: there is no prefix for IPv4 addresses"),
            (&[r#"{"mechanism": "siit", "siit": {"prefixes": ["64:ff9b::"]}}"#], "is not a prefix"),
            (&[r#"{"mechanism": "siit", "siit": {"prefix": 1}}"#], "unknown field `prefix`"),
            (
                &[r#"{"mechanism": "siit", "siit": {"prefixes": ["64:ff9b::/96"], "told": ["to-ipv4"]}}"#],
                "no source is informed",
            ),
            (&[SIX_IN_FOUR, "{}"], "line 2: missing field `packet`"),
            (&[SIX_IN_FOUR, r#"{"packet": "6"}"#], "line 2: a packet is two hexadecimal digits a byte"),
            (&[SIX_IN_FOUR, r#"{"packet": "+1"}"#], "two hexadecimal digits"),
            (&[SIX_IN_FOUR, r#"{"packet": "60", "x": 1}"#], "unknown field `x`"),
            (&[&SIX_IN_FOUR.replace("192.0.2.2", "192.0.2.1")], "remote and local are both 192.0.2.1"),
            (&[&" ".repeat(MAX_LINE_BYTES + 1)], "line 1: a line has at most 262144 bytes"),
        ] {
            let given = refusal(lines);
            assert!(given.contains(words), "{given}");
        }
        assert_eq!(
            refusal(&[r#"{"mechanism": "siit", "siit": {"told": ["x"]}}"#]),
            "line 1: there is no rule \"x\"",
            "without a column"
        );
        let isatap =
            SIX_IN_FOUR.replace(r#"{"kind": "fixed", "remote": "192.0.2.2"}"#, r#"{"kind": "isatap", "routers": []}"#);
        assert!(refusal(&[&isatap]).contains("use a lab"));
    }

    proptest! {
        #[test]
        fn no_line_is_a_panic(lines in prop::collection::vec("[\\x20-\\x7e]{0,80}", 0..4), starts: bool) {
            let mut all = vec![if starts { SIIT } else { SIX_IN_FOUR }];
            all.extend(lines.iter().map(String::as_str));
            let _ = answers(&all);
            let _ = answers(&all[1..]);
        }

        #[test]
        fn every_packet_is_answered(
            packet in prop::collection::vec(any::<u8>(), 0..200),
            mechanism in prop::sample::select(&[SIX_IN_FOUR, SIIT, NAT64][..]),
        ) {
            let question = json!({ "packet": hex(&packet) }).to_string();
            let (given, end) = answers(&[mechanism, &question]);
            prop_assert_eq!((given.len(), end), (1, Ok(())));
        }

        #[test]
        fn every_fragment_to_a_nat64_is_answered(
            parts in prop::collection::vec((0_u16..4, any::<bool>(), any::<bool>(), 0_usize..30), 1..12),
            is_udp: bool,
        ) {
            let fragments = parts.iter().map(|&(unit, more, is_right, bytes)| {
                let header = sixbench_wire::ipv4::Repr {
                    identification: 7,
                    offset_bytes: unit * 8,
                    more_fragments: more,
                    ..sixbench_wire::ipv4::Repr::new(
                        [[198, 51, 100, 2].into(), [192, 0, 2, 1].into()],
                        if is_udp { 17 } else { 1 },
                        bytes,
                    )
                };
                let mut packet = [&header.emit()[..], &vec![0; bytes]].concat();
                packet[10] ^= u8::from(!is_right);
                json!({ "packet": hex(&packet) }).to_string()
            });
            let lines: Vec<_> = std::iter::once(NAT64.to_owned()).chain(fragments).collect();
            let (given, end) = answers(&lines.iter().map(String::as_str).collect::<Vec<_>>());
            prop_assert_eq!(end, Ok(()));
            prop_assert!(given.len() == parts.len() || given.len() == parts.len() + 1, "{:?}", given);
        }
    }
}
