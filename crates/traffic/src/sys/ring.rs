//! A ring of frames that the kernel fills and this process reads in place: `PACKET_RX_RING` of version 3 (packet(7),
//! Linux 3.2).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use sixbench_measure::sys::memory::Mapping;

/// `linux/if_packet.h`.
const TPACKET_V3: libc::c_int = 2;
/// The block is this process's to read.
const STATUS_USER: u32 = 1;
const STATUS_KERNEL: u32 = 0;
/// Length of a block. With the number of blocks below the ring has 16 MiB, as much as a receiver of datagrams has.
const BLOCK_BYTES: usize = 1 << 16;
const BLOCKS: usize = 256;
/// Number of blocks of a ring of tagged frames, which are few.
const TAGGED_BLOCKS: usize = 64;
/// A block that is not full is handed over after so long. So the ring holds the frames of 2 s at a low rate, however
/// long the reader does not get a processor.
const RETIRE_MS: u32 = 8;
/// `RETIRE_MS` in nanoseconds.
pub const RETIRE_NS: u64 = RETIRE_MS as u64 * 1_000_000;
/// Offsets in a block (`struct tpacket_block_desc`) ...
const BLOCK_STATUS_AT: usize = 8;
const BLOCK_COUNT_AT: usize = 12;
const BLOCK_FIRST_AT: usize = 16;
/// ... and in what is before each frame (`struct tpacket3_hdr`).
const NEXT_AT: usize = 0;
const SECONDS_AT: usize = 4;
const NANOSECONDS_AT: usize = 8;
const LENGTH_AT: usize = 12;
const FRAME_STATUS_AT: usize = 20;
const MAC_AT: usize = 24;
/// The frame's time is by the clock of the interface (`TP_STATUS_TS_RAW_HARDWARE`, Linux 3.10).
const STATUS_HARDWARE: u32 = 1 << 31;

/// `struct tpacket_req3`.
#[repr(C)]
struct RingRequest {
    block_size: u32,
    block_nr: u32,
    frame_size: u32,
    frame_nr: u32,
    retire_blk_tov: u32,
    sizeof_priv: u32,
    feature_req_word: u32,
}

/// A frame that came.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The frame from the Ethernet header on, without the frame check sequence.
    pub bytes: &'a [u8],
    /// Time at which the kernel had it, on the realtime clock.
    pub realtime_ns: u64,
}

/// A frame in the ring, whose time may be the kernel's or that of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamped<'a> {
    bytes: &'a [u8],
    time_ns: u64,
    is_hardware: bool,
}

/// The tagged frames: of the frames with the mark, one of this many, by the number (u32) behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// The interface by which they come.
    pub ifindex: u32,
    /// One of this many frames is tagged; not 0.
    pub one_of: u32,
}

/// A place in frames where certain eight bytes are that the ring looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// True if the place is that of frames of IPv4, false if of IPv6.
    pub is_ipv4: bool,
    /// Offset from the beginning of the Ethernet header.
    pub at: usize,
}

/// The frames that come in by any interface, as far as they have certain eight bytes at one of certain places.
#[derive(Debug)]
pub struct Ring {
    memory: Mapping,
    socket: OwnedFd,
    blocks: usize,
    next_block: usize,
    dropped: u64,
}

impl Ring {
    /// Opens one. From here on it sees frames that have `mark` at one of these places.
    pub fn open(places: &[Place], mark: u64) -> io::Result<Self> {
        // Interface 0: all of them. A host may receive by another one than it sends by.
        Self::of_interface(0, BLOCKS, places, &having(mark, places, None))
    }

    fn of_interface(ifindex: u32, blocks: usize, places: &[Place], filter: &[libc::sock_filter]) -> io::Result<Self> {
        let socket = sixbench_packet::open()?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &TPACKET_V3)?;
        let request = RingRequest {
            block_size: BLOCK_BYTES as u32,
            block_nr: blocks as u32,
            frame_size: BLOCK_BYTES as u32,
            frame_nr: blocks as u32,
            retire_blk_tov: RETIRE_MS,
            sizeof_priv: 0,
            feature_req_word: 0,
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let memory = Mapping::shared(socket.as_raw_fd(), 0, blocks * BLOCK_BYTES)?;
        let ring = Self { memory, socket, blocks, next_block: 0, dropped: 0 };
        attach(&ring.socket, filter)?;
        sixbench_packet::enable(&ring.socket, sixbench_packet::IGNORE_OUTGOING)?;
        sixbench_packet::bind(&ring.socket, ifindex, protocol_of(places))?;
        Ok(ring)
    }

    /// Gives the frames of the next block to `each`. Returns true if the kernel has handed a block over.
    pub fn take(&mut self, mut each: impl FnMut(Frame<'_>)) -> bool {
        self.take_stamped(|frame| each(Frame { bytes: frame.bytes, realtime_ns: frame.time_ns }))
    }

    fn take_stamped(&mut self, mut each: impl FnMut(Stamped<'_>)) -> bool {
        // SAFETY: a block is inside the mapping, which lives as long as this value.
        let start = unsafe { self.memory.start().add(self.next_block * BLOCK_BYTES) };
        // SAFETY: the status is an aligned word of the block, which the kernel and this process both write whole.
        let status = unsafe { AtomicU32::from_ptr(start.add(BLOCK_STATUS_AT).cast()) };
        if status.load(Ordering::Acquire) & STATUS_USER == 0 {
            return false;
        }
        // SAFETY: the kernel leaves the block alone until its status says that it is the kernel's again.
        let block = unsafe { std::slice::from_raw_parts(start, BLOCK_BYTES) };
        frames(block, &mut each);
        status.store(STATUS_KERNEL, Ordering::Release);
        self.next_block = (self.next_block + 1) % self.blocks;
        true
    }

    /// Frames for which there was no room, since the ring was opened.
    pub fn dropped(&mut self) -> io::Result<u64> {
        self.dropped += sixbench_packet::drops(&self.socket)?;
        Ok(self.dropped)
    }
}

/// The tagged frames that come in by an interface, with the interface's own times.
#[derive(Debug)]
pub struct StampedRing(Ring);

impl StampedRing {
    /// Opens one, which sees the frames with a tag that have `mark` at one of these places.
    pub fn open(places: &[Place], mark: u64, tag: Tag) -> io::Result<Self> {
        let ring = Ring::of_interface(tag.ifindex, TAGGED_BLOCKS, places, &having(mark, places, Some(tag.one_of)))?;
        let raw = libc::SOF_TIMESTAMPING_RAW_HARDWARE as libc::c_int;
        set(&ring.socket, libc::SOL_PACKET, libc::PACKET_TIMESTAMP, &raw)?;
        Ok(Self(ring))
    }

    /// Gives the frames of the next block to `each`, with the time of each by the interface's clock where it was
    /// stamped. Returns true if there was a block.
    pub fn take(&mut self, mut each: impl FnMut(&[u8], Option<u64>)) -> bool {
        self.0.take_stamped(|frame| each(frame.bytes, frame.is_hardware.then_some(frame.time_ns)))
    }
}

impl AsFd for StampedRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Has a UDP socket take only datagrams of that payload's length whose byte at `at` is at least `least`: other
/// datagrams go no further, and take no room.
pub fn take_only(socket: &impl AsFd, payload_bytes: u32, at: u32, least: u32) -> io::Result<()> {
    const UDP_HEADER_BYTES: u32 = 8;
    attach(
        socket,
        &[
            op(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, 0, 0, 0),
            op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, UDP_HEADER_BYTES + payload_bytes, 0, 3),
            op(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, UDP_HEADER_BYTES + at, 0, 0),
            op(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, least, 0, 1),
            op(libc::BPF_RET | libc::BPF_K, u32::MAX, 0, 0),
            op(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
        ],
    )
}

/// The protocol of all frames that are meant.
fn protocol_of(places: &[Place]) -> u16 {
    let is_of = |is_ipv4| places.iter().any(|place| place.is_ipv4 == is_ipv4);
    match (is_of(true), is_of(false)) {
        (true, false) => libc::ETH_P_IP as u16,
        (false, true) => libc::ETH_P_IPV6 as u16,
        _ => sixbench_packet::ALL_PROTOCOLS,
    }
}

/// The filter of frames that have these eight bytes at one of the places, and behind them a number of which `one_of` is
/// a divisor. The places of one family have to be in order, the nearest to the beginning first: a frame that ends
/// before a place has nothing there, nor at those that would be looked at later.
fn having(mark: u64, places: &[Place], one_of: Option<u32>) -> Vec<libc::sock_filter> {
    const ETHERTYPE_AT: u32 = 12;
    const TAG_OPERATIONS: u8 = 3;
    let mut program = Vec::new();
    for place in places {
        let protocol = if place.is_ipv4 { libc::ETH_P_IP } else { libc::ETH_P_IPV6 };
        let at = place.at as u32;
        // What is not so jumps to the next place.
        let more = if one_of.is_some() { TAG_OPERATIONS } else { 0 };
        program.extend([
            op(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, ETHERTYPE_AT, 0, 0),
            op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, protocol as u32, 0, 5 + more),
            op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at, 0, 0),
            op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, (mark >> 32) as u32, 0, 3 + more),
            op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at + 4, 0, 0),
            op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, mark as u32, 0, 1 + more),
        ]);
        if let Some(one_of) = one_of {
            let tagged: [_; TAG_OPERATIONS as usize] = [
                op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at + 8, 0, 0),
                op(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, one_of, 0, 0),
                op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 0, 1),
            ];
            program.extend(tagged);
        }
        program.push(op(libc::BPF_RET | libc::BPF_K, u32::MAX, 0, 0));
    }
    program.push(op(libc::BPF_RET | libc::BPF_K, 0, 0, 0));
    program
}

fn op(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

fn attach(socket: &impl AsFd, filter: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Sets an option that is a structure of integers and of pointers to what the kernel may use for as long as it does.
pub fn set<T>(socket: &impl AsFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `value`, which the kernel only reads.
    let result = unsafe { libc::setsockopt(fd, level, name, ptr::from_ref(value).cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The frames in a block. Nothing that a block says makes this read outside it.
fn frames(block: &[u8], each: &mut impl FnMut(Stamped<'_>)) {
    let count = word(block, BLOCK_COUNT_AT).unwrap_or(0);
    let mut at = word(block, BLOCK_FIRST_AT).unwrap_or(0) as usize;
    for _ in 0..count {
        let Some(header) = block.get(at..) else { return };
        let read = || {
            let mac = u16::from_ne_bytes(*header.get(MAC_AT..)?.first_chunk()?);
            let bytes = header.get(usize::from(mac)..)?.get(..word(header, LENGTH_AT)? as usize)?;
            let seconds = u64::from(word(header, SECONDS_AT)?);
            let time_ns = seconds * 1_000_000_000 + u64::from(word(header, NANOSECONDS_AT)?);
            let is_hardware = word(header, FRAME_STATUS_AT)? & STATUS_HARDWARE != 0;
            Some((Stamped { bytes, time_ns, is_hardware }, word(header, NEXT_AT)? as usize))
        };
        let Some((frame, next)) = read() else { return };
        each(frame);
        if next == 0 {
            return;
        }
        at = at.saturating_add(next);
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_frames_of_a_block_are_read_in_order() {
        let mut block = vec![0; 400];
        let mut put = |at: usize, value: u32| block[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        put(BLOCK_COUNT_AT, 2);
        put(BLOCK_FIRST_AT, 48);
        for (at, next, length, status) in [(48, 128, 5, 1), (176, 0, 3, STATUS_HARDWARE | 1)] {
            put(at + NEXT_AT, next);
            put(at + SECONDS_AT, 2);
            put(at + NANOSECONDS_AT, 7);
            put(at + LENGTH_AT, length);
            put(at + FRAME_STATUS_AT, status);
            put(at + MAC_AT, 82);
        }
        block[48 + 82..48 + 87].copy_from_slice(b"first");
        block[176 + 82..176 + 85].copy_from_slice(b"two");
        let mut taken = Vec::new();
        frames(&block, &mut |frame| taken.push((frame.bytes.to_vec(), frame.time_ns, frame.is_hardware)));
        assert_eq!(taken, [(b"first".to_vec(), 2_000_000_007, false), (b"two".to_vec(), 2_000_000_007, true)]);
    }

    /// Runs the filter on a frame, with the operations that it is made of, as bpf(4) has them. Returns true if it takes
    /// the frame.
    fn takes(program: &[libc::sock_filter], frame: &[u8]) -> bool {
        const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
        const LOAD_HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
        const MODULO: u32 = libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K;
        const JUMP: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        let (mut at, mut value) = (0, 0);
        loop {
            let instruction = program[at];
            at += 1;
            let loaded = |bytes: usize| {
                let bytes = frame.get(instruction.k as usize..)?.get(..bytes)?;
                Some(bytes.iter().fold(0_u32, |word, byte| (word << 8) | u32::from(*byte)))
            };
            match u32::from(instruction.code) {
                code @ (LOAD_WORD | LOAD_HALF) => match loaded(if code == LOAD_WORD { 4 } else { 2 }) {
                    Some(word) => value = word,
                    None => return false,
                },
                MODULO => value %= instruction.k,
                JUMP => at += usize::from(if value == instruction.k { instruction.jt } else { instruction.jf }),
                _ => return instruction.k > 0,
            }
        }
    }

    #[test]
    fn a_filter_takes_frames_with_the_mark_and_of_these_the_tagged_ones() {
        const MARK: u64 = 0x0102_0304_0506_0708;
        let places = [(true, 14), (false, 14), (false, 22)].map(|(is_ipv4, at)| Place { is_ipv4, at });
        let frame = |protocol: i32, at: usize, mark: u64, number: u32| {
            let mut frame = vec![0; at + 12];
            frame[12..14].copy_from_slice(&(protocol as u16).to_be_bytes());
            frame[at..at + 8].copy_from_slice(&mark.to_be_bytes());
            frame[at + 8..].copy_from_slice(&number.to_be_bytes());
            frame
        };
        let (all, tagged) = (having(MARK, &places, None), having(MARK, &places, Some(3)));
        for (protocol, at) in [(libc::ETH_P_IP, 14), (libc::ETH_P_IPV6, 14), (libc::ETH_P_IPV6, 22)] {
            for number in [0, 1, 2, 3, 4, u32::MAX] {
                assert!(takes(&all, &frame(protocol, at, MARK, number)));
                assert_eq!(takes(&tagged, &frame(protocol, at, MARK, number)), number % 3 == 0);
                for other in [MARK ^ 1, MARK ^ (1 << 32)] {
                    assert!(!takes(&all, &frame(protocol, at, other, number)));
                    assert!(!takes(&tagged, &frame(protocol, at, other, number)));
                }
            }
        }
        assert!(!takes(&tagged, &frame(libc::ETH_P_IP, 22, MARK, 0)));
        assert!(!takes(&tagged, &frame(libc::ETH_P_ARP, 14, MARK, 0)));
        assert!(!takes(&tagged, &frame(libc::ETH_P_IP, 14, MARK, 0)[..24]));
    }

    proptest! {
        #[test]
        fn any_block_is_read_without_panic(
            mut block in prop::collection::vec(any::<u8>(), 0..300), count in 0_u32..9, first in 0_u32..320
        ) {
            for (at, value) in [(BLOCK_COUNT_AT, count), (BLOCK_FIRST_AT, first)] {
                if let Some(place) = block.get_mut(at..at + 4) {
                    place.copy_from_slice(&value.to_ne_bytes());
                }
            }
            frames(&block, &mut |frame| drop(frame.bytes.to_vec()));
        }
    }
}
