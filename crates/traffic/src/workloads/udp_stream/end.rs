//! How a client that receives is told that no more comes, and how many there were: datagrams of 32 bytes after the last one.

use std::time::Duration;

use serde_json::Value;
use sixbench_measure::clock;
use socket2::Socket;

use crate::Result;
use crate::datagram::HEADER_BYTES;
use crate::session::Endpoint;
use crate::workloads::tcp::Stop;

/// Not a phase of [`crate::datagram::Phase`], and none of the kinds of [`crate::cookie::Kind`].
const PHASE: u8 = 6;
/// So many are sent, this far apart: one is enough.
const COUNT: usize = 5;
const DISTANCE: Duration = Duration::from_millis(20);

/// Tells the client how many of the measured flow were sent.
pub fn send(socket: &Socket, endpoint: &Endpoint, result: &Value, stop: &Stop) -> Result<()> {
    let sent = result["sent"].as_u64().unwrap_or(0);
    for _ in 0..COUNT {
        stop.check()?;
        // What cannot be sent is lost: there are more.
        let _ = socket.send(&encode(endpoint.token.short(), sent));
        clock::sleep_until(clock::monotonic_ns() + DISTANCE.as_nanos() as u64);
    }
    Ok(())
}

/// How many were sent, where a datagram says so.
pub fn decode(datagram: &[u8], token: u64) -> Option<u64> {
    let bytes: &[u8; HEADER_BYTES] = datagram.try_into().ok()?;
    let sent = u64::from_be_bytes(*bytes[8..].first_chunk()?);
    (encode(token, sent) == *bytes).then_some(sent)
}

fn encode(token: u64, sent: u64) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&token.to_be_bytes());
    bytes[8..16].copy_from_slice(&sent.to_be_bytes());
    bytes[24] = PHASE;
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cookie;
    use crate::datagram::Header;

    #[test]
    fn it_is_nothing_else_and_nothing_else_is_it() {
        let bytes = encode(7, 12_345);
        assert_eq!(decode(&bytes, 7), Some(12_345));
        assert_eq!(decode(&bytes, 8), None);
        assert_eq!(decode(&bytes[..31], 7), None);
        assert_eq!((Header::decode(&bytes), cookie::Message::decode(&bytes, 7)), (None, None));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            prop_assert_eq!(decode(&bytes, 0).is_some_and(|_| bytes.len() != HEADER_BYTES), false);
        }
    }
}
