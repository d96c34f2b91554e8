//! The Noise handshake, and what a client makes of the server's answer.
//!
//! Works on anything that reads and writes. Whoever calls it sees to the time it may take.

use std::io::{self, Read, Write};
use std::sync::Arc;

use snow::params::NoiseParams;
use snow::{Builder, HandshakeState, StatelessTransportState};

use crate::cookie::Cookie;
use crate::first_bytes::{
    Answer, FRAME_BYTES, HANDSHAKE_BYTES, HEAD_BYTES, MAX_OPENING_BYTES, Opening, Unfit, VERSION, begins_well,
    check_head, preamble,
};
use crate::key::Key;

/// How both ends know each other: pre-shared key, fresh Diffie-Hellman numbers, no identities (Noise Protocol Framework, revision 34).
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

/// The longest that somebody without the key is answered: the head and a code.
pub const REFUSAL_BYTES: usize = HEAD_BYTES + 1;

/// The session's two ciphers; absent for plain bytes.
pub type Ciphers = Option<Arc<StatelessTransportState>>;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It ended, or too little came in time.
    #[error("the connection ended in its first bytes: {0}; the server may be under load, or may be no sixbench agent")]
    Ended(#[from] io::Error),
    /// Something else listens or connects there.
    #[error("the program there is not a sixbench agent")]
    Foreign,
    /// Another release.
    #[error(
        "it speaks version {0} of the transport, and this agent speaks version {VERSION}; install the agent of the same release"
    )]
    Version(u8),
    /// The server has a key, the client has none.
    #[error("it wants a key; give the key file of the server with --key")]
    NeedsKey,
    /// The server has no key, the client has one.
    #[error("it has no key, but --key was given")]
    NoKey,
    /// Both have one, and not the same.
    #[error("it has another key")]
    OtherKey,
    /// The server wants its cookie back in another connection.
    #[error("the server is under load: it asks for a cookie again and again; try again later")]
    Retry(Cookie),
    /// The server has no place for one more.
    #[error("the server is under load: more connections wait there than it has places for; try again later")]
    UnderLoad,
    /// The client's first bytes did not come in time.
    #[error("the server waited too long for the first bytes; the way to it loses packets, or is very slow")]
    TooSlow,
    /// The cipher's own words.
    #[error("the handshake failed: {0}")]
    Noise(snow::Error),
}

impl Refusal {
    /// Whether it says nothing about the two ends, so that another connection may be taken.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Ended(error) => is_close(error),
            Self::Retry(_) | Self::UnderLoad | Self::TooSlow => true,
            _ => false,
        }
    }
}

impl From<Unfit> for Refusal {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Foreign => Self::Foreign,
            Unfit::Version(version) => Self::Version(version),
            Unfit::NeedsKey => Self::NeedsKey,
            Unfit::NoKey => Self::NoKey,
        }
    }
}

/// A handshake that has begun as only somebody with the key can; nothing without a key.
pub struct Begun(Option<HandshakeState>);

/// The server's side, up to where a stranger comes: it costs no Diffie-Hellman.
///
/// # Errors
/// `OtherKey` where the message does not open.
pub fn begin(opening: &Opening, key: Option<&Key>) -> Result<Begun, Refusal> {
    let (Some(key), Some(message)) = (key, &opening.message) else { return Ok(Begun(None)) };
    let mut noise = builder(key, &opening.preamble)?.build_responder().map_err(Refusal::Noise)?;
    let mut payload = [0; HANDSHAKE_BYTES];
    noise.read_message(message, &mut payload).map_err(|_| Refusal::OtherKey)?;
    Ok(Begun(Some(noise)))
}

/// The rest of the server's side.
///
/// # Errors
/// `Ended` where the client has gone.
pub fn welcome(stream: &mut impl Write, begun: Begun) -> Result<Ciphers, Refusal> {
    let mut answer = Answer::GoOn.encode(begun.0.is_some());
    let Begun(Some(mut noise)) = begun else {
        stream.write_all(&answer)?;
        return Ok(None);
    };
    answer.extend(message(&mut noise)?);
    stream.write_all(&answer)?;
    finish(noise)
}

/// The client's side.
///
/// # Errors
/// `Refusal`, of which `Retry` has what the next attempt is to bring.
pub fn greet(stream: &mut (impl Read + Write), key: Option<&Key>, cookie: &Cookie) -> Result<Ciphers, Refusal> {
    let preamble = preamble(key.is_some(), cookie);
    let mut opening = preamble.to_vec();
    let mut noise = None;
    if let Some(key) = key {
        let initiator = noise.insert(builder(key, &preamble)?.build_initiator().map_err(Refusal::Noise)?);
        opening.extend(message(initiator)?);
    }
    stream.write_all(&opening)?;
    read_answer(stream, key.is_some())?;
    let Some(mut noise) = noise else { return Ok(None) };
    receive(stream, &mut noise)?;
    finish(noise)
}

/// The server's side in one piece, of a stream that blocks. The door does the same as bytes come.
///
/// # Errors
/// `Refusal`, after the client was told.
pub fn accept(stream: &mut (impl Read + Write), key: Option<&Key>) -> Result<Ciphers, Refusal> {
    let (mut bytes, mut have) = ([0; MAX_OPENING_BYTES], 0);
    let opening = loop {
        let count = stream.read(&mut bytes[have..Opening::length(key.is_some())])?;
        have += count;
        match Opening::read(&bytes[..have], key.is_some()) {
            Err(unfit) => {
                stream.write_all(&Answer::Differs.encode(key.is_some()))?;
                return Err(unfit.into());
            }
            Ok(Some(opening)) => break opening,
            Ok(None) if count == 0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Ok(None) => {}
        }
    };
    match begin(&opening, key) {
        Ok(begun) => welcome(stream, begun),
        Err(refusal) => {
            stream.write_all(&Answer::OtherKey.encode(key.is_some()))?;
            Err(refusal)
        }
    }
}

fn is_close(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}

/// Ends at the first byte that is wrong: who speaks another protocol may send no more than that.
fn read_answer(stream: &mut impl Read, has_key: bool) -> Result<(), Refusal> {
    let mut head = [0; HEAD_BYTES];
    for at in 0..HEAD_BYTES {
        stream.read_exact(&mut head[at..=at])?;
        if !begins_well(&head[..=at]) {
            return Err(Refusal::Foreign);
        }
    }
    check_head(&head, has_key)?;
    let mut code = [0];
    stream.read_exact(&mut code)?;
    Err(match Answer::of_code(code[0]) {
        Some(Answer::GoOn) => return Ok(()),
        Some(Answer::Retry(mut cookie)) => {
            stream.read_exact(&mut cookie)?;
            Refusal::Retry(cookie)
        }
        Some(Answer::UnderLoad) => Refusal::UnderLoad,
        Some(Answer::OtherKey) => Refusal::OtherKey,
        Some(Answer::TooSlow) => Refusal::TooSlow,
        Some(Answer::Differs) | None => Refusal::Foreign,
    })
}

fn builder<'a>(key: &'a Key, prologue: &'a [u8]) -> Result<Builder<'a>, Refusal> {
    let pattern: NoiseParams = PATTERN.parse().map_err(Refusal::Noise)?;
    Builder::new(pattern).psk(0, key.bytes()).and_then(|builder| builder.prologue(prologue)).map_err(Refusal::Noise)
}

fn message(noise: &mut HandshakeState) -> Result<[u8; FRAME_BYTES], Refusal> {
    let mut message = [0; FRAME_BYTES];
    message[..2].copy_from_slice(&(HANDSHAKE_BYTES as u16).to_be_bytes());
    noise.write_message(&[], &mut message[2..]).map_err(Refusal::Noise)?;
    Ok(message)
}

fn receive(stream: &mut impl Read, noise: &mut HandshakeState) -> Result<(), Refusal> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    if usize::from(u16::from_be_bytes(length)) != HANDSHAKE_BYTES {
        return Err(Refusal::Foreign);
    }
    let mut message = [0; HANDSHAKE_BYTES];
    stream.read_exact(&mut message)?;
    let mut payload = [0; HANDSHAKE_BYTES];
    noise.read_message(&message, &mut payload).map(drop).map_err(|_| Refusal::OtherKey)
}

fn finish(noise: HandshakeState) -> Result<Ciphers, Refusal> {
    noise.into_stateless_transport_mode().map(|ciphers| Some(Arc::new(ciphers))).map_err(Refusal::Noise)
}

#[cfg(test)]
mod tests {
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

    /// What comes of a client and a server with these keys.
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

    /// Reads what it is given; what is written is counted.
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
        let greeted =
            |answer: &[u8]| greet(&mut Hostile { bytes: answer, written: 0 }, Some(&key), &NO_COOKIE).map(drop);
        let said = |answer: Answer| greeted(&answer.encode(true)).unwrap_err();
        let cookie = [9; COOKIE_BYTES];
        assert!(matches!(said(Answer::Retry(cookie)), Refusal::Retry(given) if given == cookie));
        assert!(said(Answer::UnderLoad).to_string().contains("under load"));
        assert!(matches!(said(Answer::OtherKey), Refusal::OtherKey));
        assert!(matches!(said(Answer::TooSlow), Refusal::TooSlow));
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
}
