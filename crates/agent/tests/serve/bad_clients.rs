//! 24 bad clients at once, beside a good one.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::common::Agent;
use crate::server::{KeyFile, Server, trial};

const PLAIN: &[u8] = &preamble(0);
const SEALED: &[u8] = &preamble(1);
const HELLO: &[u8] = b"{\"id\":1,\"op\":\"hello\",\"protocol\":1,\"version\":\"bad\"}\n";
/// Bounds what a server may hold of all of them together: far less than what they send.
const MAX_MEMORY_KIB: u64 = 96 << 10;

/// The first bytes of a client without a cookie.
const fn preamble(mode: u8) -> [u8; 32] {
    let mut bytes = [0; 32];
    [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]] = [b'S', b'I', b'X', b'B', 2, mode];
    bytes
}

/// Misbehaves as one kind of bad client, chosen by the number, until the server closes or `end` is set.
fn misbehave(number: usize, mut stream: TcpStream, preamble: &[u8], end: &AtomicBool) {
    let go_on = |result: std::io::Result<()>| result.is_ok() && !end.load(Ordering::Relaxed);
    match number % 6 {
        // Silent.
        0 => drop(stream.read(&mut [0; 100])),
        // Slow, byte by byte.
        1 => {
            for byte in preamble.iter().chain(HELLO) {
                if !go_on(stream.write_all(&[*byte])) {
                    break;
                }
                thread::sleep(Duration::from_millis(100));
            }
        }
        // Garbage.
        2 => while go_on(stream.write_all(&[0x5a; 4096])) {},
        // Gone at once, in the middle of the first bytes.
        3 => drop(stream.write_all(&preamble[..3])),
        // A gigabyte without an end of line.
        4 => {
            let _ = stream.write_all(preamble);
            for _ in 0..(1 << 30) / (64 << 10) {
                if !go_on(stream.write_all(&[b'x'; 64 << 10])) {
                    break;
                }
            }
        }
        // Opens as it should, and then says what is no request; asks nothing of the answers.
        _ => {
            let _ = stream.write_all(preamble);
            while go_on(stream.write_all(b"{\"id\":1,\"op\":\"reboot\"}\n")) {}
        }
    }
}

fn good_client_beside_24_bad_ones(key: Option<&KeyFile>) {
    let server = Server::start(&[], key.map(|key| key.0.as_path()));
    let preamble = if key.is_some() { SEALED } else { PLAIN };
    let end = Arc::new(AtomicBool::new(false));
    let begun = Arc::new(Barrier::new(25));
    let bad: Vec<_> = (0..24)
        .map(|number| {
            let (end, begun) = (Arc::clone(&end), Arc::clone(&begun));
            let stream = server.dial();
            thread::spawn(move || {
                begun.wait();
                misbehave(number, stream, preamble, &end);
            })
        })
        .collect();
    begun.wait();
    // The bad clients are there, some for two seconds; a good one that waited for them would not come to its end before
    // they do.
    let mut remote = server.connect().greeted();
    let mut local = Agent::here().greeted();
    let (_, finished) = trial(&mut remote, &mut local, "udp-rr", "127.0.0.1", &json!({"count": 50}));
    assert_eq!(finished["transactions"], 50);
    let still_waiting = bad.iter().filter(|bad| !bad.is_finished()).count();
    end.store(true, Ordering::Relaxed);
    for bad in bad {
        bad.join().expect("the server closes on each of them");
    }
    assert!(server.peak_memory_kib() < MAX_MEMORY_KIB, "{} KiB", server.peak_memory_kib());
    println!("{still_waiting} of 24 were still there when the good one had done");
    remote.ok("cpu", json!({}));
}

#[test]
fn they_do_not_keep_a_good_client_out() {
    good_client_beside_24_bad_ones(None);
}

#[test]
fn nor_where_there_is_a_key() {
    good_client_beside_24_bad_ones(Some(&KeyFile::new('e')));
}

#[test]
fn more_silent_ones_than_there_is_room_for_do_not_either() {
    let server = Server::start(&[], None);
    let silent: Vec<_> = (0..200).map(|_| server.dial()).collect();
    server.connect().greeted().ok("cpu", json!({}));
    drop(silent);
}
