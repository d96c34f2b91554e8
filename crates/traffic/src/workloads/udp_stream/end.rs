//! The end of a flow to a client that receives: datagrams of 32 bytes after the last one announce the end, and the
//! number of datagrams sent.

use std::time::Duration;

use sixbench_measure::clock;
use socket2::Socket;

use crate::Result;
use crate::cancel::Stop;
use crate::datagram::{decode_number, encode_number};
use crate::session::Endpoint;

/// The kind of these datagrams in [`encode_number`].
const PHASE: u8 = 6;
/// Number of these datagrams, sent at a distance: one that arrives is enough.
const COUNT: usize = 5;
const DISTANCE: Duration = Duration::from_millis(20);

/// Sends the client the number of datagrams of the measured flow.
pub fn send(socket: &Socket, endpoint: &Endpoint, sent: u64, stop: &Stop) -> Result<()> {
    for _ in 0..COUNT {
        stop.check()?;
        // A datagram that cannot be sent is lost: there are more.
        let _ = socket.send(&encode_number(endpoint.token.short(), sent, PHASE));
        clock::sleep_until(clock::monotonic_ns() + DISTANCE.as_nanos() as u64);
    }
    Ok(())
}

/// Number of datagrams that were sent, where this one gives it.
pub fn decode(datagram: &[u8], token: u64) -> Option<u64> {
    decode_number(datagram, token, PHASE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cookie;
    use crate::datagram::{HEADER_BYTES, Header};

    #[test]
    fn it_is_nothing_else_and_nothing_else_is_it() {
        let bytes = encode_number(7, 12_345, PHASE);
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
