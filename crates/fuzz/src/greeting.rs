//! The first bytes of a connection from another machine.

use std::io::{self, Read, Write};

use sixbench_remote::Key;
use sixbench_remote::greeting::{REFUSAL_BYTES, accept, greet};

const NO_COOKIE: [u8; 24] = [0; 24];

/// The first bytes that a server gets, and those that a client gets. A client without a key gets in only where none is
/// asked for, and is sent no more than a code.
pub fn greeting(data: &[u8]) {
    let key = Key::parse(&[b'7'; 64]).expect("64 hexadecimal digits");
    let mut visitor = Stranger { says: data, hears: 0 };
    assert!(accept(&mut visitor, Some(&key)).is_err());
    assert!(visitor.hears <= REFUSAL_BYTES, "{} bytes", visitor.hears);
    let _ = accept(&mut Stranger { says: data, hears: 0 }, None);
    assert!(greet(&mut Stranger { says: data, hears: 0 }, Some(&key), &NO_COOKIE).is_err());
    let _ = greet(&mut Stranger { says: data, hears: 0 }, None, &NO_COOKIE);
}

/// A peer that sends the bytes that it has, and counts those that it gets.
struct Stranger<'a> {
    says: &'a [u8],
    hears: usize,
}

impl Read for Stranger<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.says.read(buffer)
    }
}

impl Write for Stranger<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hears += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
