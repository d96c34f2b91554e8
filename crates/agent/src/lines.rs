//! Lines of bounded length.

use std::io::{self, BufRead, ErrorKind};

/// A buffer that grew beyond this for one line is given back after it.
const KEPT_CAPACITY_BYTES: usize = 64 << 10;

/// The result of a read.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line without its end.
    Complete(&'a [u8]),
    /// A line longer than the limit; it was skipped to its end without being held in memory (by [`Lines::next_within`]:
    /// was not).
    TooLong,
}

/// Reads lines of at most `limit_bytes`, their ends not counted.
pub struct Lines<R> {
    input: R,
    limit_bytes: usize,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Lines of `input`.
    pub fn new(input: R, limit_bytes: usize) -> Self {
        Self { input, limit_bytes, line: Vec::new() }
    }

    /// The next line; `None` at the end of the input. An unfinished line before the end is dropped: its writer is gone.
    #[allow(clippy::should_implement_trait)] // A line borrows from this, which an iterator's item cannot.
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.read(true)
    }

    /// The same, but the rest of a line that is too long is not waited for: there can be no next one.
    pub fn next_within(&mut self) -> io::Result<Option<Line<'_>>> {
        self.read(false)
    }

    fn read(&mut self, skips: bool) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        self.line.shrink_to(KEPT_CAPACITY_BYTES);
        let mut is_too_long = false;
        loop {
            let available = match self.input.fill_buf() {
                Ok([]) => return Ok(None),
                Ok(available) => available,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = available.iter().position(|&byte| byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            is_too_long |= self.line.len() + part.len() > self.limit_bytes;
            if !is_too_long {
                self.line.extend_from_slice(part);
            }
            if is_too_long && !skips {
                return Ok(Some(Line::TooLong));
            }
            let consumed = part.len() + usize::from(end.is_some());
            self.input.consume(consumed);
            if end.is_some() {
                return Ok(Some(if is_too_long { Line::TooLong } else { Line::Complete(&self.line) }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn read(input: &[u8], limit: usize, chunk: usize) -> Vec<Option<Vec<u8>>> {
        let mut lines = Lines::new(BufReader::with_capacity(chunk, input), limit);
        let mut read = Vec::new();
        while let Some(line) = lines.next().expect("memory can be read") {
            read.push(match line {
                Line::Complete(bytes) => Some(bytes.to_vec()),
                Line::TooLong => None,
            });
            assert!(lines.line.len() <= limit);
        }
        read
    }

    #[test]
    fn long_lines_are_skipped_and_the_next_one_is_read() {
        assert_eq!(
            read(b"abc\nabcd\n\nxy\nlost", 3, 2),
            [Some(b"abc".to_vec()), None, Some(vec![]), Some(b"xy".to_vec())]
        );
    }

    #[test]
    fn the_end_of_a_line_that_is_too_long_need_not_come() {
        let endless = io::repeat(b'x');
        let mut lines = Lines::new(BufReader::new(endless), 1000);
        assert_eq!(lines.next_within().expect("memory can be read"), Some(Line::TooLong));
        assert!(lines.line.capacity() < 10_000);
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_input(input in "[a\n]{0,60}", limit in 0..9_usize, chunk in 1..9_usize) {
            let mut expected: Vec<Option<Vec<u8>>> = input
                .split('\n')
                .map(|line| (line.len() <= limit).then(|| line.as_bytes().to_vec()))
                .collect();
            expected.pop();
            prop_assert_eq!(read(input.as_bytes(), limit, chunk), expected);
        }
    }
}
