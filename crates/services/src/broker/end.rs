//! An end of a broker's tunnel: 6in4 to a fixed peer (RFC 4213), with an address.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use sixbench_plane::{Spec, Tunnels};

use crate::worker::lock;
use crate::{Code, Error, Result};

/// The tunnels of a node: those of its orchestrator and those of its broker.
pub type SharedTunnels = Arc<Mutex<Tunnels>>;

/// Keys of `tunnel-add` that a broker's tunnel sets itself.
const SET_ALREADY: [&str; 5] = ["device", "outer", "payload", "local", "mapping"];

/// The parameters of an end.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// Its device.
    pub device: &'a str,
    /// This node's end.
    pub local: IpAddr,
    /// The peer.
    pub remote: IpAddr,
    /// Other keys of `tunnel-add`.
    pub options: &'a Map<String, Value>,
}

impl End<'_> {
    /// The tunnel, checked as far as it can be without being made.
    pub fn spec(&self) -> Result<Spec> {
        let refuse = |reason: String| Error::bad_params(format!("the broker's tunnel {}: {reason}", self.device));
        if let Some(key) = SET_ALREADY.into_iter().find(|&key| self.options.contains_key(key)) {
            return Err(refuse(format!("its {key} is set already")));
        }
        let mut tunnel = self.options.clone();
        let fixed = [
            ("device", json!(self.device)),
            ("outer", json!("ipv4")),
            ("payload", json!("ipv6")),
            ("local", json!(self.local)),
            ("mapping", json!({"kind": "fixed", "remote": self.remote})),
        ];
        tunnel.extend(fixed.map(|(key, value)| (key.to_owned(), value)));
        let spec: Spec = serde_json::from_value(Value::Object(tunnel)).map_err(|error| refuse(error.to_string()))?;
        spec.compile()?;
        Ok(spec)
    }

    /// Makes the tunnel and gives it an address of a /64. It carries packets when this returns.
    pub fn make(&self, tunnels: &SharedTunnels, address: Ipv6Addr) -> Result<()> {
        let spec = self.spec()?;
        let mut tunnels = lock(tunnels);
        tunnels.add(&spec)?;
        // There is nobody else in the tunnel, so that no duplicate can be.
        let line = format!("address replace {address}/64 dev {} nodad\n", self.device);
        let numbered = sixbench_plane::device::ip(&line).map_err(|error| {
            Error::system(format!("giving the tunnel {} the address {address}/64", self.device), "ip address", error)
        });
        if numbered.is_err() {
            let _ = tunnels.remove(self.device); // It was there a moment ago.
        }
        numbered
    }
}

/// Takes an end away. Its orchestrator may have done so before.
pub fn remove(tunnels: &SharedTunnels, device: &str) -> Result<()> {
    match lock(tunnels).remove(device) {
        Err(error) if error.code != Code::NoTunnel => Err(error),
        _ => Ok(()),
    }
}
