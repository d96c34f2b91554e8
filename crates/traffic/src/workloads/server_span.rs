//! The CPU span of a server of datagrams, whose traffic ends without a sign.

use std::time::Duration;

use sixbench_measure::{clock, cpu};

use super::cpu_watch::{CpuWatch, Edges};
use crate::Result;

/// Time without a datagram after which the CPU is sampled, since it may be the end.
pub const QUIET: Duration = Duration::from_millis(20);

/// The span from the first measured datagram to the first silence of [`QUIET`] after the last one.
pub struct ServerSpan {
    watch: CpuWatch,
    edges: Edges,
    has_begun: bool,
    quiet: Option<cpu::Sample>,
}

impl ServerSpan {
    /// Starts the watch of a span that has not begun.
    pub fn start() -> Result<Self> {
        let (watch, edges) = CpuWatch::of_server(0)?;
        Ok(Self { watch, edges, has_begun: false, quiet: None })
    }

    /// Begins the span: the first measured datagram has come. The sample is taken in another thread and delays no
    /// packet.
    pub fn begin(&mut self) {
        self.has_begun = true;
        // The watch waits for this as long as the edges live.
        let _ = self.edges.send(clock::monotonic_ns());
    }

    /// A datagram has come, so that it was not the end.
    #[inline]
    pub fn go_on(&mut self) {
        self.quiet = None;
    }

    /// Nothing has come for a while.
    pub fn note_quiet(&mut self) {
        if self.has_begun && self.quiet.is_none() {
            self.quiet = Some(cpu::sample());
        }
    }

    /// The span; absent where nothing measured came.
    pub fn end(self) -> Option<cpu::Span> {
        drop(self.edges);
        let span = self.watch.end()?;
        Some(cpu::Span { to: self.quiet.unwrap_or(span.to), ..span })
    }
}
