//! Messages that nobody should send.

use crate::held::{answer_of, check, check_told, forwarding, name, query, responder};
use crate::seeded::Random;

fn questions() -> Vec<Vec<u8>> {
    let reverse = "2.0.2.1.2.1.6.c.0.0.0.0.0.0.0.0.0.0.0.0.4.6.0.0.8.b.d.0.1.0.0.2.ip6.arpa";
    let mut found = Vec::new();
    for (text, kind) in [
        ("server", 28),
        ("SerVer", 28),
        ("client", 28),
        ("both", 1),
        ("many.of.them", 28),
        ("many.of.them", 255),
        ("ipv4only.arpa", 28),
        (reverse, 12),
        ("2.1.18.198.in-addr.arpa", 12),
        ("nobody", 28),
    ] {
        found.push(query(&name(text), kind, 0x0100, None));
        found.push(query(&name(text), kind, 0x0110, Some((4096, kind == 28))));
    }
    found
}

#[test]
fn a_million_messages_that_were_questions_are_answered_or_ignored() {
    let (responder, questions) = (responder(), questions());
    let mut random = Random(0x5eed);
    let mut message = Vec::new();
    for case in 0..1_000_000 {
        message.clear();
        message.extend_from_slice(&questions[case % questions.len()]);
        for _ in 0..random.below(4) {
            let at = random.below(message.len());
            match random.below(6) {
                // Pointers, counts and lengths.
                0 => message[at] = [0xc0, 0xff, 0, 0x3f, 0x40, 0x80][random.below(6)],
                1 => message[at % 12] = [0, 1, 0xff, 2][random.below(4)],
                2 => message.insert(at, random.below(256) as u8),
                3 => message[at] = random.below(256) as u8,
                4 => message.truncate(at.max(1)),
                _ => message.extend_from_within(at..),
            }
        }
        check(&responder, &message);
    }
}

/// Possible answers of another server: an address, an excluded one, an alias, an alias with its end, and that there is
/// nothing.
fn messages() -> Vec<Vec<u8>> {
    let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 18, 1, 4];
    let (other, own) = (name("other.example"), name("host.example"));
    let soa = [&[0, 0][..], &[0, 0, 0, 60].repeat(5)].concat();
    vec![
        answer_of(28, 0, [&[("host.example", 28, 60, &mapped)], &[]]),
        answer_of(1, 0, [&[("host.example", 1, 60, &[198, 18, 1, 4])], &[]]),
        answer_of(28, 0, [&[("host.example", 5, 60, other.wire())], &[]]),
        answer_of(28, 0, [&[("host.example", 5, 60, other.wire()), ("other.example", 5, 60, own.wire())], &[]]),
        answer_of(28, 0, [&[("host.example", 5, 60, other.wire())], &[("example", 6, 60, &soa)]]),
        answer_of(28, 3, [&[], &[("example", 6, 60, &soa)]]),
        answer_of(28, 0, [&[], &[("example", 2, 60, other.wire())]]),
    ]
}

#[test]
fn whatever_a_server_says_a_client_hears_a_message() {
    let (responder, messages) = (forwarding(), messages());
    let mut random = Random(0x5eed);
    for case in 0..200_000 {
        let mut message = messages[case % messages.len()].clone();
        for _ in 0..random.below(4) {
            let at = random.below(message.len());
            match random.below(5) {
                0 => message[at] = [0xc0, 0xff, 0, 0x3f, 0x0c, 0x80][random.below(6)],
                1 => message.insert(at, random.below(256) as u8),
                2 => message[at] = random.below(256) as u8,
                3 => message.truncate(at.max(1)),
                _ => message.extend_from_within(at..),
            }
        }
        check_told(&responder, &message);
    }
}

#[test]
fn pointers_that_lead_on_take_no_longer_than_the_message() {
    // Each record's name is a chain of pointers through all those before it.
    let mut message = query(&name("server"), 28, 0, None);
    message[10..12].copy_from_slice(&5000_u16.to_be_bytes());
    let mut last = 12_u16;
    for _ in 0..1300 {
        let at = message.len() as u16;
        message.extend([0xc0 | (last >> 8) as u8, last as u8]);
        message.extend([0, 1, 0, 1, 0, 0, 0, 0, 0, 0]);
        last = at;
    }
    check(&responder(), &message);
    message[10..12].copy_from_slice(&1300_u16.to_be_bytes());
    check(&responder(), &message);
    assert_eq!(sixbench_wire::dns::Message::parse(&message).expect("it is right").sections[2].len(), 1300);
}
