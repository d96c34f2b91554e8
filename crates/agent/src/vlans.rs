//! `vlan-begin`: an interface of the node carries one VLAN alone.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::Deserialize;
use serde_json::json;
use sixbench_plane::Vlan;
use sixbench_plane::features::Features;
use sixbench_plane::vlan::IDS;

use crate::error::{Error, Outcome};

/// A request to begin. The VLAN is there as long as the node is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    interface: String,
    vlan_id: u16,
}

/// The VLANs by their interfaces.
#[derive(Default)]
pub struct Vlans {
    by_interface: HashMap<String, Vlan>,
}

impl Vlans {
    /// Tags frames that leave an interface from now on, and lets in only frames with the tag.
    pub fn begin(&mut self, request: Begin) -> Outcome {
        let Begin { interface, vlan_id } = request;
        if !IDS.contains(&vlan_id) {
            return Err(Error::bad_request(format!("vlan-begin: vlan_id is {vlan_id}, not from 1 to 4094")));
        }
        match self.by_interface.entry(interface) {
            Entry::Occupied(place) => {
                Err(Error::bad_request(format!("vlan-begin: {} carries a VLAN already", place.key())))
            }
            Entry::Vacant(place) => {
                let vlan = Vlan::begin(place.key(), vlan_id, Features::here())?;
                place.insert(vlan);
                Ok(json!({}))
            }
        }
    }

    /// Takes all of them away.
    pub fn end(&mut self) {
        self.by_interface.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_no_vlan_has_is_refused() {
        for vlan_id in [0, 4095, u16::MAX] {
            let refused = Vlans::default().begin(Begin { interface: "lo".to_owned(), vlan_id }).expect_err("refused");
            assert_eq!(refused.message, format!("vlan-begin: vlan_id is {vlan_id}, not from 1 to 4094"));
        }
    }
}
