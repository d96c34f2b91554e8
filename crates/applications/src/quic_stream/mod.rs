//! `quic-stream`: bulk transfer over one stream of one connection of QUIC, from the client to the server.

mod client;
mod discovery;
mod moving;
mod server;

use std::sync::Arc;
use std::time::Duration;

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::{IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};
use serde_json::{Value, json};
use sixbench_traffic::moving::{check_server, client_places};
use sixbench_traffic::params::{self, DEFAULT_INTERVAL_NS, Limit, Params, SECOND_NS};
use sixbench_traffic::socket::Buffers;
use sixbench_traffic::{Cancel, Endpoint, Result, Server, TypedWorkload};

const NAME: &str = "quic-stream";
const CHAIN_BYTES: usize = 1_536;
/// Data under way at most: enough for 10 Gbit/s over 20 ms.
const WINDOW_BYTES: u32 = 32 << 20;
/// The buffers of the sockets, unless given: a burst of the window's packets fits.
const BUFFER_BYTES: usize = 4 << 20;
/// The largest payload of UDP that is looked for: an Ethernet packet of IPv4.
const LARGEST_BYTES: u64 = 1_472;
/// The datagrams that a connection begins with (RFC 9000 section 14).
const FIRST_BYTES: u16 = 1_200;

/// Time from a black hole that quinn supposes to its next search. A full queue loses whole bursts of packets, which may
/// look like one; by quinn's default the rest of a trial would go in the shortest datagrams.
const COOLDOWN: Duration = Duration::from_secs(1);

/// The workload.
pub struct QuicStream;

impl TypedWorkload for QuicStream {
    type ClientResult = client::ClientResult;
    type ServerResult = server::ServerResult;

    fn name(&self) -> &'static str {
        NAME
    }

    fn parameters(&self) -> Result<Value> {
        params::table(NAME, &json!({"bytes": 1}), Settings::read)
    }

    fn serve(
        &self,
        endpoints: &[Endpoint],
        params: &Value,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server<Self::ServerResult>>> {
        let settings = params::read(NAME, params, Settings::read)?;
        check_server(NAME, endpoints, settings.migrate)?;
        server::serve(endpoints, &settings, cancel)
    }

    fn run(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<Self::ClientResult> {
        let settings = params::read(NAME, params, Settings::read)?;
        let (endpoint, places) = client_places(NAME, endpoints, settings.migrate)?;
        client::run(endpoint, places, &settings, cancel)
    }
}

/// The congestion controls that quinn has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Congestion {
    /// RFC 9438.
    Cubic,
    /// draft-cardwell-iccrg-bbr-congestion-control.
    Bbr,
    /// RFC 9002 section 7.
    NewReno,
}

/// `params`, read and checked.
#[derive(Clone)]
struct Settings {
    limit: Limit,
    warmup_ns: u64,
    timeout_ns: u64,
    interval_ns: u64,
    congestion: Congestion,
    offload: bool,
    largest_bytes: u16,
    /// True if the client moves to its next address where it loses the present one.
    migrate: bool,
    buffers: Buffers,
}

impl Settings {
    fn read(params: &mut Params<'_>) -> Result<Self> {
        let limit = params.limit(&["duration_ns", "bytes"])?;
        let Buffers { sndbuf_bytes, rcvbuf_bytes } = Buffers::read(params)?;
        Ok(Self {
            limit,
            warmup_ns: params.time_ns("warmup_ns", 0, 0)?,
            timeout_ns: params.time_ns("timeout_ns", 1, 5 * SECOND_NS)?,
            interval_ns: params.integer_or("interval_ns", 1_000_000..=3_600 * SECOND_NS, DEFAULT_INTERVAL_NS)?,
            congestion: params.choice(
                "congestion",
                &[("cubic", Congestion::Cubic), ("bbr", Congestion::Bbr), ("newreno", Congestion::NewReno)],
            )?,
            offload: params.flag("offload", true)?,
            largest_bytes: params.integer_or("largest_datagram_bytes", 1_200..=65_527, LARGEST_BYTES)? as u16,
            migrate: params.flag("migrate", false)?,
            buffers: Buffers {
                sndbuf_bytes: sndbuf_bytes.or(Some(BUFFER_BYTES)),
                rcvbuf_bytes: rcvbuf_bytes.or(Some(BUFFER_BYTES)),
            },
        })
    }

    /// The settings of both ends.
    fn transport(&self) -> TransportConfig {
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(self.largest_bytes).minimum_change(1).black_hole_cooldown(COOLDOWN);
        let congestion: Arc<dyn ControllerFactory + Send + Sync> = match self.congestion {
            Congestion::Cubic => Arc::new(CubicConfig::default()),
            Congestion::Bbr => Arc::new(BbrConfig::default()),
            Congestion::NewReno => Arc::new(NewRenoConfig::default()),
        };
        let mut transport = TransportConfig::default();
        transport
            .initial_mtu(FIRST_BYTES)
            .mtu_discovery_config((self.largest_bytes > FIRST_BYTES).then_some(discovery))
            .congestion_controller_factory(congestion)
            .enable_segmentation_offload(self.offload)
            .max_idle_timeout(IdleTimeout::try_from(Duration::from_nanos(self.timeout_ns)).ok())
            .stream_receive_window(VarInt::from_u32(WINDOW_BYTES))
            .receive_window(VarInt::from_u32(WINDOW_BYTES))
            .send_window(WINDOW_BYTES.into());
        transport
    }
}

#[cfg(test)]
mod tests;
