//! The first bytes of a connection: what each end speaks, and with a key the Noise handshake.
//!
//! Works on anything that reads and writes. Whoever calls it sees to the time it may take.

use std::io::{self, Read, Write};
use std::sync::Arc;

use snow::params::NoiseParams;
use snow::{Builder, HandshakeState, StatelessTransportState};

use crate::key::Key;

/// How both ends know each other: pre-shared key, fresh Diffie-Hellman numbers, no identities (Noise Protocol Framework, revision 34).
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// What each side sends first: four letters, a version, a mode.
pub const PREAMBLE_BYTES: usize = 6;
const LETTERS: [u8; 4] = *b"SIXB";
const VERSION: u8 = 1;
/// Each of the two messages of the handshake: a public key and the tag of an empty payload (section 7 and 5.2).
pub const HANDSHAKE_BYTES: usize = 32 + 16;

/// The session's two ciphers; absent for plain bytes.
pub type Ciphers = Option<Arc<StatelessTransportState>>;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It ended, or too little came in time.
    #[error("the connection ended in its first bytes: {0}")]
    Ended(#[from] io::Error),
    /// Something else listens or connects there.
    #[error("what is there is no sixbench agent")]
    Foreign,
    /// Another release.
    #[error("it speaks version {0} of the transport, this one {VERSION}; install the agent of the same release")]
    Version(u8),
    /// The server has a key, the client has none.
    #[error("it wants a key; give the file that the server was started with by --key")]
    NeedsKey,
    /// The server has no key, the client has one.
    #[error("it has no key, and --key was given")]
    NoKey,
    /// Both have one, and not the same.
    #[error("it has another key")]
    OtherKey,
    /// The cipher's own words.
    #[error("the handshake failed: {0}")]
    Noise(snow::Error),
}

/// The server's side.
pub fn accept(stream: &mut (impl Read + Write), key: Option<&Key>) -> Result<Ciphers, Refusal> {
    let theirs = read_preamble(stream)?;
    stream.write_all(&preamble(key))?;
    check(&theirs, key.is_some())?;
    let Some(key) = key else { return Ok(None) };
    let mut noise = builder(key, &theirs)?.build_responder().map_err(Refusal::Noise)?;
    receive(stream, &mut noise)?;
    send(stream, &mut noise)?;
    finish(noise)
}

/// The client's side.
pub fn greet(stream: &mut (impl Read + Write), key: Option<&Key>) -> Result<Ciphers, Refusal> {
    let ours = preamble(key);
    stream.write_all(&ours)?;
    let theirs = read_preamble(stream)?;
    check(&theirs, key.is_some())?;
    let Some(key) = key else { return Ok(None) };
    let mut noise = builder(key, &ours)?.build_initiator().map_err(Refusal::Noise)?;
    send(stream, &mut noise)?;
    // A server with another key closes after the first message.
    match receive(stream, &mut noise) {
        Err(Refusal::Ended(error)) if is_close(&error) => return Err(Refusal::OtherKey),
        other => other?,
    }
    finish(noise)
}

fn is_close(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}

fn preamble(key: Option<&Key>) -> [u8; PREAMBLE_BYTES] {
    let [a, b, c, d] = LETTERS;
    [a, b, c, d, VERSION, u8::from(key.is_some())]
}

/// Ends at the first byte that is wrong: who speaks another protocol may send no more than that.
fn read_preamble(stream: &mut impl Read) -> Result<[u8; PREAMBLE_BYTES], Refusal> {
    let mut bytes = [0; PREAMBLE_BYTES];
    for at in 0..PREAMBLE_BYTES {
        stream.read_exact(&mut bytes[at..=at])?;
        if LETTERS.get(at).is_some_and(|letter| *letter != bytes[at]) {
            return Err(Refusal::Foreign);
        }
    }
    Ok(bytes)
}

/// What the other end is, as seen from here.
fn check(theirs: &[u8; PREAMBLE_BYTES], has_key: bool) -> Result<(), Refusal> {
    let [.., version, mode] = *theirs;
    match (version, mode, has_key) {
        (VERSION, 0, false) | (VERSION, 1, true) => Ok(()),
        (VERSION, 0, true) => Err(Refusal::NoKey),
        (VERSION, 1, false) => Err(Refusal::NeedsKey),
        (VERSION, ..) => Err(Refusal::Foreign),
        (other, ..) => Err(Refusal::Version(other)),
    }
}

fn builder<'a>(key: &'a Key, prologue: &'a [u8]) -> Result<Builder<'a>, Refusal> {
    let pattern: NoiseParams = PATTERN.parse().map_err(Refusal::Noise)?;
    Builder::new(pattern).psk(0, key.bytes()).and_then(|builder| builder.prologue(prologue)).map_err(Refusal::Noise)
}

fn send(stream: &mut impl Write, noise: &mut HandshakeState) -> Result<(), Refusal> {
    let mut message = [0; 2 + HANDSHAKE_BYTES];
    message[..2].copy_from_slice(&(HANDSHAKE_BYTES as u16).to_be_bytes());
    noise.write_message(&[], &mut message[2..]).map_err(Refusal::Noise)?;
    Ok(stream.write_all(&message)?)
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
        let greeted = greet(&mut ours, client.as_ref());
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

    #[test]
    fn a_million_first_bytes_open_nothing_and_are_answered_with_no_more_than_a_preamble() {
        let mut random = Random(0x5158_5be2_c4a1);
        let key = key('7');
        let mut bytes = [0; 80];
        for case in 0..1_000_000_u32 {
            random.fill(&mut bytes);
            let good = (random.next() % (PREAMBLE_BYTES as u64 + 1)) as usize;
            bytes[..good].copy_from_slice(&preamble(Some(&key))[..good]);
            // One in 64 has the form of a handshake.
            if case % 64 == 0 {
                bytes[..PREAMBLE_BYTES].copy_from_slice(&preamble(Some(&key)));
                bytes[PREAMBLE_BYTES..PREAMBLE_BYTES + 2].copy_from_slice(&[0, HANDSHAKE_BYTES as u8]);
            }
            let length = (random.next() % 81) as usize;
            let mut stream = Hostile { bytes: &bytes[..length], written: 0 };
            assert!(accept(&mut stream, Some(&key)).is_err(), "case {case}: {:02x?}", &bytes[..length]);
            assert!(stream.written <= PREAMBLE_BYTES, "case {case}");
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
