//! Answers of strangers to probes: messages of DNS, what ICMP errors quote, echoes, and heads of HTTP.

use std::time::{Duration, SystemTime};

use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use sixbench_packet::error_queue::ExtendedError;
use sixbench_probes::application::head::Head;
use sixbench_probes::outcome::icmp_of;
use sixbench_probes::path_mtu::message::{Carrier, answered, quoted};
use sixbench_probes::path_mtu::search::{Fate, Search};
use sixbench_probes::resolve::message::{ALL_TYPES, Question, Verdict, name};
use sixbench_probes::resolve::resolv_conf;
use sixbench_probes::{ping, route};

/// The secret of the probes, which is in the corpus.
const TOKEN: [u8; 8] = *b"tokentok";
const ID: u16 = 0x1234;
/// Characters of a header's value that are told.
const MAX_VALUE_CHARS: usize = 512;

/// The same bytes as everything that a stranger could send.
pub fn probes(data: &[u8]) {
    dns(data);
    icmp(data);
    head(data);
    search(data);
    let resolvers = resolv_conf::resolvers(&String::from_utf8_lossy(data));
    assert!((1..=3).contains(&resolvers.len()));
}

fn dns(data: &[u8]) {
    let name = name("www.example.org").expect("a name");
    for kind in ALL_TYPES {
        let question = Question::new(ID, &name, kind).expect("a question");
        for by_tcp in [false, true] {
            match question.verdict(data, by_tcp) {
                Verdict::Answer(answer) => assert!(!answer.rcode.is_empty()),
                Verdict::Truncated => assert!(!by_tcp),
                Verdict::Malformed(reason) => assert!(!reason.is_empty()),
                Verdict::Other => {}
            }
        }
        assert_eq!(question.verdict(&question.message, false), Verdict::Other);
    }
}

fn icmp(data: &[u8]) {
    for carrier in [Carrier::Udp, Carrier::Icmp] {
        let _ = (
            quoted(carrier, data, &TOKEN),
            answered(carrier, true, data, &TOKEN),
            answered(carrier, false, data, &TOKEN),
        );
    }
    let _ = (ping::reply_to(data, true, &TOKEN), ping::reply_to(data, false, &TOKEN));
    let _ = (ping::request_in(data, &TOKEN), route::number_in(data, &TOKEN));
    if let [origin, kind, code, a, b, c, d, ..] = *data {
        let info = u32::from_be_bytes([a, b, c, d]);
        let _ = icmp_of(&ExtendedError { errno: 0, origin, kind, code, info, data: 0, offender: None });
    }
}

/// A head of these lines, as a library of HTTP lets them through.
fn head(data: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let read = (HeaderName::from_bytes(&line[..colon]), HeaderValue::from_bytes(&line[colon + 1..]));
        if let (Ok(name), Ok(value)) = read {
            let _ = headers.try_append(name, value);
        }
    }
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let head = Head::read(StatusCode::OK.as_u16(), &headers, now);
    for value in [head.location, head.alt_svc, head.server].into_iter().flatten() {
        assert!(value.chars().count() <= MAX_VALUE_CHARS && !value.chars().any(char::is_control));
    }
}

/// A search ends, whatever is said about its probes.
fn search(data: &[u8]) {
    let mut search = Search::new(1_280, 9_000);
    let mut fates = data.chunks_exact(3).map(|chunk| match *chunk {
        [0, ..] => Fate::Silence,
        [1, high, low] => Fate::TooBig(u16::from_be_bytes([high, low]).into()),
        _ => Fate::Arrived,
    });
    for _ in 0..64 {
        let Some(size) = search.next() else { return };
        assert!((1_280..=9_000).contains(&size));
        search.note(size, fates.next().unwrap_or(Fate::Silence));
        if search.largest().is_none() {
            return;
        }
    }
    panic!("no end: {search:?}");
}
