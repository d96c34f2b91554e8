//! Messages of the workload `dns`, as its server and its client get them.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sixbench_applications::parsers::{Question, Space, Verdict, Zone, read_framed};
use sixbench_wire::token::Token;

const TOKEN: Token = Token([7; 16]);
const ANSWER_BYTES: usize = 300;
const EDNS_BYTES: u16 = 1_232;

/// A message as a question and as an answer, and a stream of messages. An answer is as long as it is to be, unless it
/// is truncated, and none is longer than a datagram of the client's.
pub fn trial_dns(data: &[u8]) {
    let zone = Zone::of_trial(&TOKEN).expect("a zone");
    let question = zone.question(5, 77, EDNS_BYTES).expect("a question");
    message(&zone, &question, data);
    let mut rest = data;
    while let Some(framed) = next(&mut rest) {
        message(&zone, &question, &framed);
    }
}

fn message(zone: &Zone, question: &Question, data: &[u8]) {
    for (space, answer_bytes) in [(Space::Datagram, ANSWER_BYTES), (Space::Datagram, 4_096), (Space::Stream, 4_096)] {
        let Some(answer) = zone.answer(data, answer_bytes, space) else { continue };
        assert!(answer.is_truncated || answer.message.len() == answer_bytes, "{} bytes", answer.message.len());
        assert!(space == Space::Datagram || !answer.is_truncated);
    }
    match question.verdict(data, ANSWER_BYTES) {
        Verdict::Right => assert_eq!(data.len(), ANSWER_BYTES),
        Verdict::Wrong(reason) => assert!(!reason.is_empty()),
        Verdict::Truncated | Verdict::Other => {}
    }
}

/// The next message of a stream that is whole; absent at its end, or where it ends in the middle of one.
fn next(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let before = *rest;
    let reading = pin!(read_framed(rest));
    let Poll::Ready(read) = reading.poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("memory is always ready");
    };
    let message = read.ok()??;
    let length = usize::from(u16::from_be_bytes([before[0], before[1]]));
    assert_eq!(message, before[2..2 + length]);
    Some(message)
}
