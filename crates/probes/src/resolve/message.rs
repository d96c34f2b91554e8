//! Questions of DNS and the answers to them (RFC 1035, RFC 9460). Pure: no bytes make it panic.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::svcb::{SVCB, SvcParamValue};
use hickory_proto::rr::{DNSClass, Name, RData, RecordType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::printable;

/// The longest datagram that is asked for: one that no path fragments (RFC 9715 section 3).
pub const EDNS_BYTES: u16 = 1_232;
const FORMAT_ERROR: &str = "FORMERR";
/// Records of an answer that are read.
const MAX_RECORDS: usize = 64;
/// Values of each parameter of a service binding that are told.
const MAX_VALUES: usize = 16;
/// The longest name of DNS in the letters of hosts (section 2.3.4), and the longest protocol (RFC 7301 section 3.1).
const MAX_NAME_CHARS: usize = 253;
const MAX_PROTOCOL_CHARS: usize = 255;

/// The type of the records that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Type {
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    Aaaa,
    /// Service bindings of HTTPS (RFC 9460).
    Https,
}

/// All types, in the order in which clients ask.
pub const ALL_TYPES: [Type; 3] = [Type::A, Type::Aaaa, Type::Https];

impl Type {
    fn record_type(self) -> RecordType {
        match self {
            Self::A => RecordType::A,
            Self::Aaaa => RecordType::AAAA,
            Self::Https => RecordType::HTTPS,
        }
    }
}

/// A question, and the parts that its answer has to repeat.
#[derive(Debug, Clone)]
pub struct Question {
    /// The message.
    pub message: Vec<u8>,
    id: u16,
    query: Query,
}

/// The contents of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The response code by its name, such as `NOERROR`.
    pub rcode: String,
    /// The least time to live of its records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<u32>,
    /// The name at the end of its aliases; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical_name: Option<String>,
    /// The addresses, in the order of the answer.
    pub addresses: Vec<IpAddr>,
    /// The service bindings.
    pub https: Vec<ServiceBinding>,
}

/// A service binding (RFC 9460).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServiceBinding {
    priority: u16,
    /// The target's name; `.` is the name that was asked for.
    target: String,
    alpn: Vec<String>,
    no_default_alpn: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    ipv4_hints: Vec<Ipv4Addr>,
    ipv6_hints: Vec<Ipv6Addr>,
}

/// The verdict on a message that came as an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is the answer.
    Answer(Answer),
    /// Records are left out: it has to be asked for by TCP.
    Truncated,
    /// It answers another question, or was made up by somebody who does not know the question.
    Other,
    /// It answers this question, and is no message of DNS beyond that.
    Malformed(String),
}

/// Checks a name: it is absolute, whether or not it ends with a dot.
///
/// # Errors
/// In words, where it is no name.
pub fn name(text: &str) -> Result<Name, String> {
    let mut name = Name::from_ascii(text).map_err(|error| format!("`name` {text} is no name of DNS: {error}"))?;
    if name.iter().next().is_none() {
        return Err("`name` must not be empty".to_owned());
    }
    name.set_fqdn(true);
    Ok(name)
}

impl Question {
    /// The question for records of a name.
    ///
    /// # Errors
    /// In words, where it cannot be written.
    pub fn new(id: u16, name: &Name, kind: Type) -> Result<Self, String> {
        let query = Query::query(name.clone(), kind.record_type());
        let mut edns = Edns::new();
        edns.set_max_payload(EDNS_BYTES).set_version(0);
        Self::written(id, query, Some(edns))
    }

    /// The same question for a server that does not understand EDNS.
    ///
    /// # Errors
    /// In words, where it cannot be written.
    pub fn without_edns(&self) -> Result<Self, String> {
        Self::written(self.id, self.query.clone(), None)
    }

    fn written(id: u16, query: Query, edns: Option<Edns>) -> Result<Self, String> {
        let mut message = Message::new();
        message
            .set_id(id)
            .set_message_type(MessageType::Query)
            .set_op_code(OpCode::Query)
            .set_recursion_desired(true)
            .add_query(query.clone());
        if let Some(edns) = edns {
            message.set_edns(edns);
        }
        let message = message.to_vec().map_err(|error| format!("writing the question: {error}"))?;
        Ok(Self { message, id, query })
    }

    /// The verdict on a message. `by_tcp` has no truncated answers.
    pub fn verdict(&self, bytes: &[u8], by_tcp: bool) -> Verdict {
        // Whoever does not know the number made it up.
        if bytes.first_chunk() != Some(&self.id.to_be_bytes()) {
            return Verdict::Other;
        }
        let response = match Message::from_vec(bytes) {
            Ok(response) => response,
            Err(error) => return Verdict::Malformed(error.to_string()),
        };
        if response.message_type() != MessageType::Response || response.op_code() != OpCode::Query {
            return Verdict::Other;
        }
        // A server that does not understand the question may leave it out (RFC 6891 section 7).
        let may_lack_query = response.response_code() == ResponseCode::FormErr;
        if response.queries() != [self.query.clone()] && !(may_lack_query && response.queries().is_empty()) {
            return Verdict::Other;
        }
        if response.truncated() && !by_tcp {
            return Verdict::Truncated;
        }
        Verdict::Answer(self.read(&response))
    }

    /// Reads the records of the name that was asked for, and of the names that it is an alias of.
    fn read(&self, response: &Message) -> Answer {
        let mut answer = Answer { rcode: rcode(response.response_code()), ..Answer::default() };
        let records = || response.answers().iter().take(MAX_RECORDS).filter(|one| one.dns_class() == DNSClass::IN);
        let (mut owner, mut seen) = (self.query.name().clone(), BTreeSet::new());
        while seen.insert(owner.clone()) {
            let of_owner = || records().filter(|record| *record.name() == owner);
            let alias = of_owner().find_map(|record| match record.data() {
                RData::CNAME(target) => Some((target.0.clone(), record.ttl())),
                _ => None,
            });
            let Some((target, ttl_s)) = alias else { break };
            answer.note_ttl(ttl_s);
            answer.canonical_name = Some(shown(&target));
            owner = target;
        }
        for record in records().filter(|record| *record.name() == owner) {
            if record.record_type() != self.query.query_type() {
                continue;
            }
            match record.data() {
                RData::A(address) => answer.addresses.push(address.0.into()),
                RData::AAAA(address) => answer.addresses.push(address.0.into()),
                RData::HTTPS(binding) => answer.https.push(ServiceBinding::of(&binding.0)),
                _ => continue,
            }
            answer.note_ttl(record.ttl());
        }
        answer
    }
}

impl Answer {
    /// True if the server did not understand the question, as those do not that know no EDNS (RFC 6891 section 7).
    pub fn is_format_error(&self) -> bool {
        self.rcode == FORMAT_ERROR
    }

    fn note_ttl(&mut self, ttl_s: u32) {
        self.ttl_s = Some(self.ttl_s.map_or(ttl_s, |least| least.min(ttl_s)));
    }
}

impl ServiceBinding {
    fn of(svcb: &SVCB) -> Self {
        let mut binding = Self { priority: svcb.svc_priority(), target: shown(svcb.target_name()), ..Self::default() };
        for (_, value) in svcb.svc_params() {
            match value {
                SvcParamValue::Alpn(alpn) => {
                    let protocols = alpn.0.iter().take(MAX_VALUES);
                    binding.alpn = protocols.map(|protocol| printable(protocol, MAX_PROTOCOL_CHARS)).collect();
                }
                SvcParamValue::NoDefaultAlpn => binding.no_default_alpn = true,
                SvcParamValue::Port(port) => binding.port = Some(*port),
                SvcParamValue::Ipv4Hint(hints) => {
                    binding.ipv4_hints = hints.0.iter().take(MAX_VALUES).map(|hint| hint.0).collect();
                }
                SvcParamValue::Ipv6Hint(hints) => {
                    binding.ipv6_hints = hints.0.iter().take(MAX_VALUES).map(|hint| hint.0).collect();
                }
                _ => {}
            }
        }
        binding
    }
}

/// A name, as far as hosts can have such a one.
fn shown(name: &Name) -> String {
    printable(&name.to_ascii(), MAX_NAME_CHARS + 1)
}

/// The name of a response code in the registry of DNS.
fn rcode(code: ResponseCode) -> String {
    match code {
        ResponseCode::NoError => "NOERROR".to_owned(),
        ResponseCode::FormErr => FORMAT_ERROR.to_owned(),
        ResponseCode::ServFail => "SERVFAIL".to_owned(),
        ResponseCode::NXDomain => "NXDOMAIN".to_owned(),
        ResponseCode::NotImp => "NOTIMP".to_owned(),
        ResponseCode::Refused => "REFUSED".to_owned(),
        other => format!("RCODE{}", u16::from(other)),
    }
}

#[cfg(test)]
mod tests {
    use hickory_proto::rr::Record;
    use hickory_proto::rr::rdata::svcb::{Alpn, SvcParamKey};
    use hickory_proto::rr::rdata::{A, AAAA, CNAME, HTTPS};
    use proptest::prelude::*;

    use super::*;

    fn question(kind: Type) -> Question {
        Question::new(0x1234, &name("www.example.org").unwrap(), kind).unwrap()
    }

    fn response(question: &Question, records: Vec<Record>) -> Message {
        let mut message = Message::from_vec(&question.message).unwrap();
        message.set_message_type(MessageType::Response);
        message.add_answers(records);
        message
    }

    fn record(owner: &str, ttl_s: u32, data: RData) -> Record {
        Record::from_rdata(name(owner).unwrap(), ttl_s, data)
    }

    fn answer(question: &Question, message: &Message) -> Answer {
        match question.verdict(&message.to_vec().unwrap(), false) {
            Verdict::Answer(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn addresses_are_those_at_the_end_of_the_aliases() {
        let question = question(Type::Aaaa);
        let alias = |from: &str, to: &str| record(from, 60, RData::CNAME(CNAME(name(to).unwrap())));
        let address: Ipv6Addr = "2001:db8::7".parse().unwrap();
        let response = response(
            &question,
            vec![
                alias("WWW.example.org", "a.example.net"),
                alias("a.example.net", "b.example.net"),
                record("b.example.net", 30, RData::AAAA(AAAA(address))),
                record("elsewhere.example.net", 1, RData::AAAA(AAAA(Ipv6Addr::LOCALHOST))),
                record("b.example.net", 1, RData::A(A(Ipv4Addr::LOCALHOST))),
            ],
        );
        let answer = answer(&question, &response);
        assert_eq!(answer.addresses, [IpAddr::from(address)]);
        assert_eq!((answer.rcode.as_str(), answer.ttl_s), ("NOERROR", Some(30)));
        assert_eq!(answer.canonical_name.as_deref(), Some("b.example.net."));
    }

    #[test]
    fn aliases_that_go_round_have_an_end() {
        let question = question(Type::A);
        let alias = |from: &str, to: &str| record(from, 60, RData::CNAME(CNAME(name(to).unwrap())));
        let aliases = vec![alias("www.example.org", "b.example.org"), alias("b.example.org", "www.example.org")];
        assert!(answer(&question, &response(&question, aliases)).addresses.is_empty());
    }

    #[test]
    fn service_bindings_are_read() {
        let question = question(Type::Https);
        let params = vec![
            (SvcParamKey::Alpn, SvcParamValue::Alpn(Alpn(vec!["h3".into(), "h2".into()]))),
            (SvcParamKey::Port, SvcParamValue::Port(8443)),
        ];
        let binding = HTTPS(SVCB::new(1, Name::root(), params));
        let answer = answer(&question, &response(&question, vec![record("www.example.org", 5, RData::HTTPS(binding))]));
        assert_eq!(answer.https.len(), 1);
        let [binding] = &answer.https[..] else { panic!("one") };
        assert_eq!((binding.priority, binding.target.as_str(), binding.port), (1, ".", Some(8443)));
        assert_eq!(binding.alpn, ["h3", "h2"]);
    }

    #[test]
    fn service_bindings_of_strangers_are_short_and_printable() {
        let question = question(Type::Https);
        let protocols = std::iter::once("h3\u{1b}[2J".to_owned()).chain((0..40).map(|number| number.to_string()));
        let params = vec![(SvcParamKey::Alpn, SvcParamValue::Alpn(Alpn(protocols.collect())))];
        let binding = HTTPS(SVCB::new(1, Name::root(), params));
        let answer = answer(&question, &response(&question, vec![record("www.example.org", 5, RData::HTTPS(binding))]));
        let [binding] = &answer.https[..] else { panic!("one") };
        assert_eq!((binding.alpn.len(), binding.alpn[0].as_str()), (MAX_VALUES, "h3\u{fffd}[2J"));
    }

    #[test]
    fn what_answers_another_question_is_none() {
        let question = question(Type::A);
        let good = response(&question, vec![]);
        let verdict = |message: &Message| question.verdict(&message.to_vec().unwrap(), false);
        let mut other_id = good.clone();
        other_id.set_id(7);
        assert_eq!(verdict(&other_id), Verdict::Other);
        let mut other_name = Message::new();
        other_name.set_id(0x1234).set_message_type(MessageType::Response);
        other_name.add_query(Query::query(name("www.example.com").unwrap(), RecordType::A));
        assert_eq!(verdict(&other_name), Verdict::Other);
        assert_eq!(question.verdict(&question.message, false), Verdict::Other);
        let mut truncated = good.clone();
        truncated.set_truncated(true);
        assert_eq!(verdict(&truncated), Verdict::Truncated);
        assert!(matches!(question.verdict(&truncated.to_vec().unwrap(), true), Verdict::Answer(_)));
        let mut failed = good.clone();
        failed.set_response_code(ResponseCode::ServFail);
        assert_eq!(answer(&question, &failed).rcode, "SERVFAIL");
        let bytes = good.to_vec().unwrap();
        assert!(matches!(question.verdict(&bytes[..bytes.len() - 1], false), Verdict::Malformed(_)));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for wrong in ["", ".", "a..b", &"a".repeat(64), &"a.".repeat(200)] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
        assert_eq!(name("example.org").unwrap(), name("example.org.").unwrap());
    }

    proptest! {
        #[test]
        fn no_answer_is_a_panic(at: prop::sample::Index, octet: u8, cut: prop::sample::Index, tail: Vec<u8>, by_tcp: bool) {
            let question = question(Type::A);
            let records = vec![record("www.example.org", 5, RData::A(A(Ipv4Addr::LOCALHOST)))];
            let mut message = response(&question, records).to_vec().unwrap();
            let length = message.len();
            message[at.index(length)] = octet;
            message.truncate(cut.index(length + 1));
            message.extend(tail);
            let _ = question.verdict(&message, by_tcp);
        }
    }
}
