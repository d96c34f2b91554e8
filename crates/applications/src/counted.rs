//! A connection that counts its bytes.

use std::cell::Cell;
use std::io;
use std::ops::AddAssign;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Bytes of payload that a connection has carried so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Carried {
    /// Bytes that the kernel took.
    pub sent: u64,
    /// Bytes that it gave.
    pub received: u64,
}

impl AddAssign for Carried {
    fn add_assign(&mut self, more: Self) {
        self.sent += more.sent;
        self.received += more.received;
    }
}

/// A connection of TCP, and the bytes it has carried, which others see.
pub struct Counted {
    stream: TcpStream,
    carried: Rc<Cell<Carried>>,
}

impl Counted {
    /// The connection, and its count of nothing yet.
    pub fn new(stream: TcpStream) -> (Self, Rc<Cell<Carried>>) {
        let carried = Rc::new(Cell::default());
        (Self { stream, carried: Rc::clone(&carried) }, carried)
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Carried { sent, received } = self.carried.get();
        self.carried.set(Carried { sent, received: received + (buffer.filled().len() - before) as u64 });
        polled
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(taken)) = polled {
            let Carried { sent, received } = self.carried.get();
            self.carried.set(Carried { sent: sent + taken as u64, received });
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
