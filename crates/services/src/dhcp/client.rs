//! Asks for an IPv4 address, and to do without one: RFC 8925 section 3.2.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::PollFlags;
use serde::{Deserialize, Serialize};
use sixbench_measure::random;
use sixbench_wire::dhcp::{CLIENT_PORT, IPV6_ONLY_PREFERRED, Kind, MIN_V6ONLY_WAIT_S, Message, SERVER_PORT};

use super::frames::{EVERYBODY, Ends, frame, payload_for};
use super::link::Link;
use crate::asking::{FIRST_INTERVAL, default_timeout_ns};
use crate::worker::{deadline, wait};
use crate::{Error, Result};

/// Subnet mask, router, and what this is about.
const WANTED: [u8; 3] = [1, 3, IPV6_ONLY_PREFERRED];
const MAX_FRAME_BYTES: usize = 2048;

/// The request `dhcp-ask`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct AskRequest {
    pub device: String,
    #[serde(default = "default_timeout_ns")]
    pub timeout_ns: u64,
}

/// A server's answer that the link can do without IPv4.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)]
pub struct Ipv6OnlyAnswer {
    pub server: Ipv4Addr,
    /// The address that the client does not ask for.
    pub offered: Ipv4Addr,
    /// Time for which the client does without IPv4.
    pub wait_s: u32,
    pub asked: u64,
    pub took_ns: u64,
}

/// Asks until a server answers that the client can do without IPv4, or the time is over. It requests nothing, so the
/// device gets no address.
pub fn ask(request: &AskRequest) -> Result<Ipv6OnlyAnswer> {
    let doing = format!("asking for IPv6-only operation on {}", request.device);
    let failed = |call| {
        let doing = doing.clone();
        move |error: io::Error| Error::system(doing, call, error)
    };
    let begun = Instant::now();
    let link = Link::open(&request.device)?;
    let end = deadline(Duration::from_nanos(request.timeout_ns));
    let id = u32::from_ne_bytes(random::secret().map_err(failed("read(/dev/urandom)"))?);
    let discover =
        Message { is_broadcast: true, wanted: WANTED.to_vec(), ..Message::new(Kind::Discover, id, link.mac) };
    let ends = Ends {
        from: (link.mac, Ipv4Addr::UNSPECIFIED, CLIENT_PORT),
        to: (EVERYBODY, Ipv4Addr::BROADCAST, SERVER_PORT),
    };
    let sent = frame(ends, &discover.encode());
    let (mut asked, mut refusal, mut interval) = (0, None, FIRST_INTERVAL);
    let mut buffer = [0; MAX_FRAME_BYTES];
    loop {
        match link.send(&sent) {
            Ok(()) => asked += 1,
            Err(error) => refusal = Some(error),
        }
        let next = deadline(interval).into_iter().chain(end).min();
        interval = interval.saturating_mul(2);
        while next.is_none_or(|next| Instant::now() < next) {
            wait(Some((link.as_fd(), PollFlags::POLLIN)), None, next).map_err(failed("ppoll"))?;
            let Some(arrived) = link.receive(&mut buffer).map_err(failed("recv"))? else { continue };
            let message = payload_for(CLIENT_PORT, arrived).and_then(|payload| Message::parse(payload).ok());
            let Some(offer) = message.filter(|message| is_offer(message, &discover)) else { continue };
            let (Some(server), offered) = (offer.server, offer.yours) else { continue };
            let Some(wait_s) = offer.v6only_wait_s else {
                let words = "without option 108 (RFC 8925): hosts of this link need IPv4";
                return Err(Error::peer_lost(format!("{doing}: {server} offers {offered} {words}")));
            };
            let took_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            return Ok(Ipv6OnlyAnswer { server, offered, wait_s: wait_s.max(MIN_V6ONLY_WAIT_S), asked, took_ns });
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            return Err(match refusal.filter(|_| asked == 0) {
                Some(error) => failed("send")(error),
                None => {
                    let took_ms = request.timeout_ns / 1_000_000;
                    Error::timeout(format!("{doing}: no server answered {asked} messages in {took_ms} ms"))
                }
            });
        }
    }
}

/// RFC 2131 section 4.4.1.
fn is_offer(message: &Message, discover: &Message) -> bool {
    (message.kind, message.id, message.hardware) == (Kind::Offer, discover.id, discover.hardware)
}
