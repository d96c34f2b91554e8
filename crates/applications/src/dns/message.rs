//! The questions of a trial, the answers of its server, and the check of an answer. Pure.

use hickory_proto::ProtoError;
use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::TXT;
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use sixbench_traffic::Result;
use sixbench_traffic::error::bad_params;
use sixbench_wire::token::Token;

use super::NAME;
use crate::name;

/// Longest datagram for a client that says nothing (RFC 1035 section 2.3.4).
const MIN_DATAGRAM_BYTES: usize = 512;
/// The longest question that the server takes in a datagram.
const SERVER_EDNS_BYTES: u16 = 1_232;
const TTL_S: u32 = 60;
/// Longest text within TXT (RFC 1035 section 3.3).
const MAX_TEXT_BYTES: usize = 255;

/// The zone that only this trial has.
#[derive(Debug, Clone)]
pub struct Zone(Name);

/// A question, and the parts of it that the answer has to repeat.
#[derive(Debug, Clone)]
pub struct Question {
    /// The message.
    pub message: Vec<u8>,
    id: u16,
    query: Query,
}

/// The space for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// As much as the client takes in a datagram.
    Datagram,
    /// As much as a message can have.
    Stream,
}

/// An answer of the server.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The message.
    pub message: Vec<u8>,
    /// True if the records are left out, for want of space.
    pub is_truncated: bool,
}

/// The verdict on a message that came as an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It has the one record that was asked for, and the length.
    Right,
    /// It has no records, and asks the client to come by TCP (RFC 2181 section 9).
    Truncated,
    /// It answers another question, such as an earlier one that was sent again.
    Other,
    /// It is no right answer, for this reason.
    Wrong(&'static str),
}

impl Zone {
    /// The zone below the name of the trial's server.
    pub fn of_trial(token: &Token) -> Result<Self> {
        let zone = format!("{}.", name::of_trial(token));
        Name::from_ascii(&zone)
            .map(Self)
            .map_err(|e| bad_params(NAME, format!("the zone {zone} is no name of DNS: {e}")))
    }

    /// The question for the name of this number, from a client that takes datagrams of this size.
    pub fn question(&self, id: u16, number: u64, edns_bytes: u16) -> std::result::Result<Question, ProtoError> {
        let query = Query::query(self.0.prepend_label(format!("{number:012x}"))?, RecordType::TXT);
        let mut message = Message::new();
        message
            .set_id(id)
            .set_message_type(MessageType::Query)
            .set_op_code(OpCode::Query)
            .set_recursion_desired(true)
            .add_query(query.clone())
            .set_edns(edns(edns_bytes));
        Ok(Question { message: message.to_vec()?, id, query })
    }

    /// The answer to a question of the trial, of this length. Absent where it is none of the trial's.
    pub fn answer(&self, question: &[u8], answer_bytes: usize, space: Space) -> Option<Answer> {
        let asked = Message::from_vec(question).ok()?;
        let [query] = asked.queries() else { return None };
        let is_ours = asked.message_type() == MessageType::Query
            && asked.op_code() == OpCode::Query
            && (query.query_type(), query.query_class()) == (RecordType::TXT, DNSClass::IN)
            && query.name().num_labels() == self.0.num_labels() + 1
            && self.0.zone_of(query.name());
        if !is_ours {
            return None;
        }
        let mut response = Message::new();
        response
            .set_id(asked.id())
            .set_message_type(MessageType::Response)
            .set_op_code(OpCode::Query)
            .set_authoritative(true)
            .set_recursion_desired(asked.recursion_desired())
            .add_query(query.clone());
        let offered = asked.extensions().as_ref().map(Edns::max_payload);
        if offered.is_some() {
            response.set_edns(edns(SERVER_EDNS_BYTES));
        }
        let most = offered.map_or(MIN_DATAGRAM_BYTES, |bytes| MIN_DATAGRAM_BYTES.max(bytes.into()));
        let is_truncated = space == Space::Datagram && answer_bytes > most;
        if is_truncated {
            response.set_truncated(true);
        } else {
            fill(&mut response, query.name(), answer_bytes)?;
        }
        Some(Answer { message: response.to_vec().ok()?, is_truncated })
    }
}

fn edns(max_bytes: u16) -> Edns {
    let mut edns = Edns::new();
    edns.set_max_payload(max_bytes).set_version(0);
    edns
}

/// Adds the record that makes the message so long. Absent where it would have to be negative.
fn fill(response: &mut Message, name: &Name, answer_bytes: usize) -> Option<()> {
    let mut shortest = response.clone();
    shortest.add_answer(record(name, 1));
    let more = answer_bytes.checked_sub(shortest.to_vec().ok()?.len())?;
    response.add_answer(record(name, 1 + more));
    Some(())
}

/// A record with data of this length: texts with a byte for the length of each.
fn record(name: &Name, data_bytes: usize) -> Record {
    let text = [b'6'; MAX_TEXT_BYTES];
    let whole = std::iter::repeat_n(&text[..], data_bytes / (1 + MAX_TEXT_BYTES));
    let rest = (data_bytes % (1 + MAX_TEXT_BYTES)).checked_sub(1).map(|bytes| &text[..bytes]);
    Record::from_rdata(name.clone(), TTL_S, RData::TXT(TXT::from_bytes(whole.chain(rest).collect())))
}

impl Question {
    /// The verdict on what came as its answer.
    pub fn verdict(&self, answer: &[u8], answer_bytes: usize) -> Verdict {
        let Ok(response) = Message::from_vec(answer) else { return Verdict::Wrong("no message of DNS") };
        if response.id() != self.id || response.queries() != [self.query.clone()] {
            return Verdict::Other;
        }
        if response.message_type() != MessageType::Response {
            return Verdict::Wrong("a question");
        }
        if response.response_code() != ResponseCode::NoError {
            return Verdict::Wrong("an error");
        }
        if response.truncated() {
            return Verdict::Truncated;
        }
        match response.answers() {
            [record] if record.name() != self.query.name() => Verdict::Wrong("a record of another name"),
            [record] if !matches!(record.data(), RData::TXT(_)) => Verdict::Wrong("a record of another type"),
            [_] if answer.len() != answer_bytes => Verdict::Wrong("of another length"),
            [_] => Verdict::Right,
            _ => Verdict::Wrong("another number of records"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Token = Token([7; 16]);

    fn zone() -> Zone {
        Zone::of_trial(&TOKEN).unwrap()
    }

    #[test]
    fn an_answer_is_as_long_as_asked_for() {
        for bytes in [100, 101, 128, 337, 338, 339, 512, 1_232, 4_096] {
            let question = zone().question(5, 77, 4_096).unwrap();
            for space in [Space::Datagram, Space::Stream] {
                let answer = zone().answer(&question.message, bytes, space).unwrap();
                assert_eq!((answer.message.len(), answer.is_truncated), (bytes, false));
                assert_eq!(question.verdict(&answer.message, bytes), Verdict::Right);
            }
        }
    }

    #[test]
    fn an_answer_that_the_client_cannot_take_is_truncated() {
        for (edns_bytes, answer_bytes, is_truncated) in [(512, 512, false), (512, 513, true), (1_232, 1_233, true)] {
            let question = zone().question(5, 77, edns_bytes).unwrap();
            let answer = zone().answer(&question.message, answer_bytes, Space::Datagram).unwrap();
            assert_eq!(answer.is_truncated, is_truncated);
            let verdict = if is_truncated { Verdict::Truncated } else { Verdict::Right };
            assert_eq!(question.verdict(&answer.message, answer_bytes), verdict);
            assert!(!zone().answer(&question.message, answer_bytes, Space::Stream).unwrap().is_truncated);
        }
    }

    #[test]
    fn a_question_of_another_trial_has_no_answer() {
        let other = Zone::of_trial(&Token([8; 16])).unwrap();
        let question = other.question(5, 77, 1_232).unwrap();
        assert!(zone().answer(&question.message, 128, Space::Stream).is_none());
        let response = other.answer(&question.message, 128, Space::Stream).unwrap().message;
        for wrong in [&question.message[..20], &response, b"", b"GET / HTTP/1.1\r\n\r\n"] {
            assert!(zone().answer(wrong, 128, Space::Stream).is_none());
            assert!(other.answer(wrong, 128, Space::Stream).is_none());
        }
    }

    #[test]
    fn wrong_answers_have_a_reason() {
        let [question, other] = [5, 6].map(|id| zone().question(id, u64::from(id), 1_232).unwrap());
        let answer = zone().answer(&question.message, 128, Space::Stream).unwrap().message;
        assert_eq!(other.verdict(&answer, 128), Verdict::Other);
        assert_eq!(question.verdict(&answer, 129), Verdict::Wrong("of another length"));
        assert_eq!(question.verdict(&question.message, 128), Verdict::Wrong("a question"));
        assert_eq!(question.verdict(&answer[..100], 100), Verdict::Wrong("no message of DNS"));
        let mut refused = Message::from_vec(&answer).unwrap();
        refused.set_response_code(ResponseCode::Refused);
        assert_eq!(question.verdict(&refused.to_vec().unwrap(), 128), Verdict::Wrong("an error"));
    }
}
