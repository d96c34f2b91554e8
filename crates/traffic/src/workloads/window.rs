//! The time that a workload measured.

use schemars::JsonSchema;
use serde::Serialize;

/// The times of the first and the last event, on the monotonic clock, and the time between them, by the names of the
/// protocol document.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Window {
    /// The first event.
    pub started_ns: u64,
    /// The last event.
    pub ended_ns: u64,
    /// The time between them.
    pub measured_ns: u64,
}
