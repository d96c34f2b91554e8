//! Notices that no lines come any more: a connection that was cut has no end that could be read.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Watches for silence, until it is dropped.
pub struct Silence(Sender<()>);

impl Silence {
    /// Does `then` after so long a silence.
    pub fn watch(longest: Duration, then: impl FnOnce() + Send + 'static) -> Self {
        let (broken, heard) = channel();
        thread::spawn(move || {
            loop {
                match heard.recv_timeout(longest) {
                    Ok(()) => {}
                    Err(RecvTimeoutError::Timeout) => return then(),
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        });
        Self(broken)
    }

    /// Somebody has said something.
    pub fn broken(&self) {
        // It ends only when this process does.
        let _ = self.0.send(());
    }
}
