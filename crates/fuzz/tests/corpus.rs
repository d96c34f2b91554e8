//! Every target, on its corpus and on changes of it: the same ones each time.

use std::fs;
use std::path::Path;

use sixbench_fuzz::{TARGETS, TARGETS_OF_ROOT, Target, can_run_programs};

const CHANGES: usize = 20_000;
/// A handshake takes a millisecond of a program that was not optimised.
const CHANGES_OF_HANDSHAKES: usize = 1_000;
/// A run in the kernel takes some microseconds.
const CHANGES_FOR_PROGRAMS: usize = 5_000;

/// xorshift64* (Marsaglia 2003, Vigna 2016).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).expect("a file")).collect()
}

fn change(random: &mut Random, data: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=random.below(4) {
        let at = random.below(data.len() + 1);
        match random.below(6) {
            0 => data.truncate(at),
            1 => data.insert(at, random.below(256) as u8),
            2 if at < data.len() => drop(data.remove(at)),
            3 => data.extend_from_slice(&other[random.below(other.len() + 1)..]),
            _ if at < data.len() => data[at] = [0, 0xff, 0x80, random.below(256) as u8][random.below(4)],
            _ => {}
        }
    }
}

fn holds((name, run): Target, changes: usize) {
    let corpus = corpus(name);
    assert!(corpus.len() >= 5, "{name}: {} in the corpus", corpus.len());
    corpus.iter().for_each(|data| run(data));
    let mut random = Random(0x5eed);
    for _ in 0..changes {
        let mut data = corpus[random.below(corpus.len())].clone();
        let other = &corpus[random.below(corpus.len())];
        change(&mut random, &mut data, other);
        run(&data);
    }
}

#[test]
fn no_bytes_break_a_parser() {
    for target in TARGETS {
        holds(target, if target.0 == "greeting" { CHANGES_OF_HANDSHAKES } else { CHANGES });
    }
}

#[test]
#[ignore = "needs root: it loads BPF programs"]
fn no_packet_breaks_a_program() {
    if can_run_programs() {
        TARGETS_OF_ROOT.into_iter().for_each(|target| holds(target, CHANGES_FOR_PROGRAMS));
    }
}
