//! Input of DHCP servers and clients: frames of a link, and the messages in them.

use std::net::Ipv4Addr;

use sixbench_services::dhcp::{Outcome, Pool, payload_for};
use sixbench_wire::dhcp::{CLIENT_PORT, Message, SERVER_PORT};

/// Tries a frame. The answer to each message that can be read is tried on a pool of two addresses.
pub fn dhcp(frame: &[u8]) {
    let server = Ipv4Addr::new(198, 18, 0, 254);
    let ends = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];
    for payload in [Some(frame), payload_for(SERVER_PORT, frame), payload_for(CLIENT_PORT, frame)].into_iter().flatten()
    {
        let Ok(message) = Message::parse(payload) else { continue };
        assert_eq!(Message::parse(&message.encode()).as_ref(), Ok(&message));
        let mut pool = Pool::new(server, 24, ends, 600, Some(1800));
        for now_s in [0, 1, 700] {
            if let Outcome::Answered(answer) = pool.take(&message, now_s) {
                assert!(answer.v6only_wait_s.is_none() || message.wants_v6only());
                assert!(answer.yours.is_unspecified() || ends.contains(&answer.yours));
                assert!(answer.kind.is_reply());
            }
        }
    }
}
