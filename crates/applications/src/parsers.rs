//! Parsers of this crate for what others write, for the fuzzers. Those of the protocols are in other crates.

pub use crate::dns::framing::read as read_framed;
pub use crate::dns::message::{Answer, Question, Space, Verdict, Zone};
pub use crate::http::page::Page;
