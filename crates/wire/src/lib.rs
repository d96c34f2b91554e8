//! Packet formats, checksums and address mappings.
//!
//! Takes bytes, gives values: no I/O, no clock, no `unsafe`. Called by `agent` (header captures) and,
//! later, by the data plane.
#![forbid(unsafe_code)]
