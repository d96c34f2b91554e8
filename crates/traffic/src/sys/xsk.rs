//! Frames past the kernel's packets, by an AF_XDP socket (Documentation/networking/af_xdp.rst, Linux 5.9): by the
//! driver's own memory where it can, else copied. A program of ours picks the frames that are meant from all that an
//! interface receives, and notes when each came; all others go on to the kernel.

use std::io;
use std::marker::PhantomData;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::errno::Errno;
use sixbench_measure::sys::memory::Mapping;
use sixbench_plane::frames::{Picker, SignaturePlace};

use super::ring::{Frame, Place, set};

/// A place for a frame: a page, as the driver wants it.
const CHUNK_BYTES: usize = 4096;
/// Most frames that wait for the receiver: 16 MiB, as much as the ring of a packet socket has. A power of two.
const RECEIVE_CHUNKS: u32 = 4096;
/// Most frames on their way out. A power of two.
const SEND_CHUNKS: u32 = 256;
/// Frames that are taken before their chunks are given back to the kernel.
const BURST: u32 = 64;
/// Frames that go by one call: as many as the kernel takes (TX_BATCH_SIZE).
pub const AT_ONCE: usize = 32;
/// Looks at what the kernel has done with the frames of one call, before the next one.
const LOOKS: usize = 10_000;
/// Length of the time of arrival in front of a frame.
const TIME_BYTES: usize = 8;
/// The longest frame that a place has room for and that veth hands over in one piece: a page less 256 bytes in front
/// (XDP_PACKET_HEADROOM) and what the kernel keeps at its end.
pub const LONGEST_BYTES: usize = 3000;
/// The one queue of the interface.
const QUEUE: u32 = 0;

/// A ring of entries of type `T` that the kernel fills or empties at its other end.
struct Ring<T> {
    mapping: Mapping,
    offsets: libc::xdp_ring_offset,
    /// Number of entries.
    entries: u32,
    kind: PhantomData<T>,
    /// This side's own place, which only it moves.
    place: u32,
}

impl<T: Copy> Ring<T> {
    fn new(socket: &OwnedFd, offsets: libc::xdp_ring_offset, page_offset: u64, entries: u32) -> io::Result<Self> {
        let bytes = offsets.desc as usize + entries as usize * size_of::<T>();
        let mapping = Mapping::shared(socket.as_raw_fd(), page_offset as libc::off_t, bytes)?;
        Ok(Self { mapping, offsets, entries, kind: PhantomData, place: 0 })
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: an aligned word within the mapping, which both sides write whole.
        unsafe { AtomicU32::from_ptr(self.mapping.start().add(offset as usize).cast()) }
    }

    fn entry(&self, place: u32) -> *mut T {
        let index = (place & (self.entries - 1)) as usize;
        // SAFETY: the mapping has so many entries from there on.
        unsafe { self.mapping.start().add(self.offsets.desc as usize).cast::<T>().add(index) }
    }

    /// The next entry that the kernel has made, if there is one.
    fn take(&mut self) -> Option<T> {
        if self.word(self.offsets.producer).load(Ordering::Acquire) == self.place {
            return None;
        }
        // SAFETY: the kernel leaves the entry alone until it is released; any bits are a value of these types.
        let entry = unsafe { self.entry(self.place).read_volatile() };
        self.place = self.place.wrapping_add(1);
        Some(entry)
    }

    /// Gives the entries that have been taken back to the kernel.
    fn release(&self) {
        self.word(self.offsets.consumer).store(self.place, Ordering::Release);
    }

    /// Gives the kernel an entry. There are no more entries about than places.
    fn put(&mut self, entry: T) {
        // SAFETY: the kernel does not look at the entry until it is published.
        unsafe { self.entry(self.place).write_volatile(entry) };
        self.place = self.place.wrapping_add(1);
    }

    /// Hands the entries that have been put to the kernel.
    fn publish(&self) {
        self.word(self.offsets.producer).store(self.place, Ordering::Release);
    }

    /// True if the kernel has taken all entries that were put.
    fn is_empty(&self) -> bool {
        self.word(self.offsets.consumer).load(Ordering::Acquire) == self.place
    }
}

/// A socket and its chunks: first those of the receiver, if there is one, and then the sender's.
struct Shared {
    socket: OwnedFd,
    chunks: Mapping,
    /// True if the driver moves frames without copying them.
    is_zero_copy: bool,
}

/// Both halves of a socket at the one queue of an interface.
pub struct Halves {
    /// The receiver, if frames are to be received.
    pub receiver: Option<Receiver>,
    /// The sender, if frames are to be sent.
    pub sender: Option<Sender>,
}

/// Opens a socket at an interface.
///
/// `sought`: the places and the mark by which a receiver knows frames; `fill`: what the places of a sender are full of.
/// It fails where the interface has several queues, or another program.
pub fn open(ifindex: u32, sought: Option<(&[Place], u64)>, fill: Option<u8>) -> io::Result<Halves> {
    let receive_chunks = if sought.is_some() { RECEIVE_CHUNKS } else { 0 };
    let send_chunks = if fill.is_some() { SEND_CHUNKS } else { 0 };
    let chunks = Mapping::anonymous((receive_chunks + send_chunks) as usize * CHUNK_BYTES)?;
    let socket = bare(&chunks, sought.is_some(), fill.is_some())?;
    let offsets: libc::xdp_mmap_offsets = option(&socket, libc::XDP_MMAP_OFFSETS)?;
    let mut filled = Ring::new(&socket, offsets.fr, libc::XDP_UMEM_PGOFF_FILL_RING, RECEIVE_CHUNKS)?;
    (0..u64::from(receive_chunks)).for_each(|chunk| filled.put(chunk * CHUNK_BYTES as u64));
    filled.publish();
    let rings = (
        match sought {
            None => None,
            Some(_) => Some(Ring::new(&socket, offsets.rx, libc::XDP_PGOFF_RX_RING as u64, RECEIVE_CHUNKS)?),
        },
        match fill {
            None => None,
            Some(_) => Some((
                Ring::new(&socket, offsets.tx, libc::XDP_PGOFF_TX_RING as u64, SEND_CHUNKS)?,
                Ring::new(&socket, offsets.cr, libc::XDP_UMEM_PGOFF_COMPLETION_RING, SEND_CHUNKS)?,
            )),
        },
    );
    refuse_second_queue(ifindex)?;
    bind(&socket, ifindex, QUEUE)?;
    let options: libc::xdp_options = option(&socket, libc::XDP_OPTIONS)?;
    let is_zero_copy = options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0;
    let picker = match sought {
        None => None,
        Some((places, mark)) => Some(attach(&socket, ifindex, places, mark)?),
    };
    let shared = Arc::new(Shared { socket, chunks, is_zero_copy });
    let receiver = rings.0.zip(picker).map(|(received, picker)| Receiver {
        shared: Arc::clone(&shared),
        picker,
        filled,
        received,
    });
    let sender = rings.1.zip(fill).map(|((outgoing, completed), fill)| {
        let free = (receive_chunks..receive_chunks + send_chunks).map(|chunk| u64::from(chunk) * CHUNK_BYTES as u64);
        Sender { free: free.collect(), scratch: vec![fill; CHUNK_BYTES], shared, outgoing, completed }.filled_with(fill)
    });
    Ok(Halves { receiver, sender })
}

/// Has a program hand the frames to the socket.
fn attach(socket: &OwnedFd, ifindex: u32, places: &[Place], mark: u64) -> io::Result<Picker> {
    let places: Vec<_> = places
        .iter()
        .map(|place| SignaturePlace {
            ethertype: if place.is_ipv4 { libc::ETH_P_IP } else { libc::ETH_P_IPV6 } as u16,
            at: place.at as u16,
        })
        .collect();
    Picker::attach(socket, ifindex, &places, mark.to_be_bytes()).map_err(|refusal| io::Error::other(refusal.words()))
}

/// The half of the socket that receives.
pub struct Receiver {
    shared: Arc<Shared>,
    /// The program at the interface, which goes with it.
    picker: Picker,
    filled: Ring<u64>,
    received: Ring<libc::xdp_desc>,
}

impl Receiver {
    /// Gives the next frames that have come to `each`. Returns true if there were any.
    pub fn take(&mut self, realtime_less_monotonic_ns: i64, mut each: impl FnMut(Frame<'_>)) -> bool {
        let mut count = 0;
        while count < BURST {
            let Some(entry) = self.received.take() else { break };
            count += 1;
            let bytes = RECEIVE_CHUNKS as usize * CHUNK_BYTES;
            let at = entry.addr as usize % bytes;
            // SAFETY: the receiver's chunks, which nobody but the kernel writes, and it only while it has one.
            let memory = unsafe { std::slice::from_raw_parts(self.shared.chunks.start(), bytes) };
            if let Some(frame) = frame_at(memory, at, entry.len as usize, realtime_less_monotonic_ns) {
                each(frame);
            }
            self.filled.put((at - at % CHUNK_BYTES) as u64);
        }
        if count > 0 {
            self.received.release();
            self.filled.publish();
        }
        count > 0
    }

    /// Frames that were meant and for which there was no room, since the socket was opened.
    pub fn dropped(&self) -> io::Result<u64> {
        let counted: libc::xdp_statistics = option(&self.shared.socket, libc::XDP_STATISTICS)?;
        Ok(counted.rx_dropped + counted.rx_ring_full)
    }

    /// Its way of receiving, in words.
    pub fn name(&self) -> &'static str {
        match (self.shared.is_zero_copy, self.picker.is_by_driver()) {
            (true, _) => "af-xdp, zero-copy",
            (false, true) => "af-xdp, copy, by the driver",
            (false, false) => "af-xdp, copy, of socket buffers",
        }
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.socket.as_fd()
    }
}

/// The half of the socket that sends, past the queue of the interface.
pub struct Sender {
    shared: Arc<Shared>,
    outgoing: Ring<libc::xdp_desc>,
    completed: Ring<u64>,
    /// The chunks that the kernel does not have.
    free: Vec<u64>,
    /// A place for frames that have no chunk.
    scratch: Vec<u8>,
}

impl Sender {
    fn filled_with(mut self, fill: u8) -> Self {
        (0..self.free.len()).for_each(|index| self.place(index).fill(fill));
        self
    }

    /// The place of a frame, which keeps what is written into it until another one takes its place.
    pub fn place(&mut self, index: usize) -> &mut [u8] {
        let Some(&chunk) = self.free.iter().nth_back(index) else { return &mut self.scratch };
        // SAFETY: within the chunks, and this one is the sender's until it is sent.
        unsafe { std::slice::from_raw_parts_mut(self.shared.chunks.start().add(chunk as usize), CHUNK_BYTES) }
    }

    /// Sends the frames in the first places, which have these lengths: all of them, or none.
    pub fn send(&mut self, lengths: &[usize]) -> nix::Result<usize> {
        if lengths.len() > self.free.len() {
            self.reap();
            return Err(Errno::ENOBUFS);
        }
        for &length in lengths {
            let Some(addr) = self.free.pop() else { break };
            self.outgoing.put(libc::xdp_desc { addr, len: length.min(CHUNK_BYTES) as u32, options: 0 });
        }
        self.outgoing.publish();
        for _ in 0..LOOKS {
            self.kick()?;
            self.reap();
            if self.outgoing.is_empty() && self.free.len() >= AT_ONCE {
                break;
            }
        }
        Ok(lengths.len())
    }

    /// Its way of sending, in words.
    pub fn name(&self) -> &'static str {
        if self.shared.is_zero_copy { "af-xdp, zero-copy" } else { "af-xdp, copy" }
    }

    /// Takes back the chunks of frames that have been sent.
    fn reap(&mut self) {
        while let Some(chunk) = self.completed.take() {
            self.free.push(chunk);
        }
        self.completed.release();
    }

    /// Has the kernel look at what there is to send.
    fn kick(&self) -> nix::Result<()> {
        let fd = self.shared.socket.as_raw_fd();
        // SAFETY: nothing is pointed to.
        let result = unsafe { libc::sendto(fd, ptr::null(), 0, libc::MSG_DONTWAIT, ptr::null(), 0) };
        match Errno::result(result) {
            Ok(_) | Err(Errno::EAGAIN | Errno::EBUSY | Errno::ENOBUFS) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

/// A frame in a chunk, and when it came. Nothing that an entry says makes this read outside its chunk.
fn frame_at(chunks: &[u8], at: usize, length: usize, realtime_less_monotonic_ns: i64) -> Option<Frame<'_>> {
    let start = at - at % CHUNK_BYTES;
    let bytes = chunks.get(at..at.checked_add(length)?)?;
    let time_at = at.checked_sub(TIME_BYTES).filter(|&time_at| time_at >= start)?;
    if length > start + CHUNK_BYTES - at {
        return None;
    }
    let monotonic_ns = u64::from_ne_bytes(*chunks.get(time_at..)?.first_chunk()?);
    Some(Frame { bytes, realtime_ns: monotonic_ns.wrapping_add_signed(realtime_less_monotonic_ns) })
}

/// A socket with its memory and its rings, which is bound to nothing.
fn bare(chunks: &Mapping, receives: bool, sends: bool) -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers; what it returns is a descriptor that nobody else owns.
    let socket = unsafe {
        match libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) {
            -1 => return Err(io::Error::last_os_error()),
            fd => OwnedFd::from_raw_fd(fd),
        }
    };
    // SAFETY: all zeros is a valid value of this struct of integers.
    let mut memory: libc::xdp_umem_reg_v1 = unsafe { mem::zeroed() };
    (memory.addr, memory.len) = (chunks.start() as u64, chunks.bytes() as u64);
    memory.chunk_size = CHUNK_BYTES as u32;
    set(&socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &memory)?;
    // The kernel insists on both of these.
    set(&socket, libc::SOL_XDP, libc::XDP_UMEM_FILL_RING, &RECEIVE_CHUNKS)?;
    set(&socket, libc::SOL_XDP, libc::XDP_UMEM_COMPLETION_RING, &SEND_CHUNKS)?;
    if receives {
        set(&socket, libc::SOL_XDP, libc::XDP_RX_RING, &RECEIVE_CHUNKS)?;
    }
    if sends {
        set(&socket, libc::SOL_XDP, libc::XDP_TX_RING, &SEND_CHUNKS)?;
    }
    Ok(socket)
}

/// Frames of other queues would not be seen. Where there is a second queue, a socket can be bound to it.
fn refuse_second_queue(ifindex: u32) -> io::Result<()> {
    let chunks = Mapping::anonymous(2 * CHUNK_BYTES)?;
    match bind(&bare(&chunks, true, false)?, ifindex, QUEUE + 1) {
        Ok(()) => Err(io::Error::new(io::ErrorKind::Unsupported, "the interface has several queues")),
        Err(_) => Ok(()),
    }
}

fn bind(socket: &OwnedFd, ifindex: u32, queue: u32) -> io::Result<()> {
    // SAFETY: all zeros is a valid value of this struct of integers.
    let mut address: libc::sockaddr_xdp = unsafe { mem::zeroed() };
    address.sxdp_family = libc::AF_XDP as u16;
    (address.sxdp_ifindex, address.sxdp_queue_id) = (ifindex, queue);
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `address`, which lives through the call.
    let result = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// An option that is a structure of integers.
fn option<T>(socket: &OwnedFd, name: libc::c_int) -> io::Result<T> {
    // SAFETY: all zeros is a valid value of the structures of integers that this is used for.
    let mut value: T = unsafe { mem::zeroed() };
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `value`, and the kernel writes no more than that.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_XDP, name, (&raw mut value).cast(), &raw mut length) };
    if result == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_entry_makes_it_read_elsewhere(at in 0_usize..3 * CHUNK_BYTES, length in 0_usize..2 * CHUNK_BYTES) {
            let chunks = vec![7; 2 * CHUNK_BYTES];
            if let Some(frame) = frame_at(&chunks, at, length, 0) {
                prop_assert_eq!(frame.bytes.len(), length);
                prop_assert_eq!(at / CHUNK_BYTES, (at + length.max(1) - 1) / CHUNK_BYTES);
                prop_assert!(at % CHUNK_BYTES >= TIME_BYTES);
            }
        }
    }
}
