//! Sockets, as far as crates have them in common: packet sockets (`packet(7)`), which have the frames of one interface
//! as they are; many packets in one system call; control messages; and the queue of errors.
//!
//! [`SendBatch`] and [`ReceiveBatch`] send and receive many packets in one call, [`MessageReader`] reads one with all
//! that the kernel has to say about it. [`control`] reads and writes control messages, [`error_queue`] the errors about
//! what was sent. [`stamping`] sets hardware time stamps, a [`LocalAddress`] knows the interface of a link-local one.
//! An [`Error`] has a code for programs and a sentence for people; all crates above have this one. `unsafe` only in
//! `sys`.

pub mod control;
mod error;
pub mod error_queue;
mod local_address;
pub mod stamping;
mod sys;

pub use control::{Notes, SentControl};
pub use error::{Code, Error, Result};
pub use local_address::LocalAddress;
pub use sys::{
    Destination, LentReceiveBatch, Message, MessageReader, Reading, ReceiveBatch, Received, SendBatch, With,
    attach_group_program, bind, drops, enable, open, option_bytes, send_with, set_option, set_option_bytes,
    set_receive_buffer, set_send_buffer,
};

/// The auxiliary data of each received packet, which has its VLAN tag: the kernel moves it out of the packet. Linux
/// 2.6.27.
pub const AUXILIARY_DATA: libc::c_int = libc::PACKET_AUXDATA;
/// Every packet has a `struct virtio_net_hdr` before it (what offloads were left to the device), so that super-packets
/// pass whole. (`linux/if_packet.h`.)
pub const VIRTUAL_HEADER: libc::c_int = 15;
/// Sent frames pass no queue of the interface. Linux 3.14.
pub const QUEUE_BYPASS: libc::c_int = 20;
/// Frames that others send by the interface are not received. Linux 4.20.
pub const IGNORE_OUTGOING: libc::c_int = 23;

/// Every protocol.
pub const ALL_PROTOCOLS: u16 = libc::ETH_P_ALL as u16;
/// No protocol: a socket that only sends.
pub const NO_PROTOCOL: u16 = 0;
