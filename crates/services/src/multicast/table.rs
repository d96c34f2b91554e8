//! The kernel's multicast routing table: its input (`linux/mroute.h`), its contents (`/proc/net/ip_mr_*`), and its
//! upcalls. No I/O.

use std::net::Ipv4Addr;

/// Number of interfaces that the kernel's table has room for, but the one that is never there: MAXVIFS is 32.
pub const MAX_INTERFACES: usize = 31;
/// An interface of the table that is never there: packets whose source is not behind any of the interfaces have to come
/// from this one.
pub const NOWHERE: u16 = 31;

/// Become the namespace's multicast router.
pub const MRT_INIT: libc::c_int = 200;
/// Add an interface.
pub const MRT_ADD_VIF: libc::c_int = 202;
/// Add or change an entry.
pub const MRT_ADD_MFC: libc::c_int = 204;
/// Tell of packets that come from elsewhere.
pub const MRT_ASSERT: libc::c_int = 207;

/// Packets are sent on where the TTL is more than this.
const TTL_THRESHOLD: u8 = 1;
/// Packets are not sent on.
const TTL_NEVER: u8 = 255;
/// The interface is named by its index: VIFF_USE_IFINDEX.
const BY_INDEX: u8 = 8;

/// `struct vifctl`: interface `number` of the table is the device of that index.
pub fn interface(number: u16, ifindex: u32) -> Vec<u8> {
    let mut bytes = number.to_ne_bytes().to_vec();
    bytes.extend([BY_INDEX, TTL_THRESHOLD]);
    bytes.extend(0_u32.to_ne_bytes()); // Rate limit: never was implemented.
    bytes.extend(ifindex.to_ne_bytes());
    bytes.extend([0; 4]); // The far end, of tunnels.
    bytes
}

/// `struct mfcctl`: what comes from `source` to `group` on interface `parent` goes out on the first `outgoing`
/// interfaces but that one.
pub fn entry(source: Ipv4Addr, group: Ipv4Addr, parent: u16, outgoing: usize) -> Vec<u8> {
    let mut bytes = source.octets().to_vec();
    bytes.extend(group.octets());
    bytes.extend(parent.to_ne_bytes());
    bytes.extend(
        (0..32).map(
            |number| {
                if number < outgoing && number != usize::from(parent) { TTL_THRESHOLD } else { TTL_NEVER }
            },
        ),
    );
    bytes.extend([0; 2 + 16]); // Padding, and counters that are the kernel's.
    bytes
}

/// `struct igmpmsg`: the kernel has a packet and no entry for it, or it came from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upcall {
    /// The interface it came in on.
    pub arrived: u16,
    /// Its source.
    pub source: Ipv4Addr,
    /// Its destination.
    pub group: Ipv4Addr,
}

/// Reads what the kernel gave the router's socket; `None` for IGMP packets, which that gets too.
pub fn upcall(message: &[u8]) -> Option<Upcall> {
    let header: &[u8; 20] = message.first_chunk()?;
    // Where an IP header has the protocol, an upcall has a zero. Types: IGMPMSG_NOCACHE, IGMPMSG_WRONGVIF.
    if header[9] != 0 || !matches!(header[8], 1 | 2) {
        return None;
    }
    let address = |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
    Some(Upcall { arrived: u16::from_le_bytes([header[10], header[11]]), source: address(12), group: address(16) })
}

/// Sums over all interfaces of `/proc/net/ip_mr_vif`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// Packets that were accepted.
    pub packets: u64,
    /// Bytes of the accepted packets.
    pub bytes: u64,
    /// Packets that were sent.
    pub copies: u64,
}

/// Adds the interfaces up: `Interface BytesIn PktsIn BytesOut PktsOut Flags Local Remote`, after a number.
pub fn passed(text: &str) -> Option<Passed> {
    let mut sum = Passed::default();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let field = |at: usize| fields.get(at)?.parse::<u64>().ok();
        sum.bytes += field(2)?;
        sum.packets += field(3)?;
        sum.copies += field(5)?;
    }
    Some(sum)
}

/// A line of `/proc/net/ip_mr_cache`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cached {
    /// The entry's group.
    pub group: Ipv4Addr,
    /// Packets that came from elsewhere.
    pub wrong_interface: u64,
}

/// Reads the entries: `Group Origin Iif Pkts Bytes Wrong Oifs`. Those that wait for their entry have no interface yet,
/// and are left out.
pub fn cached(text: &str) -> Option<Vec<Cached>> {
    let mut entries = Vec::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split_whitespace();
        // As the number that the four octets are on this machine.
        let group = u32::from_str_radix(fields.next()?, 16).ok()?;
        if fields.nth(1)? == "-1" {
            continue;
        }
        let wrong_interface = fields.nth(2)?.parse().ok()?;
        entries.push(Cached { group: Ipv4Addr::from(group.to_ne_bytes()), wrong_interface });
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn structures_are_as_long_as_the_kernels() {
        assert_eq!(interface(1, 2).len(), 16);
        let entry = entry(Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(239, 192, 0, 1), 1, 3);
        assert_eq!(entry.len(), 60);
        assert_eq!(&entry[10..15], [TTL_THRESHOLD, TTL_NEVER, TTL_THRESHOLD, TTL_NEVER, TTL_NEVER]);
    }

    #[test]
    fn upcalls_are_told_from_igmp() {
        let mut message = *b"\x45\0\0\x1c\x5d\x9c\x40\0\x01\0\x02\0\x0a\0\0\x02\xef\xc0\0\x01\x01\0\0\0\0\x01\0\0";
        let expected = Upcall { arrived: 2, source: Ipv4Addr::new(10, 0, 0, 2), group: Ipv4Addr::new(239, 192, 0, 1) };
        assert_eq!(upcall(&message), Some(expected));
        message[9] = 2;
        assert_eq!(upcall(&message), None);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_kernels_tables_are_read() {
        let interfaces = "Interface      BytesIn  PktsIn  BytesOut PktsOut Flags Local    Remote\n \
            0 e0              120       4         0       0 00008 00000002 00000000\n \
            1 e1               30       1       120       4 00008 00000003 00000000\n";
        assert_eq!(passed(interfaces), Some(Passed { packets: 5, bytes: 150, copies: 4 }));
        let entries = "Group    Origin   Iif     Pkts    Bytes    Wrong Oifs\n\
            0100C0EF 0200000A 0          4      120        7  1:1  \n\
            0200C0EF 0200000A -1         0        0        0\n";
        let expected = Cached { group: Ipv4Addr::new(239, 192, 0, 1), wrong_interface: 7 };
        assert_eq!(cached(entries), Some(vec![expected]));
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..64), text in "[ 0-9A-F\n-]{0,80}") {
            let _ = upcall(&bytes);
            let _ = passed(&text);
            let _ = cached(&text);
        }
    }
}
