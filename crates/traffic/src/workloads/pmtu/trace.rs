//! Asks the routers how far packets of a size get, by hop limits that end at each of them.

use std::net::IpAddr;

use sixbench_measure::clock;

use super::locate::{Heard, Location, doubtful, locate};
use super::message::small_packet_bytes;
use super::prober::{HOP_LIMIT, Prober, Sent, What};
use super::search::MAX_PROBES;
use crate::Result;
use crate::cancel::Stop;
use crate::df::Df;

/// Linux sends a destination at most one Time Exceeded a second after a burst of six (`icmp_ratelimit`,
/// `net.ipv6.icmp.ratelimit`): a router that did not answer is asked again after this.
const RATE_LIMIT_NS: u64 = 1_100_000_000;
/// Most hops in doubt that are asked again, each after the one before it has answered.
const MAX_DOUBTS: usize = 4;
/// A router that leaves large packets unanswered, and right after each a small one not, so often in a row, has not
/// reached its limit of messages: otherwise the second of the small ones would have had no answer either.
const ALTERNATIONS: usize = 2;

/// The routers of a path, as far as they answer.
pub struct Trace<'a> {
    prober: &'a mut Prober,
    stop: &'a Stop,
    destination: IpAddr,
    patience_ns: u64,
    routers: u8,
    /// Answers to small packets, by hop.
    small: Vec<Option<Heard>>,
}

impl<'a> Trace<'a> {
    /// Asks each of this many routers with small packets.
    pub fn start(
        prober: &'a mut Prober,
        stop: &'a Stop,
        destination: IpAddr,
        routers: u8,
        patience_ns: u64,
    ) -> Result<Self> {
        prober.set_df(Df::Probe)?;
        prober.clear()?;
        let small_bytes = small_packet_bytes(prober.is_ipv4());
        let mut trace = Self { prober, stop, destination, patience_ns, routers, small: Vec::new() };
        let mut small = vec![None; usize::from(routers)];
        trace.ask_all(small_bytes, &mut small)?;
        let missing = missing(&small);
        if !missing.is_empty() {
            trace.wait_for_routers()?;
            trace.ask(small_bytes, &missing, &mut small)?;
        }
        trace.small = small;
        Ok(trace)
    }

    /// The place where packets of this size vanish or are refused.
    pub fn locate(&mut self, packet_bytes: u32) -> Result<Location> {
        self.prober.clear()?;
        let mut large = vec![None; usize::from(self.routers) + 1];
        self.ask_all(packet_bytes, &mut large)?;
        for _ in 0..MAX_DOUBTS {
            match doubtful(&large) {
                Some(hop) if self.answers_small(hop) && self.ask_in_turn(packet_bytes, hop, &mut large)? => {}
                _ => break,
            }
        }
        Ok(locate(&self.small, &large, self.destination))
    }

    fn answers_small(&self, hop: u8) -> bool {
        // The destination does, or there would be no trace.
        self.small.get(usize::from(hop) - 1).is_none_or(Option::is_some)
    }

    /// Asks one hop with small and large packets in turn. Returns true if it answered a large one.
    fn ask_in_turn(&mut self, packet_bytes: u32, hop: u8, large: &mut [Option<Heard>]) -> Result<bool> {
        let small_bytes = small_packet_bytes(self.prober.is_ipv4());
        for _ in 0..ALTERNATIONS {
            if !self.ask(small_bytes, &[hop], &mut vec![None; large.len()])? {
                self.wait_for_routers()?;
            }
            if self.ask(packet_bytes, &[hop], large)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The addresses of the routers, by hop; absent for those that did not answer.
    pub fn addresses(&self) -> Vec<Option<IpAddr>> {
        let address = |heard: &Option<Heard>| match heard {
            Some(Heard::Expired(from)) => *from,
            _ => None,
        };
        self.small.iter().map(address).collect()
    }

    fn ask_all(&mut self, packet_bytes: u32, heard: &mut [Option<Heard>]) -> Result<()> {
        for _ in 0..MAX_PROBES {
            let missing = missing(heard);
            if missing.is_empty() {
                break;
            }
            self.ask(packet_bytes, &missing, heard)?;
        }
        Ok(())
    }

    /// Asks these hops, all at once. The one after the last router is the destination. Returns true if any answered.
    fn ask(&mut self, packet_bytes: u32, hops: &[u8], heard: &mut [Option<Heard>]) -> Result<bool> {
        let mut asked = Vec::new();
        for &hop in hops {
            let hop_limit = if hop > self.routers { HOP_LIMIT } else { hop };
            if let Sent::Probe(number) = self.prober.send(packet_bytes, hop_limit)? {
                asked.push((number, usize::from(hop) - 1));
            }
        }
        let until_ns = clock::monotonic_ns() + self.patience_ns;
        let mut answers = 0;
        while answers < asked.len() {
            let Some(event) = self.prober.wait(until_ns)? else { break };
            // An error that quotes too little belongs to the probe only if there was one alone.
            let number = event.number.or(if let [(number, _)] = asked[..] { Some(number) } else { None });
            let index = asked.iter().find(|(asked, _)| Some(*asked) == number).map(|(_, index)| *index);
            let Some(place) = index.and_then(|index| heard.get_mut(index)) else { continue };
            answers += usize::from(place.is_none());
            *place = Some(match event.what {
                What::Expired { from } => Heard::Expired(from),
                What::TooBig { from, mtu_bytes } => Heard::TooBig(from, mtu_bytes),
                What::Acknowledged { .. } => Heard::Acknowledged,
            });
        }
        Ok(answers > 0)
    }

    fn wait_for_routers(&self) -> Result<()> {
        self.stop.sleep_until(clock::monotonic_ns() + RATE_LIMIT_NS)
    }
}

/// The hops that were not heard, from 1.
fn missing(heard: &[Option<Heard>]) -> Vec<u8> {
    (1..=u8::MAX).zip(heard).filter(|(_, heard)| heard.is_none()).map(|(hop, _)| hop).collect()
}
