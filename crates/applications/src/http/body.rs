//! Bodies that nobody stores: the server makes them up, and the client counts them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// The bytes of all bodies, again and again.
static CHUNK: [u8; 1 << 16] = [0x5a; 1 << 16];

/// A body of so many bytes.
pub struct Generated {
    left: u64,
}

impl Generated {
    /// A body of so many bytes.
    pub fn new(bytes: u64) -> Self {
        Self { left: bytes }
    }

    /// The next bytes; absent at its end.
    pub fn next(&mut self) -> Option<Bytes> {
        let bytes = self.left.min(CHUNK.len() as u64);
        self.left -= bytes;
        (bytes > 0).then(|| Bytes::from_static(&CHUNK[..bytes as usize]))
    }
}

impl Body for Generated {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_as_many_bytes_as_it_says() {
        for bytes in [0, 1, 65_536, 65_537, 200_000] {
            let mut body = Generated::new(bytes);
            assert_eq!(body.size_hint().exact(), Some(bytes));
            let lengths: Vec<_> = std::iter::from_fn(|| body.next().map(|chunk| chunk.len() as u64)).collect();
            assert_eq!(lengths.iter().sum::<u64>(), bytes);
            assert!(body.is_end_stream());
        }
    }
}
