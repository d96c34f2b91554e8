//! Packets with all their checksums.

use std::net::{Ipv4Addr, Ipv6Addr};

use sixbench_wire::{checksum, ipv4, ipv6, protocol};

/// The header of a packet between IPv4 hosts, with DF.
pub fn header4(ends: [Ipv4Addr; 2], protocol: u8) -> ipv4::Repr {
    let plain = ipv4::Repr::new(ends, protocol, 0);
    ipv4::Repr { traffic_class: 0xe1, identification: 0x1234, dont_fragment: true, ..plain }
}

/// The header of a packet between IPv6 hosts.
pub fn header6(ends: [Ipv6Addr; 2], next_header: u8) -> ipv6::Repr {
    ipv6::Repr { traffic_class: 0xe1, flow_label: 5, ..ipv6::Repr::new(ends, next_header, 0) }
}

/// A packet whose message has its checksum, where it has one.
pub fn packet4(header: ipv4::Repr, mut message: Vec<u8>) -> Vec<u8> {
    let header = ipv4::Repr { payload_bytes: message.len(), ..header };
    let number = header.protocol;
    let pseudo = match number {
        protocol::ICMP => 0,
        _ => checksum::pseudo_header_v4(header.source, header.destination, number, message.len() as u16),
    };
    sum_up(number, &mut message, pseudo);
    [&header.emit()[..], &message].concat()
}

/// The same for IPv6.
pub fn packet6(header: ipv6::Repr, mut message: Vec<u8>) -> Vec<u8> {
    let header = ipv6::Repr { payload_bytes: message.len(), ..header };
    let (number, bytes) = (header.next_header, message.len() as u32);
    sum_up(number, &mut message, checksum::pseudo_header_v6(header.source, header.destination, number, bytes));
    [&header.emit()[..], &message].concat()
}

fn sum_up(protocol: u8, message: &mut [u8], pseudo: u16) {
    let at = match protocol {
        protocol::TCP => 16,
        protocol::UDP => 6,
        protocol::ICMP | protocol::ICMPV6 => 2,
        _ => return,
    };
    if message.len() < at + 2 {
        return;
    }
    message[at..at + 2].fill(0);
    let sum = checksum::upper_layer(pseudo, message);
    let sum = if protocol == protocol::UDP { checksum::never_zero(sum) } else { sum };
    message[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}
