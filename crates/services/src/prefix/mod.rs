//! A CLAT's discovery of the prefix of its network's NAT64: from a Router Advertisement (RFC 8781), or from a resolver
//! with DNS64 (RFC 7050).

mod dns64;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use sixbench_wire::addresses::Ipv6Net;

use crate::Result;
use crate::asking::default_timeout_ns;
use crate::discovery::{self, Advertisement, SolicitRequest};

/// The request `prefix-discover`.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "by", rename_all = "lowercase", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum PrefixRequest {
    /// Solicits the routers on a device.
    Ra {
        device: String,
        #[serde(default = "default_timeout_ns")]
        timeout_ns: u64,
    },
    /// Asks a resolver for the AAAA records of `ipv4only.arpa`.
    Dns64 {
        resolver: IpAddr,
        #[serde(default = "dns64::default_port")]
        port: u16,
        #[serde(default = "default_timeout_ns")]
        timeout_ns: u64,
    },
}

/// The discovered prefix.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)]
pub struct Discovered {
    pub prefix: Ipv6Net,
    /// Other prefixes of the same answer.
    pub others: Vec<Ipv6Net>,
    pub by: &'static str,
    /// The router or the resolver that gave the prefix.
    pub source: IpAddr,
    /// Number of solicitations or questions.
    pub asked: u64,
    pub took_ns: u64,
}

/// Asks until an answer has a prefix or the time is over. If it has several, the first is taken.
pub fn discover(request: &PrefixRequest) -> Result<Discovered> {
    match request {
        PrefixRequest::Ra { device, timeout_ns } => by_advertisement(device, *timeout_ns),
        PrefixRequest::Dns64 { resolver, port, timeout_ns } => dns64::ask((*resolver, *port).into(), *timeout_ns),
    }
}

fn by_advertisement(device: &str, timeout_ns: u64) -> Result<Discovered> {
    let request = SolicitRequest { device: device.to_owned(), timeout_ns, destination: discovery::all_routers() };
    let (found, (prefix, others)) =
        discovery::solicit_for(&request, " with the prefix of a NAT64", |advertisement| split(usable(advertisement)))?;
    let (source, asked) = (found.router.into(), found.solicitations);
    Ok(Discovered { prefix, others, by: "ra", source, asked, took_ns: found.took_ns })
}

/// A lifetime of 0 means that a prefix is not to be used any more: RFC 8781 section 5.1.
fn usable(advertisement: &Advertisement) -> impl Iterator<Item = Ipv6Net> {
    advertisement.pref64.iter().filter(|one| one.lifetime_s > 0).map(|one| one.prefix)
}

/// The first, and the rest.
fn split(mut prefixes: impl Iterator<Item = Ipv6Net>) -> Option<(Ipv6Net, Vec<Ipv6Net>)> {
    Some((prefixes.next()?, prefixes.collect()))
}
