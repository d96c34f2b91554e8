//! Many packets in one system call.

use std::io;
use std::mem;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use super::{check, none_when_empty};
use crate::abi::Address;

/// Room for two control messages of an int, or for those that are received, aligned as the kernel writes them.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

const CONTROL_BYTES: usize = 64;
/// Length of a control message that holds an int.
// SAFETY: the macro only computes.
const INT_MESSAGE_BYTES: usize = unsafe { libc::CMSG_SPACE(mem::size_of::<libc::c_int>() as u32) } as usize;
const _: () = assert!(2 * INT_MESSAGE_BYTES <= CONTROL_BYTES);

/// Buffers for packets that are received by one `recvmmsg`, made in the thread that uses them. Their memory is taken
/// from the system as it is used.
pub struct ReceiveBatch {
    packet_bytes: usize,
    data: Vec<u8>,
    names: Vec<libc::sockaddr_in6>,
    controls: Vec<Control>,
    _parts: Vec<libc::iovec>,
    /// Headers that point to all of the above, which is on the heap and never resized.
    headers: Vec<libc::mmsghdr>,
    /// Number of packets that the last call received.
    count: usize,
}

/// A packet that was received.
#[derive(Debug)]
pub struct Received<'a> {
    /// The packet: with the IP header for IPv4, without for IPv6.
    pub packet: &'a mut [u8],
    /// The address of the sender of an IPv6 packet.
    pub source: Address,
    /// The traffic class of an IPv6 packet, where the socket was asked to tell it.
    pub traffic_class: u8,
}

impl ReceiveBatch {
    /// Buffers for `count` packets of at most `packet_bytes`.
    pub fn new(count: usize, packet_bytes: usize) -> Self {
        // SAFETY: all zeros is a valid value.
        let name: libc::sockaddr_in6 = unsafe { mem::zeroed() };
        let mut data = vec![0; count * packet_bytes];
        let mut names = vec![name; count];
        let mut controls = vec![Control([0; CONTROL_BYTES]); count];
        let mut parts: Vec<libc::iovec> = data
            .chunks_exact_mut(packet_bytes)
            .map(|packet: &mut [u8]| libc::iovec { iov_base: packet.as_mut_ptr().cast(), iov_len: packet.len() })
            .collect();
        let mut headers = Vec::with_capacity(count);
        for ((part, name), control) in parts.iter_mut().zip(&mut names).zip(&mut controls) {
            let mut header = empty();
            header.msg_hdr.msg_name = ptr::from_mut(name).cast();
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            headers.push(header);
        }
        Self { packet_bytes, data, names, controls, _parts: parts, headers, count }
    }

    /// Takes the packets that are there, without waiting. Returns how many.
    pub fn receive(&mut self, socket: &impl AsFd) -> io::Result<usize> {
        // The kernel overwrote these lengths in the last call.
        for header in &mut self.headers[..self.count] {
            header.msg_hdr.msg_namelen = mem::size_of::<libc::sockaddr_in6>() as u32;
            header.msg_hdr.msg_controllen = CONTROL_BYTES as _;
        }
        self.count = 0;
        // SAFETY: every pointer in `headers` is to `_parts`, `names` or `controls`, and of these to `data`, with its
        // length: all are on the heap, never resized, and live as long as `self`. Nobody else looks at them meanwhile.
        let result = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as u32,
                libc::MSG_DONTWAIT as _,
                ptr::null_mut(),
            )
        };
        self.count = none_when_empty(check(result as isize))?.unwrap_or_default();
        Ok(self.count)
    }

    /// The packets of the last call.
    pub fn packets(&mut self) -> impl Iterator<Item = Received<'_>> {
        let packets = self.data.chunks_exact_mut(self.packet_bytes);
        let notes = self.names.iter().zip(&self.controls);
        packets.zip(&self.headers[..self.count]).zip(notes).map(|((packet, header), (name, control))| {
            // This field's type differs among C libraries.
            let control_bytes: usize = header.msg_hdr.msg_controllen as _;
            let length = (header.msg_len as usize).min(packet.len());
            Received {
                packet: &mut packet[..length],
                source: Address(name.sin6_addr.s6_addr),
                traffic_class: if control_bytes >= INT_MESSAGE_BYTES { traffic_class(control) } else { 0 },
            }
        })
    }
}

/// The traffic class in the first control message; the socket is asked for no others.
fn traffic_class(control: &Control) -> u8 {
    // SAFETY: `control` is longer than a header, aligned as one, and every pattern of bits is a value.
    let header: libc::cmsghdr = unsafe { control.0.as_ptr().cast::<libc::cmsghdr>().read() };
    if (header.cmsg_level, header.cmsg_type) != (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) {
        return 0;
    }
    let at = INT_MESSAGE_BYTES - 8;
    i32::from_ne_bytes([control.0[at], control.0[at + 1], control.0[at + 2], control.0[at + 3]]) as u8
}

/// A packet that is to be sent: two parts, of which the first may be empty.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// Sent first.
    pub head: &'a [u8],
    /// Sent after it.
    pub body: &'a [u8],
    /// The destination; a socket that is bound to a device needs none.
    pub destination: Option<Destination>,
}

/// The fields of the IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Destination {
    /// The address to send to.
    pub address: IpAddr,
    /// TTL or hop limit, at least 1.
    pub ttl: u8,
    /// TOS or traffic class.
    pub tos: u8,
}

/// The buffers of one `sendmmsg`, kept for the next one. They are made in the thread that uses them.
#[derive(Default)]
pub struct SendBatch {
    parts: Vec<[libc::iovec; 2]>,
    names: Vec<libc::sockaddr_in6>,
    controls: Vec<Control>,
    headers: Vec<libc::mmsghdr>,
}

impl SendBatch {
    /// Sends them. Returns the number sent, at least one where there are any; or the error of the first.
    pub fn send<'a>(&mut self, socket: &impl AsFd, messages: impl Iterator<Item = Message<'a>>) -> io::Result<usize> {
        self.parts.clear();
        self.names.clear();
        self.controls.clear();
        self.headers.clear();
        for message in messages {
            self.parts.push(
                [message.head, message.body]
                    .map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() }),
            );
            let mut header = empty();
            header.msg_hdr.msg_iovlen = 2;
            if let Some(destination) = message.destination {
                let (name, name_bytes) = name(destination.address);
                let (control, control_bytes) = control(&destination);
                self.names.push(name);
                self.controls.push(control);
                header.msg_hdr.msg_namelen = name_bytes as u32;
                header.msg_hdr.msg_controllen = control_bytes as _;
            }
            self.headers.push(header);
        }
        // The lists are complete, so that nothing in them moves any more.
        let (mut names, mut controls) = (self.names.iter_mut(), self.controls.iter_mut());
        for (header, parts) in self.headers.iter_mut().zip(&mut self.parts) {
            header.msg_hdr.msg_iov = parts.as_mut_ptr();
            if header.msg_hdr.msg_namelen > 0 {
                header.msg_hdr.msg_name = names.next().map_or(ptr::null_mut(), |name| ptr::from_mut(name).cast());
                header.msg_hdr.msg_control =
                    controls.next().map_or(ptr::null_mut(), |control| control.0.as_mut_ptr().cast());
            }
        }
        // SAFETY: every pointer in `headers` is to the lists above, and of `parts` to the messages' slices, which the
        // kernel only reads; all have the lengths that are given, and live through the call.
        let result = unsafe {
            libc::sendmmsg(socket.as_fd().as_raw_fd(), self.headers.as_mut_ptr(), self.headers.len() as u32, 0)
        };
        check(result as isize)
    }
}

fn name(address: IpAddr) -> (libc::sockaddr_in6, usize) {
    // SAFETY: all zeros is a valid value.
    let mut name: libc::sockaddr_in6 = unsafe { mem::zeroed() };
    match address {
        IpAddr::V6(address) => {
            name.sin6_family = libc::AF_INET6 as u16;
            name.sin6_addr.s6_addr = address.octets();
            (name, mem::size_of::<libc::sockaddr_in6>())
        }
        IpAddr::V4(address) => {
            // `sockaddr_in` has its address where `sockaddr_in6` has the flow label, and is shorter.
            name.sin6_family = libc::AF_INET as u16;
            name.sin6_flowinfo = u32::from_ne_bytes(address.octets());
            (name, mem::size_of::<libc::sockaddr_in>())
        }
    }
}

/// The messages that set the TTL and the TOS of one packet.
fn control(destination: &Destination) -> (Control, usize) {
    let (level, ttl, tos) = match destination.address {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TTL, libc::IP_TOS),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT, libc::IPV6_TCLASS),
    };
    let mut control = Control([0; CONTROL_BYTES]);
    let values = [(ttl, destination.ttl), (tos, destination.tos)];
    for (message, (kind, value)) in control.0.chunks_exact_mut(INT_MESSAGE_BYTES).zip(values) {
        // SAFETY: the macro only computes.
        let length = unsafe { libc::CMSG_LEN(mem::size_of::<libc::c_int>() as u32) } as usize;
        let data_at = length - mem::size_of::<libc::c_int>();
        let header_at = mem::size_of::<libc::size_t>();
        message[..header_at].copy_from_slice(&length.to_ne_bytes());
        message[header_at..header_at + 4].copy_from_slice(&level.to_ne_bytes());
        message[header_at + 4..header_at + 8].copy_from_slice(&kind.to_ne_bytes());
        message[data_at..length].copy_from_slice(&i32::from(value).to_ne_bytes());
    }
    (control, 2 * INT_MESSAGE_BYTES)
}

fn empty() -> libc::mmsghdr {
    // SAFETY: all zeros is a valid value.
    unsafe { mem::zeroed() }
}
