//! The Noise handshake, and the client's reading of the server's answer.
//!
//! Works on anything that reads and writes. The caller limits the time.

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

/// The handshake by which both ends prove that they know the key: pre-shared key, fresh Diffie-Hellman numbers, no
/// identities (Noise Protocol Framework, revision 34).
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

/// The longest answer to a client without the key: the head and a code.
pub const REFUSAL_BYTES: usize = HEAD_BYTES + 1;

/// The session's two ciphers; absent for plain bytes.
pub type Ciphers = Option<Arc<StatelessTransportState>>;

/// The reason why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The connection ended, or too little came in time.
    #[error(
        "the connection ended in its first bytes: {0}; the server may be under load, or another program uses that port"
    )]
    Ended(#[from] io::Error),
    /// Something else listens or connects there.
    #[error("the program there is not a sixbench agent; give the port of `sixbench serve` with -p")]
    Foreign,
    /// The other end is of another release.
    #[error(
        "the server speaks version {0} of the transport, and this agent speaks version {VERSION}; install the agent of the same release"
    )]
    Version(u8),
    /// The server has a key, the client has none.
    #[error("the server needs a key; give its key file with --key")]
    NeedsKey,
    /// The server has no key, the client has one.
    #[error("the server has no key, but --key was given; leave --key out, or start the server with --key")]
    NoKey,
    /// Both have one, and not the same.
    #[error("the server has another key; copy its key file to this machine by a safe way, and give it with --key")]
    OtherKey,
    /// The server wants its cookie back in another connection.
    #[error("the server is under load: it asks for a cookie again and again; try again later")]
    Retry(Cookie),
    /// The server has no place for one more.
    #[error("the server is under load: more connections wait than it has places for; try again later")]
    UnderLoad,
    /// The client's first bytes did not come in time.
    #[error("the server waited too long for the first bytes; the path to it loses packets, or is very slow")]
    TooSlow,
    /// The cipher's own words.
    #[error("the handshake failed: {0}")]
    Noise(snow::Error),
}

impl Refusal {
    /// True if it says nothing about the two ends, so that another connection may be taken.
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
/// `Refusal`, after the client has got the answer.
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

/// Ends at the first wrong byte: a client of another protocol may send no more than that.
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
mod tests;
