//! The certificates of a trial's server: made for the trial, and kept in memory alone.
//!
//! An authority that nobody else knows signs an intermediate certificate, which signs the server's. The client is told
//! the authority's over the agents' own channel ([`sixbench_traffic::Certificate`]), so it verifies a chain as clients
//! of the web do. The server's certificate has an extension that fills the chain to the length that was asked for: what
//! makes chains of the web long are names, policies and time stamps, and verifying costs the same with other bytes.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
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
/// Characters of a line (RFC 7468 section 2).
const PEM_COLUMNS: usize = 64;

/// The certificates and the key of a trial's server.
pub struct Chain {
    /// The authority's certificate, which the client trusts. It is not sent by TLS.
    pub authority: Certificate,
    /// The server's own, and the one that signed it.
    pub sent: Vec<CertificateDer<'static>>,
    /// The server's key (ECDSA with P-256).
    pub key: PrivateKeyDer<'static>,
}

impl Chain {
    /// The certificates that are sent, as files have them (RFC 7468).
    pub fn certificates_pem(&self) -> String {
        self.sent.iter().map(|certificate| armoured("CERTIFICATE", certificate)).collect()
    }

    /// The authority's certificate likewise.
    pub fn authority_pem(&self) -> String {
        pem(&self.authority)
    }

    /// The server's key likewise.
    pub fn key_pem(&self) -> String {
        armoured("PRIVATE KEY", self.key.secret_der())
    }
}

/// A certificate as files have it (RFC 7468).
pub fn pem(certificate: &Certificate) -> String {
    armoured("CERTIFICATE", certificate.der())
}

fn armoured(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<_> = text.as_bytes().chunks(PEM_COLUMNS).map(String::from_utf8_lossy).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
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
    fn others_read_the_chain_and_its_key() {
        use rustls::pki_types::pem::PemObject;

        let chain = chain("0123456789abcdef.sixbench.test", 1_536).unwrap();
        let certificates = chain.certificates_pem();
        let read: Vec<_> = CertificateDer::pem_slice_iter(certificates.as_bytes()).map(|read| read.unwrap()).collect();
        assert_eq!(read, chain.sent);
        let key = PrivateKeyDer::from_pem_slice(chain.key_pem().as_bytes()).unwrap();
        assert_eq!(key.secret_der(), chain.key.secret_der());
        assert!(chain.certificates_pem().lines().all(|line| line.len() <= PEM_COLUMNS));
    }

    #[test]
    fn no_two_trials_have_the_same_authority() {
        let of_trial = || chain("0123456789abcdef.sixbench.test", 1_536).unwrap().authority;
        assert_ne!(of_trial().der(), of_trial().der());
    }
}
