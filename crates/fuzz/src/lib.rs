//! The targets of the fuzzers: one function for each parser of bytes that others write.
//!
//! Each takes any bytes, and panics if the parser breaks its promise. `fuzz/` hands them to libFuzzer (`make fuzz`);
//! the tests here hand them the corpus in `fuzz/corpus` and changes of it, on any toolchain.
#![forbid(unsafe_code)]

mod dhcp;
mod discovery;
mod dns;
mod greeting;
mod netlink;
mod packets;
mod probes;
mod programs;
mod request_lines;
mod translator;
mod trial_dns;
mod trial_http;
mod tunnels;

pub use dhcp::dhcp;
pub use discovery::discovery;
pub use dns::dns;
pub use greeting::greeting;
pub use netlink::netlink;
pub use packets::{layers, slow_path};
pub use probes::probes;
pub use programs::{bpf_decapsulate, bpf_encapsulate, can_run_programs};
pub use request_lines::request_lines;
pub use translator::translator;
pub use trial_dns::trial_dns;
pub use trial_http::trial_http;

/// A target by its name, which its folder in the corpus has too.
pub type Target = (&'static str, fn(&[u8]));

/// The targets that any user can run.
pub const TARGETS: [Target; 12] = [
    ("request_lines", request_lines),
    ("greeting", greeting),
    ("layers", layers),
    ("slow_path", slow_path),
    ("translator", translator),
    ("dns", dns),
    ("discovery", discovery),
    ("dhcp", dhcp),
    ("netlink", netlink),
    ("trial_dns", trial_dns),
    ("trial_http", trial_http),
    ("probes", probes),
];

/// The targets that load programs into the kernel, for which they need root.
pub const TARGETS_OF_ROOT: [Target; 2] = [("bpf_encapsulate", bpf_encapsulate), ("bpf_decapsulate", bpf_decapsulate)];
