//! IPv4 multicast forwarding without a protocol between routers: a packet that comes from the direction of its source
//! goes out in all others.
//!
//! The kernel forwards, by its multicast routing table (`ipmr`). That asks the router's socket for an entry for each
//! source and group, and so the way back to the source is checked for each: RFC 4541's flooding, with the reverse path
//! check of RFC 1075 section 3.

mod table;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{MsgFlags, recv};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use sixbench_netlink::{Client, Route, RouteKind};
use socket2::{Domain, Protocol, Socket, Type};

use crate::worker::{Stop, Worker, is_readable};
use crate::{Error, Result};
use table::Upcall;

/// Entries for pairs of source and group that are to be forwarded.
const MAX_ENTRIES: usize = 1024;
/// Entries for other groups: without one, the kernel keeps such packets for ten seconds, and has room for ten.
const MAX_OTHER_ENTRIES: usize = 256;
const MAX_GROUPS: usize = 64;

/// The request `multicast-forward`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct MulticastRequest {
    pub interfaces: Vec<String>,
    #[serde(default = "organisation_local")]
    pub groups: Vec<Groups>,
}

/// The groups that RFC 2529 section 6 takes: 239.192/16, the organisation-local scope.
fn organisation_local() -> Vec<Groups> {
    vec![Groups { first: Ipv4Addr::new(239, 192, 0, 0), bits: 16 }]
}

/// A range of IPv4 multicast groups, written `239.192.0.0/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups {
    first: Ipv4Addr,
    bits: u8,
}

/// Counts of the forwarded packets.
#[derive(Debug, Clone, Copy, Serialize)]
#[allow(missing_docs)]
pub struct MulticastCounters {
    pub packets: u64,
    pub bytes: u64,
    pub copies: u64,
    pub wrong_interface: u64,
    pub sources: u64,
}

/// The forwarding of a node. It ends with this value.
#[derive(Debug)]
pub struct Forwarder {
    groups: Vec<Groups>,
    /// Held: it has the router's socket, with which the kernel's table goes.
    _worker: Worker,
}

impl Forwarder {
    /// Begins to forward, in the namespace of this thread.
    pub fn start(request: MulticastRequest) -> Result<Self> {
        let MulticastRequest { interfaces, groups } = request;
        check(&interfaces, &groups)?;
        let mut router = Router::open(&interfaces, groups.clone())?;
        let worker = Worker::start("multicast", move |stop| router.serve(&stop))?;
        Ok(Self { groups, _worker: worker })
    }

    /// Reads the kernel's counts.
    pub fn counters(&self) -> Result<MulticastCounters> {
        let read = |name: &str| {
            let path = format!("/proc/thread-self/net/{name}");
            fs::read_to_string(&path).map_err(|error| Error::system(format!("reading {path}"), "read", error))
        };
        let strange = |name: &str| {
            let reason = io::Error::new(io::ErrorKind::InvalidData, "it has another form than expected");
            Error::system(format!("reading /proc/net/{name}"), "read", reason)
        };
        let passed = table::passed(&read("ip_mr_vif")?).ok_or_else(|| strange("ip_mr_vif"))?;
        let mut entries = table::cached(&read("ip_mr_cache")?).ok_or_else(|| strange("ip_mr_cache"))?;
        entries.retain(|entry| contain(&self.groups, entry.group));
        Ok(MulticastCounters {
            packets: passed.packets,
            bytes: passed.bytes,
            copies: passed.copies,
            wrong_interface: entries.iter().map(|entry| entry.wrong_interface).sum(),
            sources: entries.len() as u64,
        })
    }
}

fn check(interfaces: &[String], groups: &[Groups]) -> Result<()> {
    let refuse = |reason: String| Err(Error::bad_params(format!("multicast-forward: {reason}")));
    if !(2..=table::MAX_INTERFACES).contains(&interfaces.len()) {
        return refuse(format!("there are {} interfaces, not 2 to {}", interfaces.len(), table::MAX_INTERFACES));
    }
    if interfaces.iter().collect::<HashSet<_>>().len() != interfaces.len() {
        return refuse("an interface is named twice".to_owned());
    }
    if !(1..=MAX_GROUPS).contains(&groups.len()) {
        return refuse(format!("there are {} ranges of groups, not 1 to {MAX_GROUPS}", groups.len()));
    }
    Ok(())
}

/// The pairs of source and group that have an entry, and the interface that they have to come from.
type Entries = HashMap<(Ipv4Addr, Ipv4Addr), u16>;

/// The router's socket, and what it decides by.
struct Router {
    socket: Socket,
    client: Client,
    /// Interfaces by their numbers in the kernel's table.
    ifindices: Vec<u32>,
    groups: Vec<Groups>,
    entries: Entries,
    other_entries: Entries,
}

impl Router {
    fn open(interfaces: &[String], groups: Vec<Groups>) -> Result<Self> {
        let failed = |call, error: io::Error| Error::system("becoming the multicast router of the node", call, error);
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(libc::IPPROTO_IGMP)))
            .map_err(|error| failed("socket", error))?;
        socket.set_nonblocking(true).map_err(|error| failed("fcntl", error))?;
        let client = Client::open().map_err(|error| failed("socket(NETLINK_ROUTE)", error))?;
        let one = 1_i32.to_ne_bytes();
        let tell = |option, value: &[u8]| sixbench_packet::set_option_bytes(&socket, libc::IPPROTO_IP, option, value);
        tell(table::MRT_INIT, &one).map_err(|error| failed("setsockopt(MRT_INIT)", error))?;
        tell(table::MRT_ASSERT, &one).map_err(|error| failed("setsockopt(MRT_ASSERT)", error))?;
        let mut ifindices = Vec::with_capacity(interfaces.len());
        for (number, interface) in interfaces.iter().enumerate() {
            let doing = || format!("forwarding multicast of {interface}");
            let ifindex =
                if_nametoindex(interface.as_str()).map_err(|errno| Error::system(doing(), "if_nametoindex", errno))?;
            tell(table::MRT_ADD_VIF, &table::interface(number as u16, ifindex))
                .map_err(|error| Error::system(doing(), "setsockopt(MRT_ADD_VIF)", error))?;
            ifindices.push(ifindex);
        }
        Ok(Self { socket, client, ifindices, groups, entries: Entries::new(), other_entries: Entries::new() })
    }

    fn serve(&mut self, stop: &Stop) {
        let mut buffer = [0; 2048];
        while is_readable(&self.socket, stop) {
            match recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Ok(length) => {
                    if let Some(upcall) = table::upcall(&buffer[..length]) {
                        // Without an entry the kernel drops the packet and asks again with the next one.
                        let _ = self.decide(upcall);
                    }
                }
                Err(Errno::EAGAIN | Errno::EINTR | Errno::ENOBUFS) => (),
                Err(_) => return,
            }
        }
    }

    fn decide(&mut self, upcall: Upcall) -> io::Result<()> {
        let pair = (upcall.source, upcall.group);
        let is_wanted = contain(&self.groups, upcall.group);
        let (entries, limit) = match is_wanted {
            true => (&mut self.entries, MAX_ENTRIES),
            false => (&mut self.other_entries, MAX_OTHER_ENTRIES),
        };
        if entries.len() >= limit && !entries.contains_key(&pair) {
            return Ok(());
        }
        let (parent, outgoing) = if is_wanted {
            let route = self.client.route(upcall.source.into(), None, None)?;
            (parent(route, upcall.arrived, &self.ifindices), self.ifindices.len())
        } else {
            (table::NOWHERE, 0)
        };
        // While an entry is changed, the kernel loses packets.
        if entries.get(&pair) == Some(&parent) {
            return Ok(());
        }
        let entry = table::entry(upcall.source, upcall.group, parent, outgoing);
        sixbench_packet::set_option_bytes(&self.socket, libc::IPPROTO_IP, table::MRT_ADD_MFC, &entry)?;
        entries.insert(pair, parent);
        Ok(())
    }
}

/// The interface, by its number, from which packets of a source have to come. The node's own are looped back where they
/// left: others that say so the kernel has dropped already.
fn parent(route: Option<Route>, arrived: u16, ifindices: &[u32]) -> u16 {
    let Some(route) = route else { return table::NOWHERE };
    if route.kind == RouteKind::Local {
        return arrived;
    }
    let number = route.through().and_then(|ifindex| ifindices.iter().position(|&known| known == ifindex));
    number.map_or(table::NOWHERE, |number| number as u16)
}

fn contain(groups: &[Groups], group: Ipv4Addr) -> bool {
    groups.iter().any(|range| (range.first.to_bits() ^ group.to_bits()) & mask(range.bits) == 0)
}

fn mask(bits: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0)
}

impl<'de> Deserialize<'de> for Groups {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong =
            || D::Error::custom(format!("{text:?} is not a range of IPv4 multicast groups, such as 239.192.0.0/16"));
        let (first, bits) = text.split_once('/').ok_or_else(wrong)?;
        let first: Ipv4Addr = first.parse().map_err(|_| wrong())?;
        // A range of fewer bits than 224.0.0.0/4 is not of groups alone.
        let bits: u8 = bits.parse().ok().filter(|bits| (4..=32).contains(bits)).ok_or_else(wrong)?;
        if !first.is_multicast() || first.to_bits() & !mask(bits) != 0 {
            return Err(wrong());
        }
        Ok(Self { first, bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_ranges_of_multicast() {
        let read = |text: &str| serde_json::from_value::<Groups>(text.into()).ok();
        let range = read("239.192.0.0/16").expect("a range");
        assert!(contain(&[range], Ipv4Addr::new(239, 192, 255, 1)));
        assert!(!contain(&[range], Ipv4Addr::new(239, 193, 0, 1)));
        assert!(contain(&[read("224.0.0.0/4").expect("all")], Ipv4Addr::new(239, 255, 255, 255)));
        for text in ["239.192.0.1/16", "10.0.0.0/8", "239.192.0.0", "239.192.0.0/33", "224.0.0.0/3", "", "/"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn packets_have_to_come_from_where_their_source_is() {
        let by = |kind, link| {
            Some(Route { kind, link: Some(link), has_gateway: true, gateway: None, source: None, mtu_bytes: None })
        };
        assert_eq!(parent(by(RouteKind::Unicast, 8), 0, &[7, 8]), 1);
        assert_eq!(parent(by(RouteKind::Unicast, 9), 0, &[7, 8]), table::NOWHERE);
        assert_eq!(parent(by(RouteKind::Other, 8), 0, &[7, 8]), table::NOWHERE);
        assert_eq!(parent(None, 0, &[7, 8]), table::NOWHERE);
        assert_eq!(parent(by(RouteKind::Local, 1), 1, &[7, 8]), 1);
    }
}
