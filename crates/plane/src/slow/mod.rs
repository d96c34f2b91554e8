//! The slow path: the packets that the programs leave to user space, or all packets of a tunnel without programs.
//!
//! Packets that are to be sent come out of the device's far end, whole and cut into segments by the kernel; they leave
//! by a raw socket, so that the kernel fragments them where DF is clear, and asks for unresolved neighbours. Packets
//! that arrive in fragments are reassembled by the kernel before a raw socket gives them to us; they go into the device
//! by its far end. Each direction has a thread of its own.
//!
//! [`rules`] decide, without I/O. Fragments that never complete stay in the kernel: it holds at most
//! `net.ipv4.ipfrag_high_thresh` (`net.ipv6.ip6frag_high_thresh`, 4 MiB a namespace) of them, each for `ipfrag_time`
//! (30 s; IPv6 60 s), and counts failures as `ReasmFails`.

mod carrier;
mod counting;
pub mod icmp;
mod long;
pub mod offload;
mod on_link;
mod receive;
pub mod rules;
mod send;

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::device::Device;
use crate::spec::Spec;
use crate::{Error, Result};
pub(crate) use carrier::RECEIVE_BUFFER_BYTES;
pub use counting::SlowCounts;
use counting::ThreadCounts;
use offload::FrameHead;
use receive::Receiver;
use send::Sender;

/// The longest packet: 65535 bytes, the virtual header of the packet socket and an Ethernet header.
pub(crate) const BUFFER_BYTES: usize = 65_535 + size_of::<FrameHead>();
/// The protocols that the Ethernet frames carry.
pub(crate) const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
pub(crate) const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];
/// Most packets that one system call reads.
pub(crate) const BATCH: usize = 64;

/// The other tunnels of the same local address and payload.
#[derive(Debug, Clone, Default)]
pub struct Rivals {
    /// True if there are any.
    pub are_there: bool,
    /// The tunnels that are offered a packet before this one.
    pub first: Arc<[Spec]>,
}

/// A tunnel's slow path. With this value it ends.
pub struct SlowPath {
    sent: Arc<Mutex<ThreadCounts>>,
    received: Arc<Mutex<ThreadCounts>>,
    rivals: Arc<Mutex<Rivals>>,
    /// Closed to tell the threads to end.
    stop: Vec<UnixStream>,
    threads: Vec<JoinHandle<()>>,
}

impl SlowPath {
    /// Starts it, in the namespace of this thread, for a tunnel that compiles and has that device.
    pub fn start(spec: &Spec, device: &Device) -> Result<Self> {
        let failed = |(call, error)| start_error(spec.local, call, error);
        let (sent, received) = (Arc::default(), Arc::default());
        let rivals = Arc::default();
        let mut path = Self { sent, received, rivals, stop: Vec::new(), threads: Vec::new() };
        let sender = Sender::open(spec, device, Arc::clone(&path.sent)).map_err(failed)?;
        let receiver = Receiver::open(spec, device, Arc::clone(&path.rivals), Arc::clone(&path.received));
        let receiver = receiver.map_err(failed)?;
        path.spawn("slow-send", move |stopped| sender.work(stopped)).map_err(failed)?;
        path.spawn("slow-receive", move |stopped| receiver.work(stopped)).map_err(failed)?;
        Ok(path)
    }

    fn spawn(
        &mut self,
        name: &str,
        work: impl FnOnce(&UnixStream) + Send + 'static,
    ) -> std::result::Result<(), (&'static str, io::Error)> {
        let (stopped, stop) = UnixStream::pair().map_err(|error| ("socketpair", error))?;
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&stopped))
            .map_err(|error| ("clone", error))?;
        self.stop.push(stop);
        self.threads.push(thread);
        Ok(())
    }

    /// The counts of the slow path so far.
    pub fn counts(&self) -> SlowCounts {
        SlowCounts::of(&self.sent, &self.received)
    }

    /// Says which other tunnels packets may be for.
    pub fn set_rivals(&self, rivals: Rivals) {
        *self.rivals.lock().unwrap_or_else(PoisonError::into_inner) = rivals;
    }
}

impl Drop for SlowPath {
    fn drop(&mut self) {
        self.stop.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn start_error(local: IpAddr, call: &'static str, error: io::Error) -> Error {
    let remedy = match error.kind() {
        io::ErrorKind::AddrNotAvailable => ": give the node that address first",
        io::ErrorKind::PermissionDenied => ": raw sockets need CAP_NET_RAW",
        _ => "",
    };
    Error::system(format!("starting the slow path at {local}{remedy}"), call, error)
}

/// Waits until `socket` has something, or false: it is time to stop.
pub(crate) fn wait(socket: &impl AsFd, stopped: &UnixStream) -> bool {
    loop {
        let mut descriptors =
            [socket.as_fd(), stopped.as_fd()].map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN));
        match poll(&mut descriptors, PollTimeout::NONE) {
            Ok(_) => return descriptors[1].any() != Some(true),
            Err(Errno::EINTR) => {}
            Err(_) => return false,
        }
    }
}
