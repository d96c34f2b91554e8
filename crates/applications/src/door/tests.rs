use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};

use serde_json::{Value, json};
use sixbench_traffic::cookie::{COOKIE_BYTES, Kind, Message};
use sixbench_traffic::{Cancel, Code, Endpoint, Workload};
use socket2::{Domain, Socket, Type};

use super::{Arrival, Carrier, Door, MAX_SILENT, enter};
use crate::dns::Dns;
use crate::http::Http;
use crate::loopback::{LOOPBACK, TOKEN, endpoint, finish, run, serve_anybody, unknown_client_of};
use crate::quic_connect::QuicConnect;
use crate::quic_stream::QuicStream;
use crate::tls::Tls;

/// Where strangers are.
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// Every protocol that a server may have: the workload, its parameters, and a number of the server's result.
fn protocols() -> Vec<(&'static dyn Workload, Value, &'static str, u64)> {
    vec![
        (&Tls, json!({"count": 3}), "transactions", 3),
        (&Tls, json!({"count": 3, "session": "resumed", "early_data": true}), "early", 3),
        (&QuicConnect, json!({"count": 3}), "transactions", 3),
        (&QuicConnect, json!({"count": 3, "retry": true}), "retries", 3),
        (&QuicStream, json!({"bytes": 300_001}), "received_bytes", 300_001),
        (&Http, json!({"count": 3, "objects": 5}), "requests", 15),
        (&Http, json!({"count": 3, "objects": 5, "tls": "none"}), "requests", 15),
        (&Http, json!({"count": 3, "objects": 5, "version": "2"}), "requests", 15),
        (&Http, json!({"count": 3, "objects": 5, "version": "3"}), "requests", 15),
        (&Dns, json!({"count": 3}), "transactions", 3),
        (&Dns, json!({"count": 3, "answer_bytes": 2_000}), "truncated", 3),
        (&Dns, json!({"count": 3, "over": "tcp"}), "transactions", 3),
        (&Dns, json!({"count": 3, "over": "tls"}), "transactions", 3),
        (&Dns, json!({"count": 3, "over": "https"}), "transactions", 3),
        (&Dns, json!({"count": 3, "over": "quic"}), "transactions", 3),
    ]
}

#[test]
fn every_protocol_is_served_to_who_enters() {
    for address in LOOPBACK {
        for (workload, params, key, expected) in protocols() {
            let server = serve_anybody(workload, address, &params);
            let client = run(workload, &unknown_client_of(&*server, address), &params);
            let served = finish(server);
            assert_eq!(served[key], expected, "{} {params} over {address}: {client} {served}", workload.name());
            assert_eq!(served["strays"], json!({"connections": 0, "datagrams": 0}), "{params}: {served}");
            assert_eq!(served["failed"], 0, "{params}: {served}");
        }
    }
}

fn message(kind: Kind, cookie: [u8; COOKIE_BYTES]) -> [u8; 32] {
    Message { token: TOKEN.short(), cookie, kind }.encode()
}

/// A packet of QUIC of a version that nobody has (RFC 9000 section 15), to which a server of QUIC answers.
fn of_unknown_version() -> Vec<u8> {
    let mut packet = vec![0; 1_200];
    packet[..6].copy_from_slice(&[0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8]);
    packet
}

#[test]
fn strangers_are_sent_nothing_by_udp() {
    for (workload, params) in [
        (&QuicConnect as &dyn Workload, json!({"count": 2})),
        (&Http, json!({"count": 2, "version": "3"})),
        (&Dns, json!({"count": 2})),
        (&Dns, json!({"count": 2, "over": "quic"})),
    ] {
        let server = serve_anybody(workload, LOOPBACK[0], &params);
        let stranger = UdpSocket::bind((ELSEWHERE, 0)).unwrap();
        stranger.connect((LOOPBACK[0], server.port())).unwrap();
        let client = unknown_client_of(&*server, LOOPBACK[0]);
        for datagram in [&of_unknown_version()[..], b"?", &message(Kind::Echo, [7; COOKIE_BYTES])] {
            stranger.send(datagram).unwrap();
        }
        // A server takes datagrams in their order, so that after the client's it has taken those.
        assert_eq!(run(workload, &client, &params)["transactions"], 2);
        // There is a client now: who has only the token is not asked for a cookie any more.
        for datagram in [&of_unknown_version()[..], &message(Kind::Ask, [0; COOKIE_BYTES])] {
            stranger.send(datagram).unwrap();
        }
        assert_eq!(run(workload, &client, &params)["transactions"], 2);
        stranger.set_nonblocking(true).unwrap();
        assert_eq!(stranger.recv(&mut [0; 2_000]).unwrap_err().kind(), ErrorKind::WouldBlock, "{params}");
        let served = finish(server);
        assert_eq!(served["strays"], json!({"connections": 0, "datagrams": 5}), "{}: {served}", workload.name());
    }
}

fn dial(port: u16, from: IpAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::new(from, 0).into()).unwrap();
    socket.connect(&SocketAddr::new(LOOPBACK[0], port).into()).unwrap();
    socket.into()
}

fn is_closed(mut stream: TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn connections_of_strangers_are_closed_and_silent_ones_keep_no_client_out() {
    for (workload, params) in [
        (&Tls as &dyn Workload, json!({"count": 2})),
        (&Http, json!({"count": 2, "tls": "none"})),
        (&Http, json!({"count": 2, "version": "2"})),
        (&Dns, json!({"count": 2, "over": "tcp"})),
    ] {
        let server = serve_anybody(workload, LOOPBACK[0], &params);
        let silent: Vec<_> = (0..MAX_SILENT + 6).map(|_| dial(server.port(), ELSEWHERE)).collect();
        let mut lying = dial(server.port(), LOOPBACK[0]);
        lying.write_all(&[0x5a; 32]).unwrap();
        assert!(is_closed(lying));
        assert_eq!(run(workload, &unknown_client_of(&*server, LOOPBACK[0]), &params)["transactions"], 2);
        assert!(is_closed(dial(server.port(), ELSEWHERE)), "there is a client now");
        drop(silent);
        let served = finish(server);
        // Seven silent ones made room, and two others are none of the trial's.
        assert!(served["strays"]["connections"].as_u64().unwrap() >= 9, "{}: {served}", workload.name());
    }
}

#[test]
fn the_first_address_that_echoes_its_cookie_is_the_peer() {
    let door = Door::of(&Endpoint { peer: Ipv4Addr::UNSPECIFIED.into(), ..endpoint(LOOPBACK[0], 0, None) }).unwrap();
    let [client, other_port] = [7, 8].map(|port| SocketAddr::new(LOOPBACK[0], port));
    let elsewhere = SocketAddr::new(ELSEWHERE, 7);
    let cookie_for = |from| match door.take(&message(Kind::Ask, [0; COOKIE_BYTES]), from) {
        Arrival::Answer(answer) => Message::decode(&answer, TOKEN.short()).unwrap().cookie,
        other => panic!("{other:?}"),
    };
    let [of_client, of_elsewhere] = [client, elsewhere].map(cookie_for);
    assert_eq!(door.take(b"data", client), Arrival::Stray);
    assert_eq!(door.take(&message(Kind::Echo, of_client), elsewhere), Arrival::Stray);
    let welcome = Arrival::Answer(message(Kind::Welcome, of_client));
    assert_eq!(door.take(&message(Kind::Echo, of_client), client), welcome);
    assert_eq!(door.take(b"data", client), Arrival::Admitted);
    assert_eq!(door.take(b"data", other_port), Arrival::Admitted);
    // The first welcome may be lost.
    assert_eq!(door.take(&message(Kind::Echo, of_client), client), welcome);
    assert_eq!(door.take(&message(Kind::Echo, of_elsewhere), elsewhere), Arrival::Stray);
    assert!(door.admits(LOOPBACK[0]) && !door.admits(ELSEWHERE));
    assert_eq!(door.strays().datagrams, 3);
}

#[test]
fn a_server_that_knows_its_peer_gives_no_cookies() {
    let door = Door::of(&endpoint(LOOPBACK[0], 0, None)).unwrap();
    let ask = message(Kind::Ask, [0; COOKIE_BYTES]);
    assert_eq!(door.take(&ask, SocketAddr::new(LOOPBACK[0], 7)), Arrival::Admitted);
    assert_eq!(door.take(&ask, SocketAddr::new(ELSEWHERE, 7)), Arrival::Stray);
}

#[test]
fn a_client_that_moves_has_its_further_addresses_and_no_others() {
    let trial = endpoint(LOOPBACK[0], 0, None);
    let further = Endpoint { peer: ELSEWHERE, ..endpoint(LOOPBACK[0], 0, None) };
    let door = Door::of_moving(&trial, &[further]).unwrap();
    assert!(door.judges_datagrams() && !door.is_open());
    let stranger = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 77));
    for (from, arrival) in
        [(LOOPBACK[0], Arrival::Admitted), (ELSEWHERE, Arrival::Admitted), (stranger, Arrival::Stray)]
    {
        assert_eq!(door.take(b"data", SocketAddr::new(from, 7)), arrival);
    }
    assert_eq!(door.strays().datagrams, 1);
}

#[test]
fn a_server_that_closes_or_lies_is_named() {
    let listener = TcpListener::bind((LOOPBACK[0], 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = Endpoint { cookie: true, ..endpoint(LOOPBACK[0], port, None) };
    let server = std::thread::spawn(move || {
        drop(listener.accept().unwrap());
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"no").unwrap();
        stream.read_to_end(&mut Vec::new())
    });
    for words in ["was lost (", "answered what no server of the trial does"] {
        let error = enter(&client, Carrier::Tcp, &Cancel::default()).unwrap_err();
        assert_eq!(error.code, Code::PeerLost);
        assert!(error.to_string().contains(words), "{error}");
    }
    // The client has read a byte, and closed.
    let _ = server.join().unwrap();
}
