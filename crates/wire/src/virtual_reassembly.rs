//! Virtual reassembly: the ports of later fragments, which the first one alone has (RFC 6146 section 3.4, RFC 7597
//! section 8.3.3).
//!
//! Fragments are not put together. If the first fragment has come, others go on at once, with its ports. Until then
//! they wait for it, within the bounds of `held_fragments`. There is no clock: the caller gives the time.

use std::time::Duration;

use crate::held_fragments::{HeldFragments, Noted, Until};
use crate::siit::{Clause, Ports};

pub use crate::held_fragments::{Amount, MAX_FRAGMENTS, MAX_PACKETS, MAX_WAITING_BYTES};

/// Time for which a packet's other fragments are of interest, from the first of them that came: FRAGMENT_MIN of RFC
/// 6146 section 4.
pub const TIMEOUT: Duration = Duration::from_secs(2);

/// The result for a packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is no fragment, or none that can be read. It has its own ports.
    Whole,
    /// It goes on with these ports, and after it these, which have waited for it.
    Fragment {
        /// The ports of the first fragment.
        ports: Ports,
        /// The fragments that waited, as they came.
        waited: Vec<Vec<u8>>,
    },
    /// It waits for the first fragment.
    Waits,
    /// It is dropped by this rule.
    Dropped(Clause),
}

/// The fragments of packets whose end has not come.
#[derive(Debug)]
pub struct VirtualReassembly {
    /// The fragments that wait, and the numbers of those that waited in vain.
    pub held: HeldFragments,
}

impl Default for VirtualReassembly {
    fn default() -> Self {
        Self { held: HeldFragments::new(Until::Ports, TIMEOUT) }
    }
}

impl VirtualReassembly {
    /// Decides the fate of a packet, from its IP header on. `carrier` is what waits: the packet, or one in which it is.
    /// `now` is the time since any instant, and never goes back.
    pub fn take(&mut self, packet: &[u8], carrier: &[u8], now: Duration) -> Taken {
        match self.held.note(packet, carrier, now) {
            Noted::NoFragment => Taken::Whole,
            Noted::Complete { ports, waited } => Taken::Fragment { ports: ports.unwrap_or(Ports::ABSENT), waited },
            Noted::Waits => Taken::Waits,
            Noted::Dropped(clause) => Taken::Dropped(clause),
        }
    }

    /// Notes that a packet that was taken was not forwarded. If it is a first fragment, those that come later are
    /// dropped. The caller drops those that waited for it.
    pub fn refuse(&mut self, packet: &[u8]) {
        self.held.refuse(packet);
    }
}
