//! Asks a resolver for the name that reveals its prefix: RFC 7050 section 3, over UDP.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::PollFlags;
use sixbench_measure::random;
use sixbench_wire::dns::{NoPrefix, prefixes_in, question};

use super::{Discovered, split};
use crate::asking::{FIRST_INTERVAL, connected};
use crate::worker::{deadline, wait};
use crate::{Error, Result};

/// RFC 1035 section 4.2.
const PORT: u16 = 53;
/// RFC 1035 section 2.3.4: more is not asked for.
const MAX_ANSWER_BYTES: usize = 512;

/// SERVFAIL: RFC 1035 section 4.1.1.
const SERVER_FAILURE: u8 = 2;

pub fn default_port() -> u16 {
    PORT
}

/// Asks until it answers, or the time is over. An answer without a prefix is the end, except for a failure of the
/// resolver, which may pass.
pub fn ask(resolver: SocketAddr, timeout_ns: u64) -> Result<Discovered> {
    let begun = Instant::now();
    let end = deadline(Duration::from_nanos(timeout_ns));
    let doing = format!("asking the resolver {} for ipv4only.arpa", resolver.ip());
    let failed = |call| {
        let doing = doing.clone();
        move |error: io::Error| Error::system(doing, call, error)
    };
    // RFC 5452 section 4.3.
    let id = u16::from_ne_bytes(random::secret().map_err(failed("read(/dev/urandom)"))?);
    let socket = connected(resolver).map_err(failed("connect"))?;
    let message = question(id);
    let (mut asked, mut interval, mut refusal) = (0, FIRST_INTERVAL, None);
    let mut buffer = [0; MAX_ANSWER_BYTES];
    loop {
        match socket.send(&message) {
            Ok(_) => asked += 1,
            Err(error) => refusal = Some(error),
        }
        let next = deadline(interval).into_iter().chain(end).min();
        interval = interval.saturating_mul(2);
        while next.is_none_or(|next| Instant::now() < next) {
            wait(Some((socket.as_fd(), PollFlags::POLLIN)), None, next).map_err(failed("ppoll"))?;
            let length = match socket.recv(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                // It does not listen yet, or cannot be reached yet.
                Err(error) => {
                    refusal = Some(error);
                    continue;
                }
            };
            match prefixes_in(&buffer[..length], id) {
                Ok(prefixes) => {
                    let Some((prefix, others)) = split(prefixes.into_iter()) else { continue };
                    let took_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
                    return Ok(Discovered { prefix, others, by: "dns64", source: resolver.ip(), asked, took_ns });
                }
                Err(NoPrefix::NoAnswer) => (),
                // A resolver that has just begun, and has not read its zones yet, says so.
                Err(NoPrefix::Failed(SERVER_FAILURE)) => refusal = Some(io::Error::other("server failure")),
                Err(wrong) => return Err(Error::peer_lost(format!("{doing}: it answered {}", wrong.words()))),
            }
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            let why = refusal.map(|error| format!(" ({error})")).unwrap_or_default();
            let took_ms = timeout_ns / 1_000_000;
            return Err(Error::timeout(format!("{doing}: it answered none of {asked} questions in {took_ms} ms{why}")));
        }
    }
}
