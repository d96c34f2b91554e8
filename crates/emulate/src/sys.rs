//! The only `unsafe` of this crate: packet sockets with times of arrival, and many packets in one system call.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use sixbench_measure::clock::BothClocks;

/// Room for a time of arrival.
const CONTROL_BYTES: usize = 64;
/// Limit of the socket's buffers for packets that have arrived, and for packets on their way out.
const SOCKET_BUFFER_BYTES: usize = 32 << 20;

/// A socket that has every packet which comes in by an interface, and sends out by it. It never blocks.
#[derive(Debug)]
pub struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// Opens one.
    pub fn open(ifindex: u32) -> io::Result<Self> {
        let socket = Self(sixbench_packet::open()?);
        for option in [sixbench_packet::VIRTUAL_HEADER, sixbench_packet::QUEUE_BYPASS, sixbench_packet::IGNORE_OUTGOING]
        {
            sixbench_packet::enable(&socket, option)?;
        }
        sixbench_packet::set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        sixbench_packet::set_receive_buffer(&socket, SOCKET_BUFFER_BYTES)?;
        sixbench_packet::set_send_buffer(&socket, SOCKET_BUFFER_BYTES)?;
        sixbench_packet::bind(&socket, ifindex, sixbench_packet::ALL_PROTOCOLS)?;
        Ok(socket)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A packet that has come.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Length with the virtual header.
    pub length: usize,
    /// Time at which the kernel saw it.
    pub monotonic_ns: u64,
    /// True if the kernel gave no time, so that it is the time at which the packet was read.
    pub is_user_time: bool,
}

#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// The memory that system calls for many packets need, allocated once in the thread that uses it.
pub struct Batch {
    parts: Vec<libc::iovec>,
    controls: Vec<Control>,
    headers: Vec<libc::mmsghdr>,
}

impl Batch {
    /// Memory for up to `count` packets.
    pub fn new(count: usize) -> Self {
        // SAFETY: all zeros is a valid value.
        let header: libc::mmsghdr = unsafe { mem::zeroed() };
        let part = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
        Self {
            parts: vec![part; count],
            controls: vec![Control([0; CONTROL_BYTES]); count],
            headers: vec![header; count],
        }
    }

    /// Takes the packets that are there into the first of the buffers, without waiting.
    pub fn receive(
        &mut self,
        socket: &PacketSocket,
        buffers: &mut [Box<[u8]>],
        arrivals: &mut Vec<Arrival>,
    ) -> io::Result<()> {
        arrivals.clear();
        let count = buffers.len().min(self.headers.len());
        for (index, buffer) in buffers.iter_mut().take(count).enumerate() {
            self.parts[index] = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
            let header = &mut self.headers[index].msg_hdr;
            header.msg_iov = &raw mut self.parts[index];
            header.msg_iovlen = 1;
            header.msg_control = self.controls[index].0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL_BYTES as _;
        }
        // SAFETY: the first `count` of `headers` point to `parts` and `controls`, and those to `buffers`, all with
        // their lengths; nobody else looks at any of them meanwhile.
        let result = unsafe {
            libc::recvmmsg(
                socket.0.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                ptr::null_mut(),
            )
        };
        let received = match check(result as isize) {
            Ok(received) => received,
            Err(error) if is_nothing(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        if received == 0 {
            return Ok(());
        }
        // After the packets, so that none has come later than now.
        let clocks = BothClocks::read();
        arrivals.extend(self.headers[..received].iter().zip(&self.controls).zip(buffers).map(
            |((header, control), buffer)| {
                // Not of the same type in every C library.
                let control_bytes: usize = header.msg_hdr.msg_controllen as _;
                let realtime_ns = arrival_realtime_ns(control, control_bytes);
                Arrival {
                    length: (header.msg_len as usize).min(buffer.len()),
                    monotonic_ns: realtime_ns
                        .map_or(clocks.monotonic_ns, |time| clocks.to_monotonic_ns(time).min(clocks.monotonic_ns)),
                    is_user_time: realtime_ns.is_none(),
                }
            },
        ));
        Ok(())
    }

    /// Sends packets. Returns the number sent, or the error of the first.
    pub fn send<'a>(
        &mut self,
        socket: &PacketSocket,
        packets: impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> io::Result<usize> {
        let count = packets.len().min(self.headers.len());
        for (index, packet) in packets.take(count).enumerate() {
            self.parts[index] = libc::iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() };
            let header = &mut self.headers[index].msg_hdr;
            header.msg_iov = &raw mut self.parts[index];
            header.msg_iovlen = 1;
            header.msg_control = ptr::null_mut();
            header.msg_controllen = 0;
        }
        // SAFETY: the first `count` of `headers` point to `parts`, and those to the packets, which the kernel only
        // reads; all live through the call.
        let result = unsafe {
            libc::sendmmsg(
                socket.0.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT as _,
            )
        };
        check(result as isize)
    }
}

/// The time in a message of SCM_TIMESTAMPNS, the only one that the socket is asked for.
fn arrival_realtime_ns(control: &Control, control_bytes: usize) -> Option<u64> {
    // SAFETY: the macros only compute.
    let (data_at, needed) = unsafe {
        let bytes = mem::size_of::<libc::timespec>() as u32;
        (libc::CMSG_LEN(0) as usize, libc::CMSG_LEN(bytes) as usize)
    };
    if control_bytes < needed {
        return None;
    }
    // SAFETY: `control` is longer than a header, aligned as one, and every pattern of bits is a value.
    let header: libc::cmsghdr = unsafe { control.0.as_ptr().cast::<libc::cmsghdr>().read() };
    if (header.cmsg_level, header.cmsg_type) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
        return None;
    }
    // SAFETY: `needed` bytes are there, and every pattern of bits is a value.
    let time: libc::timespec = unsafe { control.0.as_ptr().add(data_at).cast::<libc::timespec>().read_unaligned() };
    Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

fn check(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
