//! Rules that resolvers keep, whatever the message.
#![allow(dead_code)] // The fuzzers use a part.

use std::net::IpAddr;

use sixbench_wire::addresses::Net;
use sixbench_wire::dns::{
    Dns64, ForeignAnswer, Found, Header, Ignored, Kind, Learned, Message, Name, Next, OUR_UDP_BYTES, Question, Reply,
    Responder, Transport, Zone, answer_in, default_excluded,
};

pub fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

pub fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().expect("an address")).collect()
}

/// A network of an IPv4 host, an IPv6 host, one of both families, some with addresses that are none, and one with many.
pub fn zone() -> Zone {
    let many: Vec<IpAddr> = (1..=60_u8).map(|number| IpAddr::from([198, 51, 100, number])).collect();
    let hosts = [
        (name("server"), addresses(&["198.18.1.2"])),
        (name("client"), addresses(&["2001:db8::2"])),
        (name("both"), addresses(&["198.18.1.3", "2001:db8::3"])),
        (name("mapped"), addresses(&["198.18.1.4", "::ffff:198.18.1.4"])),
        (name("partly"), addresses(&["198.18.1.5", "::ffff:198.18.1.5", "2001:db8::5"])),
        (name("empty"), Vec::new()),
        (name("Many.Of.Them"), many),
    ];
    Zone::new(hosts).expect("a zone")
}

pub fn dns64(prefix: &str, bits: u8) -> Dns64 {
    let prefix = Net { address: prefix.parse().expect("an address"), bits };
    Dns64::new(prefix, default_excluded()).expect("a prefix")
}

pub fn responder() -> Responder {
    Responder { zone: zone(), forwarded: None, dns64: Some(dns64("2001:db8:64::", 96)) }
}

/// A resolver that asks another server for the names below `example`.
pub fn forwarding() -> Responder {
    Responder { forwarded: Some(name("example")), ..responder() }
}

/// The answer of a resolver that forwards nothing.
pub fn replied(responder: &Responder, message: &[u8], transport: Transport) -> Result<Reply, Ignored> {
    responder.reply(message, transport, &[]).map(|next| match next {
        Next::Reply(reply) => reply,
        Next::Ask(question) => panic!("it asks {question:?}"),
    })
}

/// Takes a message of a server, whatever it is, for the answer to a question about a forwarded name. Checks that the
/// client then gets a message, after at most as many questions to the server as there may be aliases.
pub fn check_told(responder: &Responder, message: &[u8]) {
    let asked = query(&name("host.example"), 28, 0x0100, None);
    let id = Header::parse(message).map_or(0, |header| header.id);
    let mut learned: Vec<Learned> = Vec::new();
    loop {
        assert!(learned.len() <= 18, "{learned:?}");
        let question = match responder.reply(&asked, Transport::Udp, &learned).expect("a question") {
            Next::Ask(question) => question,
            Next::Reply(reply) => {
                let answer = Message::parse(&reply.message).expect("our own message");
                return assert!(answer.header.is_response() && !answer.header.is_authoritative());
            }
        };
        assert!(!learned.iter().any(|one| one.question == question), "asked twice: {question:?}");
        let found = match answer_in(message, id, &question) {
            Some(ForeignAnswer::Found(found)) => found,
            Some(ForeignAnswer::Truncated) | None => Found::Failed,
        };
        if let Found::Data(records) = &found {
            let fits = |kind| kind == question.kind || kind == Kind::CNAME;
            assert!(!records.is_empty() && records.iter().all(|one| fits(one.data.kind())));
            assert_eq!(records[0].name, question.name);
        }
        learned.push(Learned { question, found });
    }
}

/// A record of another server: its name, type, TTL and data.
type Said<'a> = (&'a str, u16, u32, &'a [u8]);

/// A possible answer of another server about `host.example`: answers and authorities.
pub fn answer_of(kind: u16, rcode: u8, records: [&[Said<'_>]; 2]) -> Vec<u8> {
    let question = Question::new(name("host.example"), Kind(kind)).asked(0x5eed);
    let mut message = question;
    message[2] |= 0x80;
    message[3] |= rcode;
    for (at, section) in [6, 8].into_iter().zip(records) {
        message[at..at + 2].copy_from_slice(&(section.len() as u16).to_be_bytes());
        for &(owner, kind, ttl_s, data) in section {
            message.extend_from_slice(name(owner).wire());
            message.extend([kind, 1].iter().flat_map(|word| word.to_be_bytes()));
            message.extend(ttl_s.to_be_bytes());
            message.extend((data.len() as u16).to_be_bytes());
            message.extend_from_slice(data);
        }
    }
    message
}

/// A question, and the OPT record with size and DO if there is one.
pub fn query(name: &Name, kind: u16, flags: u16, edns: Option<(u16, bool)>) -> Vec<u8> {
    let counts = [1, 0, 0, u16::from(edns.is_some())];
    let mut message =
        [0x5eed_u16, flags].iter().chain(&counts).flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    message.extend_from_slice(name.wire());
    message.extend([kind, 1].iter().flat_map(|word| word.to_be_bytes()));
    if let Some((bytes, wants_dnssec)) = edns {
        message.extend([0, 0, 41]);
        message.extend(bytes.to_be_bytes());
        message.extend([0, 0, if wants_dnssec { 0x80 } else { 0 }, 0, 0, 0]);
    }
    message
}

/// Asks, and looks at the answer.
pub fn check(responder: &Responder, message: &[u8]) {
    let asked = Message::parse(message);
    for transport in [Transport::Udp, Transport::Tcp] {
        let reply = match replied(responder, message, transport) {
            Ok(reply) => reply,
            Err(Ignored::Short) => return assert!(message.len() < 12),
            Err(Ignored::Response) => return assert!(message[2] & 0x80 != 0),
        };
        let answer = Message::parse(&reply.message).expect("our own message");
        // AD, which says that the answer is authentic: RFC 4035 section 3.2.3.
        assert!(answer.header.is_response() && reply.message[3] & 0x20 == 0);
        assert_eq!(Some(answer.header.id), Header::parse(message).map(|header| header.id));
        assert_eq!(answer.header.is_truncated(), reply.is_truncated);
        // RFC 6891 section 6.1.1.
        assert_eq!(answer.edns.is_some(), asked.as_ref().is_ok_and(|asked| asked.edns.is_some()));
        assert_eq!(replied(responder, &reply.message, transport), Err(Ignored::Response));
        let most = match (&asked, transport) {
            (_, Transport::Tcp) => usize::from(u16::MAX),
            (Ok(asked), _) => asked.edns.map_or(512, |edns| edns.udp_bytes.clamp(512, OUR_UDP_BYTES)).into(),
            (Err(_), _) => 512,
        };
        assert!(reply.message.len() <= most, "{} bytes", reply.message.len());
        if let [question] = &answer.questions[..] {
            let asked = &asked.as_ref().expect("it was read").questions;
            // Case is kept, so that the client recognises its question.
            assert_eq!(asked.len(), 1);
            assert_eq!(question.name.wire(), asked[0].name.wire());
            assert_eq!((question.kind, question.class), (asked[0].kind, asked[0].class));
        } else {
            assert!(answer.sections.iter().all(Vec::is_empty) && answer.header.rcode() != 0);
        }
        if reply.is_truncated {
            assert!(answer.sections.iter().all(Vec::is_empty) && transport == Transport::Udp);
        }
    }
}
