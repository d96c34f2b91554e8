//! Objects by HTTP/1.1 and 2. Those by HTTP/3 share the request and the account.

use std::cell::RefCell;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::header::{ACCEPT, CONNECTION, HOST, HeaderMap, USER_AGENT as AGENT};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use sixbench_applications::runtime::LocalExecutor;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;

use super::attempt::{ApplicationAttempt, Tried, of_hyper};
use super::head::Head;
use super::{Layers, Plan, USER_AGENT};
use crate::outcome::{Ending, Outcome};

/// The longest head of a stranger's answer.
pub const MAX_HEAD_BYTES: u32 = 64 << 10;
/// Bytes of a body that may be on their way before they are read: the longest body that is read.
const WINDOW_BYTES: u32 = super::MAX_BODY_BYTES as u32;

/// The request for the object, with its URI in full where the version has no header for the host.
pub fn request<B>(plan: &Plan, body: B) -> Tried<Request<B>> {
    let builder = match plan.layers {
        Layers::ClearHttp1 | Layers::Http1 => {
            Request::get(&plan.path).header(HOST, &plan.authority).header(CONNECTION, "close")
        }
        _ => Request::get(format!("https://{}{}", plan.authority, plan.path)),
    };
    let built = builder.header(AGENT, USER_AGENT).header(ACCEPT, "*/*").body(body);
    built.map_err(|error| Ending::because(Outcome::Protocol, error.to_string()))
}

/// Fetches the object by HTTP/1.1.
pub async fn by_http1(
    plan: &Plan,
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    attempt: &RefCell<ApplicationAttempt>,
) -> Tried<()> {
    let request = request(plan, Empty::<Bytes>::new())?;
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_HEAD_BYTES as usize)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| of_hyper(&error))?;
    // The errors of the driver are those of the request.
    let mut driver = JoinSet::new();
    driver.spawn_local(async move { drop(connection.await) });
    let response = sender.send_request(request).await.map_err(|error| of_hyper(&error))?;
    read(plan, response, attempt).await
}

/// Fetches the object by HTTP/2.
pub async fn by_http2(
    plan: &Plan,
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    attempt: &RefCell<ApplicationAttempt>,
) -> Tried<()> {
    let request = request(plan, Empty::<Bytes>::new())?;
    let (mut sender, connection) = http2::Builder::new(LocalExecutor)
        .max_header_list_size(MAX_HEAD_BYTES)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| of_hyper(&error))?;
    let mut driver = JoinSet::new();
    driver.spawn_local(async move { drop(connection.await) });
    let response = sender.send_request(request).await.map_err(|error| of_hyper(&error))?;
    read(plan, response, attempt).await
}

async fn read(plan: &Plan, response: Response<Incoming>, attempt: &RefCell<ApplicationAttempt>) -> Tried<()> {
    note_head(response.status(), response.headers(), attempt);
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| of_hyper(&error))?;
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        if !note_body(plan, bytes, attempt) {
            return Ok(());
        }
    }
    attempt.borrow_mut().body_whole = Some(true);
    Ok(())
}

/// Notes the head of an answer that is there now.
pub fn note_head(status: StatusCode, headers: &HeaderMap, attempt: &RefCell<ApplicationAttempt>) {
    let mut attempt = attempt.borrow_mut();
    attempt.first_byte_ns = Some(attempt.elapsed_ns());
    attempt.head = Head::read(status.as_u16(), headers, Plan::now());
    attempt.body_bytes = Some(0);
}

/// Notes bytes of the body. Returns false when there are as many as are to be read.
pub fn note_body(plan: &Plan, bytes: usize, attempt: &RefCell<ApplicationAttempt>) -> bool {
    let mut attempt = attempt.borrow_mut();
    let total = attempt.body_bytes.unwrap_or(0) + bytes as u64;
    attempt.body_bytes = Some(total.min(plan.max_bytes));
    if total > plan.max_bytes {
        attempt.body_whole = Some(false);
    }
    total <= plan.max_bytes
}
