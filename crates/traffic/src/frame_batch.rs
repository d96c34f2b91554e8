//! Whole frames in places of their own, many of which go by one system call of a packet socket.

use std::os::fd::AsFd;

use sixbench_packet::{Message, SendBatch, With};

/// Room for some frames. It is made in the thread that uses it.
pub struct FrameBatch {
    bytes: Vec<u8>,
    /// Distance from one frame to the next.
    stride: usize,
    batch: SendBatch,
}

impl FrameBatch {
    /// Room for this many frames of at most that length. Every byte is `fill`.
    pub fn new(frames: usize, longest_bytes: usize, fill: u8) -> Self {
        let stride = longest_bytes.max(1);
        Self { bytes: vec![fill; frames * stride], stride, batch: SendBatch::default() }
    }

    /// The place of a frame, which keeps what is written into it.
    pub fn place(&mut self, index: usize) -> &mut [u8] {
        &mut self.bytes[index * self.stride..][..self.stride]
    }

    /// Sends the first frames, which have these lengths. The interface stamps those of them that have a tag when it
    /// sends them. Returns the number that went out, at least one; or the error of the first.
    pub fn send(
        &mut self,
        socket: impl AsFd,
        lengths: &[usize],
        is_tagged: impl Fn(usize) -> bool,
    ) -> nix::Result<usize> {
        let frames = self.bytes.chunks_exact(self.stride).zip(lengths).enumerate();
        self.batch.send(
            socket,
            frames.map(|(index, (frame, &length))| Message {
                head: &frame[..length.min(frame.len())],
                body: &[],
                with: match is_tagged(index) {
                    true => With::TimesWanted(libc::SOF_TIMESTAMPING_TX_HARDWARE),
                    false => With::Nothing,
                },
            }),
        )
    }
}
