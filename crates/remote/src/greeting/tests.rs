//! Clients, servers and strangers in memory.

use std::io::Cursor;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use super::*;
use crate::channel::{Reader, Writer};
use crate::cookie::{COOKIE_BYTES, NO_COOKIE};
use crate::first_bytes::PREAMBLE_BYTES;

/// Both directions of a connection in memory.
struct Pipe {
    from: Receiver<Vec<u8>>,
    to: Sender<Vec<u8>>,
    rest: Cursor<Vec<u8>>,
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.position() == self.rest.get_ref().len() as u64 {
            self.rest = Cursor::new(self.from.recv().unwrap_or_default());
        }
        self.rest.read(buffer)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn pipe() -> (Pipe, Pipe) {
    let ((a_to, b_from), (b_to, a_from)) = (mpsc::channel(), mpsc::channel());
    let end = |from, to| Pipe { from, to, rest: Cursor::default() };
    (end(a_from, a_to), end(b_from, b_to))
}

fn key(digit: char) -> Key {
    Key::parse(digit.to_string().repeat(64).as_bytes()).unwrap()
}

/// The results of a client and a server with these keys.
fn meet(client: Option<Key>, server: Option<Key>) -> (Result<Ciphers, Refusal>, Result<Ciphers, Refusal>) {
    let (mut ours, mut theirs) = pipe();
    let serving = thread::spawn(move || accept(&mut theirs, server.as_ref()));
    let greeted = greet(&mut ours, client.as_ref(), &NO_COOKIE);
    drop(ours);
    (greeted, serving.join().unwrap())
}

fn sealed() -> (Ciphers, Ciphers) {
    let (client, server) = meet(Some(key('1')), Some(key('1')));
    (client.unwrap(), server.unwrap())
}

#[test]
fn each_end_knows_what_the_other_lacks() {
    assert!(matches!(meet(None, None), (Ok(None), Ok(None))));
    assert!(matches!(meet(Some(key('1')), Some(key('1'))), (Ok(Some(_)), Ok(Some(_)))));
    assert!(matches!(meet(Some(key('1')), Some(key('2'))), (Err(Refusal::OtherKey), Err(Refusal::OtherKey))));
    assert!(matches!(meet(None, Some(key('1'))), (Err(Refusal::NeedsKey), Err(_))));
    assert!(matches!(meet(Some(key('1')), None), (Err(Refusal::NoKey), Err(_))));
}

#[test]
fn sealed_bytes_come_as_they_went_however_they_are_cut() {
    let (client, server) = sealed();
    let sent: Vec<u8> = (0..200_000_u32).map(|n| n as u8).collect();
    let mut wire = Vec::new();
    let mut writer = Writer::new(&mut wire, client);
    for part in sent.chunks(70_001) {
        writer.write_all(part).unwrap();
    }
    assert!(!wire.windows(16).any(|window| window == &sent[..16]));
    let mut received = Vec::new();
    Reader::new(&wire[..], server).read_to_end(&mut received).unwrap();
    assert_eq!(received, sent);
}

#[test]
fn a_message_that_was_changed_repeated_or_left_out_does_not_open() {
    let (client, server) = sealed();
    let mut wire = Vec::new();
    let mut writer = Writer::new(&mut wire, client);
    writer.write_all(b"one").unwrap();
    writer.write_all(b"two").unwrap();
    let (one, two) = wire.split_at(2 + 3 + 16);
    let mut changed = one.to_vec();
    changed[5] ^= 1;
    for bad in [changed, two.to_vec(), [one, one].concat(), one[..9].to_vec(), vec![0, 16], vec![0, 0], vec![7]] {
        let mut received = Vec::new();
        Reader::new(&bad[..], server.clone()).read_to_end(&mut received).unwrap_err();
        assert!(received.is_empty() || received == b"one", "{received:?}");
    }
}

/// Reads the given bytes, and counts the bytes written.
struct Hostile<'a> {
    bytes: &'a [u8],
    written: usize,
}

impl Read for Hostile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer)
    }
}

impl Write for Hostile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// xorshift64* (Marsaglia 2003, Vigna 2016).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// A client's first bytes.
fn opening(key: &Key, cookie: &Cookie) -> Vec<u8> {
    let preamble = preamble(true, cookie);
    let mut noise = builder(key, &preamble).unwrap().build_initiator().unwrap();
    [&preamble[..], &message(&mut noise).unwrap()].concat()
}

#[test]
fn a_million_first_bytes_open_nothing_and_are_answered_with_no_more_than_a_code() {
    let mut random = Random(0x5158_5be2_c4a1);
    let key = key('7');
    let right = opening(&key, &NO_COOKIE);
    let mut bytes = [0; MAX_OPENING_BYTES + 8];
    for case in 0..1_000_000_u32 {
        random.fill(&mut bytes);
        let good = (random.next() % (HEAD_BYTES as u64 + 3)) as usize;
        bytes[..good].copy_from_slice(&right[..good]);
        // One in 64 has the form of an opening.
        if case % 64 == 0 {
            bytes[..HEAD_BYTES + 2].copy_from_slice(&right[..HEAD_BYTES + 2]);
            bytes[PREAMBLE_BYTES..PREAMBLE_BYTES + 2].copy_from_slice(&[0, HANDSHAKE_BYTES as u8]);
        }
        let length = (random.next() % (bytes.len() as u64 + 1)) as usize;
        let mut stream = Hostile { bytes: &bytes[..length], written: 0 };
        assert!(accept(&mut stream, Some(&key)).is_err(), "case {case}: {:02x?}", &bytes[..length]);
        assert!(stream.written <= HEAD_BYTES + 1, "case {case}");
    }
}

#[test]
fn a_handshake_belongs_to_its_cookie() {
    let key = key('7');
    let recorded = opening(&key, &[1; COOKIE_BYTES]);
    let whole = |bytes: &[u8]| Opening::read(bytes, true).unwrap().unwrap();
    assert!(begin(&whole(&recorded), Some(&key)).is_ok());
    for place in HEAD_BYTES + 2..recorded.len() {
        let mut changed = recorded.clone();
        changed[place] ^= 1;
        // Two bytes are the length of the message.
        if (PREAMBLE_BYTES..PREAMBLE_BYTES + 2).contains(&place) {
            assert_eq!(Opening::read(&changed, true), Err(Unfit::Foreign));
        } else {
            assert!(matches!(begin(&whole(&changed), Some(&key)), Err(Refusal::OtherKey)), "byte {place}");
        }
    }
}

#[test]
fn the_client_knows_the_true_reason() {
    let key = key('7');
    let greeted = |answer: &[u8]| greet(&mut Hostile { bytes: answer, written: 0 }, Some(&key), &NO_COOKIE).map(drop);
    let refusal = |answer: Answer| greeted(&answer.encode(true)).unwrap_err();
    let cookie = [9; COOKIE_BYTES];
    assert!(matches!(refusal(Answer::Retry(cookie)), Refusal::Retry(given) if given == cookie));
    assert!(refusal(Answer::UnderLoad).to_string().contains("under load"));
    assert!(matches!(refusal(Answer::OtherKey), Refusal::OtherKey));
    assert!(matches!(refusal(Answer::TooSlow), Refusal::TooSlow));
    // A close says nothing about keys.
    for end in [&b""[..], b"SIXB\x02\x01", b"SIXB\x02\x01\x01cookie", b"SIXB\x02\x01\x00"] {
        let refusal = greeted(end).unwrap_err();
        assert!(matches!(refusal, Refusal::Ended(_)) && refusal.may_pass(), "{end:?}: {refusal}");
    }
    assert!(matches!(greeted(b"SIXB\x01\x01"), Err(Refusal::Version(1))));
    assert!(matches!(greeted(b"SIXB\x02\x01\xff"), Err(Refusal::Foreign)));
}

#[test]
fn no_answer_of_a_stranger_opens_and_none_is_read_without_end() {
    let mut random = Random(0xdead_10cc);
    let key = key('7');
    let mut bytes = [0; 128];
    for case in 0..200_000 {
        random.fill(&mut bytes);
        let good = (random.next() % (HEAD_BYTES as u64 + 2)) as usize;
        bytes[..good].copy_from_slice(&Answer::GoOn.encode(true)[..good]);
        if case % 8 == 0 {
            bytes[..HEAD_BYTES + 1].copy_from_slice(&Answer::GoOn.encode(true));
            bytes[HEAD_BYTES + 1..HEAD_BYTES + 3].copy_from_slice(&[0, HANDSHAKE_BYTES as u8]);
        }
        let length = (random.next() % (bytes.len() as u64 + 1)) as usize;
        let answer = &bytes[..length];
        let goes_on = read_answer(&mut &*answer, true).is_ok();
        assert!(!goes_on || answer.starts_with(&Answer::GoOn.encode(true)), "case {case}: {answer:02x?}");
        // A handshake takes its time.
        if goes_on && case % 4096 == 0 {
            let mut stream = Hostile { bytes: answer, written: 0 };
            assert!(greet(&mut stream, Some(&key), &NO_COOKIE).is_err(), "case {case}: {answer:02x?}");
        }
    }
}

#[test]
fn no_sealed_bytes_of_a_stranger_open() {
    let (_, server) = sealed();
    let mut random = Random(0xc0ff_ee11);
    let mut reader = Reader::new(io::empty(), server.clone());
    assert_eq!(reader.read(&mut [0; 9]).unwrap(), 0);
    let mut bytes = [0; 256];
    for case in 0..20_000 {
        random.fill(&mut bytes);
        // Short enough that there are whole messages.
        bytes[0] = 0;
        let mut received = Vec::new();
        let ended = Reader::new(&bytes[..], server.clone()).read_to_end(&mut received);
        assert!(ended.is_err() && received.is_empty(), "case {case}");
    }
}
