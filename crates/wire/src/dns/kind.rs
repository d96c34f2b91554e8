//! The types of records: RFC 1035 section 3.2.2.

/// The type of a record or of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub u16);

impl Kind {
    /// RFC 1035 section 3.4.1.
    pub const A: Self = Self(1);
    /// RFC 1035 section 3.3.11.
    pub const NS: Self = Self(2);
    /// RFC 1035 section 3.3.1.
    pub const CNAME: Self = Self(5);
    /// RFC 1035 section 3.3.13.
    pub const SOA: Self = Self(6);
    /// RFC 1035 section 3.3.12.
    pub const PTR: Self = Self(12);
    /// RFC 3596 section 2.1.
    pub const AAAA: Self = Self(28);
    /// RFC 6891 section 6.1.1.
    pub const OPT: Self = Self(41);
    /// RFC 1995, of a question.
    pub const IXFR: Self = Self(251);
    /// RFC 5936, of a question.
    pub const AXFR: Self = Self(252);
    /// RFC 8482, of a question.
    pub const ANY: Self = Self(255);
}
