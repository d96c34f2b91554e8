//! The sixbench agent: one process is one node.
fn main() {}
