//! Frames of a trial, picked from all that an interface receives, for an AF_XDP socket: `bpf/frames.bpf.c`.

use std::os::fd::{AsFd, AsRawFd};

use aya::maps::XskMap;
use aya::programs::{Xdp, XdpFlags};
use aya::{Ebpf, EbpfLoader, include_bytes_aligned};

use crate::refusal::Refusal;

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/frames.bpf.o"));

/// The program, and its map of sockets.
const PICK: &str = "pick";
const SOCKETS: &str = "SOCKETS";

/// Most kinds of headers that picked frames may have: `MAX_PLACES` in `bpf/frames.bpf.c`.
pub const MAX_PLACES: usize = 2;

/// Frames that have this EtherType, and the signature at this place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignaturePlace {
    /// The protocol in the Ethernet header.
    pub ethertype: u16,
    /// The offset of the signature in the frame; never 0.
    pub at: u16,
}

/// The program at an interface. With this value it goes.
pub struct Picker {
    _ebpf: Ebpf,
    is_by_driver: bool,
}

impl Picker {
    /// Has frames with the signature at one of the places, which come in by the first queue of an interface, handed to
    /// an AF_XDP socket. The eight bytes before each are the time of CLOCK_MONOTONIC. The interface's driver runs the
    /// program where it can, else the kernel, on socket buffers. Linux 5.9.
    ///
    /// # Errors
    /// Where the interface has another program, or the kernel takes none.
    pub fn attach(
        socket: impl AsFd,
        ifindex: u32,
        places: &[SignaturePlace],
        signature: [u8; 8],
    ) -> Result<Self, Refusal> {
        if places.len() > MAX_PLACES {
            return Err(Refusal::with_reason(format!("frames have {} places of a signature", places.len())));
        }
        let (mut ethertypes, mut signatures_at) = ([0; MAX_PLACES], [0; MAX_PLACES]);
        for ((ethertype, at), place) in ethertypes.iter_mut().zip(&mut signatures_at).zip(places) {
            (*ethertype, *at) = (place.ethertype.to_be(), place.at);
        }
        let [a, b, c, d, e, f, g, h] = signature;
        let halves = [[a, b, c, d], [e, f, g, h]].map(u32::from_ne_bytes);
        let mut ebpf = EbpfLoader::new()
            .set_global("SIGNATURE", &halves[..], true)
            .set_global("ETHERTYPES", &ethertypes[..], true)
            .set_global("SIGNATURES_AT", &signatures_at[..], true)
            .load(OBJECT)
            .map_err(|error| Refusal::of(&error))?;
        let sockets = ebpf.map_mut(SOCKETS).ok_or_else(|| missing(SOCKETS))?;
        XskMap::try_from(sockets)
            .and_then(|mut sockets| sockets.set(0, socket.as_fd().as_raw_fd(), 0))
            .map_err(|error| Refusal::of(&error))?;
        let program = ebpf.program_mut(PICK).ok_or_else(|| missing(PICK))?;
        let program: &mut Xdp = program.try_into().map_err(|error| Refusal::of(&error))?;
        program.load().map_err(|error| Refusal::of(&error))?;
        let is_by_driver = program.attach_to_if_index(ifindex, XdpFlags::DRV_MODE).is_ok();
        if !is_by_driver {
            program.attach_to_if_index(ifindex, XdpFlags::SKB_MODE).map_err(|error| Refusal::of(&error))?;
        }
        Ok(Self { _ebpf: ebpf, is_by_driver })
    }

    /// True if the interface's driver runs the program.
    pub fn is_by_driver(&self) -> bool {
        self.is_by_driver
    }
}

fn missing(name: &str) -> Refusal {
    Refusal::with_reason(format!("the object has no {name}"))
}
