//! Sessions of TLS over TCP that carry a protocol: TLS 1.3, full handshakes, and no tickets, because none is resumed.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use sixbench_measure::clock;
use sixbench_traffic::{Certificate, Endpoint, Result};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::counted::{Carried, Counted};
use crate::failure::Failure;
use crate::trust::{self, Negotiated};
use crate::{certificates, connecting, name};

/// The server's settings, with certificates that are made now, and the authority that the client has to trust.
///
/// # Arguments
/// - `protocol`: the one that is agreed on (ALPN, RFC 7301).
pub fn server(endpoint: &Endpoint, chain_bytes: usize, protocol: &[u8]) -> Result<(Arc<ServerConfig>, Certificate)> {
    let name = name::of_trial(&endpoint.token);
    let chain = certificates::chain(&name, chain_bytes)?;
    let authority = chain.authority.clone();
    let mut config = trust::server(chain, &name)?;
    config.alpn_protocols = vec![protocol.to_vec()];
    // A ticket is for a session after this one, and none of this trial's resumes one.
    config.send_tls13_tickets = 0;
    Ok((Arc::new(config), authority))
}

/// The settings of a client that resumes no session.
pub fn client(workload: &'static str, endpoint: &Endpoint) -> Result<rustls::ClientConfig> {
    let (mut config, _) = trust::client_of(workload, endpoint)?;
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// Opens sessions, all by the same settings.
pub struct Connector {
    endpoint: Endpoint,
    tls: TlsConnector,
}

/// A session that is open.
pub struct Secured {
    /// Its data.
    pub stream: TlsStream<Counted>,
    /// Bytes of TCP.
    pub carried: Rc<Cell<Carried>>,
    /// The outcome of the handshake.
    pub negotiated: Negotiated,
    /// The time at which TCP was connected.
    pub connected_ns: u64,
}

impl Connector {
    /// A connector of the trial's client.
    pub fn new(workload: &'static str, endpoint: &Endpoint, protocol: &[u8]) -> Result<Self> {
        let mut config = client(workload, endpoint)?;
        config.alpn_protocols = vec![protocol.to_vec()];
        Ok(Self { endpoint: endpoint.clone(), tls: TlsConnector::from(Arc::new(config)) })
    }

    /// A new session with the server of this name.
    pub async fn open(&self, server: &ServerName<'static>) -> std::result::Result<Secured, Failure> {
        let (stream, carried) = Counted::new(connecting::connect(&self.endpoint).await?);
        let connected_ns = clock::monotonic_ns();
        let stream = self.tls.connect(server.clone(), stream).await?;
        let negotiated = trust::negotiated(stream.get_ref().1)?;
        Ok(Secured { stream, carried, negotiated, connected_ns })
    }
}
