//! `application` against servers on loopback: right ones, and those that are silent, slow, closing, lying, of another
//! name, or tired of us.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use sixbench_applications::certificates::{self, Chain};
use sixbench_applications::{name, registry};
use sixbench_probes::{Pacer, Result, application};
use sixbench_traffic::{Cancel, Endpoint, Server};
use sixbench_wire::token::Token;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const TOKEN: Token = Token(*b"0123456789abcdef");
const NAME: &str = "www.example.org";
const CHAIN_BYTES: usize = 1_536;
/// A time limit that no right answer on loopback reaches, however busy the machine is.
const PATIENT_NS: u64 = 30_000_000_000;
const IMPATIENT_NS: u64 = 2_000_000_000;

/// A file of the authority of these servers, which is gone with this.
struct Roots(PathBuf);

impl Roots {
    fn of(pem: &str) -> Self {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let path = std::env::temp_dir().join(format!("sixbench-probes-{}-{number}.pem", std::process::id()));
        std::fs::write(&path, pem).unwrap();
        Self(path)
    }
}

impl Drop for Roots {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn try_run(params: Value, pacer: &Pacer) -> Result<Value> {
    let mut request = json!({"address": LOOPBACK, "server_name": NAME, "timeout_ns": PATIENT_NS, "mine": true});
    request.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
    application::run(&serde_json::from_value(request).unwrap(), pacer).map(|result| json!(result))
}

fn run(params: Value) -> Value {
    try_run(params, &Pacer::default()).unwrap()["attempts"][0].clone()
}

/// The lab's server of HTTP, which is served by the same crates as any other.
fn lab_server(version: &str, tls: &str, object_bytes: u64) -> (Box<dyn Server>, Roots, String) {
    let http = registry().iter().find(|workload| workload.name() == "http").unwrap();
    let (logs, progress) = Default::default();
    let endpoint = Endpoint {
        address: LOOPBACK.into(),
        peer: LOOPBACK,
        port: 0,
        token: TOKEN,
        cookie: false,
        certificate: None,
        logs,
        progress,
    };
    let params =
        json!({"count": 1, "version": version, "tls": tls, "object_bytes": object_bytes, "timeout_ns": PATIENT_NS});
    let server = http.serve(&endpoint, &params, &Cancel::default()).unwrap();
    let pem = server.certificate().map(certificates::pem).unwrap_or_default();
    (server, Roots::of(&pem), name::of_trial(&TOKEN))
}

#[test]
fn objects_come_by_all_versions() {
    for (version, tls, alpn) in
        [("1.1", "1.3", "http/1.1"), ("2", "1.3", "h2"), ("3", "1.3", "h3"), ("1.1", "none", "")]
    {
        let (server, roots, name) = lab_server(version, tls, 3_000);
        let attempt = run(json!({
            "workload": "http", "version": version, "clear": tls == "none", "port": server.port(), "server_name": name,
            "path": "/3000", "roots": {"file": roots.0},
        }));
        assert_eq!(
            (&attempt["outcome"], &attempt["status"]),
            (&json!("answered"), &json!(200)),
            "{version}: {attempt}"
        );
        assert_eq!((&attempt["body_bytes"], &attempt["body_whole"]), (&json!(3_000), &json!(true)));
        assert_eq!((&attempt["source"], &attempt["interface"]), (&json!(LOOPBACK), &json!("lo")));
        assert!(attempt["first_byte_ns"].as_u64() <= attempt["total_ns"].as_u64());
        assert!(attempt["received_bytes"].as_u64() > Some(3_000));
        assert_eq!(attempt["connect_ns"].is_u64(), version != "3");
        assert_eq!(attempt["protocol"].as_str().unwrap_or_default(), alpn);
        assert_eq!(attempt["handshake_ns"].is_u64(), tls != "none");
    }
}

#[test]
fn a_body_is_read_as_far_as_was_asked_for() {
    for version in ["1.1", "2", "3"] {
        let (server, roots, name) = lab_server(version, "1.3", 200_000);
        let attempt = run(json!({
            "workload": "http", "version": version, "port": server.port(), "server_name": name, "path": "/200000",
            "roots": {"file": roots.0}, "max_bytes": 50_000,
        }));
        assert_eq!((&attempt["outcome"], &attempt["body_whole"]), (&json!("answered"), &json!(false)), "{attempt}");
        assert_eq!(attempt["body_bytes"], 50_000);
    }
}

#[test]
fn handshakes_alone_are_measured_too() {
    let (server, roots, name) = lab_server("3", "1.3", 3_000);
    let quic = run(json!({
        "workload": "quic-connect", "port": server.port(), "server_name": name, "roots": {"file": roots.0},
    }));
    assert_eq!((&quic["outcome"], &quic["protocol"]), (&json!("answered"), &json!("h3")), "{quic}");
    assert!(quic["handshake_ns"].is_u64() && quic["status"].is_null());
    let (server, roots, name) = lab_server("2", "1.3", 3_000);
    let tls = run(json!({"workload": "tls", "port": server.port(), "server_name": name, "roots": {"file": roots.0}}));
    assert_eq!((&tls["outcome"], &tls["protocol"]), (&json!("answered"), &json!("h2")), "{tls}");
    assert_eq!(tls["tls_version"], "TLSv1_3");
}

#[test]
fn what_is_not_trusted_or_not_offered_has_a_word() {
    for (version, workload) in [("2", "tls"), ("3", "quic-connect")] {
        let (server, roots, name) = lab_server(version, "1.3", 3_000);
        let stranger = certificates::chain(NAME, CHAIN_BYTES).unwrap();
        let other_roots = Roots::of(&stranger.authority_pem());
        let untrusted = run(json!({
            "workload": workload, "port": server.port(), "server_name": name, "roots": {"file": other_roots.0},
        }));
        assert_eq!(untrusted["outcome"], "tls", "{untrusted}");
        drop(roots);
    }
    let (server, roots, name) = lab_server("2", "1.3", 3_000);
    let only_two = run(json!({
        "workload": "http", "version": "1.1", "port": server.port(), "server_name": name, "roots": {"file": roots.0},
    }));
    assert_eq!(only_two["outcome"], "not-offered", "{only_two}");
}

/// A server that does this with each connection.
fn tcp_server(does: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((LOOPBACK, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let does = Arc::new(does);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let does = Arc::clone(&does);
            thread::spawn(move || does(stream));
        }
    });
    address
}

/// A server of TLS with a certificate of this name, that does this behind the handshake. With its authority.
fn tls_server(
    of: &str,
    does: impl Fn(StreamOwned<ServerConnection, TcpStream>) + Send + Sync + 'static,
) -> (SocketAddr, Roots) {
    let chain = certificates::chain(of, CHAIN_BYTES).unwrap();
    let roots = Roots::of(&chain.authority_pem());
    let Chain { sent, key, .. } = chain;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(sent, key)
        .unwrap();
    let config = Arc::new(config);
    let address = tcp_server(move |stream| {
        does(StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream));
    });
    (address, roots)
}

/// Reads a request, and writes an answer.
fn answering(answer: &'static [u8]) -> impl Fn(StreamOwned<ServerConnection, TcpStream>) + Send + Sync {
    move |mut session| {
        let _ = session.read(&mut [0; 4_000]);
        let _ = session.write_all(answer);
        let _ = session.flush();
        session.conn.send_close_notify();
        let _ = session.flush();
    }
}

#[test]
fn servers_of_tls_1_2_are_measured_too() {
    let chain = certificates::chain(NAME, CHAIN_BYTES).unwrap();
    let roots = Roots::of(&chain.authority_pem());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.sent, chain.key)
        .unwrap();
    let config = Arc::new(config);
    let address = tcp_server(move |stream| {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        let _ = StreamOwned::new(connection, stream).read(&mut [0; 10]);
    });
    let attempt = run(json!({"workload": "tls", "port": address.port(), "roots": {"file": roots.0}}));
    assert_eq!((&attempt["outcome"], &attempt["tls_version"]), (&json!("answered"), &json!("TLSv1_2")), "{attempt}");
    assert!(attempt["protocol"].is_null(), "the server agreed on none");
}

#[test]
fn a_certificate_of_another_name_is_a_portal() {
    for authority_is_known in [true, false] {
        let (address, roots) = tls_server("portal.hotel.example", answering(b""));
        let stranger = Roots::of(&certificates::chain(NAME, CHAIN_BYTES).unwrap().authority_pem());
        let file = if authority_is_known { &roots.0 } else { &stranger.0 };
        let attempt = run(json!({"workload": "tls", "port": address.port(), "roots": {"file": file}}));
        assert_eq!(attempt["outcome"], "other-name", "{attempt}");
        let names = attempt["certificate_names"].to_string();
        assert!(names.contains("portal.hotel.example"), "{names}");
    }
}

#[test]
fn a_server_that_asks_for_it_is_left_alone() {
    let answer: &[u8] =
        b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 120\r\nServer: t\x1b[2J\r\nContent-Length: 0\r\n\r\n";
    let (address, roots) = tls_server(NAME, answering(answer));
    let pacer = Pacer::default();
    let params = json!({
        "workload": "http", "port": address.port(), "roots": {"file": roots.0}, "count": 3, "mine": false,
        "timeout_ns": PATIENT_NS,
    });
    let result = try_run(params.clone(), &pacer);
    // A header with a control character is no HTTP.
    let refused = result.unwrap();
    assert_eq!(refused["attempts"][0]["outcome"], "protocol", "{refused}");
    let answer: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 120\r\nServer: t\r\nContent-Length: 0\r\n\r\n";
    let (address, roots) = tls_server(NAME, answering(answer));
    let mut params = params;
    params["port"] = json!(address.port());
    params["roots"] = json!({"file": roots.0});
    let pacer = Pacer::default();
    let result = try_run(params.clone(), &pacer).unwrap();
    assert_eq!((result["attempts"].as_array().unwrap().len(), &result["stopped"]), (1, &json!("retry-after")));
    let attempt = &result["attempts"][0];
    assert_eq!((&attempt["outcome"], &attempt["status"]), (&json!("answered"), &json!(429)));
    assert_eq!((&attempt["retry_after_s"], &attempt["server"]), (&json!(120), &json!("t")));
    let refusal = try_run(params, &pacer).unwrap_err();
    assert_eq!(refusal.context["retry_after_s"], 120);
}

#[test]
fn a_server_that_asked_another_request_for_it_is_left_alone() {
    let pacer = Arc::new(Pacer::default());
    let others = Arc::clone(&pacer);
    let address = tcp_server(move |mut stream| {
        let _ = stream.read(&mut [0; 4_000]);
        // Another request is answered by 429 at this time.
        others.hold(LOOPBACK, 3_600);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    let params = json!({"workload": "http", "clear": true, "port": address.port(), "count": 2, "mine": false});
    let result = try_run(params, &pacer).unwrap();
    assert_eq!((result["attempts"].as_array().unwrap().len(), &result["stopped"]), (1, &json!("retry-after")));
    assert_eq!(result["attempts"][0]["outcome"], "answered", "{result}");
}

#[test]
fn answers_that_lie_about_themselves_have_a_word() {
    let cases: [(&'static [u8], &str); 6] = [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "closed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", "protocol"),
        (b"HTTP/1.1 999999 OK\r\n\r\n", "protocol"),
        (b"", "closed"),
    ];
    for (answer, outcome) in cases {
        let (address, roots) = tls_server(NAME, answering(answer));
        let attempt = run(json!({"workload": "http", "port": address.port(), "roots": {"file": roots.0}}));
        assert_eq!(attempt["outcome"], outcome, "{}: {attempt}", String::from_utf8_lossy(answer));
    }
}

#[test]
fn heads_and_bodies_without_end_are_not_read_to_it() {
    let (address, roots) = tls_server(NAME, |mut session| {
        let _ = session.read(&mut [0; 4_000]);
        let _ = session.write_all(b"HTTP/1.1 200 OK\r\n");
        while session.write_all(b"X-More: 0123456789012345678901234567890123456789\r\n").is_ok() {}
    });
    let attempt = run(json!({"workload": "http", "port": address.port(), "roots": {"file": roots.0}}));
    assert_eq!(attempt["outcome"], "protocol", "{attempt}");
    let (address, roots) = tls_server(NAME, |mut session| {
        let _ = session.read(&mut [0; 4_000]);
        let _ = session.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while session.write_all(&[b'6'; 10_000]).is_ok() {}
    });
    let attempt = run(json!({"workload": "http", "port": address.port(), "roots": {"file": roots.0}}));
    assert_eq!((&attempt["outcome"], &attempt["body_whole"]), (&json!("answered"), &json!(false)), "{attempt}");
    assert_eq!(attempt["body_bytes"], 1 << 20);
}

#[test]
fn peers_that_speak_nothing_of_it_have_a_word() {
    let silent = tcp_server(|stream| {
        thread::sleep(Duration::from_secs(600));
        drop(stream);
    });
    let port = silent.port();
    let silence = run(json!({"workload": "tls", "port": port, "timeout_ns": IMPATIENT_NS}));
    assert_eq!((&silence["outcome"], &silence["total_ns"]), (&json!("silence"), &Value::Null));
    assert!(silence["connect_ns"].is_u64());
    assert_eq!(silence["received_bytes"], 0, "bytes are counted up to the time limit");
    let closing = tcp_server(|mut stream| drop(stream.read(&mut [0; 4_000])));
    assert_eq!(run(json!({"workload": "tls", "port": closing.port()}))["outcome"], "closed");
    let resetting = tcp_server(|stream| {
        let socket = socket2::Socket::from(stream);
        socket.set_linger(Some(Duration::ZERO)).unwrap();
    });
    assert_eq!(run(json!({"workload": "tls", "port": resetting.port()}))["outcome"], "reset");
    let clear = tcp_server(|mut stream| {
        let _ = stream.read(&mut [0; 4_000]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        let _ = stream.read(&mut [0; 4_000]);
    });
    assert_eq!(run(json!({"workload": "tls", "port": clear.port()}))["outcome"], "protocol");
}

#[test]
fn http_3_that_is_blocked_is_silent_and_that_is_not_there_is_refused() {
    let silent = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    let attempt =
        |timeout_ns: u64| run(json!({"workload": "http", "version": "3", "port": port, "timeout_ns": timeout_ns}));
    assert_eq!(attempt(IMPATIENT_NS)["outcome"], "silence");
    drop(silent);
    let refused = attempt(PATIENT_NS);
    assert_eq!((&refused["outcome"], &refused["icmp"]["code"]), (&json!("refused"), &json!(3)), "{refused}");
}

#[test]
fn a_datagram_of_nonsense_changes_nothing() {
    let nonsense = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    let port = nonsense.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut buffer = [0; 2_000];
        while let Ok((bytes, from)) = nonsense.recv_from(&mut buffer) {
            buffer[..bytes].reverse();
            let _ = nonsense.send_to(&buffer[..bytes], from);
            let _ = nonsense.send_to(&[0xff; 1_500], from);
            let _ = nonsense.send_to(&[], from);
        }
    });
    let attempt = run(json!({"workload": "quic-connect", "port": port, "timeout_ns": IMPATIENT_NS}));
    assert_eq!(attempt["outcome"], "silence", "{attempt}");
}

#[test]
fn a_file_without_authorities_is_refused() {
    let nothing = Roots::of("nothing\n");
    let error = try_run(json!({"workload": "tls", "roots": {"file": nothing.0}}), &Pacer::default()).unwrap_err();
    assert!(error.message.contains("no certificates"), "{error}");
    let error = try_run(json!({"workload": "tls", "roots": {"file": "/nonexistent"}}), &Pacer::default()).unwrap_err();
    assert!(error.message.contains("/nonexistent"), "{error}");
}
