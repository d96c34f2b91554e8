//! The defects of messages.

/// The defect that makes a message unreadable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// It ends before what it says it has.
    Truncated,
    /// It goes on after what it says it has.
    Trailing,
    /// A name is longer than 255 bytes.
    LongName,
    /// A pointer leads to itself, or to a later place.
    Pointer,
    /// A label is neither a label nor a pointer.
    LabelType,
    /// The OPT record is not the root's, or is there twice.
    Edns,
    /// The data of a record does not have the form that its type asks for.
    Data,
}
