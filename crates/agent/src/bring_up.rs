//! `translator-bring-up`: the steps of a CLAT from the moment at which it has no prefix until it translates.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::json;
use sixbench_measure::clock;
use sixbench_plane::Translators;
use sixbench_services::{dhcp, prefix};

use crate::error::{Error, to_value};
use crate::job::Job;
use crate::translators;

/// The request `translator-bring-up`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BringUp {
    /// The question before all others, on networks that also give IPv4 addresses.
    #[serde(default)]
    dhcp: Option<dhcp::AskRequest>,
    discovery: prefix::PrefixRequest,
    translator: translators::Add,
    /// Lines for `ip -batch`, once the translator is there.
    #[serde(default)]
    ip: Vec<String>,
}

/// Asks whether the node can do without IPv4, if that is requested, learns the prefix, and makes the translator with it
/// and the routes into it. All times are of the monotonic clock, which nodes of one machine share.
pub fn bring_up(translators: &Arc<Mutex<Translators>>, request: BringUp) -> Job {
    let shared = Arc::clone(translators);
    Box::new(move || {
        let BringUp { dhcp, discovery, translator, ip } = request;
        let begun_ns = clock::monotonic_ns();
        let ipv6_only = dhcp.map(|request| dhcp::ask(&request)).transpose()?;
        let ipv6_only = ipv6_only.map(|ipv6_only| (ipv6_only, clock::monotonic_ns()));
        let discovered = prefix::discover(&discovery)?;
        let discovered_ns = clock::monotonic_ns();
        let translator = translator.with_prefix(discovered.prefix);
        translators::add(&mut shared.lock().unwrap_or_else(PoisonError::into_inner), translator)?;
        let lines: String = ip.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        sixbench_plane::device::ip(&lines)
            .map_err(|error| Error::system("making the routes into the translator", "ip -batch", error))?;
        let configured_ns = clock::monotonic_ns();
        let mut answer = json!({
            "discovered": to_value(&discovered)?,
            "begun_ns": begun_ns, "discovered_ns": discovered_ns, "configured_ns": configured_ns,
        });
        if let Some((ipv6_only, ipv6_only_ns)) = ipv6_only {
            answer["dhcp"] = to_value(&ipv6_only)?;
            answer["dhcp_ns"] = json!(ipv6_only_ns);
        }
        Ok(answer)
    })
}
