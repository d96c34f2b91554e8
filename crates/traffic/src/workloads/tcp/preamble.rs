//! The 32 bytes that open every connection of a trial: token, role, a zero, the stream's index, twelve zeros.

use sixbench_wire::token::Token;

/// Length of a preamble.
pub const PREAMBLE_BYTES: usize = 32;

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `tcp-stream`, client to server.
    Forward = 1,
    /// `tcp-stream`, server to client.
    Reverse = 2,
    /// `tcp-rr`.
    RequestResponse = 3,
    /// The uncounted first connection of `tcp-connect` and `tcp-crr`.
    Proof = 4,
    /// `pmtu`: the control connection, by which the two sides take turns.
    PmtuControl = 5,
    /// `pmtu`, client to server.
    PmtuForward = 6,
    /// `pmtu`, server to client.
    PmtuReverse = 7,
}

const ROLES: [Role; 7] = [
    Role::Forward,
    Role::Reverse,
    Role::RequestResponse,
    Role::Proof,
    Role::PmtuControl,
    Role::PmtuForward,
    Role::PmtuReverse,
];

impl Role {
    fn from_byte(byte: u8) -> Option<Self> {
        ROLES.into_iter().find(|&role| role as u8 == byte)
    }
}

/// The contents of a preamble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preamble {
    /// The purpose of the connection.
    pub role: Role,
    /// Its index among the streams of that role.
    pub index: u16,
}

impl Preamble {
    /// Its bytes.
    pub fn emit(&self, token: &Token) -> [u8; PREAMBLE_BYTES] {
        let mut bytes = [0; PREAMBLE_BYTES];
        bytes[..16].copy_from_slice(&token.0);
        bytes[16] = self.role as u8;
        bytes[18..20].copy_from_slice(&self.index.to_be_bytes());
        bytes
    }

    /// Reads one; nothing where the token is another or the form is not right.
    pub fn parse(bytes: &[u8; PREAMBLE_BYTES], token: &Token) -> Option<Self> {
        let role = Role::from_byte(bytes[16])?;
        let preamble = Self { role, index: u16::from_be_bytes([bytes[18], bytes[19]]) };
        (preamble.emit(token) == *bytes).then_some(preamble)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TOKEN: Token = Token([7; 16]);

    #[test]
    fn what_is_emitted_is_parsed() {
        for role in ROLES {
            let preamble = Preamble { role, index: 0x0102 };
            let bytes = preamble.emit(&TOKEN);
            assert_eq!(bytes[18..20], [1, 2]);
            assert_eq!(Preamble::parse(&bytes, &TOKEN), Some(preamble));
            assert_eq!(Preamble::parse(&bytes, &Token([8; 16])), None);
        }
    }

    proptest! {
        #[test]
        fn one_changed_byte_is_no_preamble_or_another_role_or_index(at in 0..PREAMBLE_BYTES, change in 1..=255_u8) {
            let preamble = Preamble { role: Role::Forward, index: 3 };
            let mut bytes = preamble.emit(&TOKEN);
            bytes[at] ^= change;
            let parsed = Preamble::parse(&bytes, &TOKEN);
            prop_assert_ne!(parsed, Some(preamble));
            prop_assert!(parsed.is_none() || matches!(at, 16 | 18 | 19));
        }
    }
}
