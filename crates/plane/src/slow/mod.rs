//! The slow path: what the programs leave over, in user space.
//!
//! Packets that are to be sent come out of the device's far end, whole and cut into segments by the kernel; they leave by a raw socket, so that the
//! kernel fragments them where DF is clear. Packets that arrive in fragments are reassembled by the kernel before a raw socket
//! gives them to us; they go into the device by its far end.

mod errors;
pub mod rules;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use sixbench_wire::checksum;
use socket2::{Domain, Protocol, Socket, Type};

use crate::abi::{self, Address, Tunnel};
use crate::sys::{self, FarSocket};
use crate::{Error, Result};
use rules::{Inner, Outer, Reason};

/// The longest packet: 65535 bytes, the virtual header of the packet socket and an Ethernet header.
const BUFFER_BYTES: usize = 65_535 + sys::VIRTUAL_HEADER_BYTES + ETHERNET_BYTES;
const ETHERNET_BYTES: usize = 14;
/// What a socket may hold before its packets are read: some thousand of them.
const SOCKET_BUFFER_BYTES: usize = 8 << 20;
/// How many packets of one socket are read before the other one's turn.
const BATCH: usize = 64;

/// What the slow path did: packets and bytes of inner packets.
#[derive(Debug, Clone, Default)]
pub struct SlowCounts {
    /// Sent.
    pub encapsulated: abi::Count,
    /// Received.
    pub decapsulated: abi::Count,
    /// Neither, by reason.
    pub drops: BTreeMap<Reason, abi::Count>,
}

/// A tunnel's slow path. With this value it ends.
pub struct SlowPath {
    counts: Arc<Mutex<SlowCounts>>,
    /// Closed to tell the thread to end.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl SlowPath {
    /// Starts it, in the namespace of this thread.
    pub fn start(tunnel: &Tunnel) -> Result<Self> {
        let local = ip(tunnel, &tunnel.local);
        let failed = |call| {
            move |error: io::Error| {
                let remedy = match error.kind() {
                    io::ErrorKind::AddrNotAvailable => ": give the node that address first",
                    _ => "",
                };
                Error::system(format!("starting the slow path at {local}{remedy}"), call, error)
            }
        };
        let counts = Arc::new(Mutex::new(SlowCounts::default()));
        let (stopped, stop) = UnixStream::pair().map_err(failed("socketpair"))?;
        let worker = Worker {
            tunnel: *tunnel,
            far: FarSocket::open(tunnel.far_ifindex, SOCKET_BUFFER_BYTES).map_err(failed("socket(AF_PACKET)"))?,
            carrier: carrier(tunnel).map_err(failed("socket(SOCK_RAW)"))?,
            counts: Arc::clone(&counts),
            written: None,
        };
        let thread = thread::Builder::new()
            .name("slow-path".to_owned())
            .spawn(move || worker.work(&stopped))
            .map_err(failed("clone"))?;
        Ok(Self { counts, stop: Some(stop), thread: Some(thread) })
    }

    /// What it did so far.
    pub fn counts(&self) -> SlowCounts {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for SlowPath {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The socket of outer packets.
fn carrier(tunnel: &Tunnel) -> io::Result<Socket> {
    let protocol = match tunnel.payload {
        abi::payload::IPV6 => libc::IPPROTO_IPV6,
        abi::payload::IPV4 => libc::IPPROTO_IPIP,
        _ => libc::IPPROTO_GRE,
    };
    let domain = if tunnel.outer == 4 { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(protocol)))?;
    socket.set_nonblocking(true)?;
    // IPv6's is told beside the packet, IPv4's stands in it.
    if tunnel.outer == 6 {
        socket.set_recv_tclass_v6(true)?;
    }
    sys::set_receive_errors(&socket, tunnel.outer == 6)?;
    sys::set_receive_buffer(&socket, SOCKET_BUFFER_BYTES)?;
    socket.bind(&SocketAddr::new(ip(tunnel, &tunnel.local), 0).into())?;
    if tunnel.mapping == abi::mapping::FIXED {
        // Then other tunnels' packets do not come here. Without a route there yet, they do, and are dropped by their source.
        let _ = socket.connect(&SocketAddr::new(ip(tunnel, &tunnel.remote), 0).into());
    }
    Ok(socket)
}

fn ip(tunnel: &Tunnel, address: &Address) -> IpAddr {
    let octets = address.0;
    match tunnel.outer {
        4 => Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into(),
        _ => Ipv6Addr::from(octets).into(),
    }
}

struct Worker {
    tunnel: Tunnel,
    far: FarSocket,
    carrier: Socket,
    counts: Arc<Mutex<SlowCounts>>,
    /// What the carrier's options say.
    written: Option<Outer>,
}

impl Worker {
    fn work(mut self, stopped: &UnixStream) {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let [readable_far, readable_carrier] = {
                let mut descriptors = [self.far.as_fd(), self.carrier.as_fd(), stopped.as_fd()]
                    .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN));
                match poll(&mut descriptors, PollTimeout::NONE) {
                    Ok(_) | Err(Errno::EINTR) => {}
                    Err(_) => return,
                }
                if descriptors[2].any() == Some(true) {
                    return;
                }
                [0, 1].map(|index| descriptors[index].any() == Some(true))
            };
            for _ in 0..BATCH {
                if !readable_far || !self.send_next(&mut buffer) {
                    break;
                }
            }
            while readable_carrier && self.relay_error(&mut buffer) {}
            for _ in 0..BATCH {
                if !readable_carrier || !self.receive_next(&mut buffer) {
                    break;
                }
            }
        }
    }

    /// Whether there was a packet.
    fn send_next(&mut self, buffer: &mut [u8]) -> bool {
        let Ok(Some(length)) = self.far.receive(buffer) else { return false };
        let frame = &mut buffer[..length];
        let Some(packet) = complete(frame) else { return true };
        let outcome = self.send(packet);
        let bytes = packet.len() as u64;
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        count(
            match outcome {
                Ok(()) => &mut counts.encapsulated,
                Err(reason) => counts.drops.entry(reason).or_default(),
            },
            bytes,
        );
        true
    }

    fn send(&mut self, packet: &[u8]) -> std::result::Result<(), Reason> {
        let inner = Inner::read(packet)?;
        let packet = &packet[..inner.bytes];
        let (mut outer, gre) = rules::encapsulate(&self.tunnel, &inner)?;
        let destination = ip(&self.tunnel, &outer.destination);
        let mut payload = gre;
        payload.extend(packet);
        let mut is_retried = false;
        loop {
            self.write_options(&outer)?;
            match self.carrier.send_to(&payload, &SocketAddr::new(destination, 0).into()) {
                Ok(_) => return Ok(()),
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) && outer.dont_fragment => {
                    let path_bytes = sys::path_mtu_bytes(destination).map_err(|_| "no-route")?;
                    let tunnel_bytes = path_bytes.saturating_sub(self.tunnel.overhead_bytes);
                    // RFC 4213 section 3.2.2: what IPv6 guarantees is fragmented rather than refused.
                    if !inner.dont_fragment || (inner.version == 6 && packet.len() <= 1280) {
                        outer.dont_fragment = false;
                        continue;
                    }
                    errors::too_big(packet, &inner, tunnel_bytes).map_err(|_| "no-route")?;
                    return Err("outer-too-big");
                }
                // It may be the error of a packet before, which the kernel tells once.
                Err(_) if !is_retried => is_retried = true,
                Err(_) => return Err("no-route"),
            }
        }
    }

    /// Sets the socket's options where they differ from the packet before.
    fn write_options(&mut self, outer: &Outer) -> std::result::Result<(), Reason> {
        let same = |written: &Outer| {
            (written.ttl, written.tos, written.dont_fragment) == (outer.ttl, outer.tos, outer.dont_fragment)
        };
        if self.written.as_ref().is_some_and(same) {
            return Ok(());
        }
        let written = if self.tunnel.outer == 4 {
            self.carrier
                .set_ttl_v4(u32::from(outer.ttl))
                .and_then(|()| self.carrier.set_tos_v4(u32::from(outer.tos)))
                .and_then(|()| sys::set_dont_fragment(&self.carrier, outer.dont_fragment))
        } else {
            self.carrier
                .set_unicast_hops_v6(u32::from(outer.ttl))
                .and_then(|()| self.carrier.set_tclass_v6(u32::from(outer.tos)))
        };
        self.written = written.is_ok().then_some(*outer);
        written.map_err(|_| "no-room")
    }

    /// Whether there was a packet.
    fn receive_next(&mut self, buffer: &mut [u8]) -> bool {
        let received = match sys::receive_raw(&self.carrier, buffer) {
            Ok(Some(received)) => received,
            _ => return false,
        };
        let datagram = &buffer[..received.length];
        let outcome = if self.tunnel.outer == 4 {
            // The kernel has checked the header, and put the packet together.
            match datagram.first_chunk::<20>() {
                Some(header) => {
                    let source = Ipv4Addr::new(header[12], header[13], header[14], header[15]).into();
                    let payload = datagram.get(usize::from(header[0] & 0x0f) * 4..).unwrap_or_default();
                    rules::decapsulate(&self.tunnel, &source, header[1], payload)
                }
                None => Err("outer-truncated"),
            }
        } else {
            rules::decapsulate(&self.tunnel, &received.source, received.traffic_class, datagram)
        };
        let bytes = outcome.as_ref().map_or(datagram.len(), Vec::len) as u64;
        let outcome = outcome.and_then(|packet| self.deliver(&packet).map_err(|_| "no-room"));
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        count(
            match outcome {
                Ok(()) => &mut counts.decapsulated,
                Err(reason) => counts.drops.entry(reason).or_default(),
            },
            bytes,
        );
        true
    }

    /// Whether there was an error that the carrier told.
    fn relay_error(&mut self, buffer: &mut [u8]) -> bool {
        let Ok(Some(error)) = sys::receive_error(&self.carrier, buffer) else { return false };
        let is_unreachable = match error.origin {
            sys::ErrorOrigin::Icmp => (error.kind == 3 && error.code != 4) || error.kind == 11,
            sys::ErrorOrigin::Icmpv6 => matches!(error.kind, 1 | 3),
            sys::ErrorOrigin::Other => false,
        };
        if let Some((packet, inner)) = rules::quoted(&self.tunnel, &buffer[..error.length]).filter(|_| is_unreachable) {
            let _ = errors::unreachable(packet, &inner); // The packet is lost, whoever hears of it.
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            count(counts.drops.entry("carrier-unreachable").or_default(), packet.len() as u64);
        }
        true
    }

    /// Puts an inner packet into the tunnel's device.
    fn deliver(&self, packet: &[u8]) -> io::Result<()> {
        let mut frame = vec![0; sys::VIRTUAL_HEADER_BYTES];
        frame.extend(self.tunnel.near_mac);
        frame.extend([0; 6]);
        frame.write_all(if packet.first().is_some_and(|first| first >> 4 == 6) {
            &[0x86, 0xdd]
        } else {
            &[0x08, 0x00]
        })?;
        frame.extend(packet);
        self.far.send(&frame)
    }
}

fn count(counter: &mut abi::Count, bytes: u64) {
    counter.packets += 1;
    counter.bytes += bytes;
}

/// Writes the checksum that the kernel left to the device (`struct virtio_net_hdr`), and returns the packet. `None` for what is none.
fn complete(frame: &mut [u8]) -> Option<&[u8]> {
    const NEEDS_CHECKSUM: u8 = 1;
    let header: [u8; sys::VIRTUAL_HEADER_BYTES] = *frame.first_chunk()?;
    let frame = frame.get_mut(sys::VIRTUAL_HEADER_BYTES..)?;
    if header[0] & NEEDS_CHECKSUM != 0 {
        let start = usize::from(u16::from_ne_bytes([header[6], header[7]]));
        let at = start + usize::from(u16::from_ne_bytes([header[8], header[9]]));
        // Zero would mean "none" to UDP: RFC 768. For others all ones is the same number.
        let sum = checksum::never_zero(checksum::checksum(frame.get(start..)?));
        frame.get_mut(at..at + 2)?.copy_from_slice(&sum.to_be_bytes());
    }
    frame.get(ETHERNET_BYTES..)
}
