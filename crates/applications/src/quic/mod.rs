//! Parts that workloads over QUIC share: endpoints of quinn on the trial's addresses, and the settings of TLS in
//! them.

mod accepting;
mod counting;
mod failure;

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::{HandshakeData, QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connection, EndpointConfig, QlogConfig, QlogStream, ServerConfig, TokioRuntime, TransportConfig,
};
use sixbench_traffic::df::Df;
use sixbench_traffic::socket::Buffers;
use sixbench_traffic::{Certificate, ConnectionLogs, Endpoint, Error, Result, datagram_socket};
use tokio::time::timeout;

pub use accepting::{Handle, Served, accept, greet, part, shake_hands};
pub use counting::{DatagramCounts, Marks};
pub use failure::of_connection;

use crate::door::Door;
use crate::failure::Failure;
use crate::{certificates, name, trust};

/// The protocol over QUIC of workloads that measure QUIC itself (ALPN, RFC 7301).
pub const PROTOCOL: &[u8] = b"sixbench";

/// Longest wait for closes on a path of which nothing is known.
const LONGEST_PARTING: Duration = Duration::from_secs(2);

/// The longest payload of UDP (RFC 768, over IPv6).
const LARGEST_DATAGRAM_BYTES: u16 = 65_527;

/// The server's side before its runtime: a bound socket, its port, and the settings.
pub struct Listening {
    socket: UdpSocket,
    /// The port that it is bound to.
    pub port: u16,
    /// The certificate that the trial's client trusts.
    pub authority: Certificate,
    config: ServerConfig,
}

/// Binds a socket and makes the trial's certificates.
pub fn listen(
    endpoint: &Endpoint,
    protocol: &[u8],
    chain_bytes: usize,
    buffers: Buffers,
    transport: TransportConfig,
) -> Result<Listening> {
    let name = name::of_trial(&endpoint.token);
    let chain = certificates::chain(&name, chain_bytes)?;
    let authority = chain.authority.clone();
    let mut tls = trust::server(chain, &name)?;
    tls.alpn_protocols = vec![protocol.to_vec()];
    // Data of a 0-RTT session are as long as flow control permits (RFC 9001 section 4.6.1). The sessions are kept by
    // the server, so that each ticket is taken once.
    tls.max_early_data_size = u32::MAX;
    let crypto = QuicServerConfig::try_from(tls).map_err(|e| preparing("a server of QUIC", e))?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    let socket = datagram_socket::udp(endpoint.address, buffers, Df::Clear)?;
    let port = datagram_socket::local_port(&socket)?;
    Ok(Listening { socket: socket.into(), port, authority, config })
}

impl Listening {
    /// The endpoint, in this thread's runtime, and the counts of its datagrams. Where the server was told no peer, or
    /// one that moves, it is given nothing but its peer's datagrams: QUIC sends up to three times as much as it got to
    /// an address that has proved nothing (RFC 9000 section 8.1), and answers what it does not understand.
    pub fn open(self, door: &Arc<Door>) -> Result<(quinn::Endpoint, DatagramCounts)> {
        let door = door.judges_datagrams().then(|| Arc::clone(door));
        open(self.socket, Some(self.config), door)
            .map_err(|e| Error::system("opening a server of QUIC", "setsockopt", e))
    }
}

/// A client's endpoint on a socket of its own, in this thread's runtime, and the counts of its datagrams.
pub fn client(endpoint: &Endpoint, buffers: Buffers) -> Result<(quinn::Endpoint, DatagramCounts)> {
    let socket = datagram_socket::udp(endpoint.address, buffers, Df::Clear)?;
    open(socket.into(), None, None).map_err(|e| Error::system("opening a client of QUIC", "setsockopt", e))
}

/// Moves a client's endpoint, with its connections, to a socket of its own at another address (RFC 9000 section 9.2).
/// Its datagrams are in the same counts.
pub fn rebind(quic: &quinn::Endpoint, endpoint: &Endpoint, buffers: Buffers, counts: &DatagramCounts) -> Result<()> {
    let socket = datagram_socket::udp(endpoint.address, buffers, Df::Clear)?;
    counting::counting(socket.into(), None, counts.clone())
        .and_then(|socket| quic.rebind_abstract(socket))
        .map_err(|e| Error::system(format!("moving a client of QUIC to {}", endpoint.address), "setsockopt", e))
}

fn open(
    socket: UdpSocket,
    config: Option<ServerConfig>,
    door: Option<Arc<Door>>,
) -> io::Result<(quinn::Endpoint, DatagramCounts)> {
    let (socket, counts) = counting::counted(socket, door)?;
    let mut endpoint = EndpointConfig::default();
    // An end takes whatever the path carries; how much the other one looks for is its own setting.
    endpoint.max_udp_payload_size(LARGEST_DATAGRAM_BYTES).map_err(io::Error::other)?;
    let runtime = Arc::new(TokioRuntime);
    Ok((quinn::Endpoint::new_with_abstract_socket(endpoint, config, socket, runtime)?, counts))
}

/// The client's settings; it offers version 1 alone (RFC 9000).
pub fn client_config(
    mut tls: rustls::ClientConfig,
    protocol: &[u8],
    mut transport: TransportConfig,
    logs: &ConnectionLogs,
) -> Result<ClientConfig> {
    transport.qlog_stream(qlog(logs));
    tls.alpn_protocols = vec![protocol.to_vec()];
    let crypto = QuicClientConfig::try_from(tls).map_err(|e| preparing("a client of QUIC", e))?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    Ok(config)
}

/// A connection whose handshake is over, and the protocol over QUIC that both agreed on.
pub async fn connect(
    quic: &quinn::Endpoint,
    config: &ClientConfig,
    endpoint: &Endpoint,
    name: &str,
) -> std::result::Result<(Connection, String), Failure> {
    let connection = quic
        .connect_with(config.clone(), peer(endpoint), name)
        .map_err(|error| Failure::new("not-begun", error.to_string()))?
        .await
        .map_err(|error| of_connection(&error))?;
    let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
    let protocol = data.and_then(|data| data.protocol).unwrap_or_else(|| b"none".to_vec());
    Ok((connection, String::from_utf8_lossy(&protocol).into_owned()))
}

/// The events of a client's connections, where they are kept.
fn qlog(logs: &ConnectionLogs) -> Option<QlogStream> {
    let mut config = QlogConfig::default();
    config.writer(Box::new(logs.open_qlog()?)).title(Some("sixbench, the client".into()));
    config.into_stream()
}

/// Waits until connections that were closed are gone: a socket that is closed earlier answers what is on its way to it
/// with errors, which would reach the next trial. quinn keeps them for three probe timeouts (RFC 9000 section 10.2).
/// After round trips of some seconds, as where an end waits for a processor, these last longer than a trial may.
pub async fn leave(quic: &quinn::Endpoint) {
    let _ = timeout(LONGEST_PARTING, quic.wait_idle()).await;
}

/// The settings of connections that are too short to look for a larger datagram, whose probes would count.
pub fn short_transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.mtu_discovery_config(None);
    transport
}

/// The server's address. A link-local one has the interface of the client's own, as datagrams from it have.
pub fn peer(endpoint: &Endpoint) -> SocketAddr {
    match (endpoint.peer, endpoint.address.at(0)) {
        (IpAddr::V6(peer), SocketAddr::V6(local)) if peer.is_unicast_link_local() => {
            SocketAddrV6::new(peer, endpoint.port, 0, local.scope_id()).into()
        }
        (peer, _) => SocketAddr::new(peer, endpoint.port),
    }
}

fn preparing(what: &str, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::system(format!("preparing {what}"), "encrypt", io::Error::other(cause))
}

#[cfg(test)]
mod tests {
    use quinn::VarInt;
    use sixbench_traffic::Cancel;

    use super::*;
    use crate::loopback::{LOOPBACK, endpoint};
    use crate::runtime;

    #[test]
    fn a_client_leaves_long_before_three_probe_timeouts_of_a_slow_path() {
        let silent = UdpSocket::bind((LOOPBACK[0], 0)).unwrap();
        let authority = certificates::chain("a.sixbench.test", 1_536).unwrap().authority;
        let trial = endpoint(LOOPBACK[0], silent.local_addr().unwrap().port(), Some(authority));
        let left = runtime::block_on(&Cancel::default(), async {
            let (quic, _) = client(&trial, Buffers::default())?;
            let (tls, _) = trust::client_of("test", &trial)?;
            let mut transport = short_transport();
            // quinn keeps a connection that is closed for nine hours then.
            transport.initial_rtt(Duration::from_secs(3_600));
            let config = client_config(tls, PROTOCOL, transport, &trial.logs)?;
            let connecting = quic.connect_with(config, peer(&trial), &name::of_trial(&trial.token)).unwrap();
            quic.close(VarInt::from_u32(0), b"");
            let left = timeout(Duration::from_secs(60), leave(&quic)).await;
            drop(connecting);
            Ok(left.is_ok())
        });
        assert!(left.unwrap());
    }
}
