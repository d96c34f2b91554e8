//! The only `unsafe` of this crate: system calls that no crate wraps as we need them.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::slice;
use std::sync::atomic::AtomicU64;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, getsockopt, setsockopt, sockopt};
use sixbench_measure::sys::memory::Mapping;
use sixbench_packet::control::ControlMessage;
use sixbench_packet::{AUXILIARY_DATA, MessageReader, Notes};
use sixbench_wire::ethernet::{TAG_BYTES, ethertype};

/// Lets this process live through Ctrl-C.
pub fn ignore_interrupts() -> io::Result<()> {
    // SAFETY: SIG_IGN runs no code of ours.
    match unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Makes this process ignore signals that ask it to end: those of a terminal or a connection that goes, and of the end
/// of a session.
pub fn ignore_requests_to_end() -> io::Result<()> {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGPIPE] {
        // SAFETY: SIG_IGN runs no code of ours.
        if unsafe { libc::signal(signal, libc::SIG_IGN) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Makes `command` a child that the kernel kills when the thread that spawns it ends, and with it the agent. It starts
/// with the default disposition of every signal.
pub fn tie_to_this_thread(command: &mut Command) {
    let agent = std::process::id();
    let prepare = move || {
        // SAFETY: plain system calls, allowed between fork and exec; SIG_DFL runs no code of ours. That SIGKILL and
        // SIGSTOP refuse it does not matter.
        unsafe {
            for signal in 1..=31 {
                libc::signal(signal, libc::SIG_DFL);
            }
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == -1 {
                return Err(io::Error::last_os_error());
            }
            // The agent ended in between: nobody is left to kill this child.
            if libc::getppid() as u32 != agent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
        Ok(())
    };
    // SAFETY: `prepare` allocates nothing and takes no lock.
    unsafe { command.pre_exec(prepare) };
}

/// A descriptor that becomes readable when the child `pid` ends (Linux 5.3). The child must not have been reaped.
pub fn pidfd(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two numbers; what it returns is a descriptor that nobody else owns.
    unsafe {
        match libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd as i32)),
        }
    }
}

/// Numbers in memory that two processes share.
pub struct SharedCounters(Mapping);

impl SharedCounters {
    /// New counters, all 0, and the descriptor by which another process shares them.
    pub fn shared(count: usize) -> io::Result<(OwnedFd, Self)> {
        // SAFETY: the name ends with 0; what the call returns is a descriptor that nobody else owns.
        let memory = unsafe {
            match libc::memfd_create(c"sixbench-counters".as_ptr(), libc::MFD_CLOEXEC) {
                -1 => return Err(io::Error::last_os_error()),
                fd => File::from(OwnedFd::from_raw_fd(fd)),
            }
        };
        memory.set_len((count * size_of::<AtomicU64>()) as u64)?;
        let memory = OwnedFd::from(memory);
        Self::of(memory.as_fd(), count).map(|counters| (memory, counters))
    }

    /// The counters of another process, which has made no fewer.
    pub fn of(memory: BorrowedFd<'_>, count: usize) -> io::Result<Self> {
        let bytes = count * size_of::<AtomicU64>();
        let file_bytes = File::from(memory.try_clone_to_owned()?).metadata()?.len();
        if file_bytes < bytes as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Mapping::shared(memory.as_raw_fd(), 0, bytes).map(Self)
    }

    /// Every one.
    pub fn all(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is as long, begins at a page, and stays as long as this value; any bytes are a number.
        unsafe { slice::from_raw_parts(self.0.start().cast(), self.0.bytes() / size_of::<AtomicU64>()) }
    }
}

/// A time of a PTP hardware clock (`struct ptp_clock_time` of linux/ptp_clock.h).
#[repr(C)]
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct PtpTime {
    pub seconds: i64,
    pub nanoseconds: u32,
    pub reserved: u32,
}

/// `struct ptp_sys_offset_extended` (Linux 5.0).
#[repr(C)]
struct PtpOffsets {
    samples: u32,
    /// The first one chooses the system's clock since Linux 6.12: 0 is the realtime clock.
    reserved: [u32; 3],
    times: [[PtpTime; 3]; MOST_PTP_SAMPLES],
}

/// `PTP_MAX_SAMPLES`.
const MOST_PTP_SAMPLES: usize = 25;
/// `_IOWR('=', 9, struct ptp_sys_offset_extended)`.
const PTP_SYS_OFFSET_EXTENDED: u32 = (3 << 30) | ((size_of::<PtpOffsets>() as u32) << 16) | ((b'=' as u32) << 8) | 9;
const _: () = assert!(size_of::<PtpOffsets>() == 16 + 25 * 3 * 16);

/// Readings of the hardware clock that is open: the system's realtime clock before, the hardware clock, the system's
/// after.
pub fn hardware_times(clock: BorrowedFd<'_>) -> io::Result<Vec<[PtpTime; 3]>> {
    let times = [[PtpTime::default(); 3]; MOST_PTP_SAMPLES];
    let mut offsets = PtpOffsets { samples: MOST_PTP_SAMPLES as u32, reserved: [0; 3], times };
    // SAFETY: the call reads and writes the structure, which has the size that is in the request's number.
    match unsafe { libc::ioctl(clock.as_raw_fd(), PTP_SYS_OFFSET_EXTENDED as _, &raw mut offsets) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(offsets.times.into_iter().take(offsets.samples as usize).collect()),
    }
}

/// The kernel's release and the machine's architecture.
pub fn kernel_and_machine() -> io::Result<(String, String)> {
    let mut names = MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: the call fills in the structure, whose fields are strings that end in zero; zeros are valid before that
    // too.
    unsafe {
        if libc::uname(names.as_mut_ptr()) == -1 {
            return Err(io::Error::last_os_error());
        }
        let names = names.assume_init_ref();
        let text = |field: &[libc::c_char]| CStr::from_ptr(field.as_ptr()).to_string_lossy().into_owned();
        Ok((text(&names.release), text(&names.machine)))
    }
}

/// Gives memory that was freed back to the system, which the GNU C library would otherwise keep for later.
pub fn return_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call only looks for whole free pages of the allocator, under the allocator's own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The size of a page of memory.
pub fn page_bytes() -> u64 {
    // SAFETY: the call only reads a constant of the system.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    bytes.unsigned_abs()
}

/// A socket that sees every packet of one device, in both directions. It never blocks.
pub struct PacketSocket(OwnedFd);

/// A packet as the socket gave it.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    /// Its length on the device, of which the buffer has the first bytes.
    pub wire_bytes: usize,
    /// Time at which the kernel saw it, on the realtime clock.
    pub realtime_ns: Option<u64>,
    /// True if the device sends it.
    pub outgoing: bool,
    /// The kind of device: an `ARPHRD_` constant.
    pub device_type: u16,
}

/// Destination and source, which stand before the tag in an Ethernet frame.
const ADDRESSES_BYTES: usize = 12;

impl PacketSocket {
    /// Opens a socket that sees nothing yet.
    pub fn open() -> io::Result<Self> {
        let fd = sixbench_packet::open()?;
        setsockopt(&fd, sockopt::ReceiveTimestampns, &true)?;
        sixbench_packet::enable(&fd, AUXILIARY_DATA)?;
        Ok(Self(fd))
    }

    /// Lets the kernel hold this many bytes of packets that were not read yet, beyond `net.core.rmem_max` where that is
    /// permitted.
    pub fn set_buffer_bytes(&self, bytes: usize) -> io::Result<()> {
        sixbench_packet::set_receive_buffer(self, bytes)
    }

    /// Begins to see the packets of the device with that index. A device that is down is an error.
    pub fn bind(&self, interface_index: u32) -> io::Result<()> {
        sixbench_packet::bind(&self.0, interface_index, sixbench_packet::ALL_PROTOCOLS)?;
        // The kernel binds to a device that is down too, and would tell with the first packet that is asked for.
        match getsockopt(&self.0, sockopt::SocketError)? {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Reads the next packet's first bytes into `buffer`; `None` when there is none yet.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let mut reader = MessageReader::default();
        // MSG_TRUNC: the packet's length is returned, however short the buffer is.
        let reading = match reader.read(self, buffer, MsgFlags::MSG_TRUNC) {
            Ok(reading) => reading,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let tag = reader.control().find_map(|message| vlan_tag(&message));
        let mut wire_bytes = reading.bytes;
        if let Some(tag) = tag {
            wire_bytes = put_back(tag, buffer, wire_bytes);
        }
        let (device_type, outgoing) = reader.name().link();
        let realtime_ns = Notes::of(reader.control_words()).realtime_ns;
        Ok(Some(Received { wire_bytes, realtime_ns, outgoing, device_type }))
    }

    /// Ends seeing packets, without losing those that wait to be read.
    pub fn refuse_more(&self) -> io::Result<()> {
        // A classic BPF program of one instruction, "return 0": it keeps nothing of any packet.
        let mut nothing = libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };
        let program = libc::sock_fprog { len: 1, filter: &raw mut nothing };
        // SAFETY: the program and its one instruction live through the call, which copies them.
        check(unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const program).cast(),
                mem::size_of_val(&program) as u32,
            )
        })
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The VLAN tag that the packet has on the wire and that the kernel, or the device, has moved out of it: its protocol
/// and what follows that. It is in a control message with a `tpacket_auxdata`.
fn vlan_tag(message: &ControlMessage<'_>) -> Option<[u8; TAG_BYTES]> {
    if (message.level, message.kind) != (libc::SOL_PACKET, AUXILIARY_DATA) {
        return None;
    }
    // Status, two lengths, two offsets of 2 bytes each; then the tag and its protocol, which share a word.
    let (status, [a, b, c, d]) = (message.u32(0)?, message.u32(4)?.to_ne_bytes());
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let [tag, protocol] = [[a, b], [c, d]].map(u16::from_ne_bytes);
    let is_protocol_known = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let protocol = if is_protocol_known { protocol } else { ethertype::VLAN };
    let ([a, b], [c, d]) = (protocol.to_be_bytes(), tag.to_be_bytes());
    Some([a, b, c, d])
}

/// Puts a tag behind the addresses of a frame of `wire_bytes`, of which the buffer has the first ones, and tells how
/// long it is then. The buffer's end is lost where it is full.
fn put_back(tag: [u8; TAG_BYTES], buffer: &mut [u8], wire_bytes: usize) -> usize {
    let kept = wire_bytes.min(buffer.len());
    let end = (kept + TAG_BYTES).min(buffer.len());
    if kept < ADDRESSES_BYTES || end < ADDRESSES_BYTES + TAG_BYTES {
        return wire_bytes;
    }
    buffer.copy_within(ADDRESSES_BYTES..end - TAG_BYTES, ADDRESSES_BYTES + TAG_BYTES);
    buffer[ADDRESSES_BYTES..ADDRESSES_BYTES + TAG_BYTES].copy_from_slice(&tag);
    wire_bytes + TAG_BYTES
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_put_back_behind_the_addresses() {
        let tag = [0x81, 0x00, 0x00, 0x64];
        let mut whole: Vec<u8> = (0..20).collect();
        whole.extend([0; 8]);
        assert_eq!(put_back(tag, &mut whole, 20), 24);
        let expected: Vec<u8> = (0..12).chain(tag).chain(12..20).chain([0; 4]).collect();
        assert_eq!(whole, expected);
        // A buffer that has only the beginning of a frame loses its end.
        let mut beginning: Vec<u8> = (0..20).collect();
        assert_eq!(put_back(tag, &mut beginning, 1514), 1518);
        assert_eq!(beginning, (0..12).chain(tag).chain(12..16).collect::<Vec<u8>>());
        for length in 0..16 {
            let mut short = vec![7; length];
            assert_eq!(put_back(tag, &mut short, 60), 60, "no room for the tag");
            assert_eq!(short, vec![7; length]);
        }
    }
}
