//! Finds where on a path packets of a size vanish, from the answers of routers to packets whose hop limit ends there.
//!
//! Pure. Hops are counted from the sender: router 1 is the first one, and this host is 0.

use std::net::IpAddr;

/// An answer to a packet of a hop limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Time Exceeded: it had come so far.
    Expired(Option<IpAddr>),
    /// Packet Too Big or Fragmentation Needed, with its sender and its MTU.
    TooBig(Option<IpAddr>, u32),
    /// The destination acknowledged it.
    Acknowledged,
}

/// The last router that packets reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// This one: they do not get over the link behind it.
    At(u8),
    /// One of these: those between did not answer even to small packets.
    Between(u8, u8),
    /// No router answered.
    Unknown,
    /// They do reach the destination.
    Nowhere,
}

/// The place where packets of a size vanish, or are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// The last router they reach.
    pub place: Place,
    /// Its address, where it is known; of this host (place 0) there is none.
    pub before: Option<IpAddr>,
    /// The address of the next hop, where it is known.
    pub after: Option<IpAddr>,
    /// The router that called them too big, and the MTU that it gave.
    pub error: Option<(Option<IpAddr>, u32)>,
}

/// Compares the answers to small packets with those to packets of the size.
///
/// `small` are the routers' Time Exceeded, by hop. `large` has the answers to packets of the size, by hop, and after
/// the routers of those that nothing but their size keeps from the destination. Small packets do reach it.
pub fn locate(small: &[Option<Heard>], large: &[Option<Heard>], destination: IpAddr) -> Location {
    let routers = small.len();
    // Indexed by hop, from 1; the destination is the one after the last router.
    let large_at = |hop: usize| large.get(hop - 1).copied().flatten();
    let small_at = |hop: usize| small.get(hop - 1).copied().flatten();
    let expired = |heard| match heard {
        Some(Heard::Expired(from)) => Some(from),
        _ => None,
    };
    let too_big = |hop| match large_at(hop) {
        Some(Heard::TooBig(from, mtu)) => Some((from, mtu)),
        _ => None,
    };
    let reached = (1..=routers).rev().find(|hop| expired(large_at(*hop)).is_some()).unwrap_or(0);
    // Packets of the size do not get as far as the next that small ones do get to.
    let missed = (reached + 1..=routers).find(|hop| expired(small_at(*hop)).is_some()).unwrap_or(routers + 1);
    let refused = (reached + 1..=routers + 1).find(|hop| too_big(*hop).is_some());
    let last = missed.min(refused.unwrap_or(usize::MAX)) - 1;
    let place = if large_at(routers + 1) == Some(Heard::Acknowledged) {
        Place::Nowhere
    } else if last == reached {
        Place::At(hop(reached))
    } else if (reached, last) == (0, routers) {
        Place::Unknown
    } else {
        Place::Between(hop(reached), hop(last))
    };
    let address_of = |hop: usize| match hop {
        0 => None,
        hop if hop > routers => Some(destination),
        hop => expired(large_at(hop)).or(expired(small_at(hop))).flatten(),
    };
    let is_place = matches!(place, Place::At(_) | Place::Between(..));
    Location {
        place,
        before: address_of(reached).filter(|_| is_place),
        after: address_of(last + 1).filter(|_| is_place),
        error: refused.and_then(too_big),
    }
}

/// The hop that decides: the next one to those that packets of the size have reached, where it was not heard. It should
/// be asked once more, because it may only have reached its limit of messages.
pub fn doubtful(large: &[Option<Heard>]) -> Option<u8> {
    let reached = large.iter().rposition(|heard| matches!(heard, Some(Heard::Expired(_)))).map_or(0, |at| at + 1);
    matches!(large.get(reached), Some(None)).then(|| hop(reached + 1))
}

fn hop(index: usize) -> u8 {
    u8::try_from(index).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    const DESTINATION: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 99));

    fn router(hop: usize) -> Option<IpAddr> {
        Some(IpAddr::from([10, 0, hop as u8, 1]))
    }

    /// The answers on a path of this many routers: `silent` ones say nothing when a packet expires, and packets of the
    /// size vanish behind router `limit`, or are refused by it.
    fn heard(routers: usize, silent: &[usize], limit: usize, tells: bool) -> [Vec<Option<Heard>>; 2] {
        let expired = |hop: usize| (!silent.contains(&hop)).then_some(Heard::Expired(router(hop)));
        let small = (1..=routers).map(expired).collect();
        let large = (1..=routers + 1)
            .map(|hop| match hop {
                hop if hop <= limit => expired(hop),
                _ if tells => Some(Heard::TooBig(router(limit), 1400)),
                _ => None,
            })
            .collect();
        [small, large]
    }

    #[test]
    fn packets_that_arrive_vanish_nowhere() {
        let [small, mut large] = heard(3, &[], 3, false);
        large[3] = Some(Heard::Acknowledged);
        let location = locate(&small, &large, DESTINATION);
        assert_eq!((location.place, location.before, location.after), (Place::Nowhere, None, None));
    }

    #[test]
    fn silent_routers_leave_a_doubt_only_where_they_are() {
        let place = |silent: &[usize], limit, tells| {
            let [small, large] = heard(10, silent, limit, tells);
            locate(&small, &large, DESTINATION).place
        };
        assert_eq!(place(&[5], 2, false), Place::At(2));
        assert_eq!(place(&[5], 4, false), Place::Between(4, 5));
        assert_eq!(place(&[5], 5, false), Place::Between(4, 5));
        assert_eq!(place(&[5, 6], 5, false), Place::Between(4, 6));
        // A refusal narrows it from above.
        assert_eq!(place(&[5, 6], 5, true), Place::Between(4, 5));
        assert_eq!(place(&[6], 5, true), Place::At(5));
        let all: Vec<_> = (1..=10).collect();
        assert_eq!(place(&all, 5, false), Place::Unknown);
        assert_eq!(place(&all[..9], 5, false), Place::Between(0, 9));
    }

    proptest! {
        #[test]
        fn routers_that_answer_tell_the_hop(routers in 0_usize..64, limit in any::<prop::sample::Index>(), tells: bool) {
            let limit = limit.index(routers + 1);
            let [small, large] = heard(routers, &[], limit, tells);
            let location = locate(&small, &large, DESTINATION);
            prop_assert_eq!(location.place, Place::At(limit as u8));
            prop_assert_eq!(location.before, if limit == 0 { None } else { router(limit) });
            prop_assert_eq!(location.after, if limit == routers { Some(DESTINATION) } else { router(limit + 1) });
            prop_assert_eq!(location.error, tells.then_some((router(limit), 1400)));
            prop_assert_eq!(doubtful(&large), (!tells).then_some(limit as u8 + 1));
        }

        #[test]
        fn whoever_is_silent_the_hop_is_among_those_named(
            routers in 0_usize..20, silent in prop::collection::vec(1_usize..20, 0..20),
            limit in any::<prop::sample::Index>(), tells: bool,
        ) {
            let limit = limit.index(routers + 1);
            let [small, large] = heard(routers, &silent, limit, tells);
            match locate(&small, &large, DESTINATION).place {
                Place::At(at) => prop_assert_eq!(usize::from(at), limit),
                Place::Between(first, last) => {
                    prop_assert!((usize::from(first)..=usize::from(last)).contains(&limit));
                }
                Place::Unknown => prop_assert!((1..=routers).all(|hop| silent.contains(&hop))),
                Place::Nowhere => prop_assert!(false),
            }
        }
    }
}
