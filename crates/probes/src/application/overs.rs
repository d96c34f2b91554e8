//! One attempt: the layers below HTTP, one over the other.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use sixbench_applications::counted::{Carried, Counted};
use sixbench_applications::runtime;
use sixbench_measure::clock;
use sixbench_packet::Result;
use sixbench_traffic::Cancel;
use socket2::Socket;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::attempt::{ApplicationAttempt, Tried, of_io};
use super::trust::{Settings, Trust};
use super::{Overs, Plan, http, quic};
use crate::local;
use crate::outcome::{Ending, Outcome};
use crate::stream;

/// Time for the close of a connection.
const PARTING: Duration = Duration::from_millis(50);

/// Makes the attempt that begins at this time.
///
/// # Errors
/// `system` where the kernel refuses the means.
pub fn attempt(plan: &Plan, trust: Option<&Trust>, begun_ns: u64) -> Result<ApplicationAttempt> {
    let settings = trust.map(|trust| trust.settings(plan.overs.protocols())).transpose()?;
    let attempt = match settings {
        Some(settings) if plan.overs.is_over_quic() => {
            let attempt = ApplicationAttempt::begin(begun_ns);
            within_limit(plan, attempt, async |attempt| quic::work(plan, settings, attempt).await)?
        }
        settings => over_tcp(plan, settings, begun_ns)?,
    };
    Ok(attempt)
}

fn over_tcp(plan: &Plan, settings: Option<Settings>, begun_ns: u64) -> Result<ApplicationAttempt> {
    let mut attempt = ApplicationAttempt::begin(begun_ns);
    let peer = local::peer(plan.address, plan.port, plan.source);
    let connected = stream::connect(peer, plan.source, plan.timeout_ns)?;
    (attempt.local, attempt.handshake) = (connected.local, connected.handshake);
    match connected.socket {
        Ok(socket) => {
            attempt.connect_ns = Some(attempt.elapsed_ns());
            within_limit(plan, attempt, async |attempt| over_socket(plan, settings, socket, attempt).await)
        }
        Err(ending) => {
            attempt.end(Err(ending));
            Ok(attempt)
        }
    }
}

/// Works until the time of the attempt is over.
fn within_limit<F>(plan: &Plan, attempt: ApplicationAttempt, work: F) -> Result<ApplicationAttempt>
where
    F: AsyncFnOnce(&RefCell<ApplicationAttempt>) -> Tried<()>,
{
    let left_ns = plan.end_ns(attempt.begun_ns).saturating_sub(clock::monotonic_ns());
    let attempt = RefCell::new(attempt);
    let shared = &attempt;
    runtime::block_on(&Cancel::default(), async {
        let ended = timeout(Duration::from_nanos(left_ns), work(shared)).await;
        let ended = ended.unwrap_or_else(|_| Err(Ending::of(Outcome::Silence)));
        shared.borrow_mut().end(ended);
        Ok(())
    })?;
    Ok(attempt.into_inner())
}

async fn over_socket(
    plan: &Plan,
    settings: Option<Settings>,
    socket: Socket,
    attempt: &RefCell<ApplicationAttempt>,
) -> Tried<()> {
    let stream = TcpStream::from_std(socket.into()).map_err(|error| of_io(&error))?;
    let (stream, carried) = Counted::new(stream);
    let ended = match settings {
        None => http::by_one(plan, stream, attempt).await,
        Some(settings) => over_tls(plan, settings, stream, attempt).await,
    };
    note_carried(attempt, &carried);
    ended
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
    match plan.overs {
        Overs::Two if protocol.as_deref() != Some("h2") => {
            Err(Ending::because(Outcome::NotOffered, "the server agreed on no HTTP/2 by ALPN"))
        }
        Overs::Two => http::by_two(plan, session, attempt).await,
        Overs::One => http::by_one(plan, session, attempt).await,
        _ => {
            // Whether the server closes in turn does not matter to a handshake that is over.
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
