//! The server's side of a session whose client asks in its first flight. tokio-rustls gives a server nothing before the
//! whole handshake is over, so rustls is driven here.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::server::ServerSessionMemoryCache;
use rustls::{ServerConfig, ServerConnection};
use tokio::net::TcpStream;
use tokio_rustls::StartHandshake;

use super::{REQUEST, RESPONSE};

/// Longest early data that the server takes.
const MAX_EARLY_BYTES: u32 = 64;
/// Sessions that the server remembers: more than the tickets that its clients have at a time.
const MAX_SESSIONS: usize = 4_096;

/// Lets a server take early data, and answer before the handshake is over. Each ticket is taken once (RFC 8446 section
/// 8.1), so the server keeps the sessions.
pub fn accept_data(config: &mut ServerConfig) {
    config.max_early_data_size = MAX_EARLY_BYTES;
    config.send_half_rtt_data = true;
    config.session_storage = ServerSessionMemoryCache::new(MAX_SESSIONS);
}

/// A session at its server.
pub struct Session {
    stream: TcpStream,
    tls: ServerConnection,
    is_ended: bool,
}

impl Session {
    /// Goes on from the client's first message.
    pub fn begin(start: StartHandshake<TcpStream>, config: Arc<ServerConfig>) -> io::Result<Self> {
        let tls = start.accepted.into_connection(config).map_err(|(error, _)| io::Error::other(error))?;
        Ok(Self { stream: start.io, tls, is_ended: false })
    }

    /// Answers the request of the early data, and shakes hands to the end. True if there was one that was taken.
    pub async fn answer(&mut self) -> io::Result<bool> {
        let mut request = Vec::new();
        let mut is_answered = false;
        loop {
            if let Some(mut early) = self.tls.early_data() {
                early.read_to_end(&mut request)?;
            }
            if !is_answered && request == REQUEST {
                self.tls.writer().write_all(RESPONSE)?;
                is_answered = true;
            }
            if request.len() > REQUEST.len() {
                return Err(io::Error::other("early data that nobody asked for"));
            }
            self.flush().await?;
            if !self.tls.is_handshaking() {
                return Ok(is_answered);
            }
            self.receive().await?;
        }
    }

    /// Waits until the client has closed. An error where it sends anything else.
    pub async fn closed(&mut self) -> io::Result<()> {
        let mut rest = [0];
        loop {
            match self.tls.reader().read(&mut rest) {
                Ok(0) => return Ok(()),
                Ok(_) => return Err(io::Error::other("data that nobody asked for")),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.receive().await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Closes.
    pub async fn close(&mut self) -> io::Result<()> {
        self.tls.send_close_notify();
        self.flush().await
    }

    /// Takes what has come, and waits for it where nothing has.
    async fn receive(&mut self) -> io::Result<()> {
        if self.is_ended {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        loop {
            self.stream.readable().await?;
            match self.tls.read_tls(&mut Trying(&self.stream)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
                Ok(bytes) => {
                    self.is_ended = bytes == 0;
                    break;
                }
            }
        }
        let processed = self.tls.process_new_packets();
        if processed.is_err() {
            // The alert tells the client why; it may be gone.
            let _ = self.flush().await;
        }
        processed.map(drop).map_err(io::Error::other)
    }

    async fn flush(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.stream.writable().await?;
            match self.tls.write_tls(&mut Trying(&self.stream)) {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// A connection that never waits.
struct Trying<'a>(&'a TcpStream);

impl Read for Trying<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for Trying<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
