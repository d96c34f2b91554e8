//! One module a workload, and the list of them.

use crate::Workload;

/// Every workload, in the order of the protocol document.
pub static ALL: &[&dyn Workload] = &[];
