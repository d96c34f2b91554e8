//! The sentences of errors of emulated links.

pub use sixbench_packet::{Code, Error, Result};

/// The specification of a link contradicts itself.
pub(crate) fn bad_link(link: &str, reason: impl std::fmt::Display) -> Error {
    Error::bad_params(format!("link {link}: {reason}"))
}

/// A link of that name is emulated.
pub(crate) fn link_exists(link: &str) -> Error {
    Error::new(Code::LinkExists, format!("the link {link} is emulated already"))
}

/// No link of that name is emulated.
pub fn no_link(link: &str) -> Error {
    Error::new(Code::NoLink, format!("no link {link} is emulated"))
}

/// The thread that emulates has ended.
pub(crate) fn ended() -> Error {
    let message = "the thread that emulates the links of this node has ended; its last message is on standard error";
    Error::new(Code::Internal, message)
}
