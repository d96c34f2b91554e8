//! `resolve` against resolvers on loopback: right ones, and those that are silent, lie or flood.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use sixbench_measure::clock;
use sixbench_probes::{Pacer, resolve};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// A time limit that no right answer on loopback reaches, however busy the machine is.
const PATIENT_NS: u64 = 30_000_000_000;
const IMPATIENT_NS: u64 = 200_000_000;

/// The question with these flags and these bytes of records behind it, in the number `answers`.
fn answered(question: &[u8], flags: [u8; 2], answers: u8, records: &[u8]) -> Vec<u8> {
    // The header, the name, type and class; without EDNS.
    let end = 12 + question[12..].iter().position(|&byte| byte == 0).expect("the root") + 5;
    let mut answer = question[..end].to_vec();
    answer[2..4].copy_from_slice(&flags);
    answer[4..12].copy_from_slice(&[0, 1, 0, answers, 0, 0, 0, 0]);
    answer.extend(records);
    answer
}

/// A record of the name in the question.
fn a_record(address: [u8; 4]) -> Vec<u8> {
    [&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4][..], &address].concat()
}

/// A resolver that sends these messages for each question, by UDP.
fn resolver(answers: impl Fn(&[u8]) -> Vec<Vec<u8>> + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2_000];
        while let Ok((bytes, from)) = socket.recv_from(&mut buffer) {
            for answer in answers(&buffer[..bytes]) {
                let _ = socket.send_to(&answer, from);
            }
        }
    });
    address
}

fn ask(resolver: SocketAddr, timeout_ns: u64) -> Value {
    let request = json!({
        "name": "www.example.org", "types": ["A"], "timeout_ns": timeout_ns,
        "resolver": {"address": resolver.ip(), "port": resolver.port()},
    });
    let result = resolve::run(&serde_json::from_value(request).unwrap(), &Pacer::default()).unwrap();
    json!(result)["answers"][0].clone()
}

#[test]
fn an_answer_has_its_records() {
    let resolver = resolver(|question| vec![answered(question, [0x81, 0x80], 1, &a_record([192, 0, 2, 1]))]);
    let answer = ask(resolver, PATIENT_NS);
    assert_eq!((&answer["outcome"], &answer["rcode"]), (&json!("answered"), &json!("NOERROR")));
    assert_eq!((&answer["addresses"], &answer["ttl_s"]), (&json!(["192.0.2.1"]), &json!(60)));
    assert_eq!(answer["truncated"], false);
    assert!(answer["elapsed_ns"].is_u64());
}

#[test]
fn answers_to_other_questions_are_strays() {
    let resolver = resolver(|question| {
        let right = answered(question, [0x81, 0x83], 0, &[]);
        let mut other_id = right.clone();
        other_id[0] ^= 1;
        let mut other_name = right.clone();
        other_name[13] ^= 1;
        vec![other_id, other_name, question.to_vec(), right]
    });
    let answer = ask(resolver, PATIENT_NS);
    assert_eq!((&answer["rcode"], &answer["strays"]), (&json!("NXDOMAIN"), &json!(3)));
}

#[test]
fn failures_have_a_word_each() {
    let silent = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    let silence = ask(silent.local_addr().unwrap(), IMPATIENT_NS);
    assert_eq!((&silence["outcome"], &silence["elapsed_ns"]), (&json!("silence"), &Value::Null));
    let nobody = silent.local_addr().unwrap();
    drop(silent);
    let refused = ask(nobody, PATIENT_NS);
    assert_eq!((&refused["outcome"], &refused["icmp"]["type"]), (&json!("refused"), &json!(3)));
    // A record whose length goes beyond the message.
    let lying = resolver(|question| vec![answered(question, [0x81, 0x80], 1, &a_record([1, 2, 3, 4])[..13])]);
    assert_eq!(ask(lying, PATIENT_NS)["outcome"], "protocol");
}

#[test]
fn a_flood_of_other_answers_has_an_end() {
    let flooding = resolver(|question| {
        let mut other = answered(question, [0x81, 0x80], 0, &[]);
        other[0] ^= 1;
        vec![other; 3_000]
    });
    let answer = ask(flooding, 3 * PATIENT_NS / 30);
    assert!(answer["outcome"] == "protocol" || answer["outcome"] == "silence", "{answer}");
}

#[test]
fn a_resolver_without_edns_is_asked_without_it() {
    let resolver = resolver(|question| {
        let has_edns = question[10..12] != [0, 0];
        let (flags, records) = if has_edns { ([0x81, 0x81], vec![]) } else { ([0x81, 0x80], a_record([192, 0, 2, 1])) };
        vec![answered(question, flags, u8::from(!has_edns), &records)]
    });
    let answer = ask(resolver, PATIENT_NS);
    assert_eq!((&answer["rcode"], &answer["addresses"]), (&json!("NOERROR"), &json!(["192.0.2.1"])), "{answer}");
    assert!(answer["asked"].as_u64() >= Some(2), "{answer}");
}

#[test]
fn names_of_thousands_of_pointers_are_read_to_their_end() {
    let resolver = resolver(|question| {
        let begin = answered(question, [0x81, 0x80], 2, &[]).len();
        // The data of a record of an unknown type: the name of the root, and pointers, each to the one before.
        let (first, mut data) = (begin + 11, vec![0]);
        let mut last = first;
        while first + data.len() < 0x3ffe {
            let here = first + data.len();
            data.extend((0xc000 | last as u16).to_be_bytes());
            last = here;
        }
        let length = (data.len() as u16).to_be_bytes();
        let pointer = (0xc000 | last as u16).to_be_bytes();
        let unknown = [&[0, 0xff, 0, 0, 1, 0, 0, 0, 60][..], &length, &data].concat();
        let pointing = [&pointer[..], &[0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1]].concat();
        vec![answered(question, [0x81, 0x80], 2, &[unknown, pointing].concat())]
    });
    let answer = ask(resolver, PATIENT_NS);
    assert_eq!((&answer["outcome"], &answer["addresses"]), (&json!("answered"), &json!([])), "{answer}");
}

#[test]
fn a_truncated_answer_is_asked_for_by_tcp() {
    for (by_tcp, outcome) in [("right", "answered"), ("cut", "closed"), ("silent", "silence"), ("none", "refused")] {
        let listener = TcpListener::bind((LOOPBACK, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let socket = UdpSocket::bind(address);
        let Ok(socket) = socket else { continue };
        thread::spawn(move || {
            let mut buffer = [0; 2_000];
            let (bytes, from) = socket.recv_from(&mut buffer).unwrap();
            socket.send_to(&answered(&buffer[..bytes], [0x83, 0x80], 0, &[]), from).unwrap();
            thread::sleep(Duration::from_secs(600));
        });
        if by_tcp == "none" {
            drop(listener);
        } else {
            thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut question = vec![0; 2_000];
                let bytes = stream.read(&mut question).unwrap();
                let answer = answered(&question[2..bytes], [0x81, 0x80], 1, &a_record([192, 0, 2, 7]));
                let mut framed = (answer.len() as u16).to_be_bytes().to_vec();
                framed.extend(&answer);
                match by_tcp {
                    "right" => stream.write_all(&framed).unwrap(),
                    "cut" => stream.write_all(&framed[..9]).unwrap(),
                    _ => thread::sleep(Duration::from_secs(600)),
                }
            });
        }
        let answer = ask(address, if by_tcp == "silent" { 15 * IMPATIENT_NS } else { PATIENT_NS });
        assert_eq!((&answer["outcome"], &answer["truncated"]), (&json!(outcome), &json!(true)), "{by_tcp}: {answer}");
    }
}

#[test]
fn what_is_out_of_bounds_is_refused() {
    for request in [
        json!({"name": ""}),
        json!({"name": "a..b"}),
        json!({"name": "a", "types": []}),
        json!({"name": "a", "timeout_ns": 0}),
        json!({"name": "a", "resolver": {"address": "127.0.0.1", "port": 0}}),
    ] {
        assert!(resolve::run(&serde_json::from_value(request).unwrap(), &Pacer::default()).is_err());
    }
    assert!(serde_json::from_value::<resolve::ResolveRequest>(json!({"name": "a", "x": 1})).is_err());
    assert!(serde_json::from_value::<resolve::ResolveRequest>(json!({"name": "a", "types": ["ANY"]})).is_err());
}

#[test]
fn questions_to_one_resolver_are_paced() {
    let resolver = resolver(|question| vec![answered(question, [0x81, 0x80], 0, &[])]);
    let (pacer, begin_ns) = (Pacer::default(), clock::monotonic_ns());
    let request = json!({
        "name": "www.example.org", "types": ["A", "AAAA"], "timeout_ns": PATIENT_NS,
        "resolver": {"address": resolver.ip(), "port": resolver.port()},
    });
    resolve::run(&serde_json::from_value(request).unwrap(), &pacer).unwrap();
    assert!(pacer.next_packet_ns(resolver.ip(), 0, 0, false) >= begin_ns + 100_000_000);
}
