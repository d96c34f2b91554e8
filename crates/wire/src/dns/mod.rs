//! The Domain Name System, as far as a resolver for a closed network with DNS64 needs it: RFC 1035, RFC 6891, RFC 6147,
//! RFC 7050.
//!
//! [`Name`] and [`Message`] read what anybody may send: every length and pointer is checked, and the work is bounded by
//! the length of the message. [`Zone`] has the names of a network. [`Dns64`] chooses the records that answer a
//! question, from any [`Source`] of records. [`Responder`] makes the message that answers a message, or the question
//! that another server has to answer first; [`answer_in`] reads the answer of that server. [`prefixes_in`] learns a
//! translator's prefix from the answer to [`question`].

mod flaw;
mod forward;
mod kind;
mod message;
mod name;
mod prefix;
mod record;
mod responder;
mod synthesis;
mod zone;

pub use flaw::Flaw;
pub use forward::{ForeignAnswer, Learned, answer_in};
pub use kind::Kind;
pub use message::{Edns, HEADER_BYTES, Header, Message, Question, RecordView};
pub use name::{MAX_NAME_BYTES, Name};
pub use prefix::{NoPrefix, WELL_KNOWN_NAME, prefixes_in, prefixes_of, question};
pub use record::{Data, Record};
pub use responder::{Ignored, Next, OUR_UDP_BYTES, Outcome, Reply, Responder, Transport};
pub use synthesis::{Answer, Dns64, default_excluded};
pub use zone::{Absence, Found, Source, Zone};

/// The class of the Internet: RFC 1035 section 3.2.4.
pub const CLASS_IN: u16 = 1;
/// The class of questions about any class: RFC 1035 section 3.2.5.
pub const CLASS_ANY: u16 = 255;
/// Time for which an answer may be kept, in seconds. It is short, because networks of experiments come and go.
pub const TTL_S: u32 = 60;
