//! The certificates of a trial's server: made for the trial, and kept in memory alone.
//!
//! An authority that nobody else knows signs an intermediate certificate, which signs the server's. The client is told
//! the authority's over the agents' own channel ([`sixbench_traffic::Certificate`]), so it verifies a chain as clients
//! of the web do. The server's certificate has an extension that fills the chain to the length that was asked for: what
//! makes chains of the web long are names, policies and time stamps, and verifying costs the same with other bytes.

use std::io;

use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use sixbench_traffic::{Certificate, Error, Result};

/// The object identifier of the extension that fills: from the arc that is free for examples (RFC 5612 section 4,
/// enterprise 32473).
const FILLER: [u64; 7] = [1, 3, 6, 1, 4, 1, 32473];
/// A signature by ECDSA is up to 2 bytes shorter at random, and a length of more bytes needs one more to be written. So
/// the right filling is looked for a few times.
const ATTEMPTS: usize = 400;

/// The certificates and the key of a trial's server.
pub struct Chain {
    /// The authority's certificate, which the client trusts. It is not sent by TLS.
    pub authority: Certificate,
    /// The server's own, and the one that signed it.
    pub sent: Vec<CertificateDer<'static>>,
    /// The server's key (ECDSA with P-256).
    pub key: PrivateKeyDer<'static>,
}

/// A chain for this name and for those right below it, of so many bytes in all that are sent.
pub fn chain(name: &str, chain_bytes: usize) -> Result<Chain> {
    let failed = |cause| {
        Error::system(format!("making certificates of {chain_bytes} bytes for {name}"), "sign", io::Error::other(cause))
    };
    make(name, chain_bytes)
        .map_err(|e| failed(e.to_string()))?
        .ok_or_else(|| failed(format!("none of {ATTEMPTS} chains had that length")))
}

fn make(name: &str, chain_bytes: usize) -> std::result::Result<Option<Chain>, rcgen::Error> {
    let (authority_key, between_key, key) = (KeyPair::generate()?, KeyPair::generate()?, KeyPair::generate()?);
    let authority = signing("sixbench trial authority")?.self_signed(&authority_key)?;
    let between = signing("sixbench trial intermediate")?.signed_by(&between_key, &authority, &authority_key)?;
    let mut filler = 0;
    for _ in 0..ATTEMPTS {
        let server = serving(name, filler)?.signed_by(&key, &between, &between_key)?;
        let length = server.der().len() + between.der().len();
        if length == chain_bytes {
            return Ok(Some(Chain {
                authority: Certificate::new(authority.der().to_vec()),
                sent: vec![server.der().clone(), between.der().clone()],
                key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            }));
        }
        filler = (filler + chain_bytes).saturating_sub(length);
    }
    Ok(None)
}

fn signing(name: &str) -> std::result::Result<CertificateParams, rcgen::Error> {
    let mut params = named(name, Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Ok(params)
}

fn serving(name: &str, filler_bytes: usize) -> std::result::Result<CertificateParams, rcgen::Error> {
    let mut params = named(name, vec![name.to_owned(), format!("*.{name}")])?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    if filler_bytes > 0 {
        params.custom_extensions = vec![CustomExtension::from_oid_content(&FILLER, vec![0x5a; filler_bytes])];
    }
    Ok(params)
}

fn named(name: &str, names: Vec<String>) -> std::result::Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_as_long_as_asked_for() {
        for bytes in [1_280, 1_536, 3_000, 5_120, 16_384] {
            let chain = chain("0123456789abcdef.sixbench.test", bytes).unwrap();
            assert_eq!(chain.sent.iter().map(|certificate| certificate.len()).sum::<usize>(), bytes);
        }
    }

    #[test]
    fn no_two_trials_have_the_same_authority() {
        let of_trial = || chain("0123456789abcdef.sixbench.test", 1_536).unwrap().authority;
        assert_ne!(of_trial().der(), of_trial().der());
    }
}
