//! Whole frames in places of their own, many of which go by one system call of a packet socket.

use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;

use super::mmsg::{AskForSendTimes, empty_message};

/// Room for some frames. It is made in the thread that uses it.
pub struct FrameBatch {
    bytes: Vec<u8>,
    /// Distance from one frame to the next.
    stride: usize,
    parts: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
}

impl FrameBatch {
    /// Room for this many frames of at most that length. Every byte is `fill`.
    pub fn new(frames: usize, longest_bytes: usize, fill: u8) -> Self {
        let stride = longest_bytes.max(1);
        Self { bytes: vec![fill; frames * stride], stride, parts: Vec::new(), messages: Vec::new() }
    }

    /// The place of a frame, which keeps what is written into it.
    pub fn place(&mut self, index: usize) -> &mut [u8] {
        &mut self.bytes[index * self.stride..][..self.stride]
    }

    /// Sends the first frames, which have these lengths. The interface stamps those of them that have a tag when it
    /// sends them. Returns the number that went out, at least one; or the error of the first.
    pub fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        lengths: &[usize],
        is_tagged: impl Fn(usize) -> bool,
    ) -> nix::Result<usize> {
        let mut ask = AskForSendTimes::new(libc::SOF_TIMESTAMPING_TX_HARDWARE);
        self.parts.clear();
        self.parts.extend(self.bytes.chunks_exact(self.stride).zip(lengths).map(|(frame, &length)| libc::iovec {
            iov_base: frame.as_ptr().cast_mut().cast(),
            iov_len: length.min(frame.len()),
        }));
        self.messages.clear();
        self.messages.extend(self.parts.iter_mut().enumerate().map(|(index, part)| {
            let mut message = empty_message();
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
            if is_tagged(index) {
                ask.put_into(&mut message.msg_hdr);
            }
            message
        }));
        // SAFETY: every message points to one of `parts`, and that into `bytes`, and perhaps to `ask`; all of them
        // outlive the call, and the kernel only reads what they point to.
        let sent = unsafe {
            libc::sendmmsg(socket.as_raw_fd(), self.messages.as_mut_ptr(), self.messages.len() as libc::c_uint, 0)
        };
        Errno::result(sent).map(|sent| sent as usize)
    }
}
