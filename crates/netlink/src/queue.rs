//! Queueing disciplines, as `tc -s qdisc` asks for them: `linux/gen_stats.h`.

use std::io;

use crate::Client;
use crate::message::{Attributes, NetlinkRequest, number};

/// `struct tcmsg`: family, interface, handle, parent, information.
const QUEUE_BYTES: usize = 20;
const LINK_AT: usize = 4;
const HANDLE_AT: usize = 8;
/// A `struct gnet_stats_queue`, of which the first word is the packets that wait, the third the drops.
const STATISTICS_QUEUE: u16 = 3;

/// A queueing discipline of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// The interface's index.
    pub link: u32,
    /// Its kind, such as `tbf`.
    pub kind: String,
    /// The major number of its handle: 1 of what tc(8) writes `1:`.
    pub major: u32,
    /// Packets that it dropped since it was made (32 bits, as the kernel counts).
    pub dropped: u32,
    /// Packets that wait in it at this moment, or that netem delays. One that has others in it may count theirs too.
    pub waiting: u32,
}

impl Queue {
    /// Reads a `struct tcmsg` with its attributes; `None` where the kernel says less than its name and numbers.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let attributes = Attributes::after(QUEUE_BYTES, body)?;
        let statistics = Attributes::after(0, attributes.get(libc::TCA_STATS2)?)?;
        let counts = statistics.get(STATISTICS_QUEUE)?;
        Some(Self {
            link: number(body, LINK_AT)?,
            kind: attributes.text(libc::TCA_KIND)?,
            major: number(body, HANDLE_AT)? >> 16,
            dropped: number(counts, 8)?,
            waiting: number(counts, 0)?,
        })
    }
}

impl Client {
    /// The queueing disciplines of the namespace's interfaces.
    pub fn queues(&mut self) -> io::Result<Vec<Queue>> {
        let mut queues = Vec::new();
        let request = NetlinkRequest::new(libc::RTM_GETQDISC, &[0; QUEUE_BYTES]);
        self.dump(request, libc::RTM_NEWQDISC, |body| queues.extend(Queue::parse(body)))?;
        Ok(queues)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's description of a `tbf` on the interface of index 7 that dropped 300 packets and has one.
    fn tbf() -> NetlinkRequest {
        let bytes = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_ne_bytes()).collect() };
        let statistics =
            NetlinkRequest::new(0, &[]).with(1, &[0; 12]).with(STATISTICS_QUEUE, &bytes(&[1, 2, 300, 4, 5]));
        NetlinkRequest::new(libc::RTM_NEWQDISC, &bytes(&[0, 7, 0x8001_0000, u32::MAX, 2]))
            .with(libc::TCA_KIND, b"tbf\0")
            .with(libc::TCA_STATS2 | 0x8000, statistics.body())
    }

    #[test]
    fn a_discipline_is_read() {
        let queue = Queue { link: 7, kind: "tbf".to_owned(), major: 0x8001, dropped: 300, waiting: 1 };
        assert_eq!(Queue::parse(tbf().body()), Some(queue));
    }

    #[test]
    fn this_machine_answers() {
        Client::open().and_then(|mut client| client.queues()).expect("a dump");
    }
}
