//! The secret of a trial.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The secret that proves a connection or datagram to be of this trial. Debug output does not show it, and a comparison
/// takes the same time for any difference.
#[derive(Clone, Copy, Eq)]
pub struct Token(pub [u8; 16]);

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        let differences = self.0.iter().zip(other.0).fold(0, |sum, (one, other)| sum | (one ^ other));
        std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token")
    }
}

impl Serialize for Token {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", u128::from_be_bytes(self.0)))
    }
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?)
            .ok_or_else(|| de::Error::custom("a token is 32 hexadecimal digits"))
    }
}

impl Token {
    /// Reads 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let is_token = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_token.then(|| u128::from_str_radix(text, 16).ok().map(|token| Self(token.to_be_bytes())))?
    }

    /// The first eight bytes, as datagrams carry them.
    pub fn short(&self) -> u64 {
        let mut first = [0; 8];
        first.copy_from_slice(&self.0[..8]);
        u64::from_be_bytes(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_32_digits_that_are_not_shown() {
        let text = "00112233445566778899aAbBcCdDeEfF";
        let token: Token = serde_json::from_value(text.into()).unwrap();
        assert_eq!(token.short(), 0x0011_2233_4455_6677);
        assert_eq!(serde_json::to_value(token).unwrap(), text.to_lowercase());
        assert!(!format!("{token:?}").contains("0011"));
        for other in ["1234", "+0112233445566778899aabbccddeeff", "g0112233445566778899aabbccddeeff"] {
            let refused = serde_json::from_value::<Token>(other.into()).unwrap_err();
            assert_eq!(refused.to_string(), "a token is 32 hexadecimal digits");
        }
    }
}
