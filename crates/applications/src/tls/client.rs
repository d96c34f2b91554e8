//! The client of `tls`.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use sixbench_measure::{clock, cpu};
use sixbench_traffic::{Cancel, Endpoint, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;

use super::account::{ClientResult, Handshake, Handshakes};
use super::{NAME, Session, Settings};
use crate::counted::Counted;
use crate::failure::Failure;
use crate::loops::{self, Patience, Repeat};
use crate::trust::{self, Negotiated};
use crate::{connecting, name, runtime};

/// Warms up and measures.
pub fn run(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<ClientResult> {
    let peer = SocketAddr::new(endpoint.peer, endpoint.port);
    let patience = Patience { doing: format!("shaking hands by TLS with {peer}"), timeout_ns: settings.timeout_ns };
    let workers = (0..settings.in_flight).map(|_| Client::new(endpoint, settings)).collect::<Result<Vec<_>>>()?;
    runtime::block_on(cancel, async {
        let (workers, warmup) = loops::warm_up(workers, settings.warmup_ns, &patience).await?;
        let from = cpu::sample();
        let (_, round) = loops::repeat(workers, settings.limit, &patience).await?;
        Ok(ClientResult::new(round, warmup.count(), cpu::Span { from, to: cpu::sample() }))
    })
}

/// One of those that shake hands, with tickets of its own.
struct Client {
    endpoint: Endpoint,
    name: ServerName<'static>,
    connector: TlsConnector,
    session: Session,
}

impl Client {
    fn new(endpoint: &Endpoint, settings: &Settings) -> Result<Self> {
        let (mut config, _) = trust::client_of(NAME, endpoint)?;
        if settings.session == Session::Full {
            config.resumption = Resumption::disabled();
        }
        Ok(Self {
            endpoint: endpoint.clone(),
            name: name::of_server(&endpoint.token)?,
            connector: TlsConnector::from(Arc::new(config)),
            session: settings.session,
        })
    }
}

impl Repeat for Client {
    type Account = Handshakes;

    async fn prime(&mut self) -> std::result::Result<(), Failure> {
        // The tickets come after the handshake.
        if self.session == Session::Resumed { self.once(&RefCell::default()).await } else { Ok(()) }
    }

    async fn once(&mut self, account: &RefCell<Handshakes>) -> std::result::Result<(), Failure> {
        let started_ns = clock::monotonic_ns();
        let stream = connecting::connect(&self.endpoint).await?;
        let connected_ns = clock::monotonic_ns();
        let (counted, carried) = Counted::new(stream);
        let mut session = self.connector.connect(self.name.clone(), counted).await?;
        let (verified_ns, handshake) = (clock::monotonic_ns(), carried.get());
        let Negotiated { version, cipher, kind, .. } = trust::negotiated(session.get_ref().1)?;
        session.shutdown().await?;
        match session.read(&mut [0]).await {
            // Some servers close the connection without saying so by TLS, once the client has (RFC 8446 section 6.1).
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Ok(0) => {}
            Ok(_) => return Err(Failure::new("wrong-response", "the server sent data that nobody asked for")),
            Err(error) => return Err(error.into()),
        }
        account.borrow_mut().add(Handshake {
            connect_ns: connected_ns - started_ns,
            handshake_ns: verified_ns - connected_ns,
            handshake,
            connection: carried.get(),
            version,
            cipher,
            kind,
        });
        Ok(())
    }
}
