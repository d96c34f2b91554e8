//! Numbers that nobody can guess.

use std::fs::File;
use std::io::{self, Read};

/// Octets of the kernel's.
pub fn octets<const N: usize>() -> io::Result<[u8; N]> {
    let mut octets = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut octets)?;
    Ok(octets)
}
