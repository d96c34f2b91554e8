//! The client of `tls`.

use std::cell::RefCell;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ClientConnection;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use sixbench_measure::clock;
use sixbench_traffic::{Cancel, Endpoint, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::account::{ClientResult, Handshake, Handshakes};
use super::{NAME, REQUEST, RESPONSE, Session, Settings};
use crate::counted::Counted;
use crate::door::{self, Carrier};
use crate::failure::Failure;
use crate::loops::{self, Patience, Repeat};
use crate::trust::{self, Negotiated};
use crate::{connecting, name, runtime};

/// Warms up and measures.
pub fn run(endpoint: &Endpoint, settings: &Settings, cancel: &Cancel) -> Result<ClientResult> {
    let peer = SocketAddr::new(endpoint.peer, endpoint.port);
    let patience = Patience { doing: format!("shaking hands by TLS with {peer}"), timeout_ns: settings.timeout_ns };
    let workers = (0..settings.in_flight).map(|_| Client::new(endpoint, settings)).collect::<Result<Vec<_>>>()?;
    door::enter(endpoint, Carrier::Tcp, cancel)?;
    runtime::block_on(cancel, async {
        let (_, account, repetitions) = loops::measure(workers, settings.warmup_ns, settings.limit, &patience).await?;
        Ok(ClientResult::new(account, repetitions))
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
        match settings.session {
            Session::Full => config.resumption = Resumption::disabled(),
            Session::Resumed => {}
            Session::Early => config.enable_early_data = true,
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
        if self.session == Session::Full {
            return Ok(());
        }
        // The tickets come after the handshake. The client has none for early data yet.
        self.shake_hands(None).await.map(drop)
    }

    async fn once(&mut self, account: &RefCell<Handshakes>) -> std::result::Result<(), Failure> {
        let request = (self.session == Session::Early).then_some(REQUEST);
        let handshake = self.shake_hands(request).await?;
        account.borrow_mut().add(handshake);
        Ok(())
    }
}

impl Client {
    /// Connects, shakes hands and closes. A request is sent in the first flight.
    async fn shake_hands(&self, request: Option<&[u8]>) -> std::result::Result<Handshake, Failure> {
        let started_ns = clock::monotonic_ns();
        let stream = connecting::connect(&self.endpoint).await?;
        let connected_ns = clock::monotonic_ns();
        let (counted, carried) = Counted::new(stream);
        let mut asked = Ok(());
        let connecting = self.connector.connect_with(self.name.clone(), counted, |tls| {
            asked = request.map_or(Ok(()), |request| ask_early(tls, request));
        });
        asked?;
        let mut session = connecting.await?;
        let (verified_ns, handshake) = (clock::monotonic_ns(), carried.get());
        let tls = session.get_ref().1;
        let Negotiated { version, cipher, kind, .. } = trust::negotiated(tls)?;
        let is_early = request.is_some() && tls.is_early_data_accepted();
        let first_byte_ns = if is_early { Some(answer(&mut session).await? - started_ns) } else { None };
        session.shutdown().await?;
        match session.read(&mut [0]).await {
            // Some servers close the connection without saying so by TLS, once the client has (RFC 8446 section 6.1).
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Ok(0) => {}
            Ok(_) => return Err(Failure::new("wrong-response", "the server sent data that nobody asked for")),
            Err(error) => return Err(error.into()),
        }
        Ok(Handshake {
            connect_ns: connected_ns - started_ns,
            handshake_ns: verified_ns - connected_ns,
            first_byte_ns,
            handshake,
            connection: carried.get(),
            version,
            cipher,
            kind: match (request, is_early) {
                (None, _) => kind,
                (Some(_), true) => "early-data",
                (Some(_), false) => "early-data-rejected",
            },
        })
    }
}

/// Hands the request to a session that has not begun. A ticket that permits it must be there.
fn ask_early(tls: &mut ClientConnection, request: &[u8]) -> std::result::Result<(), Failure> {
    let no_ticket = || Failure::new("no-ticket", "there was no ticket for a session with early data");
    tls.early_data().ok_or_else(no_ticket)?.write_all(request)?;
    Ok(())
}

/// The time of the server's answer.
async fn answer(session: &mut TlsStream<Counted>) -> std::result::Result<u64, Failure> {
    let mut answer = [0; RESPONSE.len()];
    session.read_exact(&mut answer).await?;
    if answer != RESPONSE {
        return Err(Failure::new("wrong-response", "the server's answer is another one"));
    }
    Ok(clock::monotonic_ns())
}
