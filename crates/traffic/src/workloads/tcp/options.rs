//! The socket options of a TCP workload: set before connect or listen, and reported as the kernel granted them.

use std::net::TcpStream;
use std::os::fd::AsFd;

use schemars::JsonSchema;
use serde::Serialize;
use socket2::{SockRef, Socket};

use super::info::TcpInfo;
use crate::params::Params;
use crate::socket::{Buffers, GrantedBuffers};
use crate::{Error, Result, sys};

/// Options of every connection of a session.
#[derive(Debug, Clone)]
pub struct TcpOptions {
    /// SO_SNDBUF, SO_RCVBUF.
    pub buffers: Buffers,
    /// TCP_WINDOW_CLAMP.
    pub window_bytes: Option<u64>,
    /// TCP_MAXSEG.
    pub mss_bytes: Option<u64>,
    /// TCP_CONGESTION.
    pub congestion: String,
    /// TCP_NODELAY.
    pub nodelay: bool,
}

impl TcpOptions {
    /// Reads only `congestion`, which every TCP workload has.
    pub fn read(params: &mut Params<'_>) -> Result<Self> {
        let congestion = params.text_or("congestion", "cubic")?;
        // TCP_CA_NAME_MAX is 16 with the final zero.
        if !(1..16).contains(&congestion.len()) || !congestion.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(params.refuse(format!("`congestion` must be a name of 1 to 15 characters, not {congestion:?}")));
        }
        Ok(Self {
            buffers: Buffers::default(),
            window_bytes: None,
            mss_bytes: None,
            congestion: congestion.to_owned(),
            nodelay: false,
        })
    }

    /// Reads also what the workloads with long connections have: buffers, `mss_bytes`, `nodelay`.
    pub fn read_long(params: &mut Params<'_>, nodelay: bool) -> Result<Self> {
        Ok(Self {
            buffers: Buffers::read(params)?,
            // From TCP_MIN_MSS to MAX_TCP_WINDOW of the kernel.
            mss_bytes: params.integer("mss_bytes", 88..=32_767)?,
            nodelay: params.flag("nodelay", nodelay)?,
            ..Self::read(params)?
        })
    }

    /// Sets them on a socket that is not yet connected or listening; accepted sockets inherit them.
    pub fn apply(&self, socket: &Socket) -> Result<()> {
        let mut buffers = self.buffers;
        if let (Some(window_bytes), None) = (self.window_bytes, buffers.rcvbuf_bytes) {
            // Autotuning moves the clamp along with the buffer, so the buffer has to be fixed for the clamp to hold.
            // Twice the window, doubled again by the kernel, leaves room for its overhead.
            buffers.rcvbuf_bytes = Some(usize::try_from(window_bytes.saturating_mul(2)).unwrap_or(usize::MAX >> 1));
        }
        buffers.apply(socket)?;
        if let Some(bytes) = self.mss_bytes {
            set_tcp(socket, libc::TCP_MAXSEG, "setsockopt(TCP_MAXSEG)", bytes, "MSS")?;
        }
        if let Some(bytes) = self.window_bytes {
            set_tcp(socket, libc::TCP_WINDOW_CLAMP, "setsockopt(TCP_WINDOW_CLAMP)", bytes, "window clamp")?;
        }
        self.apply_congestion(socket)?;
        socket
            .set_tcp_nodelay(self.nodelay)
            .map_err(|e| Error::system(format!("setting nodelay to {}", self.nodelay), "setsockopt(TCP_NODELAY)", e))
    }

    /// Sets only the congestion control.
    pub fn apply_congestion(&self, socket: &Socket) -> Result<()> {
        socket.set_tcp_congestion(self.congestion.as_bytes()).map_err(|e| {
            Error::system(
                format!("setting the congestion control `{}`", self.congestion),
                "setsockopt(TCP_CONGESTION)",
                e,
            )
        })
    }

    /// Sets the window clamp again, where there is one: the kernel (seen with Linux 6.18) replaces it by what the
    /// buffer holds each time it learns more of how much memory a segment takes, which it mostly does at the beginning.
    pub fn renew_window(&self, stream: &TcpStream) {
        if let Some(bytes) = self.window_bytes {
            // It could be set before; `granted` tells what holds.
            let _ = set_tcp(stream, libc::TCP_WINDOW_CLAMP, "setsockopt(TCP_WINDOW_CLAMP)", bytes, "window clamp");
        }
    }

    /// Options as the kernel granted them: `socket` of the results. Those that it does not tell are absent.
    pub fn granted(&self, socket: SockRef<'_>) -> GrantedOptions {
        GrantedOptions {
            buffers: GrantedBuffers::of(&socket),
            mss_bytes: TcpInfo::of(&*socket).ok().and_then(|info| info.mss_bytes),
            window_bytes: self.window_bytes.and_then(|_| window_clamp_of(&socket)),
            congestion: congestion_of(&socket),
            nodelay: socket.tcp_nodelay().ok(),
        }
    }
}

/// Options that the kernel granted to a connection, by the names of the protocol document. Those that it does not tell
/// are absent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GrantedOptions {
    #[serde(flatten)]
    buffers: GrantedBuffers,
    #[serde(skip_serializing_if = "Option::is_none")]
    mss_bytes: Option<u64>,
    /// Absent where no clamp was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    window_bytes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodelay: Option<bool>,
}

fn window_clamp_of(socket: &Socket) -> Option<u32> {
    let mut bytes = [0; 4];
    let length = sys::socket_option(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &mut bytes);
    matches!(length, Ok(4)).then(|| u32::from_ne_bytes(bytes))
}

/// The congestion control a socket has.
pub fn congestion_of(socket: &Socket) -> Option<String> {
    let name = socket.tcp_congestion().ok()?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    Some(String::from_utf8_lossy(name).into_owned())
}

fn set_tcp(socket: &impl AsFd, name: i32, call: &'static str, bytes: u64, what: &str) -> Result<()> {
    let value = i32::try_from(bytes).unwrap_or(i32::MAX);
    sys::set_socket_option(socket, libc::IPPROTO_TCP, name, value)
        .map_err(|e| Error::system(format!("setting a {what} of {bytes} bytes"), call, e))
}
