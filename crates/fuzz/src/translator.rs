//! Packets, as translators between IPv4 and IPv6 read them.

use std::sync::OnceLock;

use sixbench_wire::siit::Settings;
use sixbench_wire::{checksum, protocol};

#[path = "../../wire/tests/siit/held.rs"]
mod held;

/// A packet to a translator. The first byte chooses the translator; by the second, checksums are as they are, or those
/// of the IPv4 header and of ICMP are right.
pub fn translator(data: &[u8]) {
    static SETTINGS: OnceLock<Vec<Settings>> = OnceLock::new();
    let Some((&[translator, mends], packet)) = data.split_first_chunk() else { return };
    let settings = SETTINGS.get_or_init(held::all_settings);
    let settings = &settings[usize::from(translator) % settings.len()];
    if mends & 1 == 0 {
        held::check(settings, packet);
        return;
    }
    let mut packet = packet.to_vec();
    mend(&mut packet);
    held::check(settings, &packet);
}

fn mend(packet: &mut [u8]) {
    match packet.first().map_or(0, |first| first >> 4) {
        4 => {
            let header_bytes = usize::from(packet[0] & 15) * 4;
            let Some((header, message)) = packet.split_at_mut_checked(header_bytes) else { return };
            if header_bytes < 20 {
                return;
            }
            sum_up(header, 10, 0);
            let length = usize::from(u16::from_be_bytes([header[2], header[3]])).saturating_sub(header_bytes);
            match message.get_mut(..length) {
                Some(message) if header[9] == protocol::ICMP => sum_up(message, 2, 0),
                _ => {}
            }
        }
        6 if packet.len() > 40 && packet[6] == protocol::ICMPV6 => {
            let (header, message) = packet.split_at_mut(40);
            let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
            let Some(message) = message.get_mut(..length) else { return };
            let pseudo = [&header[8..40], &(length as u32).to_be_bytes(), &[0, 0, 0, protocol::ICMPV6]].concat();
            sum_up(message, 2, checksum::sum(&pseudo));
        }
        _ => {}
    }
}

fn sum_up(bytes: &mut [u8], at: usize, pseudo: u16) {
    if bytes.len() >= at + 2 {
        bytes[at..at + 2].fill(0);
        let sum = checksum::upper_layer(pseudo, bytes);
        bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}
