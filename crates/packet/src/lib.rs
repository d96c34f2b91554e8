//! Packet sockets (`packet(7)`): the frames of one interface as they are, for those who carry, tunnel and capture them.
//!
//! This crate opens, sets and binds such sockets, and sets options of any socket that no crate wraps; reading from them
//! and sending by them is the business of `emulate`, `plane` and `agent`. [`stamping`] sets hardware time stamps,
//! [`scope`] knows the interfaces of link-local addresses. `unsafe` only in [`sys`].

pub mod scope;
pub mod stamping;
mod sys;

pub use sys::{
    attach_group_program, bind, drops, enable, open, option_bytes, set_option, set_option_bytes, set_receive_buffer,
    set_send_buffer,
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
