//! The exchange of both ends by UDP before the first frame: the client sends the length of the frames' payload, which
//! the server cannot know if the families of both sides differ. The exchange also opens the way through translators,
//! and makes neighbours known.

use std::io::Read;
use std::time::Duration;

use sixbench_measure::clock;
use socket2::Socket;

use super::layout::{FCS_BYTES, MARK_BYTES, headers_bytes};
use crate::Result;
use crate::datagram::{HEADER_BYTES, decode_number, encode_number};
use crate::datagram_socket::wait_for_datagram;
use crate::error::timeout;
use crate::session::Endpoint;

/// The kind of these datagrams in [`encode_number`], other than that of the end of a flow.
const PHASE: u8 = 7;
/// A client asks again after so long.
const AGAIN: Duration = Duration::from_millis(100);
/// Longest wait for an answer.
const TIMEOUT_NS: u64 = 5_000_000_000;
/// Longest payload that the server accepts: that of the longest frame over IPv4.
const MAX_PAYLOAD_BYTES: usize = 9216 - FCS_BYTES - headers_bytes(true);
/// Number of the server's answers: one that arrives is enough.
const ANSWERS: usize = 3;

/// The client's side: sends the length of the payload, and waits until the server has it.
pub fn send(socket: &Socket, endpoint: &Endpoint, payload_bytes: usize, check: impl Fn() -> Result<()>) -> Result<()> {
    let token = endpoint.token.short();
    let message = encode_number(token, payload_bytes as u64, PHASE);
    let started_ns = clock::monotonic_ns();
    loop {
        check()?;
        let waited_ns = clock::monotonic_ns() - started_ns;
        if waited_ns >= TIMEOUT_NS {
            let doing = format!("telling {} port {} the size of the frames by UDP", endpoint.peer, endpoint.port);
            return Err(timeout(doing, waited_ns));
        }
        // A datagram that cannot be sent is lost; it is sent again.
        let _ = socket.send(&message);
        if next(socket, token, AGAIN) == Some(payload_bytes) {
            return Ok(());
        }
    }
}

/// The server's side: the length of the payload that the client sends.
pub fn receive(socket: &Socket, endpoint: &Endpoint, check: impl Fn() -> Result<()>) -> Result<usize> {
    let token = endpoint.token.short();
    let started_ns = clock::monotonic_ns();
    loop {
        check()?;
        if let Some(payload_bytes) = next(socket, token, AGAIN) {
            for _ in 0..ANSWERS {
                let _ = socket.send(&encode_number(token, payload_bytes as u64, PHASE));
            }
            return Ok(payload_bytes);
        }
        let after_ns = clock::monotonic_ns() - started_ns;
        if after_ns >= TIMEOUT_NS {
            let doing = format!("waiting at {} for the size of the client's frames", endpoint.address);
            return Err(timeout(doing, after_ns));
        }
    }
}

/// The length of the payload in the next datagram, if one with it comes in that time.
fn next(mut socket: &Socket, token: u64, patience: Duration) -> Option<usize> {
    if !wait_for_datagram(socket, patience) {
        return None;
    }
    let mut buffer = [0; HEADER_BYTES + 1];
    let length = socket.read(&mut buffer).ok()?;
    decode(buffer.get(..length)?, token)
}

fn decode(datagram: &[u8], token: u64) -> Option<usize> {
    let payload_bytes = usize::try_from(decode_number(datagram, token, PHASE)?).ok()?;
    (MARK_BYTES..=MAX_PAYLOAD_BYTES).contains(&payload_bytes).then_some(payload_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_is_nothing_else_and_nothing_else_is_it() {
        let bytes = encode_number(7, 1472, PHASE);
        assert_eq!(decode(&bytes, 7), Some(1472));
        assert_eq!(decode(&bytes, 8), None);
        assert_eq!(crate::datagram::Header::decode(&bytes), None);
        assert_eq!(crate::workloads::udp_stream::end::decode(&bytes, 7), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = decode(&bytes, 0);
        }
    }
}
