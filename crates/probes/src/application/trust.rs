//! The authorities that clients trust, and the settings of TLS.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use sixbench_applications::watched_verifier::WatchedVerifier;
use sixbench_packet::{Error, Result};

use crate::outcome::{Ending, Outcome};
use crate::text::printable;

/// The longest file of authorities.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Names of a certificate that are told.
const MAX_NAMES: usize = 16;
/// The longest name of DNS in the letters of hosts (RFC 1035 section 2.3.4).
const MAX_NAME_CHARS: usize = 253;

/// Authorities that are trusted.
pub struct Trust {
    verifier: Arc<WebPkiServerVerifier>,
    provider: Arc<CryptoProvider>,
}

/// The settings of one attempt, and the note of its certificate.
pub struct Settings {
    /// The settings.
    pub config: ClientConfig,
    /// The names in a certificate that is one of other names.
    pub other_names: OtherNames,
}

/// The names in a certificate that is one of other names; none where it is of the name that was asked for.
#[derive(Debug, Clone, Default)]
pub struct OtherNames(Arc<Mutex<Vec<String>>>);

impl Trust {
    /// The authorities of this machine.
    ///
    /// # Errors
    /// `system` where there are none.
    pub fn of_system() -> Result<Self> {
        let loaded = rustls_native_certs::load_native_certs();
        if loaded.certs.is_empty() {
            let cause = loaded.errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string);
            return Err(Error::system(
                "reading the authorities that this machine trusts (Debian has them in the package ca-certificates)",
                "open",
                io::Error::other(cause),
            ));
        }
        Self::of(loaded.certs)
    }

    /// The authorities in a file in PEM format.
    ///
    /// # Errors
    /// `bad-params` where it has none, `system` where it cannot be read.
    pub fn in_file(path: &Path) -> Result<Self> {
        let doing = || format!("reading the authorities in {}", path.display());
        let about = fs::metadata(path).map_err(|e| Error::system(doing(), "stat", e))?;
        if !about.is_file() || about.len() > MAX_FILE_BYTES {
            return Err(Error::bad_params(format!("{} is no file of authorities", path.display())));
        }
        let bytes = fs::read(path).map_err(|e| Error::system(doing(), "read", e))?;
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(&bytes)
            .collect::<std::result::Result<_, _>>()
            .map_err(|error| Error::bad_params(format!("{} is not in PEM format: {error}", path.display())))?;
        if certificates.is_empty() {
            return Err(Error::bad_params(format!("{} has no certificates in PEM format", path.display())));
        }
        Self::of(certificates)
    }

    fn of(certificates: Vec<CertificateDer<'static>>) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates);
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .build()
            .map_err(|error| Error::bad_params(format!("no authority can be trusted: {error}")))?;
        Ok(Self { verifier, provider })
    }

    /// The settings of an attempt that offers these protocols. Each shakes hands in full.
    ///
    /// # Errors
    /// `system` where TLS cannot be set up.
    pub fn settings(&self, protocols: Vec<Vec<u8>>) -> Result<Settings> {
        let other_names = OtherNames::default();
        let noted = other_names.clone();
        let verifier = WatchedVerifier::new(Arc::clone(&self.verifier), move |certificate, name, is_verified| {
            if !is_verified {
                noted.note_of(certificate, name);
            }
        });
        let mut config = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(|e| Error::system("preparing a client of TLS", "encrypt", io::Error::other(e)))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = protocols;
        config.resumption = Resumption::disabled();
        Ok(Settings { config, other_names })
    }
}

impl OtherNames {
    /// The names.
    pub fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The end of a handshake that failed: by the certificate's names, if these are others.
    pub fn ending(&self, otherwise: Ending) -> Ending {
        match self.names() {
            names if names.is_empty() => otherwise,
            names => Ending::because(Outcome::OtherName, format!("the certificate is of {}", names.join(", "))),
        }
    }

    /// Notes the names in a certificate that was refused, if the name that was asked for is none of them. The
    /// certificate of a portal is mostly one that nobody trusts; its names tell more.
    fn note_of(&self, certificate: &CertificateDer<'_>, name: &ServerName<'_>) {
        let named = ParsedCertificate::try_from(certificate).and_then(|parsed| verify_server_name(&parsed, name));
        if let Err(error) = named {
            self.note(&error);
        }
    }

    fn note(&self, error: &rustls::Error) {
        let names = match error {
            rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. }) => {
                let shown = presented.iter().take(MAX_NAMES).map(|name| printable(bare(name), MAX_NAME_CHARS));
                let names: Vec<_> = shown.collect();
                if names.is_empty() { vec!["no name".to_owned()] } else { names }
            }
            _ => return,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }
}

/// The name of a host in a certificate: rustls has it with its kind around it. A name of another kind stays as it is.
fn bare(name: &str) -> &str {
    name.strip_prefix("DnsName(\"").and_then(|rest| rest.strip_suffix("\")")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hosts_are_bare_and_printable() {
        let note = |presented: &[&str]| {
            let names = OtherNames::default();
            names.note(&rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext {
                expected: ServerName::try_from("www.example.org").unwrap(),
                presented: presented.iter().map(|name| (*name).to_owned()).collect(),
            }));
            names.names()
        };
        let names = note(&["DnsName(\"portal.example\")", "DnsName(\"a\u{1b}[2J\")", "IpAddress(192.0.2.1)"]);
        assert_eq!(names, ["portal.example", "a\u{fffd}[2J", "IpAddress(192.0.2.1)"]);
        assert_eq!(note(&[]), ["no name"]);
        assert_eq!(note(&["a"; 100]).len(), MAX_NAMES);
    }
}
