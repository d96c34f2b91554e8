//! What waits in the node's queueing disciplines and what they dropped, as `tc -s qdisc` asks for it.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;

use serde::Serialize;

use crate::netlink::{attribute, dump, word};

/// `linux/rtnetlink.h`.
const NEW_QDISC: u16 = 36;
const GET_QDISC: u16 = 38;
const QDISC_BYTES: usize = 20;
const KIND: u16 = 1;
const STATISTICS: u16 = 7;
/// `linux/gen_stats.h`: a `struct gnet_stats_queue`, of which the first word is the packets that wait, the third the drops.
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
    /// Packets that wait in it at this moment, or that netem delays. One that has others in it may count theirs too.
    pub waiting: u32,
}

/// Those of the namespace of this thread, by device.
pub fn read() -> io::Result<BTreeMap<String, Vec<Queue>>> {
    let mut found = BTreeMap::<String, Vec<Queue>>::new();
    dump(GET_QDISC, &[0; QDISC_BYTES], NEW_QDISC, |body| {
        let Some((index, queue)) = queue(body) else { return };
        // A device that has gone since has no name.
        let Ok(name) = nix::net::if_::if_indextoname(index) else { return };
        found.entry(name.to_string_lossy().into_owned()).or_default().push(queue);
    })?;
    Ok(found)
}

/// The device's index and the discipline; `None` where the kernel says less than its name and number.
fn queue(body: &[u8]) -> Option<(u32, Queue)> {
    let attributes = body.get(QDISC_BYTES..)?;
    let kind = CStr::from_bytes_until_nul(attribute(attributes, KIND)?).ok()?;
    let statistics = attribute(attributes, STATISTICS)?;
    let counts = attribute(statistics, STATISTICS_QUEUE)?;
    let (waiting, dropped) = (word(counts, 0)?, word(counts, 8)?);
    let handle = format!("{:x}:", word(body, 8)? >> 16);
    Some((word(body, 4)?, Queue { kind: kind.to_string_lossy().into_owned(), handle, dropped, waiting }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::netlink::aligned;

    fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut attribute = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        attribute.extend(kind.to_ne_bytes());
        attribute.extend(value);
        attribute.resize(aligned(attribute.len()), 0);
        attribute
    }

    /// As the kernel describes a `tbf` on the device of index 7 that dropped 300 packets and has one.
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
        let expected = Queue { kind: "tbf".to_owned(), handle: "8001:".to_owned(), dropped: 300, waiting: 1 };
        assert_eq!(queue(&tbf()), Some((7, expected)));
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
        }
    }
}
