//! A resolver that asks another server for the names of a zone: RFC 6147 section 5.1 by what that says, RFC 2308, RFC
//! 5452.

use std::net::Ipv6Addr;

use sixbench_wire::dns::{
    Data, ForeignAnswer, Found, Header, Kind, Learned, Message, Name, Next, Outcome, Question, Reply, Transport,
    answer_in,
};

use crate::held::{answer_of, forwarding, name, query};

const RD: u16 = 0x0100;
const HOST: &str = "host.example";
const ADDRESS: &[u8] = &[198, 18, 1, 4];
const MADE: &str = "2001:db8:64::c612:104";
/// The data of a SOA record: both names are the root, then serial, refresh, retry, expire, and the time for which an
/// absence may be kept.
const SOA: &[u8] = &[0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 30];

fn mapped() -> Vec<u8> {
    "::ffff:198.18.1.4".parse::<Ipv6Addr>().expect("an address").octets().to_vec()
}

/// Asks for the host, and lets each question to the server be answered by a message. Gives the reply and what was
/// asked.
fn resolve(kind: u16, mut says: impl FnMut(&Question) -> Vec<u8>) -> (Reply, Vec<(String, u16)>) {
    let (responder, message) = (forwarding(), query(&name(HOST), kind, RD, None));
    let (mut learned, mut asked) = (Vec::new(), Vec::new());
    loop {
        match responder.reply(&message, Transport::Udp, &learned).expect("a question") {
            Next::Reply(reply) => return (reply, asked),
            Next::Ask(question) => {
                asked.push((question.name.to_string(), question.kind.0));
                let Some(ForeignAnswer::Found(found)) = answer_in(&says(&question), 0x5eed, &question) else {
                    panic!("no answer")
                };
                learned.push(Learned { question, found });
            }
        }
    }
}

/// The names, TTLs and last octets of the answers.
fn answers(reply: &Reply) -> Vec<(String, u16, u32, Vec<u8>)> {
    let message = Message::parse(&reply.message).expect("our own");
    let read_answer =
        message.sections[0].iter().map(|one| (one.name.to_string(), one.kind.0, one.ttl_s, one.data.1.to_vec()));
    read_answer.collect()
}

fn synthesised() -> Vec<u8> {
    MADE.parse::<Ipv6Addr>().expect("an address").octets().to_vec()
}

fn nothing(kind: u16) -> Vec<u8> {
    answer_of(kind, 0, [&[], &[("example", 6, 40, SOA)]])
}

#[test]
fn rfc6147_5_1_7_an_address_is_made_and_kept_no_longer_than_either_answer() {
    for (ttl_s, expected) in [(20, 20), (300, 30)] {
        let (reply, asked) = resolve(28, |question| match question.kind {
            Kind::AAAA => nothing(28),
            _ => answer_of(1, 0, [&[(HOST, 1, ttl_s, ADDRESS)], &[]]),
        });
        assert_eq!(reply.outcome, Outcome::Synthesised);
        assert_eq!(asked, [("host.example.".to_owned(), 28), ("host.example.".to_owned(), 1)]);
        assert_eq!(answers(&reply), [("host.example.".to_owned(), 28, expected, synthesised())]);
        assert!(!Header::parse(&reply.message).expect("a header").is_authoritative());
    }
    // Records may be kept for 600 s at most if there is no authority.
    let (reply, _) = resolve(28, |question| match question.kind {
        Kind::AAAA => answer_of(28, 0, [&[], &[]]),
        _ => answer_of(1, 0, [&[(HOST, 1, 86_400, ADDRESS)], &[]]),
    });
    assert_eq!(answers(&reply)[0].2, 600);
}

#[test]
fn rfc6147_5_1_1_an_address_that_the_server_has_is_kept() {
    let own = "2001:db8::7".parse::<Ipv6Addr>().expect("an address").octets();
    let (reply, asked) = resolve(28, |_| answer_of(28, 0, [&[(HOST, 28, 77, &own)], &[]]));
    assert_eq!((reply.outcome, asked.len()), (Outcome::Answered, 1));
    assert_eq!(answers(&reply), [("host.example.".to_owned(), 28, 77, own.to_vec())]);
}

#[test]
fn rfc6147_5_1_4_an_excluded_address_of_the_server_is_as_good_as_none() {
    let (reply, _) = resolve(28, |question| match question.kind {
        Kind::AAAA => answer_of(28, 0, [&[(HOST, 28, 60, &mapped())], &[]]),
        _ => answer_of(1, 0, [&[(HOST, 1, 60, ADDRESS)], &[]]),
    });
    assert_eq!((reply.outcome, answers(&reply)[0].3.clone()), (Outcome::Synthesised, synthesised()));
}

#[test]
fn rfc6147_5_1_5_aliases_are_followed_in_one_answer_or_in_several() {
    let other = name("other.example");
    let alias = (HOST, 5, 50, other.wire());
    let expected = [
        ("host.example.".to_owned(), 5, 50, other.wire().to_vec()),
        ("other.example.".to_owned(), 28, 30, synthesised()),
    ];
    let (reply, asked) = resolve(28, |question| match question.kind {
        Kind::AAAA => answer_of(28, 0, [&[alias], &[("example", 6, 40, SOA)]]),
        _ => answer_of(1, 0, [&[alias, ("other.example", 1, 60, ADDRESS)], &[]]),
    });
    assert_eq!((answers(&reply), asked.len()), (expected.to_vec(), 2));
    // The server tells one alias at a time.
    let (reply, asked) = resolve(28, |question| match (question.name == name(HOST), question.kind) {
        (true, kind) => answer_of(kind.0, 0, [&[alias], &[]]),
        (false, Kind::AAAA) => of_other(answer_of(28, 0, [&[], &[("example", 6, 40, SOA)]])),
        (false, _) => of_other(answer_of(1, 0, [&[("other.example", 1, 60, ADDRESS)], &[]])),
    });
    assert_eq!((answers(&reply), asked.len()), (expected.to_vec(), 4));
}

/// The message with the other name in its question.
fn of_other(message: Vec<u8>) -> Vec<u8> {
    let [own, other] = [HOST, "other.example"].map(name);
    [&message[..12], other.wire(), &message[12 + own.wire().len()..]].concat()
}

#[test]
fn aliases_in_a_circle_fail() {
    let (other, own) = (name("other.example"), name(HOST));
    let circle = [(HOST, 5, 60, other.wire()), ("other.example", 5, 60, own.wire())];
    let (reply, asked) = resolve(28, |question| answer_of(question.kind.0, 0, [&circle, &[]]));
    assert_eq!((reply.outcome, asked.len()), (Outcome::Failed, 2));
}

#[test]
fn rfc6147_5_1_2_what_is_not_there_stays_so_with_the_servers_authority() {
    let (reply, asked) = resolve(28, |_| answer_of(28, 3, [&[], &[("example", 6, 40, SOA)]]));
    assert_eq!((reply.outcome, asked.len()), (Outcome::NoName, 1));
    let message = Message::parse(&reply.message).expect("our own");
    let [soa] = &message.sections[1][..] else { panic!("{message:?}") };
    assert_eq!((soa.name.clone(), soa.kind, soa.ttl_s, soa.data.1), (name("example"), Kind::SOA, 40, SOA));
    let (reply, asked) = resolve(28, |question| nothing(question.kind.0));
    assert_eq!((reply.outcome, asked.len()), (Outcome::NoData, 2));
}

#[test]
fn rfc6147_5_1_2_a_failure_of_the_server_is_as_good_as_no_address() {
    let (reply, _) = resolve(28, |question| match question.kind {
        Kind::AAAA => answer_of(28, 2, [&[], &[]]),
        _ => answer_of(1, 0, [&[(HOST, 1, 60, ADDRESS)], &[]]),
    });
    assert_eq!(reply.outcome, Outcome::Synthesised);
    // A referral is no answer of a resolver, and so are records that are none.
    for flawed in [answer_of(1, 0, [&[], &[("example", 2, 60, &[0])]]), answer_of(1, 0, [&[(HOST, 1, 60, &[1])], &[]])]
    {
        let (reply, _) = resolve(1, |_| flawed.clone());
        assert_eq!(reply.outcome, Outcome::Failed);
    }
}

#[test]
fn records_of_other_types_are_passed_on_with_whole_names() {
    // The exchanger's name is a pointer to that of the question.
    let (reply, asked) = resolve(15, |_| answer_of(15, 0, [&[(HOST, 15, 60, &[0, 10, 0xc0, 12])], &[]]));
    assert_eq!((reply.outcome, asked.len()), (Outcome::Answered, 1));
    assert_eq!(answers(&reply)[0].3, [&[0, 10][..], name(HOST).wire()].concat());
}

#[test]
fn rfc5452_only_the_answer_to_the_question_counts() {
    let question = Question::new(name(HOST), Kind::A);
    let message = answer_of(1, 0, [&[(HOST, 1, 60, ADDRESS)], &[]]);
    let read_answer = |message: &[u8]| answer_in(message, 0x5eed, &question);
    let Some(ForeignAnswer::Found(Found::Data(records))) = read_answer(&message) else { panic!("it is one") };
    assert_eq!(records[0].data, Data::A("198.18.1.4".parse().expect("an address")));
    let changed = |at: usize, byte: u8| {
        let mut message = message.clone();
        message[at] = byte;
        message
    };
    let others = [
        changed(1, 0),                                 // another identifier
        changed(2, 1),                                 // a question
        changed(2, 0xa9),                              // another operation
        changed(13, b'x'),                             // another name
        changed(12 + name(HOST).wire().len() + 1, 28), // another type
        changed(12 + name(HOST).wire().len() + 3, 3),  // another class
        message[..message.len() - 1].to_vec(),
        message[..11].to_vec(),
    ];
    for other in others {
        assert_eq!(read_answer(&other), None, "{other:?}");
    }
    assert_eq!(read_answer(&changed(2, 0x83)), Some(ForeignAnswer::Truncated));
    // Case is none of a name's (RFC 4343).
    assert_ne!(read_answer(&changed(13, b'H')), None);
}

#[test]
fn own_names_are_answered_without_asking_and_others_are_not_there() {
    let ask = |text: &str, flags| {
        let message = query(&name(text), 28, flags, None);
        match forwarding().reply(&message, Transport::Udp, &[]).expect("a question") {
            Next::Reply(reply) => Ok((reply.outcome, Header::parse(&reply.message).expect("one").is_authoritative())),
            Next::Ask(question) => Err(question.name),
        }
    };
    assert_eq!(ask("server", RD), Ok((Outcome::Synthesised, true)));
    assert_eq!(ask("ipv4only.arpa", RD), Ok((Outcome::Synthesised, true)));
    assert_eq!(ask("nobody", RD), Ok((Outcome::NoName, true)));
    assert_eq!(ask("host.example.nobody", RD), Ok((Outcome::NoName, true)));
    let asked: Vec<Name> = ["example", "EXAMPLE", "a.b.Example"].map(|text| ask(text, RD).expect_err(text)).into();
    assert_eq!(asked, ["example", "example", "a.b.example"].map(name));
    // A client that does not want others to be asked is not told what others know.
    assert_eq!(ask(HOST, 0), Ok((Outcome::Refused, false)));
}
