//! Numbers that nobody can guess.

use std::fs::File;
use std::io::{self, Read};

/// Octets of the kernel's.
pub fn octets<const N: usize>() -> io::Result<[u8; N]> {
    let mut octets = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut octets)?;
    Ok(octets)
}

/// Many such numbers, of one open file.
#[derive(Debug)]
pub struct Stream {
    file: File,
    octets: [u8; Self::OCTETS],
    /// How many of them are used up.
    used: usize,
}

impl Stream {
    const OCTETS: usize = 512;

    /// Opens the kernel's.
    pub fn open() -> io::Result<Self> {
        Ok(Self { file: File::open("/dev/urandom")?, octets: [0; Self::OCTETS], used: Self::OCTETS })
    }

    /// The next one.
    pub fn number(&mut self) -> io::Result<u32> {
        if self.used == Self::OCTETS {
            self.file.read_exact(&mut self.octets)?;
            self.used = 0;
        }
        let mut number = [0; 4];
        number.copy_from_slice(&self.octets[self.used..self.used + 4]);
        self.used += 4;
        Ok(u32::from_ne_bytes(number))
    }
}
