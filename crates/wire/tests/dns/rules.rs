//! The rules of RFC 6147, each by a question; those of RFC 1035, RFC 6891, RFC 7050 and RFC 8020 that a resolver needs.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use sixbench_wire::dns::{
    Absence, Answer, Data, Found, Ignored, Kind, Message, Name, Outcome, Question, Record, Responder, Source,
    Transport, Zone,
};

use crate::held::{addresses, check, dns64, name, query, replied, responder, zone};

const RD: u16 = 0x0100;
const CD: u16 = 0x0010;

fn ask(text: &str, kind: Kind) -> Answer {
    dns64("2001:db8:64::", 96).answer(&zone(), &name(text), kind, false).expect("its own names")
}

fn found(answer: &Answer) -> Vec<Data> {
    let Found::Data(records) = &answer.found else { panic!("{answer:?}") };
    records.iter().map(|record| record.data.clone()).collect()
}

fn no_data() -> Found {
    Found::NoData(Absence::in_zone())
}

fn no_name() -> Found {
    Found::NoName(Absence::in_zone())
}

fn aaaa(text: &str) -> Data {
    Data::Aaaa(text.parse().expect("an address"))
}

#[test]
fn rfc6147_5_1_1_an_ipv6_address_that_is_there_is_kept() {
    let answer = ask("both", Kind::AAAA);
    assert_eq!((found(&answer), answer.is_synthesised), (vec![aaaa("2001:db8::3")], false));
    assert_eq!(found(&ask("client", Kind::AAAA)), [aaaa("2001:db8::2")]);
}

#[test]
fn rfc6147_5_1_2_a_name_that_is_not_there_stays_so() {
    for kind in [Kind::A, Kind::AAAA, Kind::PTR, Kind(16)] {
        assert_eq!(ask("nobody", kind).found, no_name());
    }
}

/// A source that has A records, and whose AAAA records cannot be asked for.
struct Broken(Found);

impl Source for Broken {
    fn find(&self, _: &Name, kind: Kind) -> Result<Found, Question> {
        Ok(if kind == Kind::A { self.0.clone() } else { Found::Failed })
    }
}

#[test]
fn rfc6147_5_1_2_after_a_failure_the_ipv4_addresses_are_asked_for() {
    let dns64 = dns64("2001:db8:64::", 96);
    let ask =
        |found| dns64.answer(&Broken(found), &name("server"), Kind::AAAA, false).expect("a source that knows all");
    let a = Record::of_this_server(name("server"), Data::A(Ipv4Addr::new(198, 18, 1, 2)));
    assert_eq!(found(&ask(Found::Data(vec![a]))), [aaaa("2001:db8:64::c612:102")]);
    assert_eq!(ask(Found::Failed).found, Found::Failed);
    assert_eq!(ask(no_data()).found, no_data());
    let reverse = Name::reverse("2001:db8:64::c612:102".parse().expect("an address"));
    let pointer = dns64.answer(&Broken(no_data()), &reverse, Kind::PTR, false);
    assert_eq!(pointer.expect("a source that knows all").found, Found::Failed);
}

#[test]
fn rfc6147_5_1_4_excluded_addresses_are_as_good_as_none() {
    let answer = ask("mapped", Kind::AAAA);
    assert_eq!((found(&answer), answer.is_synthesised), (vec![aaaa("2001:db8:64::c612:104")], true));
    let answer = ask("partly", Kind::AAAA);
    assert_eq!((found(&answer), answer.is_synthesised), (vec![aaaa("2001:db8::5")], false));
}

#[test]
fn rfc6147_5_1_6_each_ipv4_address_becomes_one_in_the_prefix() {
    let answer = ask("server", Kind::AAAA);
    assert_eq!((found(&answer), answer.is_synthesised), (vec![aaaa("2001:db8:64::c612:102")], true));
    assert_eq!(found(&ask("many.of.them", Kind::AAAA)).len(), 60);
    assert_eq!(found(&ask("server", Kind::A)), [Data::A(Ipv4Addr::new(198, 18, 1, 2))]);
    for (text, kind) in [("empty", Kind::AAAA), ("of.them", Kind::AAAA), ("server", Kind(15)), ("client", Kind::A)] {
        assert_eq!(ask(text, kind).found, no_data(), "{text}");
    }
}

#[test]
fn rfc6147_5_3_1_pointers_within_the_prefix_are_aliases_of_those_in_ipv4() {
    let reverse = Name::reverse("2001:db8:64::c612:102".parse().expect("an address"));
    let target = Name::reverse("198.18.1.2".parse().expect("an address"));
    let answer = ask(&reverse.to_string(), Kind::PTR);
    let expected = [
        Record::of_this_server(reverse, Data::Cname(target.clone())),
        Record::of_this_server(target, Data::Ptr(name("server"))),
    ];
    assert_eq!(answer.found, Found::Data(expected.to_vec()));
    let unknown = Name::reverse("2001:db8:64::c612:1ff".parse().expect("an address"));
    assert_eq!(ask(&unknown.to_string(), Kind::PTR).found, no_name());
    let own = Name::reverse("2001:db8::3".parse().expect("an address"));
    assert_eq!(found(&ask(&own.to_string(), Kind::PTR)), [Data::Ptr(name("both"))]);
}

#[test]
fn rfc6147_5_5_nothing_is_made_up_for_who_checks_signatures() {
    let responder = responder();
    let ask = |flags, edns| {
        let message = query(&name("server"), 28, RD | flags, edns);
        check(&responder, &message);
        replied(&responder, &message, Transport::Udp).expect("an answer").outcome
    };
    assert_eq!(ask(CD, Some((1232, true))), Outcome::NoData);
    for (flags, edns) in [(0, None), (CD, None), (0, Some((1232, true))), (CD, Some((1232, false)))] {
        assert_eq!(ask(flags, edns), Outcome::Synthesised);
    }
}

#[test]
fn rfc7050_clients_learn_the_prefix_by_a_name() {
    let addresses = [Ipv4Addr::new(192, 0, 0, 170), Ipv4Addr::new(192, 0, 0, 171)];
    assert_eq!(found(&ask("ipv4only.arpa", Kind::A)), addresses.map(Data::A));
    let expected = [aaaa("2001:db8:64::c000:aa"), aaaa("2001:db8:64::c000:ab")];
    assert_eq!(found(&ask("ipv4only.ARPA", Kind::AAAA)), expected);
    // RFC 6052 section 3.1: the well-known prefix stands for no others that are not global.
    let well_known = dns64("64:ff9b::", 96);
    let ask = |text| well_known.answer(&zone(), &name(text), Kind::AAAA, false).expect("its own names");
    assert_eq!(found(&ask("ipv4only.arpa"))[0], aaaa("64:ff9b::c000:aa"));
    assert_eq!(ask("server").found, no_data());
    let allowing = well_known.allowing_non_global(true);
    let found_there = allowing.answer(&zone(), &name("server"), Kind::AAAA, false).expect("its own name");
    assert!(found_there.is_synthesised, "as its translator has it: {found_there:?}");
}

#[test]
fn rfc8020_what_leads_to_names_is_there() {
    for text in ["them", "of.them", "arpa", "ip6.arpa", "1.18.198.in-addr.arpa", "8.b.d.0.1.0.0.2.ip6.arpa"] {
        assert_eq!(ask(text, Kind::A).found, no_data(), "{text}");
    }
    // Names of the prefix are there as far as they are shorter than an address.
    for text in
        ["4.6.0.0.8.b.d.0.1.0.0.2.ip6.arpa", "c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.4.6.0.0.8.b.d.0.1.0.0.2.ip6.arpa"]
    {
        assert_eq!(ask(text, Kind::A).found, no_data(), "{text}");
    }
    assert_eq!(ask("5.6.0.0.8.b.d.0.1.0.0.2.ip6.arpa", Kind::A).found, no_name());
}

fn reply(message: &[u8], transport: Transport) -> (Outcome, Vec<u8>) {
    let responder = responder();
    check(&responder, message);
    let reply = replied(&responder, message, transport).expect("an answer");
    (reply.outcome, reply.message)
}

#[test]
fn case_is_kept() {
    let (_, message) = reply(&query(&name("SeRvEr"), 28, RD, None), Transport::Udp);
    let answer = Message::parse(&message).expect("ours");
    assert_eq!(answer.questions[0].name.wire(), b"\x06SeRvEr\x00");
    assert_eq!(answer.sections[0][0].name.wire(), b"\x06SeRvEr\x00");
}

#[test]
fn an_answer_has_the_bytes_of_the_rfc() {
    let (_, message) = reply(&query(&name("server"), 28, RD, None), Transport::Udp);
    let mut expected = vec![0x5e, 0xed, 0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
    expected.extend(b"\x06server\x00\x00\x1c\x00\x01");
    expected.extend([0xc0, 12, 0, 28, 0, 1, 0, 0, 0, 60, 0, 16]);
    expected.extend([0x20, 1, 0xd, 0xb8, 0, 0x64, 0, 0, 0, 0, 0, 0, 198, 18, 1, 2]);
    assert_eq!(message, expected);
}

#[test]
fn rfc2308_what_is_not_there_comes_with_the_authority() {
    for (text, rcode) in [("empty", 0), ("nobody", 3)] {
        let (_, message) = reply(&query(&name(text), 28, RD, Some((1232, false))), Transport::Udp);
        let answer = Message::parse(&message).expect("ours");
        assert_eq!((answer.header.rcode(), answer.sections[0].len()), (rcode, 0));
        let [soa] = &answer.sections[1][..] else { panic!("{answer:?}") };
        assert_eq!((soa.kind, &soa.name, soa.data.1.len()), (Kind::SOA, &Name::root(), 22));
        assert_eq!(answer.edns.expect("OPT").udp_bytes, 1232);
    }
}

#[test]
fn what_does_not_fit_a_datagram_is_asked_for_again() {
    for (edns, is_truncated) in [(None, true), (Some((600, false)), true), (Some((65_535, false)), true)] {
        let message = query(&name("many.of.them"), 28, RD, edns);
        let answer = replied(&responder(), &message, Transport::Udp).expect("an answer");
        assert_eq!(answer.is_truncated, is_truncated);
        let (_, whole) = reply(&message, Transport::Tcp);
        assert_eq!(Message::parse(&whole).expect("ours").sections[0].len(), 60);
    }
    // 60 records of 16 bytes fit 1232 bytes, and not 512.
    for (edns, is_truncated) in [(None, true), (Some((1100, false)), false), (Some((100, false)), true)] {
        let answer =
            replied(&responder(), &query(&name("many.of.them"), 1, RD, edns), Transport::Udp).expect("an answer");
        assert_eq!(answer.is_truncated, is_truncated, "{edns:?}");
    }
}

#[test]
fn messages_that_are_no_questions_are_told_so() {
    let question = query(&name("server"), 28, RD, Some((1232, false)));
    let changed = |at: usize, byte: u8| {
        let mut message = question.clone();
        message[at] = byte;
        message
    };
    let opt = question.len() - 11;
    let class = opt - 1;
    let cases = [
        (changed(2, 0x28), Outcome::NotImplemented), // an update
        (changed(5, 0), Outcome::Malformed),
        (changed(5, 2), Outcome::Malformed),
        (changed(7, 1), Outcome::Malformed),
        (changed(11, 2), Outcome::Malformed),
        (changed(11, 0), Outcome::Malformed),
        (changed(opt, 1), Outcome::Malformed),
        (changed(class, 3), Outcome::Refused),
        (changed(class - 2, 252), Outcome::Refused),
        (changed(opt + 6, 1), Outcome::BadVersion),
        (question[..question.len() - 1].to_vec(), Outcome::Malformed),
        ([&question[..], &[0]].concat(), Outcome::Malformed),
        (question[..12].to_vec(), Outcome::Malformed),
    ];
    for (message, outcome) in cases {
        assert_eq!(reply(&message, Transport::Udp).0, outcome, "{message:?}");
    }
    let (_, bad) = reply(&changed(opt + 6, 1), Transport::Udp);
    // BADVERS is 16: a 1 in the OPT record, 0 in the header (RFC 6891 section 6.1.3).
    assert_eq!((bad[3] & 15, bad[bad.len() - 6]), (0, 1));
    assert_eq!(replied(&responder(), &changed(2, 0x80), Transport::Udp), Err(Ignored::Response));
    assert_eq!(replied(&responder(), &question[..11], Transport::Udp), Err(Ignored::Short));
}

#[test]
fn zones_that_cannot_be_are_refused() {
    let refused = |text: &str, hosts: Vec<std::net::IpAddr>| Zone::new([(name(text), hosts)]).expect_err(text);
    assert!(refused("a.arpa", Vec::new()).contains("no name of a host"));
    assert!(refused(".", Vec::new()).contains("no name of a host"));
    assert!(refused("many", addresses(&["192.0.2.1"; 65])).contains("65 addresses"));
}

#[test]
fn without_a_translator_nothing_is_synthesised() {
    let responder = Responder { dns64: None, ..responder() };
    for (host, kind, outcome) in [
        ("server", 1, Outcome::Answered),
        ("server", 28, Outcome::NoData),
        ("both", 28, Outcome::Answered),
        ("ipv4only.arpa", 28, Outcome::NoData),
        ("nobody", 28, Outcome::NoName),
    ] {
        let message = query(&name(host), kind, 0, None);
        assert_eq!(
            replied(&responder, &message, Transport::Udp).map(|reply| reply.outcome),
            Ok(outcome),
            "{host} {kind}"
        );
        check(&responder, &message);
    }
}

proptest! {
    #[test]
    fn what_is_synthesised_leads_back(
        address in any::<u32>(), prefix in any::<u128>(), length in 0..6_usize, kind in any::<u16>(), flags in 0..0x8000_u16
    ) {
        let bits = [32, 40, 48, 56, 64, 96][length];
        let prefix = (prefix >> (128 - u32::from(bits)) << (128 - u32::from(bits))) & !(0xff << 56);
        let prefix = Ipv6Addr::from_bits(prefix);
        let ipv4 = Ipv4Addr::from_bits(address);
        let zone = Zone::new([(name("server"), vec![ipv4.into()])]).expect("a zone");
        let dns64 = dns64(&prefix.to_string(), bits);
        let responder = Responder { zone, forwarded: None, dns64: Some(dns64.clone()) };
        let answer = dns64.answer(&responder.zone, &name("server"), Kind::AAAA, false).expect("its own names");
        let [Data::Aaaa(address)] = found(&answer)[..] else { panic!("{answer:?}") };
        let net = sixbench_wire::addresses::Net { address: prefix, bits };
        prop_assert_eq!(net.embedded(address), Some(ipv4));
        let back = dns64.answer(&responder.zone, &Name::reverse(address.into()), Kind::PTR, false).expect("its own names");
        prop_assert_eq!(found(&back).pop(), Some(Data::Ptr(name("server"))));
        check(&responder, &query(&name("server"), kind, flags, None));
    }
}
