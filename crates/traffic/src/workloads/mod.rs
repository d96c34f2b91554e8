//! One module a workload, and the list of them.

mod cpu_watch;
mod tcp;
mod tcp_rr;
mod tcp_stream;

use crate::Workload;

/// Every workload, in the order of the protocol document.
pub static ALL: &[&dyn Workload] = &[&tcp_stream::TcpStream, &tcp_rr::TcpRr];
