//! Asks for a router: RFC 4861 section 6.3.7.

use std::io;
use std::net::Ipv6Addr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::PollFlags;
use serde::{Deserialize, Serialize};

use super::messages::{self, ADVERTISEMENT, Advertisement};
use super::socket::{LinkSocket, all_routers};
use crate::asking::{FIRST_INTERVAL, default_timeout_ns};
use crate::worker::{deadline, wait};
use crate::{Error, Result};

/// The request `router-solicit`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct SolicitRequest {
    pub device: String,
    #[serde(default = "default_timeout_ns")]
    pub timeout_ns: u64,
    #[serde(default = "all_routers")]
    pub destination: Ipv6Addr,
}

/// A router, and what it says.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)]
pub struct Solicited {
    pub router: Ipv6Addr,
    #[serde(flatten)]
    pub advertisement: Advertisement,
    pub solicitations: u64,
    pub took_ns: u64,
}

/// Solicits until a router answers or the time is over.
pub fn solicit(request: &SolicitRequest) -> Result<Solicited> {
    solicit_for(request, "", |_| Some(())).map(|(solicited, ())| solicited)
}

/// Solicits until a router answers with the part that `find` looks for, or the time is over. `wanted` names that part
/// in words, such as ` with a prefix`.
pub fn solicit_for<T>(
    request: &SolicitRequest,
    wanted: &str,
    find: impl Fn(&Advertisement) -> Option<T>,
) -> Result<(Solicited, T)> {
    let begun = Instant::now();
    let socket = LinkSocket::open(&request.device, ADVERTISEMENT, false)?;
    // Opening it asks the kernel for addresses, which waits while interfaces of any namespace are made or removed: that
    // is no time to answer.
    let end = deadline(Duration::from_nanos(request.timeout_ns));
    let message = messages::solicitation(socket.mac);
    let (mut solicitations, mut refusal, mut interval) = (0, None, FIRST_INTERVAL);
    let mut buffer = [0; 4096];
    loop {
        // An address that is still being checked cannot be used yet.
        match socket.send(&message, request.destination) {
            Ok(()) => solicitations += 1,
            Err(error) => refusal = Some(error),
        }
        let next = earliest(deadline(interval), end);
        interval = interval.saturating_mul(2);
        while next.is_none_or(|next| Instant::now() < next) {
            let failed = |call, error: io::Error| {
                Error::system(format!("waiting for a router on {}", request.device), call, error)
            };
            wait(Some((socket.as_fd(), PollFlags::POLLIN)), None, next).map_err(|error| failed("ppoll", error))?;
            let Some(arrived) = socket.receive(&mut buffer).map_err(|error| failed("recvmsg", error))? else {
                continue;
            };
            let Ok(advertisement) = Advertisement::parse(&arrived) else { continue };
            if let Some(found) = find(&advertisement) {
                let took_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
                return Ok((Solicited { router: arrived.source, advertisement, solicitations, took_ns }, found));
            }
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            return Err(match refusal.filter(|_| solicitations == 0) {
                Some(error) => Error::system(format!("soliciting a router on {}", request.device), "sendmsg", error),
                None => Error::timeout(format!(
                    "soliciting a router on {}: none answered {solicitations} solicitations{wanted} in {} ms",
                    request.device,
                    request.timeout_ns / 1_000_000
                )),
            });
        }
    }
}

fn earliest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}
