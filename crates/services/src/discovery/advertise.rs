//! Answers Router Solicitations: RFC 4861 section 6.2.6, for one device.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::messages::{self, Advertisement, PrefixInformation, SOLICITATION};
use super::pref64::Pref64;
use super::socket::LinkSocket;
use crate::worker::{Stop, is_readable, lock};
use crate::{Error, Result};

/// Most prefixes of an advertisement: with as many, and all else, it still fits the least IPv6 MTU.
const MAX_PREFIXES: usize = 32;
/// The least MTU of a link that carries IPv6: RFC 8200 section 5.
const MIN_MTU_BYTES: u32 = 1280;
/// RFC 4861 section 4.2 gives it 16 bits; section 6.2.1 has 1800 as the default.
const DEFAULT_ROUTER_LIFETIME_S: u16 = 1800;

/// The request `router-advertise`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct AdvertiseRequest {
    pub device: String,
    pub prefixes: Vec<PrefixInformation>,
    #[serde(default = "default_router_lifetime_s")]
    pub router_lifetime_s: u16,
    #[serde(default)]
    pub mtu_bytes: Option<u32>,
    #[serde(default)]
    pub hop_limit: Option<u8>,
    #[serde(default)]
    pub pref64: Vec<Pref64>,
}

fn default_router_lifetime_s() -> u16 {
    DEFAULT_ROUTER_LIFETIME_S
}

/// Counts of the messages that were received, sent and ignored.
#[derive(Debug, Clone, Default, Serialize)]
#[allow(missing_docs)]
pub struct AdvertiserCounters {
    pub solicitations: u64,
    pub advertisements: u64,
    pub ignored: BTreeMap<&'static str, u64>,
}

/// A router's voice on a device.
pub type Advertiser = crate::Server<AdvertiserCounters>;

impl Advertiser {
    /// Begins to answer, in the namespace of this thread.
    pub fn start(request: AdvertiseRequest) -> Result<Self> {
        check(&request)?;
        let socket = LinkSocket::open(&request.device, SOLICITATION, true)?;
        let AdvertiseRequest { prefixes, router_lifetime_s, mtu_bytes, hop_limit, pref64, .. } = request;
        let advertisement = Advertisement { router_lifetime_s, hop_limit, mtu_bytes, prefixes, pref64 };
        let message = advertisement.encode(socket.mac);
        Self::begin("advertise", move |counters, stop| serve(&socket, &message, counters, stop))
    }
}

fn check(request: &AdvertiseRequest) -> Result<()> {
    let refuse = |reason: String| Err(Error::bad_params(format!("router-advertise on {}: {reason}", request.device)));
    let count = request.prefixes.len() + request.pref64.len();
    if count > MAX_PREFIXES {
        return refuse(format!("there are {count} prefixes, more than {MAX_PREFIXES}"));
    }
    if let Some(reason) = request.pref64.iter().find_map(|one| one.check().err()) {
        return refuse(reason);
    }
    if let Some(mtu_bytes) = request.mtu_bytes.filter(|&mtu_bytes| mtu_bytes < MIN_MTU_BYTES) {
        return refuse(format!("mtu_bytes is {mtu_bytes}, less than IPv6's {MIN_MTU_BYTES}"));
    }
    match request.prefixes.iter().find(|prefix| prefix.preferred_s > prefix.valid_s) {
        Some(prefix) => {
            refuse(format!("preferred_s is {}, more than valid_s, which is {}", prefix.preferred_s, prefix.valid_s))
        }
        None => Ok(()),
    }
}

fn serve(socket: &LinkSocket, message: &[u8], counters: &Mutex<AdvertiserCounters>, stop: &Stop) {
    let mut buffer = [0; 2048];
    while is_readable(socket, stop) {
        // An error, such as that the device is down, is told once.
        let Ok(Some(arrived)) = socket.receive(&mut buffer) else { continue };
        let mut counters = lock(counters);
        if let Err(flaw) = messages::check_solicitation(&arrived) {
            *counters.ignored.entry(flaw.reason()).or_default() += 1;
            continue;
        }
        counters.solicitations += 1;
        match socket.send(message, answer_to(arrived.source)) {
            Ok(()) => counters.advertisements += 1,
            Err(_) => *counters.ignored.entry("not-answered").or_default() += 1,
        }
    }
}

/// The destination of an answer: all nodes for a router solicitation without a source address (section 6.2.6).
fn answer_to(source: Ipv6Addr) -> Ipv6Addr {
    if source.is_unspecified() { Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1) } else { source }
}
