//! The settings of TLS that both sides of a trial have, whatever runs over it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, io};

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, HandshakeKind, KeyLog, RootCertStore, ServerConfig};
use sixbench_traffic::error::bad_params;
use sixbench_traffic::{Certificate, ConnectionLogs, Endpoint, Error, Result};

use crate::certificates::Chain;
use crate::name;
use crate::watched_verifier::WatchedVerifier;

/// The server's side: TLS 1.3 alone, and its certificate for whoever asks for the trial's name, or for
/// one below it. Clients have none.
pub fn server(chain: Chain, name: &str) -> Result<ServerConfig> {
    let failed = |e: rustls::Error| Error::system("preparing a server of TLS", "sign", io::Error::other(e));
    let provider = provider();
    let key = provider.key_provider.load_private_key(chain.key).map_err(failed)?;
    let resolver = Resolver { name: name.to_owned(), key: Arc::new(CertifiedKey::new(chain.sent, key)) };
    Ok(ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(failed)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(resolver)))
}

/// The choice of the certificate by the name that is asked for.
#[derive(Debug)]
struct Resolver {
    name: String,
    key: Arc<CertifiedKey>,
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        name::is_of_trial(hello.server_name()?, &self.name).then(|| Arc::clone(&self.key))
    }
}

/// The client's side: TLS 1.3 alone, and trust in the trial's authority and in no other. With the count of certificates
/// that it verifies.
///
/// # Errors
/// `bad-params` where the client was not given the authority.
pub fn client_of(workload: &'static str, endpoint: &Endpoint) -> Result<(ClientConfig, Verified)> {
    let Some(authority) = &endpoint.certificate else {
        return Err(bad_params(workload, "`certificate` must be given, as `serve` answered it"));
    };
    let verified = Verified::default();
    match client(authority, verified.clone()) {
        Ok(mut config) => {
            config.key_log = Arc::new(KeptKeys(endpoint.logs.clone()));
            Ok((config, verified))
        }
        Err(e) => Err(bad_params(workload, format!("`certificate` cannot be trusted: {e}"))),
    }
}

fn client(authority: &Certificate, verified: Verified) -> std::result::Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(authority.der().to_vec()))?;
    let provider = provider();
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .build()
        .map_err(|e| rustls::Error::General(e.to_string()))?;
    let counting = WatchedVerifier::new(verifier, move |_, _, _| verified.add_one());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(counting))
        .with_no_client_auth())
}

/// The secrets of a client's sessions, in the logs of its connections where they are kept.
struct KeptKeys(ConnectionLogs);

impl KeyLog for KeptKeys {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        self.0.add_tls_key(label, client_random, secret);
    }

    fn will_log(&self, _label: &str) -> bool {
        self.0.are_kept()
    }
}

impl fmt::Debug for KeptKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeptKeys")
    }
}

/// The outcome of a handshake, by the names in the registries of TLS.
#[derive(Debug, Clone)]
pub struct Negotiated {
    /// The version of TLS.
    pub version: String,
    /// The cipher suite.
    pub cipher: String,
    /// The kind of handshake: `full`, `full-retried` or `resumed`.
    pub kind: &'static str,
    /// The protocol over TLS (ALPN, RFC 7301); `none` where they agreed on none.
    pub protocol: String,
}

/// The outcome of a handshake that is over, at the client.
pub fn negotiated(session: &ClientConnection) -> io::Result<Negotiated> {
    let absent = || io::Error::other("the handshake ended without a result");
    let version = session.protocol_version().ok_or_else(absent)?;
    let cipher = session.negotiated_cipher_suite().ok_or_else(absent)?;
    let kind = match session.handshake_kind().ok_or_else(absent)? {
        HandshakeKind::Full => "full",
        HandshakeKind::FullWithHelloRetryRequest => "full-retried",
        HandshakeKind::Resumed => "resumed",
    };
    let protocol = session.alpn_protocol().map_or("none".into(), String::from_utf8_lossy).into_owned();
    Ok(Negotiated { version: format!("{version:?}"), cipher: format!("{:?}", cipher.suite()), kind, protocol })
}

/// Number of certificate chains that a client has verified: none in a handshake that resumes a session.
#[derive(Debug, Clone, Default)]
pub struct Verified(Arc<AtomicU64>);

impl Verified {
    /// The number so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
