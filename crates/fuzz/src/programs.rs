//! The programs of tunnels, run by the kernel on packets that were never sent (`BPF_PROG_TEST_RUN`).

use std::cell::RefCell;
use std::collections::BTreeMap;

use sixbench_plane::program::{DECAPSULATE, ENCAPSULATE};

#[path = "../../plane/tests/common/mod.rs"]
mod bench;

use bench::{Bench, Loaded};

use crate::tunnels::tunnels;

/// The kernel's test run puts a packet into one page, beside what it needs itself.
const MOST_BYTES: usize = 2000;

/// A network for the programs, and those that were loaded.
struct Loader {
    bench: Bench,
    loaded: BTreeMap<usize, Loaded>,
}

thread_local! {
    static LOADER: RefCell<Option<Loader>> = const { RefCell::new(None) };
}

/// True if this process may load programs, and make the network that they are in. A thread that asks is in that network
/// from then on.
pub fn can_run_programs() -> bool {
    LOADER.with_borrow_mut(|loader| {
        if loader.is_none() {
            *loader = Bench::build().map(|bench| Loader { bench, loaded: BTreeMap::new() });
        }
        loader.is_some()
    })
}

/// A packet that is to go through a tunnel, which the first byte chooses.
pub fn bpf_encapsulate(data: &[u8]) {
    run(ENCAPSULATE, data);
}

/// A packet that may have come through a tunnel, which the first byte chooses.
pub fn bpf_decapsulate(data: &[u8]) {
    run(DECAPSULATE, data);
}

/// The program has one outcome, counts it once, and returns what belongs to it; [`Loaded::run`] holds it to that.
fn run(program: &str, data: &[u8]) {
    let Some((&tunnel, packet)) = data.split_first() else { return };
    // The kernel refuses a test run on less than an IP header (Linux 6.18).
    let least_bytes = if packet.first().is_some_and(|first| first >> 4 == 6) { 40 } else { 20 };
    if !(least_bytes..=MOST_BYTES).contains(&packet.len()) {
        return;
    }
    assert!(can_run_programs(), "loading programs needs root");
    LOADER.with_borrow_mut(|loader| {
        let Loader { bench, loaded } = loader.as_mut().expect("it was made");
        let tunnels = tunnels();
        let index = usize::from(tunnel) % tunnels.len();
        loaded.entry(index).or_insert_with(|| bench.load(&tunnels[index])).run(program, packet, 1);
    });
}
