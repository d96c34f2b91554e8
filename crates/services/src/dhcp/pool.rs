//! Chooses the address of each client, and the clients that are to do without: RFC 2131 section 4.3, RFC 8925 section
//! 3.3. No I/O and no clock.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use sixbench_wire::dhcp::{Kind, Message};

use crate::discovery::Mac;

/// Time for which an address is kept for a client that was offered it.
const OFFER_S: u64 = 60;

/// The addresses of a link.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Pool {
    pub server: Ipv4Addr,
    pub prefix_bits: u8,
    pub first: Ipv4Addr,
    pub last: Ipv4Addr,
    pub lease_s: u32,
    /// Time for which clients that can do without IPv4 are to do so; `None`: all get addresses.
    pub v6only_wait_s: Option<u32>,
    taken: BTreeMap<Ipv4Addr, Taken>,
}

#[derive(Debug)]
struct Taken {
    /// The client that has the address. `None`: a client found that somebody else has it.
    by: Option<Mac>,
    until_s: u64,
}

/// The outcome of a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The answer to the message.
    Answered(Message),
    /// It is followed, and no answer is due.
    Followed,
    /// The message is ignored, for one of the protocol document's reasons.
    Ignored(&'static str),
}

impl Pool {
    /// Nobody has an address yet.
    pub fn new(
        server: Ipv4Addr,
        prefix_bits: u8,
        [first, last]: [Ipv4Addr; 2],
        lease_s: u32,
        v6only_wait_s: Option<u32>,
    ) -> Self {
        Self { server, prefix_bits, first, last, lease_s, v6only_wait_s, taken: BTreeMap::new() }
    }

    /// Handles a client's message, `now_s` seconds after any moment.
    pub fn take(&mut self, message: &Message, now_s: u64) -> Outcome {
        self.taken.retain(|_, taken| taken.until_s > now_s);
        match message.kind {
            _ if !message.relay.is_unspecified() => Outcome::Ignored("relayed"),
            Kind::Discover => self.offer(message, now_s),
            Kind::Request => self.lease(message, now_s),
            Kind::Release => self.give_back(message, message.client, None),
            Kind::Decline => {
                let until_s = now_s + u64::from(self.lease_s);
                self.give_back(
                    message,
                    message.requested.unwrap_or(Ipv4Addr::UNSPECIFIED),
                    Some(Taken { by: None, until_s }),
                )
            }
            Kind::Inform => Outcome::Ignored("inform"),
            Kind::Offer | Kind::Ack | Kind::Nak => Outcome::Ignored("message-type"),
        }
    }

    fn offer(&mut self, message: &Message, now_s: u64) -> Outcome {
        let own = self.taken.iter().find(|(_, taken)| taken.by == Some(message.hardware)).map(|(address, _)| *address);
        let asked = message.requested.filter(|&address| self.is_free_for(address, message.hardware));
        let Some(address) = own.or(asked).or_else(|| self.lowest_free()) else { return Outcome::Ignored("no-room") };
        let answer = self.answer(Kind::Offer, message, address);
        // A client that does without keeps no address from others.
        if answer.v6only_wait_s.is_none() && own.is_none() {
            self.taken.insert(address, Taken { by: Some(message.hardware), until_s: now_s + OFFER_S });
        }
        Outcome::Answered(answer)
    }

    fn lease(&mut self, message: &Message, now_s: u64) -> Outcome {
        let asked = message.requested.or(Some(message.client).filter(|client| !client.is_unspecified()));
        let Some(address) = asked else { return Outcome::Ignored("no-address") };
        let hardware = message.hardware;
        let has_own = self.taken.values().any(|taken| taken.by == Some(hardware));
        match message.server {
            Some(server) if server != self.server => {
                self.taken.retain(|_, taken| taken.by != Some(hardware));
                return Outcome::Followed;
            }
            // It begins again, or wants its lease for longer: RFC 2131 section 4.3.2. Of others a server knows nothing.
            None if !has_own => return Outcome::Ignored("unknown-client"),
            _ => (),
        }
        if !self.is_free_for(address, hardware) {
            let refusal = Message { server: Some(self.server), ..Message::new(Kind::Nak, message.id, hardware) };
            return Outcome::Answered(refusal);
        }
        self.taken.retain(|_, taken| taken.by != Some(hardware));
        let until_s = now_s + u64::from(self.lease_s);
        self.taken.insert(address, Taken { by: Some(hardware), until_s });
        Outcome::Answered(self.answer(Kind::Ack, message, address))
    }

    fn give_back(&mut self, message: &Message, address: Ipv4Addr, instead: Option<Taken>) -> Outcome {
        match self.taken.get(&address) {
            Some(taken) if taken.by == Some(message.hardware) => (),
            _ => return Outcome::Ignored("unknown-client"),
        }
        self.taken.remove(&address);
        if let Some(taken) = instead {
            self.taken.insert(address, taken);
        }
        Outcome::Followed
    }

    fn answer(&self, kind: Kind, message: &Message, address: Ipv4Addr) -> Message {
        Message {
            is_broadcast: message.is_broadcast,
            client: message.client,
            yours: address,
            server: Some(self.server),
            lease_s: Some(self.lease_s),
            prefix_bits: Some(self.prefix_bits),
            router: Some(self.server),
            // RFC 8925 section 3.3: only for those who ask for it.
            v6only_wait_s: self.v6only_wait_s.filter(|_| message.wants_v6only()),
            ..Message::new(kind, message.id, message.hardware)
        }
    }

    fn is_free_for(&self, address: Ipv4Addr, hardware: Mac) -> bool {
        let is_nobodys = self.taken.get(&address).is_none_or(|taken| taken.by == Some(hardware));
        (self.first..=self.last).contains(&address) && is_nobodys
    }

    fn lowest_free(&self) -> Option<Ipv4Addr> {
        let mut all = (self.first.to_bits()..=self.last.to_bits()).map(Ipv4Addr::from_bits);
        all.find(|address| !self.taken.contains_key(address))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sixbench_wire::dhcp::IPV6_ONLY_PREFERRED;

    use super::*;

    const ONE: Mac = [2, 0, 0, 0, 0, 1];
    const OTHER: Mac = [2, 0, 0, 0, 0, 9];
    const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 254);

    fn address(last: u8) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, 0, last)
    }

    fn pool(last: u8) -> Pool {
        Pool::new(SERVER, 24, [address(1), address(last)], 600, Some(1800))
    }

    fn of(kind: Kind, hardware: Mac) -> Message {
        Message::new(kind, 7, hardware)
    }

    fn request(hardware: Mac, last: u8) -> Message {
        Message { requested: Some(address(last)), server: Some(SERVER), ..of(Kind::Request, hardware) }
    }

    fn answered(outcome: Outcome) -> Message {
        match outcome {
            Outcome::Answered(message) => message,
            other => panic!("no answer: {other:?}"),
        }
    }

    #[test]
    fn a_client_gets_an_address_for_a_time() {
        let mut pool = pool(2);
        let offer = answered(pool.take(&of(Kind::Discover, ONE), 0));
        assert_eq!((offer.kind, offer.yours, offer.server), (Kind::Offer, address(1), Some(SERVER)));
        assert_eq!((offer.lease_s, offer.prefix_bits, offer.v6only_wait_s), (Some(600), Some(24), None));
        // It is kept while the client makes up its mind.
        assert_eq!(answered(pool.take(&of(Kind::Discover, OTHER), 1)).yours, address(2));
        assert_eq!(answered(pool.take(&request(ONE, 1), 2)).kind, Kind::Ack);
        assert_eq!(answered(pool.take(&request(OTHER, 1), 2)).kind, Kind::Nak);
        let third = [2, 0, 0, 0, 0, 3];
        assert_eq!(pool.take(&of(Kind::Discover, third), 3), Outcome::Ignored("no-room"));
        assert_eq!(answered(pool.take(&of(Kind::Discover, third), 61)).yours, address(2));
        assert_eq!(answered(pool.take(&of(Kind::Discover, OTHER), 602)).yours, address(1));
    }

    /// RFC 8925 section 3.3.
    #[test]
    fn who_can_do_without_ipv4_takes_no_address() {
        let mut pool = pool(1);
        let ready = Message { wanted: vec![IPV6_ONLY_PREFERRED], ..of(Kind::Discover, ONE) };
        for now_s in 0..3 {
            let offer = answered(pool.take(&ready, now_s));
            assert_eq!((offer.v6only_wait_s, offer.yours), (Some(1800), address(1)));
        }
        let offer = answered(pool.take(&of(Kind::Discover, OTHER), 3));
        assert_eq!((offer.v6only_wait_s, offer.yours), (None, address(1)));
        pool.v6only_wait_s = None;
        assert_eq!(answered(pool.take(&ready, 64)).v6only_wait_s, None);
    }

    #[test]
    fn leases_are_renewed_and_given_back() {
        let mut pool = pool(1);
        let renewal = Message { client: address(1), ..of(Kind::Request, ONE) };
        assert_eq!(pool.take(&renewal, 0), Outcome::Ignored("unknown-client"));
        assert_eq!(answered(pool.take(&request(ONE, 1), 0)).kind, Kind::Ack);
        assert_eq!(answered(pool.take(&renewal, 500)).kind, Kind::Ack);
        assert_eq!(pool.take(&of(Kind::Discover, OTHER), 1000), Outcome::Ignored("no-room"));
        let release = Message { client: address(1), ..of(Kind::Release, OTHER) };
        assert_eq!(pool.take(&release, 1000), Outcome::Ignored("unknown-client"));
        assert_eq!(pool.take(&Message { hardware: ONE, ..release }, 1000), Outcome::Followed);
        assert_eq!(answered(pool.take(&of(Kind::Discover, OTHER), 1000)).yours, address(1));
    }

    #[test]
    fn an_address_of_somebody_else_is_not_given() {
        let mut pool = pool(1);
        answered(pool.take(&request(ONE, 1), 0));
        let decline = Message { requested: Some(address(1)), ..of(Kind::Decline, ONE) };
        assert_eq!(pool.take(&decline, 1), Outcome::Followed);
        assert_eq!(pool.take(&of(Kind::Discover, ONE), 600), Outcome::Ignored("no-room"));
        assert_eq!(answered(pool.take(&of(Kind::Discover, ONE), 601)).yours, address(1));
    }

    #[test]
    fn other_servers_and_relays_have_their_own() {
        let mut pool = pool(1);
        answered(pool.take(&of(Kind::Discover, ONE), 0));
        let elsewhere = Message { server: Some(address(250)), ..request(ONE, 1) };
        assert_eq!(pool.take(&elsewhere, 1), Outcome::Followed);
        assert_eq!(answered(pool.take(&of(Kind::Discover, OTHER), 1)).yours, address(1));
        let relayed = Message { relay: address(3), ..of(Kind::Discover, ONE) };
        assert_eq!(pool.take(&relayed, 1), Outcome::Ignored("relayed"));
        assert_eq!(pool.take(&of(Kind::Ack, ONE), 1), Outcome::Ignored("message-type"));
    }

    proptest! {
        /// Whatever clients send, no client has an address of another, and there are no more than the pool has.
        #[test]
        fn an_address_is_one_clients(steps in proptest::collection::vec((0..8_usize, 0..4_u8, 0..6_u8, any::<bool>(), 0..90_u64), 0..60)) {
            let kinds = [Kind::Discover, Kind::Offer, Kind::Request, Kind::Decline, Kind::Ack, Kind::Nak, Kind::Release, Kind::Inform];
            let (mut pool, mut now_s) = (pool(3), 0);
            let mut held: BTreeMap<Ipv4Addr, (Mac, u64)> = BTreeMap::new();
            for (kind, who, which, is_named, later_s) in steps {
                now_s += later_s;
                let hardware = [2, 0, 0, 0, 0, who];
                let message = Message {
                    requested: Some(address(which)), server: is_named.then_some(SERVER), client: address(which), ..of(kinds[kind], hardware)
                };
                let outcome = pool.take(&message, now_s);
                prop_assert!(pool.taken.len() <= 3);
                held.retain(|_, (mac, until_s)| *until_s > now_s && !(outcome == Outcome::Followed && *mac == hardware));
                if let Outcome::Answered(answer) = outcome {
                    if answer.kind == Kind::Ack {
                        prop_assert!(held.get(&answer.yours).is_none_or(|(mac, _)| *mac == hardware), "{:?}", answer);
                        held.retain(|_, (mac, _)| *mac != hardware);
                        held.insert(answer.yours, (hardware, now_s + 600));
                    }
                }
            }
        }
    }
}
