//! The questions of the test, the answers of their authority, and the check of an answer. Pure.
//!
//! Each name is `NNN-NNN-NNN-NNN.dns64perf.test`, and has that IPv4 address alone.

use std::net::{Ipv4Addr, Ipv6Addr};

use sixbench_wire::addresses::Prefix6;
use sixbench_wire::dns::{CLASS_IN, HEADER_BYTES, Header, Kind, Message, Name, Question};

const ZONE: &str = "dns64perf.test";
const LABEL_BYTES: usize = 15;
/// A length, the label, and the zone with its lengths and its end.
const NAME_BYTES: usize = 1 + LABEL_BYTES + ZONE.len() + 2;
/// Length of the type and class behind the name of a question.
const FIXED_BYTES: usize = 4;
/// The length of a question.
pub const QUESTION_BYTES: usize = HEADER_BYTES + NAME_BYTES + FIXED_BYTES;
/// RFC 1035 section 2.3.4: no question allows more.
pub const MAX_ANSWER_BYTES: usize = 512;

const RECURSION_DESIRED: u16 = 1 << 8;
const RESPONSE: u16 = 1 << 15;
const AUTHORITATIVE: u16 = 1 << 10;
const NAME_ERROR: u16 = 3;
const NS: Kind = Kind(2);
const TTL_S: u32 = 60;
/// A pointer to the name of the question, which is the first of a message.
const POINTER: u16 = 0xc000;

/// The question for the AAAA records of the name of that number. CD is not set, so that a resolver synthesises.
pub fn question(id: u16, number: u32) -> [u8; QUESTION_BYTES] {
    let mut message = [0; QUESTION_BYTES];
    for (place, word) in message.chunks_exact_mut(2).zip([id, RECURSION_DESIRED, 1, 0, 0, 0]) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    let (name, fixed) = message[HEADER_BYTES..].split_at_mut(NAME_BYTES);
    name[0] = LABEL_BYTES as u8;
    name[1..=LABEL_BYTES].copy_from_slice(&label(number));
    let mut at = 1 + LABEL_BYTES;
    for label in ZONE.split('.') {
        name[at] = label.len() as u8;
        name[at + 1..=at + label.len()].copy_from_slice(label.as_bytes());
        at += 1 + label.len();
    }
    fixed[..2].copy_from_slice(&Kind::AAAA.0.to_be_bytes());
    fixed[2..].copy_from_slice(&CLASS_IN.to_be_bytes());
    message
}

fn label(number: u32) -> [u8; LABEL_BYTES] {
    let mut text = [b'-'; LABEL_BYTES];
    for (place, octet) in text.chunks_mut(4).zip(number.to_be_bytes()) {
        for (digit, divisor) in place.iter_mut().zip([100, 10, 1]) {
            *digit = b'0' + octet / divisor % 10;
        }
    }
    text
}

fn number_of(label: &[u8]) -> Option<u32> {
    let octets: Vec<u8> = label.split(|&byte| byte == b'-').map(octet_of).collect::<Option<_>>()?;
    <[u8; 4]>::try_from(octets).ok().map(u32::from_be_bytes)
}

fn octet_of(digits: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(digits).ok().filter(|text| text.len() == 3)?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The verdict on an answer of a resolver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It has the right address, and no other.
    Right,
    /// It has another one, or none, or it is cut or broken.
    Wrong,
    /// The resolver failed or refused, with that response code.
    Failed(u8),
}

/// The number in the header of a response.
pub fn id_of(answer: &[u8]) -> Option<u16> {
    Header::parse(answer).filter(Header::is_response).map(|header| header.id)
}

/// Compares an answer to the question of that number with the right one.
pub fn judge(answer: &[u8], number: u32, prefix: &Prefix6) -> Verdict {
    let Ok(message) = Message::parse(answer) else { return Verdict::Wrong };
    if message.header.rcode() != 0 {
        return Verdict::Failed(message.header.rcode());
    }
    let is_asked = |question: &Question| {
        question.kind == Kind::AAAA && question.class == CLASS_IN && is_name(&question.name, number)
    };
    let is_right = |kind, name: &Name, data: &[u8]| {
        kind == Kind::AAAA && is_name(name, number) && data == prefix.embed(Ipv4Addr::from_bits(number)).octets()
    };
    let is_answer =
        matches!(&message.questions[..], [question] if is_asked(question)) && !message.header.is_truncated();
    let [answers, ..] = &message.sections;
    match &answers[..] {
        [record] if is_answer && is_right(record.kind, &record.name, record.data.1) => Verdict::Right,
        _ => Verdict::Wrong,
    }
}

fn is_name(name: &Name, number: u32) -> bool {
    name.wire().eq_ignore_ascii_case(&question(0, number)[HEADER_BYTES..HEADER_BYTES + NAME_BYTES])
}

/// The authority's answer to a question; nothing where `asked` is no question. `synthesising`: it has AAAA records, by
/// that prefix.
pub fn reply(asked: &[u8], synthesising: Option<&Prefix6>) -> Option<Vec<u8>> {
    let header = Header::parse(asked).filter(|header| !header.is_response() && header.opcode() == 0)?;
    let message = Message::parse(asked).ok()?;
    let [question] = &message.questions[..] else { return None };
    let zone: Name = ZONE.parse().ok()?;
    let apex_at = place_of(&question.name, &zone)?;
    let number = question.name.labels().next().and_then(number_of);
    let is_host = apex_at == HEADER_BYTES + 1 + LABEL_BYTES && number.is_some();
    let is_apex = apex_at == HEADER_BYTES;
    let address = number.map(Ipv4Addr::from_bits).filter(|_| is_host);
    let synthesised = |address| synthesising.map(|prefix: &Prefix6| prefix.embed(address));
    let data = match (question.kind, address) {
        (Kind::A, Some(address)) => Some(address.octets().to_vec()),
        (Kind::AAAA, Some(address)) => synthesised(address).map(|address: Ipv6Addr| address.octets().to_vec()),
        (NS, None) if is_apex => Some(pointer_to(apex_at).to_vec()),
        (Kind::SOA, None) if is_apex => Some(start_of_authority(apex_at)),
        _ => None,
    };
    let rcode = if is_host || is_apex { 0 } else { NAME_ERROR };
    let flags = RESPONSE | AUTHORITATIVE | rcode;
    let counts = if data.is_some() { [1, 0] } else { [0, 1] };
    let mut bytes = Vec::with_capacity(MAX_ANSWER_BYTES);
    for word in [header.id, flags, 1, counts[0], counts[1], 0] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(question.name.wire());
    bytes.extend(question.kind.0.to_be_bytes());
    bytes.extend(question.class.to_be_bytes());
    let (owner, kind, data) = match data {
        Some(data) => (HEADER_BYTES, question.kind, data),
        // A name or a record that is not there: RFC 2308 section 3.
        None => (apex_at, Kind::SOA, start_of_authority(apex_at)),
    };
    bytes.extend(pointer_to(owner));
    bytes.extend(kind.0.to_be_bytes());
    bytes.extend(CLASS_IN.to_be_bytes());
    bytes.extend(TTL_S.to_be_bytes());
    bytes.extend((data.len() as u16).to_be_bytes());
    bytes.extend(data);
    Some(bytes)
}

/// The place where the zone's name begins in a message that asks for the name; absent where it is in another zone.
fn place_of(name: &Name, zone: &Name) -> Option<usize> {
    let (wire, end) = (name.wire(), zone.wire());
    let at = wire.len().checked_sub(end.len())?;
    let labels_end_there = {
        let mut place = 0;
        let mut labels = name.labels();
        while place < at {
            place += 1 + labels.next()?.len();
        }
        place == at
    };
    (labels_end_there && wire[at..].eq_ignore_ascii_case(end)).then_some(HEADER_BYTES + at)
}

fn pointer_to(at: usize) -> [u8; 2] {
    (POINTER | at as u16).to_be_bytes()
}

/// RFC 1035 section 3.3.13: the zone's name stands for its server and for its administrator.
fn start_of_authority(apex_at: usize) -> Vec<u8> {
    let mut data = [pointer_to(apex_at), pointer_to(apex_at)].concat();
    for number in [1, TTL_S, TTL_S, TTL_S, TTL_S] {
        data.extend(number.to_be_bytes());
    }
    data
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NUMBER: u32 = 0xc612_00fe;

    fn prefix() -> Prefix6 {
        super::super::prefix_of("64:ff9b::/96").unwrap()
    }

    /// The answer to a question as a resolver that synthesises gives it.
    fn answered(number: u32) -> Vec<u8> {
        reply(&question(7, number), Some(&prefix())).unwrap()
    }

    #[test]
    fn a_question_is_one_to_others() {
        let asked = question(7, NUMBER);
        let message = Message::parse(&asked).unwrap();
        let [question] = &message.questions[..] else { panic!("one question") };
        assert_eq!(question.name.to_string(), "198-018-000-254.dns64perf.test.");
        assert_eq!((question.kind, question.class, message.header.id), (Kind::AAAA, CLASS_IN, 7));
    }

    #[test]
    fn names_have_an_a_record_and_no_aaaa_record() {
        let mut asked = question(9, NUMBER);
        let at = HEADER_BYTES + NAME_BYTES + 1;
        let nothing = reply(&asked, None).unwrap();
        let message = Message::parse(&nothing).unwrap();
        assert_eq!((message.sections[0].len(), message.sections[1].len(), message.header.rcode()), (0, 1, 0));
        asked[at] = Kind::A.0 as u8;
        let reply = reply(&asked, None).unwrap();
        let message = Message::parse(&reply).unwrap();
        assert_eq!(message.sections[0][0].data.1, [198, 18, 0, 254]);
        assert!(message.header.is_authoritative());
    }

    #[test]
    fn other_names_are_not_there_and_other_zones_are_not_answered() {
        let ask = |name: &str, kind: Kind| {
            let mut message = question(1, 0)[..HEADER_BYTES].to_vec();
            message.extend(name.parse::<Name>().unwrap().wire());
            message.extend(kind.0.to_be_bytes());
            message.extend(CLASS_IN.to_be_bytes());
            reply(&message, None)
        };
        let rcode = |reply: Option<Vec<u8>>| reply.map(|reply| Message::parse(&reply).unwrap().header.rcode());
        assert_eq!(rcode(ask("dns64perf.test", NS)), Some(0));
        assert_eq!(rcode(ask("DNS64perf.Test", Kind::SOA)), Some(0));
        assert_eq!(rcode(ask("www.dns64perf.test", Kind::A)), Some(3));
        assert_eq!(rcode(ask("198-018-000-256.dns64perf.test", Kind::A)), Some(3));
        assert_eq!(rcode(ask("a.198-018-000-254.dns64perf.test", Kind::A)), Some(3));
        assert_eq!(ask("dns64perf.example", Kind::A), None);
        assert_eq!(ask("xdns64perf.test", Kind::A), None);
        assert_eq!(reply(&answered(1), None), None, "an answer is no question");
    }

    #[test]
    fn only_the_address_of_the_name_is_right() {
        assert_eq!(judge(&answered(NUMBER), NUMBER, &prefix()), Verdict::Right);
        assert_eq!(judge(&answered(NUMBER), NUMBER + 1, &prefix()), Verdict::Wrong);
        let other = super::super::prefix_of("2001:db8:64::/96").unwrap();
        assert_eq!(judge(&answered(NUMBER), NUMBER, &other), Verdict::Wrong);
        let without = reply(&question(7, NUMBER), None).unwrap();
        assert_eq!(judge(&without, NUMBER, &prefix()), Verdict::Wrong);
        let mut failed = answered(NUMBER);
        failed[3] |= 2;
        assert_eq!(judge(&failed, NUMBER, &prefix()), Verdict::Failed(2));
        assert_eq!(id_of(&failed), Some(7));
        assert_eq!(id_of(&question(7, NUMBER)), None);
    }

    proptest! {
        #[test]
        fn every_number_has_a_name_of_its_own(number: u32) {
            prop_assert_eq!(number_of(&label(number)), Some(number));
            prop_assert_eq!(judge(&answered(number), number, &prefix()), Verdict::Right);
        }

        #[test]
        fn hostile_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), number: u32) {
            let _ = reply(&bytes, Some(&prefix()));
            prop_assert!(judge(&bytes, number, &prefix()) != Verdict::Right);
        }
    }
}
