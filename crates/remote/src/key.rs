//! The key that both ends have: a file of 64 hexadecimal digits that only its owner may read.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::{Error, Result};

/// The digits, an end of line, and one byte more, so that a longer file is seen as such.
const MAX_FILE_BYTES: u64 = 64 + 2 + 1;
/// Permissions of group and others.
const OTHERS: u32 = 0o077;

/// A pre-shared key. Debug output does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// Reads a key file.
    ///
    /// # Errors
    /// `Usage` where it cannot be read, others may read it, or it holds something else.
    pub fn read(path: &Path) -> Result<Self> {
        let refuse = |what: String| Error::Usage(format!("reading the key in {}: {what}", path.display()));
        let file = open(path).map_err(|e| refuse(e.to_string()))?;
        let metadata = file.metadata().map_err(|e| refuse(e.to_string()))?;
        if !metadata.is_file() {
            return Err(refuse("it is not a regular file".into()));
        }
        if metadata.mode() & OTHERS != 0 {
            let mode = metadata.mode() & 0o777;
            return Err(refuse(format!(
                "users other than its owner may use it (mode {mode:03o}); make it private with `chmod 600`"
            )));
        }
        if metadata.len() >= MAX_FILE_BYTES {
            return Err(refuse(format!("it has {} bytes, but a key is 64 hexadecimal digits", metadata.len())));
        }
        let mut text = Vec::new();
        file.take(MAX_FILE_BYTES).read_to_end(&mut text).map_err(|e| refuse(e.to_string()))?;
        Self::parse(&text).ok_or_else(|| {
            refuse("it must contain 64 hexadecimal digits; `head -c 32 /dev/urandom | xxd -p -c 64` makes them".into())
        })
    }

    /// The key of 64 hexadecimal digits, and of an end of line after them.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let digits = std::str::from_utf8(text).ok()?.trim_end_matches(['\r', '\n']);
        if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut key = [0; 32];
        for (byte, at) in key.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?;
        }
        Some(Self(key))
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Opens what is there without waiting for it: a FIFO has no writer as a rule, and a terminal or a tape waits for its
/// line or its drive.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY).open(path)
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const DIGITS: &str = "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";

    #[test]
    fn a_key_is_64_digits() {
        let key = Key::parse(format!("{DIGITS}\n").as_bytes()).unwrap();
        assert_eq!((key.0[0], key.0[31]), (0, 0xff));
        let long = format!("{DIGITS}00");
        for text in ["", "zz", &DIGITS[2..], &long, &DIGITS.replace('9', "+"), &DIGITS.replace("99", "é")] {
            assert_eq!(Key::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_refused_with_what_helps() {
        let path = std::env::temp_dir().join(format!("sixbench-key-{}", std::process::id()));
        fs::write(&path, DIGITS).unwrap();
        for (mode, reason) in [(0o644, "chmod 600"), (0o620, "mode 620"), (0o601, "chmod 600")] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = Key::read(&path).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(path.to_str().unwrap()), "{error}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(Key::read(&path).unwrap(), Key::parse(DIGITS.as_bytes()).unwrap());
        fs::write(&path, DIGITS.repeat(100)).unwrap();
        assert!(
            Key::read(&path).unwrap_err().to_string().contains("it has 6400 bytes, but a key is 64 hexadecimal digits")
        );
        fs::write(&path, "no key").unwrap();
        assert!(Key::read(&path).unwrap_err().to_string().contains("it must contain 64 hexadecimal digits"));
        fs::remove_file(&path).unwrap();
        assert!(matches!(Key::read(&path), Err(Error::Usage(_))));
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let fifo = std::env::temp_dir().join(format!("sixbench-key-fifo-{}", std::process::id()));
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRUSR).unwrap();
        for path in
            [fifo.as_path(), Path::new("/"), Path::new("/dev/zero"), Path::new("/dev/full"), Path::new("/dev/tty")]
        {
            let error = Key::read(path).unwrap_err().to_string();
            // Without a terminal there is no /dev/tty to be opened.
            assert!(error.contains("not a regular file") || path == Path::new("/dev/tty"), "{error}");
        }
        fs::remove_file(&fifo).unwrap();
    }
}
