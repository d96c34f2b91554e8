//! A VLAN (IEEE 802.1Q) to which an interface is limited: frames that leave are tagged, and the tag is removed from
//! frames that arrive.
//!
//! The interface stays the same for routes, addresses and queues, and captures on it see the tag. So it works alike on
//! kernels with VLAN devices and on those without. Frames that arrive without the tag are dropped, and the kernel
//! reports the drop.

use aya::programs::TcAttachType;
use aya::{EbpfLoader, include_bytes_aligned};

use crate::Result;
use crate::classifiers::{Classifiers, Place, UNTAG};
use crate::features::Features;

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/vlan.bpf.o"));

/// The program on the interface's egress. [`UNTAG`] is the one on its ingress.
const TAG: &str = "tag";

/// The numbers that a VLAN can have (IEEE 802.1Q table 9-2): 0 is no VLAN, and 4095 is reserved.
pub const IDS: std::ops::RangeInclusive<u16> = 1..=4094;

/// The programs of an interface. With this value they go.
pub struct Vlan {
    _classifiers: Classifiers,
}

impl Vlan {
    /// Tags frames that leave the interface from now on, and lets in only frames with the tag. `id` is one of [`IDS`].
    pub fn begin(interface: &str, id: u16, features: Features) -> Result<Self> {
        let id = u32::from(id);
        let mut loader = EbpfLoader::new();
        loader.set_global("VLAN_ID", &id, true);
        let mut classifiers = Classifiers::load(format!("VLAN {id} on {interface}"), features, &mut loader, OBJECT)?;
        for name in [TAG, UNTAG] {
            classifiers.verify(name)?;
        }
        // Tunnels see packets of the VLAN only, and without its tag.
        classifiers.attach(UNTAG, interface, TcAttachType::Ingress, Place::First)?;
        classifiers.attach(TAG, interface, TcAttachType::Egress, Place::First)?;
        Ok(Self { _classifiers: classifiers })
    }
}
