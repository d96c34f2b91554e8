//! One attempt: the layers below HTTP, one over the other.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use sixbench_applications::counted::{Carried, Counted};
use sixbench_applications::runtime;
use sixbench_measure::clock;
use sixbench_packet::{Error, Result};
use sixbench_traffic::Cancel;
use socket2::Socket;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::attempt::{ApplicationAttempt, Tried, of_io};
use super::trust::{Settings, Trust};
use super::{Layers, Plan, http, quic};
use crate::local;
use crate::outcome::{Ending, Outcome};
use crate::stream;

/// Time for the close of a connection.
const PARTING: Duration = Duration::from_millis(50);

/// Makes an attempt now.
///
/// # Errors
/// `system` where the kernel refuses the means.
pub fn attempt(plan: &Plan, trust: Option<&Trust>) -> Result<ApplicationAttempt> {
    let settings = trust.map(|trust| trust.settings(plan.layers.protocols())).transpose()?;
    // All is ready before it begins: what this program does first is no time of the server's.
    runtime::block_on(&Cancel::default(), async {
        let attempt = RefCell::new(ApplicationAttempt::begin(clock::monotonic_ns()));
        let ended = match settings {
            Some(settings) if plan.layers.is_over_quic() => quic::work(plan, settings, &attempt).await?,
            settings => match connect(plan, &attempt)? {
                Ok(socket) => over_socket(plan, settings, socket, &attempt).await?,
                Err(ending) => Err(ending),
            },
        };
        let mut attempt = attempt.into_inner();
        attempt.end(ended);
        Ok(attempt)
    })
}

/// Connects by TCP. There is nothing else to do meanwhile.
fn connect(plan: &Plan, attempt: &RefCell<ApplicationAttempt>) -> Result<Tried<Socket>> {
    let peer = local::peer(plan.address, plan.port, plan.source);
    let connected = stream::connect(peer, plan.source, plan.timeout_ns)?;
    let mut attempt = attempt.borrow_mut();
    (attempt.begun_ns, attempt.local, attempt.handshake) = (connected.begun_ns, connected.local, connected.handshake);
    attempt.connect_ns = connected.socket.is_ok().then_some(connected.elapsed_ns);
    Ok(connected.socket)
}

async fn over_socket(
    plan: &Plan,
    settings: Option<Settings>,
    socket: Socket,
    attempt: &RefCell<ApplicationAttempt>,
) -> Result<Tried<()>> {
    let stream = TcpStream::from_std(socket.into())
        .map_err(|error| Error::system("having a connection watched", "epoll_ctl", error))?;
    let (stream, carried) = Counted::new(stream);
    let work = async {
        match settings {
            None => http::by_http1(plan, stream, attempt).await,
            Some(settings) => over_tls(plan, settings, stream, attempt).await,
        }
    };
    let ended = plan.within_limit(attempt, work).await;
    // After silence, too: the server has sent these, and rests for them.
    note_carried(attempt, &carried);
    Ok(ended)
}

fn note_carried(attempt: &RefCell<ApplicationAttempt>, carried: &Rc<Cell<Carried>>) {
    let Carried { sent, received } = carried.get();
    let mut attempt = attempt.borrow_mut();
    (attempt.sent_bytes, attempt.received_bytes) = (Some(sent), Some(received));
}

async fn over_tls(
    plan: &Plan,
    settings: Settings,
    stream: Counted,
    attempt: &RefCell<ApplicationAttempt>,
) -> Tried<()> {
    let Settings { config, other_names } = settings;
    let shaking = TlsConnector::from(Arc::new(config)).connect(plan.name.clone(), stream);
    let mut session = shaking.await.map_err(|error| {
        attempt.borrow_mut().certificate_names = other_names.names();
        other_names.ending(of_io(&error))
    })?;
    let protocol = note_handshake(&session, attempt);
    match plan.layers {
        Layers::Http2 if protocol.as_deref() != Some("h2") => {
            Err(Ending::because(Outcome::NotOffered, "the server agreed on no HTTP/2 by ALPN"))
        }
        Layers::Http2 => http::by_http2(plan, session, attempt).await,
        Layers::Http1 => http::by_http1(plan, session, attempt).await,
        _ => {
            attempt.borrow_mut().note_end();
            // A handshake that is over does not depend on the close of the server.
            let _ = timeout(PARTING, session.shutdown()).await;
            Ok(())
        }
    }
}

/// Notes the outcome of a handshake, and returns the protocol that both agreed on.
fn note_handshake(session: &TlsStream<Counted>, attempt: &RefCell<ApplicationAttempt>) -> Option<String> {
    let mut attempt = attempt.borrow_mut();
    attempt.handshake_ns = Some(attempt.elapsed_ns().saturating_sub(attempt.connect_ns.unwrap_or(0)));
    let (_, tls) = session.get_ref();
    attempt.tls_version = tls.protocol_version().map(|version| format!("{version:?}"));
    attempt.cipher = tls.negotiated_cipher_suite().map(|cipher| format!("{:?}", cipher.suite()));
    attempt.protocol = tls.alpn_protocol().map(|protocol| String::from_utf8_lossy(protocol).into_owned());
    attempt.protocol.clone()
}
