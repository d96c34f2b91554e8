//! Questions in requests of HTTP (RFC 8484), by HTTP/2 alone.

use std::future::Future;
use std::io;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::header::{ACCEPT, CONTENT_TYPE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::failure::Failure;
use crate::runtime::LocalExecutor;

const PATH: &str = "/dns-query";
const MESSAGE: &str = "application/dns-message";
const MAX_BYTES: usize = u16::MAX as usize;

/// A connection of HTTP/2 at its client.
pub struct Asking {
    sender: SendRequest<Full<Bytes>>,
    uri: String,
    connection: JoinHandle<()>,
}

impl Asking {
    /// A connection to the server of this name, over a stream on which both agreed on HTTP/2.
    pub async fn open(
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        name: &str,
    ) -> std::result::Result<Self, Failure> {
        let (sender, connection) = http2::handshake(LocalExecutor, TokioIo::new(stream)).await?;
        // Its errors are those of the requests; it ends when nobody can send any more.
        let connection = tokio::task::spawn_local(async move {
            let _ = connection.await;
        });
        Ok(Self { sender, uri: format!("https://{name}{PATH}"), connection })
    }

    /// The answer to a question.
    pub async fn ask(&mut self, question: Vec<u8>) -> std::result::Result<Vec<u8>, Failure> {
        let request = Request::post(&self.uri)
            .header(CONTENT_TYPE, MESSAGE)
            .header(ACCEPT, MESSAGE)
            .body(Full::from(question))
            .map_err(|error| Failure::new("http", error.to_string()))?;
        let response = self.sender.send_request(request).await?;
        if (response.version(), response.status()) != (Version::HTTP_2, StatusCode::OK) {
            let words = format!("the server answered {} by {:?}", response.status(), response.version());
            return Err(Failure::new("wrong-response", words));
        }
        body(response.into_body()).await.map_err(|error| Failure::new("http", error.to_string()))
    }

    /// Closes the connection, in this time at most.
    pub async fn close(self, longest: Duration) {
        drop(self.sender);
        // A connection that does not end in this time is dropped with the others of this side.
        let _ = timeout(longest, self.connection).await;
    }
}

/// Serves a connection to its end. A request for which `answer` has nothing is refused with 400.
pub async fn serve<A: Future<Output = Option<Vec<u8>>>>(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    answer: impl Fn(Vec<u8>) -> A + Clone + 'static,
) -> io::Result<()> {
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answer.clone();
        async move {
            let is_question = request.method() == Method::POST && request.uri().path() == PATH;
            let question = body(request.into_body()).await?;
            let message = if is_question { answer(question).await } else { None };
            Ok::<_, io::Error>(response(message))
        }
    });
    let serving = hyper::server::conn::http2::Builder::new(LocalExecutor);
    serving.serve_connection(TokioIo::new(stream), service).await.map_err(io::Error::other)
}

fn response(message: Option<Vec<u8>>) -> Response<Full<Bytes>> {
    let status = if message.is_some() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let mut response = Response::new(Full::from(message.unwrap_or_default()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(MESSAGE));
    response
}

async fn body(body: Incoming) -> io::Result<Vec<u8>> {
    let collected = Limited::new(body, MAX_BYTES).collect().await.map_err(io::Error::other)?;
    Ok(collected.to_bytes().to_vec())
}
