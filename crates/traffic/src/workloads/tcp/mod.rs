//! Parts that the TCP workloads share: options, preamble, connecting, accepting, and reading and writing in pieces, so
//! that a stop can end them.

pub mod acceptor;
pub mod connect;
pub mod connecting;
pub mod drive;
pub mod info;
pub mod io;
pub mod options;
pub mod preamble;
pub mod server;
pub mod workers;

pub use acceptor::{Acceptor, Admit};
pub use options::TcpOptions;
pub use preamble::{Preamble, Role};
pub use server::{AdmittingServer, CountingResult, CountingServer, Serve};
pub use workers::{Starter, Worker, Workers};

/// Time without movement that is a failure, for any parameters.
pub const STALL_NS: u64 = 10_000_000_000;
