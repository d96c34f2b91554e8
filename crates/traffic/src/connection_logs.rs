//! The logs of a client's connections, for those who read the packets of a trial: secrets of TLS and events of QUIC.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// Most bytes of secrets that are kept: those of some 1500 connections.
const MAX_KEYS_BYTES: usize = 1 << 20;
/// Most bytes of events that are kept: those of some 10,000 packets.
const MAX_QLOG_BYTES: usize = 8 << 20;

/// The logs of a node's clients. They are kept only between [`start`](Self::start) and [`stop`](Self::stop); all that
/// comes at other times is forgotten at once.
#[derive(Clone, Default)]
pub struct ConnectionLogs(Arc<Mutex<Option<Logs>>>);

#[derive(Default)]
struct Logs {
    tls_keys: Lines,
    qlog: Option<Lines>,
}

/// All that was kept.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// Secrets of TLS, a line each, as NSS writes them to the file that `SSLKEYLOGFILE` names.
    pub tls_keys: String,
    /// Bytes of secrets that there was no room for.
    pub tls_keys_left_out_bytes: usize,
    /// Events of connections of QUIC as a sequence of JSON (qlog); absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qlog: Option<String>,
    /// Bytes of events that there was no room for.
    pub qlog_left_out_bytes: usize,
}

/// The begin of a text, which ends with a line.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    left_out_bytes: usize,
}

impl ConnectionLogs {
    /// Keeps what comes from now on, and forgets what was kept before.
    pub fn start(&self) {
        *self.lock() = Some(Logs::default());
    }

    /// All that was kept since the start; None where nothing was started. Nothing is kept any more.
    pub fn stop(&self) -> Option<Kept> {
        let Logs { tls_keys, qlog } = self.lock().take()?;
        let (qlog, qlog_left_out_bytes) = match qlog.map(Lines::ended) {
            Some((text, left_out_bytes)) => (Some(text), left_out_bytes),
            None => (None, 0),
        };
        let (tls_keys, tls_keys_left_out_bytes) = tls_keys.ended();
        Some(Kept { tls_keys, tls_keys_left_out_bytes, qlog, qlog_left_out_bytes })
    }

    /// True while logs are kept.
    pub fn are_kept(&self) -> bool {
        self.lock().is_some()
    }

    /// Adds a secret of TLS.
    pub fn add_tls_key(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        if let Some(logs) = self.lock().as_mut() {
            let line = format!("{label} {} {}\n", hexadecimal(client_random), hexadecimal(secret));
            logs.tls_keys.add(line.as_bytes(), MAX_KEYS_BYTES);
        }
    }

    /// The writer of events of QUIC. There is one: a second client's events would begin a second log in the first.
    pub fn open_qlog(&self) -> Option<Qlog> {
        let mut logs = self.lock();
        let logs = logs.as_mut()?;
        logs.qlog.is_none().then(|| {
            logs.qlog = Some(Lines::default());
            Qlog(self.clone())
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Logs>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    fn add(&mut self, bytes: &[u8], most: usize) {
        if self.left_out_bytes == 0 && self.bytes.len() + bytes.len() <= most {
            self.bytes.extend_from_slice(bytes);
        } else {
            self.left_out_bytes += bytes.len();
        }
    }

    /// The whole lines, and the number of bytes without room.
    fn ended(mut self) -> (String, usize) {
        let whole = self.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let left_out_bytes = self.left_out_bytes + self.bytes.len() - whole;
        self.bytes.truncate(whole);
        (String::from_utf8_lossy(&self.bytes).into_owned(), left_out_bytes)
    }
}

/// Writes events into the logs.
pub struct Qlog(ConnectionLogs);

impl Write for Qlog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(lines) = self.0.lock().as_mut().and_then(|logs| logs.qlog.as_mut()) {
            lines.add(bytes, MAX_QLOG_BYTES);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = fmt::Write::write_fmt(&mut digits, format_args!("{byte:02x}"));
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_kept_before_the_start_and_after_the_stop() {
        let logs = ConnectionLogs::default();
        logs.add_tls_key("CLIENT_RANDOM", &[1], &[2]);
        assert!(!logs.are_kept() && logs.open_qlog().is_none() && logs.stop().is_none());
        logs.start();
        logs.add_tls_key("EXPORTER_SECRET", &[0xab, 1], &[0, 0xff]);
        let kept = logs.stop().unwrap();
        assert_eq!(kept.tls_keys, "EXPORTER_SECRET ab01 00ff\n");
        assert_eq!((kept.qlog, kept.tls_keys_left_out_bytes), (None, 0));
        logs.add_tls_key("EXPORTER_SECRET", &[3], &[4]);
        assert!(logs.stop().is_none());
    }

    #[test]
    fn the_events_of_one_client_are_kept_as_whole_lines() {
        let logs = ConnectionLogs::default();
        logs.start();
        let mut qlog = logs.open_qlog().unwrap();
        assert!(logs.open_qlog().is_none());
        qlog.write_all(b"{}\n{\"a\"").unwrap();
        let kept = logs.stop().unwrap();
        assert_eq!((kept.qlog.as_deref(), kept.qlog_left_out_bytes), (Some("{}\n"), 4));
        qlog.write_all(b"forgotten").unwrap();
    }

    #[test]
    fn logs_are_bounded_and_say_by_how_much() {
        let logs = ConnectionLogs::default();
        logs.start();
        let mut qlog = logs.open_qlog().unwrap();
        let line = [[b'x'; 999].as_slice(), b"\n"].concat();
        for _ in 0..MAX_QLOG_BYTES / 1000 + 3 {
            qlog.write_all(&line).unwrap();
            logs.add_tls_key("CLIENT_TRAFFIC_SECRET_0", &[7; 32], &[9; 32]);
        }
        let kept = logs.stop().unwrap();
        let events = kept.qlog.unwrap();
        assert!(events.len() <= MAX_QLOG_BYTES && events.ends_with('\n'));
        assert_eq!(kept.qlog_left_out_bytes, 3000 - 1000 * usize::from(MAX_QLOG_BYTES % 1000 == 0));
        assert!(kept.tls_keys.len() <= MAX_KEYS_BYTES && kept.tls_keys.ends_with('\n'));
        assert!(kept.tls_keys_left_out_bytes > 0);
    }
}
