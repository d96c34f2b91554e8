//! Politeness: two attempts at one server are at least a second apart, and the packets of those that send many keep
//! their gap, whichever requests they are of. A server that asked for it is left alone.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use sixbench_measure::clock;
use sixbench_packet::{Code, Error, Result};

use crate::limits::{Repeats, SECOND_NS};

/// Time between the begins of two attempts at one server.
pub const APART_NS: u64 = SECOND_NS;
/// Bytes that a server is asked for in a second, in the mean.
pub const MAX_BYTES_PER_S: u64 = 64 << 10;
/// The longest time for which a server is left alone.
const MAX_HOLD_S: u64 = 24 * 3600;
/// Servers that are remembered at once.
const MAX_SERVERS: usize = 65_536;

/// The times of attempts at servers.
#[derive(Debug, Default)]
pub struct Pacer(Mutex<BTreeMap<IpAddr, Server>>);

#[derive(Debug, Clone, Copy, Default)]
struct Server {
    /// Time from which on it may be asked again.
    free_ns: u64,
    /// Time from which on it may get the next packet of an attempt that sends many.
    packet_free_ns: u64,
    /// Time at which it has sent [`MAX_BYTES_PER_S`] in the mean.
    rested_ns: u64,
    /// Time until which it asked to be left alone.
    held_until_ns: u64,
}

impl Pacer {
    /// Refuses where the server asked to be left alone.
    ///
    /// # Errors
    /// `refused`, with the time that is left.
    pub fn check(&self, address: IpAddr) -> Result<()> {
        let now_ns = clock::monotonic_ns();
        let held_until_ns = self.servers(|servers| servers.get(&address).map_or(0, |server| server.held_until_ns));
        let left_s = held_until_ns.saturating_sub(now_ns).div_ceil(SECOND_NS);
        if left_s == 0 {
            return Ok(());
        }
        let message = format!("{address} asked by Retry-After to be left alone for {left_s} s more");
        Err(Error::new(Code::Refused, message).with("retry_after_s", left_s))
    }

    /// Leaves a server alone for this time.
    pub fn hold(&self, address: IpAddr, seconds: u64) {
        let until_ns = clock::monotonic_ns() + seconds.min(MAX_HOLD_S) * SECOND_NS;
        self.servers(|servers| {
            let server = servers.entry(address).or_default();
            // A status of 429 that names no time takes nothing of one that was named before.
            server.held_until_ns = server.held_until_ns.max(until_ns);
        });
    }

    /// Has a server that has sent so many bytes rest until it sends [`MAX_BYTES_PER_S`] in the mean.
    pub fn charge(&self, address: IpAddr, bytes: u64) {
        self.charge_at(address, bytes, clock::monotonic_ns());
    }

    fn charge_at(&self, address: IpAddr, bytes: u64, now_ns: u64) {
        let rest_ns = bytes.saturating_mul(SECOND_NS) / MAX_BYTES_PER_S;
        self.servers(|servers| {
            let server = servers.entry(address).or_default();
            // The bytes of attempts that overlap add up.
            server.rested_ns = server.rested_ns.max(now_ns).saturating_add(rest_ns);
        });
    }

    /// Waits for the next attempt at a server: not before that time, and, unless the server is the user's, a second
    /// after the last one. Returns the time of the begin.
    pub fn wait(&self, address: IpAddr, due_ns: u64, is_mine: bool) -> u64 {
        loop {
            let begin_ns = self.reserve(address, due_ns, clock::monotonic_ns(), is_mine);
            sleep_until(begin_ns);
            let now_ns = clock::monotonic_ns();
            // Another attempt may have ended meanwhile, and its bytes want a rest.
            if is_mine || self.is_rested(address, now_ns) {
                return now_ns;
            }
        }
    }

    fn is_rested(&self, address: IpAddr, now_ns: u64) -> bool {
        self.servers(|servers| servers.get(&address).is_none_or(|server| server.rested_ns <= now_ns))
    }

    /// The time of the next packet of an attempt that sends many: not before that time, and, unless the server is the
    /// user's, `gap_ns` after the last one of whichever request. The caller waits for it.
    pub fn next_packet_ns(&self, address: IpAddr, due_ns: u64, gap_ns: u64, is_mine: bool) -> u64 {
        self.reserve_packet(address, due_ns, gap_ns, clock::monotonic_ns(), is_mine)
    }

    fn reserve_packet(&self, address: IpAddr, due_ns: u64, gap_ns: u64, now_ns: u64, is_mine: bool) -> u64 {
        self.servers(|servers| {
            let server = entry(servers, address, now_ns);
            let earliest_ns = if is_mine { 0 } else { server.packet_free_ns };
            let begin_ns = due_ns.max(now_ns).max(earliest_ns);
            server.packet_free_ns = server.packet_free_ns.max(begin_ns + gap_ns);
            begin_ns
        })
    }

    /// As [`Self::next_packet_ns`], and waits for it.
    pub fn wait_for_packet(&self, address: IpAddr, gap_ns: u64, is_mine: bool) {
        sleep_until(self.next_packet_ns(address, 0, gap_ns, is_mine));
    }

    fn reserve(&self, address: IpAddr, due_ns: u64, now_ns: u64, is_mine: bool) -> u64 {
        self.servers(|servers| {
            let server = entry(servers, address, now_ns);
            let earliest_ns = if is_mine { 0 } else { server.free_ns.max(server.rested_ns) };
            let begin_ns = due_ns.max(now_ns).max(earliest_ns);
            server.free_ns = server.free_ns.max(begin_ns + APART_NS);
            begin_ns
        })
    }

    fn servers<T>(&self, work: impl FnOnce(&mut BTreeMap<IpAddr, Server>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The times of a server. Where too many are remembered, those that may be asked now are forgotten.
fn entry(servers: &mut BTreeMap<IpAddr, Server>, address: IpAddr, now_ns: u64) -> &mut Server {
    if servers.len() >= MAX_SERVERS {
        servers.retain(|_, server| {
            let times = [server.packet_free_ns, server.rested_ns, server.held_until_ns];
            times.into_iter().fold(server.free_ns, u64::max) > now_ns
        });
    }
    servers.entry(address).or_default()
}

/// Sleeps until that time of the monotonic clock.
fn sleep_until(time_ns: u64) {
    thread::sleep(Duration::from_nanos(time_ns.saturating_sub(clock::monotonic_ns())));
}

/// The times of a request's attempts.
#[derive(Debug)]
pub struct Schedule<'a> {
    pacer: &'a Pacer,
    address: IpAddr,
    is_mine: bool,
    interval_ns: u64,
    due_ns: u64,
}

impl<'a> Schedule<'a> {
    /// Attempts at a server from now on.
    pub fn new(pacer: &'a Pacer, address: IpAddr, repeats: &Repeats, is_mine: bool) -> Self {
        Self { pacer, address, is_mine, interval_ns: repeats.interval_ns, due_ns: 0 }
    }

    /// Waits for the next attempt, and returns the time at which it begins.
    pub fn wait_for_next(&mut self) -> u64 {
        let begin_ns = self.pacer.wait(self.address, self.due_ns, self.is_mine);
        self.due_ns = begin_ns + self.interval_ns;
        begin_ns
    }
}

/// The least interval of attempts that a request may ask for.
pub fn least_interval_ns(is_mine: bool) -> u64 {
    if is_mine { 0 } else { APART_NS }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

    #[test]
    fn attempts_at_one_server_are_a_second_apart() {
        let pacer = Pacer::default();
        assert_eq!(pacer.reserve(SERVER, 0, 5, false), 5);
        assert_eq!(pacer.reserve(SERVER, 0, 6, false), 5 + APART_NS);
        assert_eq!(pacer.reserve(SERVER, 0, 7, false), 5 + 2 * APART_NS);
        assert_eq!(pacer.reserve(OTHER, 0, 7, false), 7);
        // A server of the user's own is asked as fast as the user likes, and others behind that are not.
        assert_eq!(pacer.reserve(OTHER, 0, 8, true), 8);
        assert_eq!(pacer.reserve(OTHER, 0, 9, false), 8 + APART_NS);
        assert_eq!(pacer.reserve(OTHER, 9 * APART_NS, 9, false), 9 * APART_NS);
    }

    #[test]
    fn packets_of_requests_at_the_same_time_keep_one_gap() {
        let pacer = Pacer::default();
        let reserve = |address, due_ns, is_mine| pacer.reserve_packet(address, due_ns, 200, 5, is_mine);
        let begins: Vec<u64> = (0..32).map(|_| reserve(SERVER, 0, false)).collect();
        assert_eq!(begins, (0..32).map(|number| 5 + number * 200).collect::<Vec<_>>());
        assert_eq!(reserve(SERVER, 9_000, false), 9_000);
        assert_eq!((reserve(OTHER, 0, false), reserve(OTHER, 0, true), reserve(OTHER, 0, false)), (5, 5, 205));
        // They are no attempts, which wait for one another.
        assert_eq!(pacer.reserve(SERVER, 0, 6, false), 6);
    }

    #[test]
    fn a_server_that_asks_for_it_is_left_alone() {
        let pacer = Pacer::default();
        pacer.check(SERVER).unwrap();
        pacer.hold(SERVER, 3600);
        let refusal = pacer.check(SERVER).unwrap_err();
        assert_eq!((refusal.code, &refusal.context["retry_after_s"]), (Code::Refused, &3600.into()));
        pacer.check(OTHER).unwrap();
        pacer.hold(OTHER, u64::MAX);
        assert_eq!(pacer.check(OTHER).unwrap_err().context["retry_after_s"], MAX_HOLD_S);
        // A later answer without a time does not shorten it.
        pacer.hold(SERVER, 0);
        assert!(pacer.check(SERVER).is_err());
    }

    #[test]
    fn a_server_rests_for_the_bytes_of_all_attempts() {
        let pacer = Pacer::default();
        pacer.charge_at(SERVER, 4 * MAX_BYTES_PER_S, 5);
        pacer.charge_at(SERVER, 4 * MAX_BYTES_PER_S, 6);
        assert!(!pacer.is_rested(SERVER, 8 * SECOND_NS) && pacer.is_rested(SERVER, 5 + 8 * SECOND_NS));
        assert!(pacer.is_rested(OTHER, 0));
        assert_eq!(pacer.reserve(SERVER, 0, 7, true), 7);
        assert_eq!(pacer.reserve(SERVER, 0, 7, false), 5 + 8 * SECOND_NS);
        assert_eq!(pacer.reserve(SERVER, 0, 8, false), 5 + 9 * SECOND_NS);
    }

    #[test]
    fn servers_that_nobody_asks_any_more_are_forgotten() {
        let pacer = Pacer::default();
        for number in 0..=MAX_SERVERS as u32 {
            pacer.reserve(Ipv4Addr::from(number).into(), 0, u64::from(number) * APART_NS, false);
        }
        assert!(pacer.servers(|servers| servers.len()) < 10);
    }
}
