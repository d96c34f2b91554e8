//! What the node's queueing disciplines dropped: a dump by rtnetlink, as `tc -s qdisc` asks for it.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io::{self, Read, Write};
use std::time::Duration;

use serde::Serialize;
use socket2::{Domain, Protocol, Socket, Type};

/// The kernel answers within the call that asks; this is for the case that it does not.
const PATIENCE: Duration = Duration::from_secs(1);
/// The kernel writes a dump in pieces of at most 32 KiB (`netlink_recvmsg`).
const PIECE_BYTES: usize = 32 << 10;
/// A device has a few disciplines and a node some devices.
const MAX_PIECES: usize = 4096;

/// `linux/netlink.h`, `linux/rtnetlink.h`.
const HEADER_BYTES: usize = 16;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST_DUMP: u16 = 0x301;
const NEW_QDISC: u16 = 36;
const GET_QDISC: u16 = 38;
const QDISC_BYTES: usize = 20;
const KIND: u16 = 1;
const STATISTICS: u16 = 7;
/// `linux/gen_stats.h`: a `struct gnet_stats_queue`, of which the third word is the drops.
const STATISTICS_QUEUE: u16 = 3;

/// A queueing discipline of a device.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Queue {
    /// Such as `tbf`.
    pub kind: String,
    /// As tc(8) writes it, such as `1:`.
    pub handle: String,
    /// Packets that it dropped since it was made (32 bits, as the kernel counts).
    pub dropped: u32,
}

/// Those of the namespace of this thread, by device.
pub fn read() -> io::Result<BTreeMap<String, Vec<Queue>>> {
    let protocol = Protocol::from(libc::NETLINK_ROUTE);
    let mut socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(protocol))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.write_all(&request())?;
    let mut found = BTreeMap::<String, Vec<Queue>>::new();
    let mut piece = vec![0; PIECE_BYTES];
    for _ in 0..MAX_PIECES {
        let length = socket.read(&mut piece)?;
        let mut messages = &piece[..length];
        while let Some((kind, body, rest)) = message(messages) {
            messages = rest;
            match kind {
                DONE => return Ok(found),
                ERROR => return Err(refusal(body)),
                NEW_QDISC => {
                    if let Some((index, queue)) = queue(body)
                        && let Ok(name) = nix::net::if_::if_indextoname(index)
                    {
                        found.entry(name.to_string_lossy().into_owned()).or_default().push(queue);
                    }
                }
                _ => {}
            }
        }
    }
    Err(io::Error::other("the dump has no end"))
}

/// `struct nlmsghdr`, `struct tcmsg`.
fn request() -> Vec<u8> {
    let mut request = ((HEADER_BYTES + QDISC_BYTES) as u32).to_ne_bytes().to_vec();
    request.extend(GET_QDISC.to_ne_bytes());
    request.extend(REQUEST_DUMP.to_ne_bytes());
    request.resize(HEADER_BYTES + QDISC_BYTES, 0);
    request
}

/// The first message of some: its kind, its body, and those behind it.
fn message(data: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = word(data, 0)? as usize;
    let body = data.get(HEADER_BYTES..length)?;
    Some((half(data, 4)?, body, data.get(aligned(length)..).unwrap_or_default()))
}

fn refusal(body: &[u8]) -> io::Error {
    match word(body, 0) {
        Some(code) => io::Error::from_raw_os_error((code as i32).wrapping_neg()),
        None => io::Error::other("an error message without a number"),
    }
}

/// The device's index and the discipline; `None` where the kernel says less than its name and number.
fn queue(body: &[u8]) -> Option<(u32, Queue)> {
    let attributes = body.get(QDISC_BYTES..)?;
    let kind = CStr::from_bytes_until_nul(attribute(attributes, KIND)?).ok()?;
    let statistics = attribute(attributes, STATISTICS)?;
    let dropped = word(attribute(statistics, STATISTICS_QUEUE)?, 8)?;
    let handle = format!("{:x}:", word(body, 8)? >> 16);
    Some((word(body, 4)?, Queue { kind: kind.to_string_lossy().into_owned(), handle, dropped }))
}

/// The value of the first attribute of that kind.
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(half(attributes, 0)?);
        let value = attributes.get(4..length)?;
        // The two highest bits say how the value is written.
        if half(attributes, 2)? & 0x3fff == wanted {
            return Some(value);
        }
        attributes = attributes.get(aligned(length)..)?;
    }
}

fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

fn half(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut attribute = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        attribute.extend(kind.to_ne_bytes());
        attribute.extend(value);
        attribute.resize(aligned(attribute.len()), 0);
        attribute
    }

    /// As the kernel describes a `tbf` on the device of index 7 that dropped 300 packets.
    fn tbf() -> Vec<u8> {
        let queue: Vec<u8> = [1_u32, 2, 300, 4, 5].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let statistics = [attribute_of(1, &[0; 12]), attribute_of(STATISTICS_QUEUE, &queue)].concat();
        let mut body: Vec<u8> =
            [0_u32, 7, 0x8001_0000, u32::MAX, 2].iter().flat_map(|word| word.to_ne_bytes()).collect();
        body.extend(attribute_of(KIND, b"tbf\0"));
        body.extend(attribute_of(STATISTICS | 0x8000, &statistics));
        body
    }

    #[test]
    fn a_discipline_is_read() {
        let expected = Queue { kind: "tbf".to_owned(), handle: "8001:".to_owned(), dropped: 300 };
        assert_eq!(queue(&tbf()), Some((7, expected)));
    }

    #[test]
    fn messages_follow_each_other() {
        let first = [20_u32.to_ne_bytes().as_slice(), &DONE.to_ne_bytes(), &[0; 10], &[1, 2, 3, 4], &[9]].concat();
        assert_eq!(message(&first), Some((DONE, [1, 2, 3, 4].as_slice(), [9].as_slice())));
        assert_eq!(message(&[0; 16]), None);
    }

    #[test]
    fn this_machine_answers() {
        read().expect("a dump");
    }

    proptest! {
        #[test]
        fn what_is_cut_off_or_damaged_is_no_panic(length in 0_usize..120, at in 0_usize..120, byte: u8) {
            let mut body = tbf();
            body.truncate(length.min(body.len()));
            if let Some(damaged) = body.get_mut(at) {
                *damaged = byte;
            }
            let _ = queue(&body);
            let _ = message(&body);
        }
    }
}
