//! The state of the node's interfaces and of their queueing disciplines, for `counters`.

use std::collections::{BTreeMap, HashMap};
use std::io;

use serde::Serialize;
use sixbench_netlink::Client;

/// The state of an interface.
#[derive(Debug, Serialize)]
pub struct Link {
    is_up: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    carrier_losses: Option<u32>,
}

/// A queueing discipline of an interface.
#[derive(Debug, Serialize)]
pub struct Queue {
    kind: String,
    /// The handle, as tc(8) writes it, such as `1:`.
    handle: String,
    dropped: u32,
    waiting: u32,
}

/// The interfaces of the namespace of this thread, and the disciplines of each, by name. The latter are absent where
/// the kernel has no traffic control.
type LinksAndQueues = (BTreeMap<String, Link>, Option<BTreeMap<String, Vec<Queue>>>);

/// Reads what there is at this moment.
pub fn read() -> io::Result<LinksAndQueues> {
    let mut client = Client::open()?;
    let links = client.links()?;
    let names: HashMap<u32, &str> = links.iter().map(|link| (link.index, link.name.as_str())).collect();
    let queues = client.queues().ok().map(|queues| {
        let mut by_link = BTreeMap::<String, Vec<Queue>>::new();
        for queue in queues {
            // An interface that came after the others were asked for has no name yet.
            let Some(&name) = names.get(&queue.link) else { continue };
            let sixbench_netlink::Queue { kind, major, dropped, waiting, .. } = queue;
            by_link.entry(name.to_owned()).or_default().push(Queue {
                kind,
                handle: format!("{major:x}:"),
                dropped,
                waiting,
            });
        }
        by_link
    });
    let links =
        links.into_iter().map(|link| (link.name, Link { is_up: link.is_up, carrier_losses: link.carrier_losses }));
    Ok((links.collect(), queues))
}
