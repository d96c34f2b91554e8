//! The verifier of rustls, and somebody who watches. It decides nothing itself.

use std::fmt;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

/// The verifier, and a function that sees each certificate, the name that was asked for, and whether it was verified.
pub struct WatchedVerifier<W> {
    verifier: Arc<WebPkiServerVerifier>,
    watch: W,
}

impl<W: Fn(&CertificateDer<'_>, &ServerName<'_>, bool) + Send + Sync> WatchedVerifier<W> {
    /// A verifier that is watched.
    pub fn new(verifier: Arc<WebPkiServerVerifier>, watch: W) -> Self {
        Self { verifier, watch }
    }
}

impl<W> fmt::Debug for WatchedVerifier<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WatchedVerifier").field("verifier", &self.verifier).finish_non_exhaustive()
    }
}

impl<W: Fn(&CertificateDer<'_>, &ServerName<'_>, bool) + Send + Sync> ServerCertVerifier for WatchedVerifier<W> {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        (self.watch)(end_entity, server_name, verified.is_ok());
        verified
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
