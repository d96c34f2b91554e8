//! The certificate by which a client knows the trial's server.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The longest that a client takes.
const MAX_BYTES: usize = 64 * 1024;

/// A certificate (X.509, DER) that was made for the trial. In requests and answers it is text in base64.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate(Arc<[u8]>);

impl Certificate {
    /// The certificate with this DER.
    pub fn new(der: Vec<u8>) -> Self {
        Self(der.into())
    }

    /// Its DER.
    pub fn der(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Certificate of {} bytes", self.0.len())
    }
}

impl Serialize for Certificate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Certificate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match STANDARD.decode(String::deserialize(deserializer)?) {
            Ok(der) if !der.is_empty() && der.len() <= MAX_BYTES => Ok(Self::new(der)),
            _ => Err(de::Error::custom(format!("a certificate is 1 to {MAX_BYTES} bytes in base64"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_text_in_requests() {
        let certificate = Certificate::new(vec![0x30, 0x82, 1]);
        let text = serde_json::to_value(&certificate).unwrap();
        assert_eq!(text, "MIIB");
        assert_eq!(serde_json::from_value::<Certificate>(text).unwrap(), certificate);
        for wrong in ["", "MII", "!"] {
            assert!(serde_json::from_value::<Certificate>(wrong.into()).is_err(), "{wrong}");
        }
    }
}
