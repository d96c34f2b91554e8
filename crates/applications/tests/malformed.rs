//! Servers that are silent, slow, half closed, closing, endless or lying, at each layer of each workload: its client
//! ends with a reason in its time limit, and leaves no thread.
//!
//! One test, since threads are counted.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Connection, RecvStream, SendStream, VarInt};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Map, Value, json};
use sixbench_applications::certificates::{self, Chain};
use sixbench_applications::{name, registry};
use sixbench_traffic::{Cancel, Certificate, Code, Endpoint, Workload};
use sixbench_wire::token::Token;

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const TOKEN: Token = Token(*b"0123456789abcdef");
/// The name of the servers' threads, which are not counted.
const PEER: &str = "peer";
/// Time limit of each client.
const TIMEOUT_NS: u64 = 100_000_000;
/// Time limit of a client whose connection must not look idle, however busy the machine is.
const BUSY_NS: u64 = 1_000_000_000;
/// Clients that run at once. Most of them wait.
const AT_ONCE: usize = 8;
const PATIENCE: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(2);

/// The layer at which a server does not do its part. Those below it work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Udp,
    Tcp,
    /// TLS with this protocol by ALPN.
    Tls(&'static str),
    /// QUIC with this protocol by ALPN.
    Quic(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conduct {
    /// It says nothing.
    Silent,
    /// It closes at once.
    Closing,
    /// It sends no more, but reads to the end.
    HalfClosed,
    /// It sends a byte now and then, and never an end.
    Slow,
    /// It sends as much as it can.
    Endless,
    /// It answers in another protocol.
    Lying,
    /// It announces more than it sends.
    Promising,
    /// It says that the answer is still to come, again and again.
    Deferring,
}

use Conduct::{Closing, Deferring, Endless, HalfClosed, Lying, Promising, Silent, Slow};

const OF_STREAMS: [Conduct; 8] = [Silent, Closing, HalfClosed, Slow, Endless, Lying, Promising, Deferring];
/// Closing after the handshake is what a server of `tls` is to do.
const AFTER_HANDSHAKES: [Conduct; 6] = [Silent, Slow, Endless, Lying, Promising, Deferring];
const OF_DATAGRAMS: [Conduct; 4] = [Silent, Endless, Lying, Promising];

/// A workload with parameters, the layer at which its server is malformed, and what that does there.
type Case = (&'static str, Value, Layer, Conduct);

fn cases() -> Vec<Case> {
    let all = groups().into_iter();
    all.flat_map(|(name, params, layer, conducts)| conducts.iter().map(move |it| (name, params.clone(), layer, *it)))
        .collect()
}

fn groups() -> Vec<(&'static str, Value, Layer, &'static [Conduct])> {
    let mut cases: Vec<(&'static str, Value, Layer, &'static [Conduct])> = Vec::new();
    for session in ["full", "resumed"] {
        let params = json!({"count": 1, "session": session});
        cases.push(("tls", params.clone(), Layer::Tcp, &OF_STREAMS));
        cases.push(("tls", params, Layer::Tls("sixbench"), &AFTER_HANDSHAKES));
    }
    for connection in ["new", "kept"] {
        let with = |more: Value| with(&json!({"count": 1, "connection": connection}), &more);
        for (version, protocol) in [("1.1", "http/1.1"), ("2", "h2")] {
            cases.push(("http", with(json!({"version": version, "tls": "none"})), Layer::Tcp, &OF_STREAMS));
            cases.push(("http", with(json!({"version": version})), Layer::Tls(protocol), &OF_STREAMS));
        }
        cases.push(("http", with(json!({"version": "3"})), Layer::Quic("h3"), &OF_STREAMS));
        cases.push(("dns", with(json!({"over": "udp"})), Layer::Udp, &OF_DATAGRAMS));
        cases.push(("dns", with(json!({"over": "tcp"})), Layer::Tcp, &OF_STREAMS));
        cases.push(("dns", with(json!({"over": "tls"})), Layer::Tls("dot"), &OF_STREAMS));
        cases.push(("dns", with(json!({"over": "https"})), Layer::Tls("h2"), &OF_STREAMS));
        cases.push(("dns", with(json!({"over": "quic"})), Layer::Quic("doq"), &OF_STREAMS));
    }
    for (name, key, values, layer, conducts) in [
        ("http", "version", ["1.1", "2"], Layer::Tcp, &OF_STREAMS[..]),
        ("dns", "over", ["tls", "https"], Layer::Tcp, &OF_STREAMS),
    ] {
        cases.extend(values.map(|value| (name, json!({"count": 1, key: value}), layer, conducts)));
    }
    cases.push(("http", json!({"count": 1, "version": "3"}), Layer::Udp, &OF_DATAGRAMS));
    cases.push(("dns", json!({"count": 1, "over": "quic"}), Layer::Udp, &OF_DATAGRAMS));
    for session in ["full", "resumed", "0-rtt"] {
        let params = json!({"count": 1, "session": session});
        cases.push(("quic-connect", params.clone(), Layer::Udp, &OF_DATAGRAMS));
        cases.push(("quic-connect", params, Layer::Quic("sixbench"), &OF_STREAMS));
    }
    // More than flow control lets a client send to a server that does not read, and a time that only a server ends.
    let (bytes, time) = (json!({"bytes": 64 << 20}), json!({"duration_ns": TIMEOUT_NS, "timeout_ns": BUSY_NS}));
    cases.push(("quic-stream", bytes.clone(), Layer::Udp, &OF_DATAGRAMS));
    cases.push(("quic-stream", bytes, Layer::Quic("sixbench"), &[Silent, Closing, HalfClosed, Slow]));
    cases.push(("quic-stream", time, Layer::Quic("sixbench"), &[Silent, Closing, Slow, Endless]));
    cases
}

fn with(params: &Value, more: &Value) -> Value {
    let objects = [params, more].map(|value| value.as_object().cloned().unwrap_or_default());
    Value::Object(objects.into_iter().flatten().collect::<Map<_, _>>())
}

#[test]
fn each_client_ends_with_a_reason_and_leaves_no_thread() {
    let before = threads();
    let (left, wrong) = (Mutex::new(cases()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = { left.lock().unwrap().pop() } {
                    wrong.lock().unwrap().extend(wrong_end(&case));
                }
            });
        }
    });
    assert_eq!(wrong.into_inner().unwrap(), Vec::<String>::new());
    // The kernel shows those that have ended for a moment.
    let patience = Instant::now() + PATIENCE;
    while threads() != before {
        assert!(Instant::now() < patience, "left: {:?}, before: {before:?}", threads());
        thread::sleep(STEP);
    }
}

/// The end of a client, where that is no failure with a reason.
fn wrong_end((name, params, layer, conduct): &Case) -> Option<String> {
    let (port, authority) = serve(*layer, *conduct);
    let params = with(&json!({"timeout_ns": TIMEOUT_NS}), params);
    let ended = match workload(name).run(&endpoint(port, authority), &params, &Cancel::default()) {
        Err(error) if matches!(error.code, Code::Timeout | Code::PeerLost) => return None,
        Err(error) => error.to_string(),
        Ok(result) => {
            let failed: Vec<_> = result["failed"].as_object().into_iter().flatten().collect();
            if result["transactions"] == 0 && matches!(failed[..], [(reason, _)] if !reason.is_empty()) {
                return None;
            }
            result.to_string()
        }
    };
    Some(format!("{name} {params}, {layer:?}, {conduct:?}: {ended:.400}"))
}

fn workload(name: &str) -> &'static dyn Workload {
    *registry().iter().find(|workload| workload.name() == name).unwrap()
}

fn endpoint(port: u16, certificate: Certificate) -> Endpoint {
    Endpoint {
        address: LOCALHOST.into(),
        peer: LOCALHOST,
        port,
        token: TOKEN,
        cookie: false,
        certificate: Some(certificate),
        logs: Default::default(),
        progress: Default::default(),
    }
}

/// The names of this process's threads but the servers'.
fn threads() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    // One may end in between.
    let names = tasks.flat_map(|task| fs::read_to_string(task.path().join("comm")));
    let mut names: Vec<_> = names.map(|name| name.trim().to_owned()).filter(|name| name != PEER).collect();
    names.sort();
    names
}

fn spawn(work: impl FnOnce() + Send + 'static) {
    thread::Builder::new().name(PEER.to_owned()).spawn(work).unwrap();
}

/// The port of a server that has a certificate of the trial's, and who signed that.
fn serve(layer: Layer, conduct: Conduct) -> (u16, Certificate) {
    let chain = certificates::chain(&name::of_trial(&TOKEN), 1_536).unwrap();
    let authority = chain.authority.clone();
    let port = match layer {
        Layer::Udp => serve_datagrams(conduct),
        Layer::Tcp => serve_streams(None, conduct),
        Layer::Tls(protocol) => serve_streams(Some(Arc::new(config(chain, protocol))), conduct),
        Layer::Quic(protocol) => serve_quic(config(chain, protocol), conduct),
    };
    (port, authority)
}

fn config(chain: Chain, protocol: &str) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key: PrivateKeyDer<'static> = chain.key;
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS13]);
    let mut config = builder.unwrap().with_no_client_auth().with_single_cert(chain.sent, key).unwrap();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    config.max_early_data_size = u32::MAX;
    config
}

const LIE: &[u8] = b"HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n";
/// A frame of HTTP/2, a message of DNS and a record of TLS that would be long.
const PROMISE: &[u8] = b"\x16\x03\x03\x40\x00";
const DEFERRAL: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Bytes that a server sends again and again.
fn repeated(conduct: Conduct) -> &'static [u8] {
    match conduct {
        Slow => b"\0",
        Deferring => DEFERRAL,
        _ => &[0; 16_384],
    }
}

fn serve_datagrams(conduct: Conduct) -> u16 {
    let socket = UdpSocket::bind((LOCALHOST, 0)).unwrap();
    let port = socket.local_addr().unwrap().port();
    spawn(move || {
        let mut buffer = [0; 2_048];
        while let Ok((bytes, from)) = socket.recv_from(&mut buffer) {
            let _ = match conduct {
                // The question itself, as if it were the answer.
                Lying => socket.send_to(&buffer[..bytes], from),
                Promising => socket.send_to(&buffer[..bytes / 2], from),
                Endless => (0..200).try_fold(0, |_, _| socket.send_to(&[0xc0; 1_200], from)),
                _ => Ok(0),
            };
        }
    });
    port
}

/// A connection at its server, over TLS or not.
enum Stream {
    Clear(TcpStream),
    Secured(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Stream {
    fn new(mut stream: TcpStream, config: Option<&Arc<ServerConfig>>) -> io::Result<Self> {
        let Some(config) = config else { return Ok(Self::Clear(stream)) };
        let mut tls = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        while tls.is_handshaking() || tls.wants_write() {
            tls.complete_io(&mut stream)?;
        }
        Ok(Self::Secured(Box::new(StreamOwned::new(tls, stream))))
    }

    fn read(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 4_096];
        match self {
            Self::Clear(stream) => stream.read(&mut buffer),
            Self::Secured(stream) => stream.read(&mut buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Clear(stream) => stream.write_all(bytes),
            Self::Secured(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    fn end_sending(&mut self) -> io::Result<()> {
        match self {
            Self::Clear(stream) => stream.shutdown(Shutdown::Write),
            Self::Secured(stream) => {
                stream.conn.send_close_notify();
                stream.flush()
            }
        }
    }

    fn conduct(mut self, conduct: Conduct) -> io::Result<()> {
        match conduct {
            Closing => return Ok(()),
            // Not even when the client has closed.
            Silent => {
                std::mem::forget(self);
                return Ok(());
            }
            HalfClosed => self.end_sending()?,
            Slow | Endless | Deferring => loop {
                self.write(repeated(conduct))?;
                if conduct == Slow {
                    thread::sleep(STEP);
                }
            },
            Lying | Promising => {
                self.read()?;
                self.write(if conduct == Lying { LIE } else { PROMISE })?;
            }
        }
        while self.read()? > 0 {}
        Ok(())
    }
}

fn serve_streams(config: Option<Arc<ServerConfig>>, conduct: Conduct) -> u16 {
    let listener = TcpListener::bind((LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = config.clone();
            // A client that has given up is no failure here.
            spawn(move || drop(Stream::new(stream, config.as_ref()).and_then(|stream| stream.conduct(conduct))));
        }
    });
    port
}

fn serve_quic(config: ServerConfig, conduct: Conduct) -> u16 {
    let config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(config).unwrap()));
    let socket = UdpSocket::bind((LOCALHOST, 0)).unwrap();
    let port = socket.local_addr().unwrap().port();
    spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let runtime = Arc::new(quinn::TokioRuntime);
            let quic = quinn::Endpoint::new(quinn::EndpointConfig::default(), Some(config), socket, runtime).unwrap();
            while let Some(incoming) = quic.accept().await {
                tokio::spawn(async move {
                    if let Ok(connection) = incoming.await {
                        let _ = conduct_quic(connection, conduct).await;
                    }
                });
            }
        });
    });
    port
}

async fn conduct_quic(connection: Connection, conduct: Conduct) -> io::Result<()> {
    if conduct == Closing {
        connection.close(VarInt::from_u32(0), b"");
        return Ok(());
    }
    if conduct != Silent {
        tokio::select! {
            bidirectional = connection.accept_bi() => {
                let (send, receive) = bidirectional?;
                conduct_stream(send, receive, conduct).await?;
            }
            unidirectional = connection.accept_uni() => {
                let mut receive = unidirectional?;
                // A stream of HTTP/3's beginning, or the data of `quic-stream`, of which it reads some or none.
                let (send, mut asked) = tokio::select! {
                    bidirectional = connection.accept_bi() => bidirectional?,
                    () = read_on(&mut receive, conduct) => {
                        connection.closed().await;
                        return Ok(());
                    }
                };
                let _ = asked.read(&mut [0]).await;
                conduct_stream(send, asked, conduct).await?;
            }
        }
    }
    connection.closed().await;
    Ok(())
}

async fn read_on(receive: &mut RecvStream, conduct: Conduct) {
    match conduct {
        Endless => while let Ok(Some(1..)) = receive.read(&mut [0; 65_536]).await {},
        Slow => {
            while let Ok(Some(1..)) = receive.read(&mut [0]).await {
                tokio::time::sleep(STEP).await;
            }
        }
        _ => std::future::pending().await,
    }
}

async fn conduct_stream(mut send: SendStream, _receive: RecvStream, conduct: Conduct) -> io::Result<()> {
    match conduct {
        Silent | Closing => {}
        HalfClosed => send.finish()?,
        Lying => {
            send.write_all(LIE).await?;
            send.finish()?;
        }
        Promising => send.write_all(PROMISE).await?,
        Slow | Endless | Deferring => loop {
            send.write_all(repeated(conduct)).await?;
            if conduct == Slow {
                tokio::time::sleep(STEP).await;
            }
        },
    }
    let _ = send.stopped().await;
    Ok(())
}
