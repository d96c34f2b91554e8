//! One message with all that the kernel has to say about it.

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::sys::socket::MsgFlags;

use crate::control::{ControlMessage, NAME_BYTES, Name, SentControl, messages};

/// Room for an error with the address of its sender, times of sending and all notes, in words.
const CONTROL_WORDS: usize = 32;

/// Room for what comes with one message.
#[derive(Debug, Default)]
pub struct MessageReader {
    name: Name,
    control: [u64; CONTROL_WORDS],
    filled: usize,
}

/// Length and wholeness of a message that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Its length: with `MSG_TRUNC` among the flags that of the whole message, else of what is in the buffer.
    pub bytes: usize,
    /// True if the buffer was too short for it.
    pub is_cut: bool,
}

impl MessageReader {
    /// Reads the next message into `buffer`.
    pub fn read(&mut self, socket: impl AsFd, buffer: &mut [u8], flags: MsgFlags) -> nix::Result<Reading> {
        // SAFETY: all bytes 0 is a valid value of this struct of integers and pointers.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        (self.name, self.filled) = (Name::default(), 0);
        message.msg_name = self.name.0.as_mut_ptr().cast();
        message.msg_namelen = NAME_BYTES as libc::socklen_t;
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = self.control.as_mut_ptr().cast();
        message.msg_controllen = (8 * CONTROL_WORDS) as _;
        // SAFETY: every pointer in `message` is to a local, to this struct or to `buffer`, with its length, and all
        // live through the call.
        let received = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, flags.bits()) };
        let bytes = Errno::result(received)? as usize;
        // This field's type differs among C libraries.
        let control_bytes: usize = message.msg_controllen as _;
        self.filled = (control_bytes / 8).min(CONTROL_WORDS);
        Ok(Reading { bytes, is_cut: message.msg_flags & libc::MSG_TRUNC != 0 })
    }

    /// The other end of the last message: its sender, or of an error the destination that the packet was sent to.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The control messages of the last message.
    pub fn control(&self) -> impl Iterator<Item = ControlMessage<'_>> {
        messages(self.control_words())
    }

    /// The same as words, for [`Notes::of`](crate::Notes::of).
    pub fn control_words(&self) -> &[u64] {
        &self.control[..self.filled]
    }
}

/// Sends one datagram with control messages.
pub fn send_with(socket: impl AsFd, bytes: &[u8], to: SocketAddr, mut control: SentControl) -> nix::Result<usize> {
    let (mut name, name_bytes) = Name::of(to);
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: all bytes 0 is a valid value of this struct of integers and pointers.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = name.0.as_mut_ptr().cast();
    message.msg_namelen = name_bytes as libc::socklen_t;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.words.as_mut_ptr().cast();
    message.msg_controllen = (8 * control.filled) as _;
    // SAFETY: every pointer in `message` is to a local or to `bytes`, with its length; the kernel only reads them.
    let sent = unsafe { libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const message, 0) };
    Errno::result(sent).map(|sent| sent as usize)
}
