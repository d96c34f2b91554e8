//! A relay of TCP and UDP between an IPv6 client and an IPv4 server.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{Agent, join, within};

const PATIENCE: Duration = Duration::from_secs(300);
const PREFIX: &str = "2001:db8:64::/96";
const STEERING: &str = "ip -6 route add local 2001:db8:64::/96 dev lo
nft -f - <<'END'
table ip6 relay {
  chain steering {
    type filter hook prerouting priority mangle; policy accept;
    ip6 daddr 2001:db8:64::/96 meta l4proto tcp tproxy to :3142 accept
    ip6 daddr 2001:db8:64::/96 meta l4proto udp tproxy to :3142 accept
  }
}
END";

/// Client, relay, server.
fn three(request: Value) -> Option<[Agent; 3]> {
    let (mut client, mut relay, mut server) = (Agent::node()?, Agent::node()?, Agent::node()?);
    join((&mut client, "e0", &["2001:2::1/64"]), (&mut relay, "e0", &["2001:2::2/64"]));
    join((&mut relay, "e1", &["198.18.1.1/24"]), (&mut server, "e0", &["198.18.1.2/24"]));
    client.shell(&format!("ip -6 route add {PREFIX} via 2001:2::2"));
    relay.shell(STEERING);
    relay.ok("relay-start", request);
    Some([client, relay, server])
}

fn embedded(port: u16) -> SocketAddr {
    SocketAddr::new("2001:db8:64::c612:102".parse().expect("an address"), port)
}

fn listen(server: &Agent, port: u16) -> TcpListener {
    within(server, move || TcpListener::bind(("198.18.1.2", port)).expect("a listener"))
}

fn connect(client: &Agent, port: u16) -> TcpStream {
    let stream = within(client, move || TcpStream::connect(embedded(port)).expect("a connection"));
    patient(stream)
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    stream
}

/// Checks that the relay resets a connection: at once, or when the client reads.
fn is_reset(client: &Agent, server: SocketAddr) {
    let refused = within(client, move || {
        TcpStream::connect(server).and_then(|stream| patient(stream).read(&mut [0; 1])).expect_err("a reset")
    });
    assert_eq!(refused.kind(), ErrorKind::ConnectionReset);
}

/// Waits until the counters are so.
fn counted(relay: &mut Agent, is_so: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let counters = relay.ok("relay-counters", json!({}));
        if is_so(&counters) {
            return counters;
        }
        assert!(Instant::now() < deadline, "{counters}");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn streams_pass_whole_in_both_directions_and_end_one_after_the_other() {
    let Some([client, mut relay, server]) = three(json!({"prefix": PREFIX})) else { return };
    let listener = listen(&server, 7777);
    let mut near = connect(&client, 7777);
    let (far, from) = listener.accept().expect("a connection");
    let mut far = patient(far);
    assert_eq!(from.ip().to_string(), "198.18.1.1");
    // This is more than all buffers on the way have room for: the sender has to wait until the receiver reads.
    let sent: Vec<u8> = (0..24_000_000_u32).map(|number| (number % 251) as u8).collect();
    let copy = sent.clone();
    let mut writing = near.try_clone().expect("a socket");
    let sender = thread::spawn(move || {
        writing.write_all(&copy).expect("written");
        writing.shutdown(Shutdown::Write).expect("ended");
    });
    let mut received = Vec::new();
    far.read_to_end(&mut received).expect("an end");
    sender.join().expect("no panic");
    assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
    // The other direction is still open.
    far.write_all(b"answer").expect("written");
    drop(far);
    let mut answer = Vec::new();
    near.read_to_end(&mut answer).expect("an end");
    assert_eq!(answer, b"answer");
    let counters = counted(&mut relay, |counters| counters["tcp"]["open"] == 0);
    let expected = json!({
        "open": 0, "opened": 1, "reset": 0, "unreachable": 0, "bytes_to_ipv4": 24_000_000, "bytes_to_ipv6": 6,
    });
    assert_eq!(counters["tcp"], expected);
    assert_eq!(relay.ok("relay-stop", json!({})), counters);
    assert_eq!(relay.error("relay-counters", json!({}))["code"], "no-service");
}

#[test]
fn resets_are_passed_on() {
    let Some([client, mut relay, server]) = three(json!({"prefix": PREFIX})) else { return };
    let listener = listen(&server, 7777);
    for is_client in [true, false] {
        let near = connect(&client, 7777);
        let (far, _) = listener.accept().expect("a connection");
        let (ends, mut stays) = if is_client { (near, patient(far)) } else { (far, near) };
        socket2::SockRef::from(&ends).set_linger(Some(Duration::ZERO)).expect("a socket");
        drop(ends);
        let error = stays.read(&mut [0; 1]).expect_err("a reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    drop(listener);
    // Nobody listens there.
    is_reset(&client, embedded(7777));
    let counters = counted(&mut relay, |counters| counters["tcp"]["open"] == 0);
    assert_eq!((&counters["tcp"]["reset"], &counters["tcp"]["unreachable"]), (&json!(2), &json!(1)), "{counters}");
}

#[test]
fn sessions_that_are_too_many_are_refused_and_counted() {
    let Some([client, mut relay, server]) = three(json!({"prefix": PREFIX, "sessions": 2})) else { return };
    let listener = listen(&server, 7777);
    let held: Vec<_> = (0..2).map(|_| (connect(&client, 7777), listener.accept().expect("a connection"))).collect();
    is_reset(&client, embedded(7777));
    let socket = within(&client, || UdpSocket::bind("[::]:0").expect("a socket"));
    socket.send_to(b"one", embedded(7777)).expect("sent");
    let counters = counted(&mut relay, |counters| counters["refused"]["sessions"] == 2);
    assert_eq!((&counters["most"], &counters["tcp"]["open"]), (&json!(2), &json!(2)));
    drop(held);
    counted(&mut relay, |counters| counters["tcp"]["open"] == 0);
    let _again = (connect(&client, 7777), listener.accept().expect("a connection"));
}

#[test]
fn datagrams_pass_between_a_pair_until_it_is_silent() {
    let request = json!({"prefix": PREFIX, "udp_timeout_ns": 1_000_000_000});
    let Some([client, mut relay, server]) = three(request) else { return };
    let far = within(&server, || UdpSocket::bind("198.18.1.2:7777").expect("a socket"));
    far.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let near: Vec<UdpSocket> = (0..2)
        .map(|_| {
            let socket = within(&client, || UdpSocket::bind("[::]:0").expect("a socket"));
            socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
            socket
        })
        .collect();
    // One datagram is fragmented on either leg.
    let datagrams: [&[u8]; 3] = [b"one", b"", &[7; 4000]];
    let mut buffer = [0; 5000];
    for datagram in datagrams {
        for socket in &near {
            socket.send_to(datagram, embedded(7777)).expect("sent");
            let (length, from) = far.recv_from(&mut buffer).expect("a datagram");
            assert_eq!((&buffer[..length], from.ip().to_string().as_str()), (datagram, "198.18.1.1"));
            far.send_to(datagram, from).expect("sent");
            let (length, from) = socket.recv_from(&mut buffer).expect("an answer");
            assert_eq!((&buffer[..length], from), (datagram, embedded(7777)));
        }
    }
    let counters = counted(&mut relay, |counters| counters["udp"]["open"] == 0);
    let udp = &counters["udp"];
    assert_eq!((&udp["datagrams_to_ipv4"], &udp["datagrams_to_ipv6"]), (&json!(6), &json!(6)), "{counters}");
    assert_eq!((&udp["bytes_to_ipv4"], &udp["errors"], &udp["not_sent"]), (&json!(8006), &json!(0), &json!(0)));
}

#[test]
fn what_is_for_no_server_is_refused() {
    let Some([client, mut relay, _]) = three(json!({"prefix": PREFIX})) else { return };
    for address in ["[2001:2::2]:3142", "[2001:db8:64::7f00:1]:3142"] {
        is_reset(&client, address.parse().expect("an address"));
        let socket = within(&client, || UdpSocket::bind("[::]:0").expect("a socket"));
        socket.send_to(b"one", address).expect("sent");
    }
    counted(&mut relay, |counters| counters["refused"]["no-server"] == 4);
}

#[test]
fn relays_that_cannot_be_are_refused() {
    let Some(mut relay) = Agent::node() else { return };
    for (request, code) in [
        (json!({"prefix": "2001:db8:64::/64"}), "bad-params"),
        (json!({"prefix": "2001:db8:64::1/96"}), "bad-request"),
        (json!({"prefix": PREFIX, "sessions": 0}), "bad-params"),
        (json!({"prefix": PREFIX, "sessions": 2_000_000}), "bad-params"),
    ] {
        let error = relay.error("relay-start", request.clone());
        assert_eq!(error["code"], code, "{request}: {error}");
    }
    relay.ok("relay-start", json!({"prefix": PREFIX}));
    assert_eq!(relay.error("relay-start", json!({"prefix": PREFIX}))["code"], "service-exists");
}
