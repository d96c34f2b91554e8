//! The end of a program's output, within bounds.

use std::collections::VecDeque;

/// Most bytes of output that are kept.
const KEPT_BYTES: usize = 64 << 10;

/// The last bytes that a program wrote on its outputs.
#[derive(Default)]
pub struct Log {
    kept: VecDeque<u8>,
    total_bytes: u64,
}

impl Log {
    /// Adds what was read.
    pub fn add(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        self.kept.extend(bytes);
        let excess = self.kept.len().saturating_sub(KEPT_BYTES);
        self.kept.drain(..excess);
    }

    /// Number of bytes that it wrote in all.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The output after this many bytes, as far as it is kept, and the number of bytes of it that are not.
    pub fn after(&self, bytes: u64) -> (String, u64) {
        let first_kept = self.total_bytes - self.kept.len() as u64;
        let skipped = usize::try_from(bytes.saturating_sub(first_kept)).unwrap_or(usize::MAX).min(self.kept.len());
        let wanted: Vec<u8> = self.kept.iter().skip(skipped).copied().collect();
        (String::from_utf8_lossy(&wanted).into_owned(), first_kept.saturating_sub(bytes))
    }

    /// The last line that is not blank, without control characters, and with at most this many characters.
    pub fn last_line(&self, characters: usize) -> String {
        let (text, _) = self.after(0);
        let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(characters).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_what_is_not_is_counted() {
        let mut log = Log::default();
        log.add(b"first\n");
        assert_eq!(log.after(0), ("first\n".to_owned(), 0));
        assert_eq!(log.after(6), (String::new(), 0));
        assert_eq!(log.after(60), (String::new(), 0));
        log.add(&[b'x'; KEPT_BYTES]);
        let (text, omitted_bytes) = log.after(0);
        assert_eq!((text.len(), omitted_bytes), (KEPT_BYTES, 6));
        assert_eq!(log.after(6).1, 0);
        assert_eq!(log.total_bytes(), 6 + KEPT_BYTES as u64);
    }

    #[test]
    fn the_last_line_is_for_people() {
        let mut log = Log::default();
        assert_eq!(log.last_line(9), "");
        log.add(b"one\n  two\x1b[31m words \xff\n\n");
        assert_eq!(log.last_line(6), "two [3");
    }
}
