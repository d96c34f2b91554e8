//! The specification of a translator. Touches nothing.

use sixbench_wire::siit;

use crate::Result;
use crate::error::bad_translator;
use crate::spec::{Engine, MAX_NAME_BYTES, MIN_IPV6_MTU_BYTES, is_name};

/// A translator as it is asked for: `translator-add` in the protocol document.
#[derive(Debug, Clone)]
pub struct TranslatorSpec {
    /// Its device.
    pub device: String,
    /// The MTU of the device, in bytes.
    pub mtu_bytes: u32,
    /// The settings of the core. The node that forwards packets into the device and out of it takes their hops.
    pub settings: siit::Settings,
    /// True if the node's own NAT is to see IPv4 packets that were IPv6: they then come in at the device, and are not
    /// sent on by the program.
    pub through_node: bool,
    /// The engine that translates.
    pub engine: Engine,
}

impl TranslatorSpec {
    /// True if it puts together what cannot be translated fragment by fragment: where state is behind it, it is part of
    /// a NAT64 (RFC 6146 section 3.4), unless it is a customer edge of MAP-T.
    pub fn joins(&self) -> bool {
        self.through_node && self.settings.domain.is_none()
    }

    /// The core of such a translator.
    pub fn compile(&self) -> Result<siit::Translator> {
        let bad = |reason| bad_translator(&self.device, reason);
        if !is_name(&self.device) || self.device.len() > MAX_NAME_BYTES {
            return Err(bad(format!("its device has a name of 1 to {MAX_NAME_BYTES} letters, digits or signs")));
        }
        if !(MIN_IPV6_MTU_BYTES..=65_535).contains(&self.mtu_bytes) {
            return Err(bad(format!("mtu_bytes is {}, and must be {MIN_IPV6_MTU_BYTES} to 65535", self.mtu_bytes)));
        }
        let settings = siit::Settings { takes_hop: false, ..self.settings.clone() };
        siit::Translator::new(settings).map_err(bad)
    }
}
