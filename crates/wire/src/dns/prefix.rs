//! Discovery of the translator's prefix by a node, from a resolver with DNS64:
//! [RFC 7050 section 3](https://www.rfc-editor.org/rfc/rfc7050#section-3).

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{CLASS_IN, Header, Kind, Message, Name, Question};
use crate::addresses::{LENGTHS, Net, Prefix6};

/// The name that has IPv4 addresses alone, and these: RFC 7050 section 8.2.
pub const WELL_KNOWN_NAME: &str = "ipv4only.arpa";
pub(super) const WELL_KNOWN_ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 0, 170), Ipv4Addr::new(192, 0, 0, 171)];

/// The reason why an answer tells no prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPrefix {
    /// It is no answer to the question: another may follow.
    NoAnswer,
    /// The resolver failed or refused, with this response code.
    Failed(u8),
    /// Records are missing for lack of room.
    Truncated,
    /// It has no AAAA record: the resolver makes none.
    NoAddress,
    /// No well-known address is in the records where a prefix of any length would leave it, or none at one place alone.
    NotFound,
}

impl NoPrefix {
    /// The reason in words, to follow "it answered".
    pub fn words(self) -> String {
        match self {
            Self::NoAnswer => "something else".to_owned(),
            Self::Failed(rcode) => format!("with the response code {rcode}"),
            Self::Truncated => "with a part of the records".to_owned(),
            Self::NoAddress => "that there is no AAAA record, so it has no DNS64".to_owned(),
            Self::NotFound => "addresses in which 192.0.0.170 and 192.0.0.171 are at no certain place".to_owned(),
        }
    }
}

/// The question: the AAAA records of `ipv4only.arpa`. CD is not set, so that a resolver synthesises (section 3).
pub fn question(id: u16) -> Vec<u8> {
    Question::new(well_known_name(), Kind::AAAA).asked(id)
}

/// The prefixes in the answer to the question of that number, each once, in the order of its records. At least one.
pub fn prefixes_in(message: &[u8], id: u16) -> Result<Vec<Prefix6>, NoPrefix> {
    let is_answer = |header: Header| header.is_response() && header.id == id && header.opcode() == 0;
    if !Header::parse(message).is_some_and(is_answer) {
        return Err(NoPrefix::NoAnswer);
    }
    let message = Message::parse(message).map_err(|_| NoPrefix::NoAnswer)?;
    let name = well_known_name();
    match &message.questions[..] {
        [one] if one.name == name && one.kind == Kind::AAAA && one.class == CLASS_IN => (),
        _ => return Err(NoPrefix::NoAnswer),
    }
    if message.header.rcode() != 0 {
        return Err(NoPrefix::Failed(message.header.rcode()));
    }
    if message.header.is_truncated() {
        return Err(NoPrefix::Truncated);
    }
    let [answers, ..] = &message.sections;
    let asked = answers.iter().filter(|one| one.name == name && one.kind == Kind::AAAA && one.class == CLASS_IN);
    let addresses: Vec<Ipv6Addr> =
        asked.filter_map(|one| Some(Ipv6Addr::from(<[u8; 16]>::try_from(one.data.1).ok()?))).collect();
    if addresses.is_empty() {
        return Err(NoPrefix::NoAddress);
    }
    let found = prefixes_of(&addresses);
    if found.is_empty() { Err(NoPrefix::NotFound) } else { Ok(found) }
}

/// The prefixes by which a resolver made these addresses of the well-known ones. An address in which these are at
/// several places counts for the places at which another address has the other of the two, if that is one place
/// (section 3: "the node MUST ensure a 32-bit IPv4 address value is present only once").
pub fn prefixes_of(addresses: &[Ipv6Addr]) -> Vec<Prefix6> {
    let mut found = Vec::new();
    for &address in addresses {
        let mut places: Vec<(Prefix6, Ipv4Addr)> = candidates(address).collect();
        if places.len() > 1 {
            places.retain(|&(prefix, embedded)| {
                let mut others = WELL_KNOWN_ADDRESSES.into_iter().filter(|&other| other != embedded);
                others.any(|other| addresses.iter().any(|&one| prefix.embedded(one) == Some(other)))
            });
        }
        if let [(prefix, _)] = places[..] {
            if !found.contains(&prefix) {
                found.push(prefix);
            }
        }
    }
    found
}

/// The prefixes of every length whose address this could be, and the well-known address that it then has in it.
fn candidates(address: Ipv6Addr) -> impl Iterator<Item = (Prefix6, Ipv4Addr)> {
    LENGTHS.into_iter().filter_map(move |bits| {
        let prefix = Net { address: Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - bits))), bits };
        let embedded = prefix.embedded(address).filter(|one| WELL_KNOWN_ADDRESSES.contains(one))?;
        prefix.check().ok().map(|()| (prefix, embedded))
    })
}

fn well_known_name() -> Name {
    WELL_KNOWN_NAME.parse().expect("the name is one")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Dns64, Next, Responder, Transport, Zone, default_excluded};
    use super::*;

    const A: Ipv4Addr = WELL_KNOWN_ADDRESSES[0];
    const B: Ipv4Addr = WELL_KNOWN_ADDRESSES[1];

    fn prefix(address: &str, bits: u8) -> Prefix6 {
        Net { address: address.parse().expect("an address"), bits }
    }

    fn answered(prefix: Option<Prefix6>, id: u16) -> Vec<u8> {
        let dns64 = prefix.map(|prefix| Dns64::new(prefix, default_excluded()).expect("a prefix"));
        let responder = Responder { zone: Zone::new([]).expect("a zone"), forwarded: None, dns64 };
        match responder.reply(&question(id), Transport::Udp, &[]).expect("a question") {
            Next::Reply(reply) => reply.message,
            Next::Ask(question) => panic!("{question:?}"),
        }
    }

    #[test]
    fn our_resolver_tells_its_prefix() {
        let expected = prefix("2001:db8:64::", 96);
        assert_eq!(prefixes_in(&answered(Some(expected), 7), 7), Ok(vec![expected]));
        assert_eq!(prefixes_in(&answered(Some(expected), 7), 8), Err(NoPrefix::NoAnswer));
        assert_eq!(prefixes_in(&answered(None, 7), 7), Err(NoPrefix::NoAddress));
        assert_eq!(prefixes_in(&question(7), 7), Err(NoPrefix::NoAnswer));
    }

    #[test]
    fn flags_of_an_answer_are_heeded() {
        let message = answered(Some(prefix("64:ff9b::", 96)), 7);
        for (at, bits, wrong) in [(2, 2, NoPrefix::Truncated), (3, 2, NoPrefix::Failed(2))] {
            let mut message = message.clone();
            message[at] |= bits;
            assert_eq!(prefixes_in(&message, 7), Err(wrong));
        }
        assert_eq!(prefixes_in(&message[..message.len() - 1], 7), Err(NoPrefix::NoAnswer));
    }

    #[test]
    fn one_address_is_enough_where_it_has_one_place() {
        let expected = prefix("2001:db8:122:344::", 64);
        assert_eq!(prefixes_of(&[expected.embed(A)]), [expected]);
        assert_eq!(prefixes_of(&[expected.embed(B)]), [expected]);
        assert_eq!(prefixes_of(&["2001:db8::c000:ac".parse().expect("an address")]), []);
    }

    #[test]
    fn an_address_with_two_places_needs_the_other_address() {
        // The prefix has 192.0.0.170 in it, where one of 32 bits would leave it.
        let expected = prefix("2001:db8:c000:aa::", 96);
        assert_eq!(prefixes_of(&[expected.embed(A)]), []);
        assert_eq!(prefixes_of(&[expected.embed(A), expected.embed(B)]), [expected]);
        assert_eq!(prefixes_of(&[expected.embed(B), expected.embed(A)]), [expected]);
    }

    #[test]
    fn several_prefixes_are_told_in_order() {
        let expected = [prefix("2001:db8:2::", 48), prefix("2001:db8:1::", 96)];
        let addresses: Vec<_> = expected.iter().flat_map(|prefix| [prefix.embed(A), prefix.embed(B)]).collect();
        assert_eq!(prefixes_of(&addresses), expected);
    }

    proptest! {
        #[test]
        fn a_prefix_of_any_length_is_found(address: u128, index in 0..LENGTHS.len(), id: u16) {
            let bits = LENGTHS[index];
            let address = address & (u128::MAX << (128 - bits)) & !(0xff << 56);
            let expected = Net { address: Ipv6Addr::from_bits(address), bits };
            prop_assert_eq!(prefixes_in(&answered(Some(expected), id), id), Ok(vec![expected]));
        }

        #[test]
        fn what_is_found_explains_an_address(addresses in proptest::collection::vec(any::<u128>(), 0..8)) {
            let addresses: Vec<_> = addresses.into_iter().map(Ipv6Addr::from_bits).collect();
            for prefix in prefixes_of(&addresses) {
                let is_its = |&one: &Ipv6Addr| prefix.embedded(one).is_some_and(|found| found == A || found == B);
                prop_assert!(addresses.iter().any(is_its));
            }
        }

        #[test]
        fn no_answer_is_a_panic(at: proptest::sample::Index, octet: u8, cut: proptest::sample::Index, tail: Vec<u8>) {
            let mut message = answered(Some(prefix("64:ff9b::", 96)), 7);
            let length = message.len();
            message[at.index(length)] = octet;
            message.truncate(cut.index(length + 1).max(12));
            message.extend(tail);
            let _ = prefixes_in(&message, 7);
        }
    }
}
