//! The size of datagrams that a connection's own discovery finds (RFC 8899), watched from without.

use std::time::Duration;

use quinn::Connection;
use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;
use tokio::time::sleep;

/// The distance between two looks, which is how exactly the time of a change is known.
const EVERY: Duration = Duration::from_millis(1);

/// The changes of the size so far.
#[derive(Debug, Clone)]
pub struct SizeSearch {
    /// The payload of the largest datagrams at the end.
    pub datagram_bytes: u16,
    /// Times since the connection's begin at which it changed, and the new sizes.
    pub changes: Vec<Change>,
    probing: Probing,
    /// The time since the watch began at which a probe was last sent, acknowledged or lost.
    probed_ns: u64,
}

/// The probes so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Probing {
    sent: u64,
    lost: u64,
    /// Those that were acknowledged: each makes the size larger.
    acknowledged: u64,
}

/// A change of the size.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Change {
    /// The time since the watch began.
    pub t_ns: u64,
    /// The size from then on.
    pub datagram_bytes: u16,
}

impl SizeSearch {
    /// The size as it is now.
    pub fn first(connection: &Connection) -> Self {
        let datagram_bytes = connection.stats().path.current_mtu;
        Self { datagram_bytes, changes: Vec::new(), probing: Probing::default(), probed_ns: 0 }
    }

    /// The time since the watch began at which the search had ended. quinn does not tell that: it sends a probe as soon
    /// as it knows about the one before, so the search is over when none is under way. Absent where one is, or where
    /// none was ever sent.
    pub fn settled_ns(&self) -> Option<u64> {
        let Probing { sent, lost, acknowledged } = self.probing;
        (sent > 0 && sent == lost + acknowledged).then_some(self.probed_ns)
    }

    /// Looks again and again; never ends by itself. The changes are in `self`.
    pub async fn watch(&mut self, connection: &Connection, started_ns: u64) {
        loop {
            sleep(EVERY).await;
            self.look(connection, started_ns);
        }
    }

    /// Looks once.
    pub fn look(&mut self, connection: &Connection, started_ns: u64) {
        let (path, t_ns) = (connection.stats().path, clock::monotonic_ns() - started_ns);
        self.note(path.current_mtu, path.sent_plpmtud_probes, path.lost_plpmtud_probes, t_ns);
    }

    fn note(&mut self, datagram_bytes: u16, sent: u64, lost: u64, t_ns: u64) {
        let has_grown = datagram_bytes > self.datagram_bytes;
        let acknowledged = self.probing.acknowledged + u64::from(has_grown);
        let probing = Probing { sent, lost, acknowledged };
        if probing != self.probing {
            self.probing = probing;
            self.probed_ns = t_ns;
        }
        if datagram_bytes != self.datagram_bytes {
            self.datagram_bytes = datagram_bytes;
            self.changes.push(Change { t_ns, datagram_bytes });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(looks: &[(u16, u64, u64)]) -> SizeSearch {
        let mut search =
            SizeSearch { datagram_bytes: 1_200, changes: Vec::new(), probing: Probing::default(), probed_ns: 0 };
        for (t_ns, (datagram_bytes, sent, lost)) in looks.iter().enumerate() {
            search.note(*datagram_bytes, *sent, *lost, t_ns as u64);
        }
        search
    }

    #[test]
    fn a_search_is_over_when_no_probe_is_under_way() {
        assert_eq!(after(&[(1_200, 0, 0)]).settled_ns(), None);
        assert_eq!(after(&[(1_200, 1, 0), (1_336, 2, 0)]).settled_ns(), None);
        assert_eq!(after(&[(1_200, 1, 0), (1_336, 2, 0), (1_336, 2, 1), (1_336, 2, 1)]).settled_ns(), Some(2));
    }

    #[test]
    fn a_probe_that_ends_the_search_has_the_time_of_the_size_that_it_found() {
        let search = after(&[(1_200, 1, 0), (1_336, 1, 0)]);
        assert_eq!(search.settled_ns(), search.changes.last().map(|change| change.t_ns));
    }

    #[test]
    fn a_size_that_falls_is_no_probe() {
        let search = after(&[(1_200, 1, 0), (1_336, 1, 0), (1_200, 1, 0)]);
        assert_eq!((search.settled_ns(), search.changes.len()), (Some(1), 2));
    }
}
