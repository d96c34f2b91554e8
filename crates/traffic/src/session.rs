//! The arguments of a workload, and the traits that it implements.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::{Error, Progress, Result};

/// The secret that proves a connection or datagram to be of this trial. Debug output does not show it, and a comparison
/// takes the same time for any difference.
#[derive(Clone, Copy, Eq)]
pub struct Token(pub [u8; 16]);

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        let differences = self.0.iter().zip(other.0).fold(0, |sum, (one, other)| sum | (one ^ other));
        std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token")
    }
}

impl Serialize for Token {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", u128::from_be_bytes(self.0)))
    }
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?)
            .ok_or_else(|| de::Error::custom("a token is 32 hexadecimal digits"))
    }
}

impl Token {
    /// Reads 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let is_token = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_token.then(|| u128::from_str_radix(text, 16).ok().map(|token| Self(token.to_be_bytes())))?
    }

    /// The first eight bytes, as datagrams carry them.
    pub fn short(&self) -> u64 {
        let mut first = [0; 8];
        first.copy_from_slice(&self.0[..8]);
        u64::from_be_bytes(first)
    }
}

/// One side of a trial's session.
#[derive(Clone)]
pub struct Endpoint {
    /// The local address to bind.
    pub address: IpAddr,
    /// The only address served, or the one to send to. At a server the unspecified address admits everyone who has the
    /// token; a server of datagrams finds its peer by a cookie then.
    pub peer: IpAddr,
    /// The server's port, at the client; 0 on the serving side.
    pub port: u16,
    /// The trial's secret.
    pub token: Token,
    /// True at a client whose server does not know its peer, so that datagrams begin with the echo of a cookie.
    pub cookie: bool,
    /// The counters of arrivals, for progress reports.
    pub progress: Progress,
}

impl Endpoint {
    /// A client on loopback, whose server is there too.
    #[cfg(test)]
    pub(crate) fn on_loopback(address: IpAddr) -> Self {
        let token = Token([0; 16]);
        Self { address, peer: address, port: 9, token, cookie: false, progress: Progress::default() }
    }

    /// True if a server takes what comes from this address.
    pub fn admits(&self, address: IpAddr) -> bool {
        self.is_open() || address == self.peer
    }

    /// True if the server was told no peer.
    pub fn is_open(&self) -> bool {
        self.peer.is_unspecified()
    }
}

/// A flag that another thread may raise to end a session early. Blocking calls must be cut into pieces of at most
/// 100 ms (socket timeouts, poll, a thread that interrupts them) between which it is checked.
#[derive(Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Raises the flag.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True if the flag is raised.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// `Err(Cancelled)` once the flag is raised.
    pub fn check(&self) -> Result<()> {
        if self.is_raised() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// The request to finish.
#[derive(Clone, Copy, Default)]
pub struct Finish {
    /// Datagrams the client sent in the measured phase.
    pub sent: Option<u64>,
    /// Longest wait for the end of the session.
    pub timeout_ns: u64,
    /// Longest wait for the first datagram where none has come; absent: as for an unknown path.
    pub first_silence_ns: Option<u64>,
}

/// A workload: its two sides.
pub trait Workload: Sync {
    /// Its name in the protocol and in experiments.
    fn name(&self) -> &'static str;

    /// The parameters by name, with bounds and defaults, from [`crate::params::table`]. Sizes are those of IPv6, which
    /// are larger.
    fn parameters(&self) -> Result<Value>;

    /// Starts the serving side; returns when it listens. `params` is refused when it has unknown keys.
    fn serve(&self, endpoint: &Endpoint, params: &Value, cancel: &Cancel) -> Result<Box<dyn Server>>;

    /// Runs the client's side to its end and returns its result.
    fn run(&self, endpoint: &Endpoint, params: &Value, cancel: &Cancel) -> Result<Value>;

    /// [`Workload::serve`] at several addresses, with one port for all of them.
    fn serve_at(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<Box<dyn Server>> {
        self.serve(only(self.name(), endpoints)?, params, cancel)
    }

    /// [`Workload::run`] with several addresses of the server, in the order in which the client prefers them.
    fn run_at(&self, endpoints: &[Endpoint], params: &Value, cancel: &Cancel) -> Result<Value> {
        self.run(only(self.name(), endpoints)?, params, cancel)
    }
}

/// The one endpoint of a workload that has no use for more.
fn only<'a>(workload: &'static str, endpoints: &'a [Endpoint]) -> Result<&'a Endpoint> {
    match endpoints {
        [endpoint] => Ok(endpoint),
        _ => Err(Error::BadParams {
            workload,
            reason: "this workload runs between two addresses: leave out `also`".to_owned(),
        }),
    }
}

/// A serving side at work in threads of its own. Dropping it ends them.
pub trait Server: Send {
    /// The port it listens on; 0 where the workload has none.
    fn port(&self) -> u16;

    /// Waits for the end of the session and returns the server's result.
    fn finish(self: Box<Self>, finish: &Finish) -> Result<Value>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_32_digits_that_are_not_shown() {
        let text = "00112233445566778899aAbBcCdDeEfF";
        let token: Token = serde_json::from_value(text.into()).unwrap();
        assert_eq!(token.short(), 0x0011_2233_4455_6677);
        assert_eq!(serde_json::to_value(token).unwrap(), text.to_lowercase());
        assert!(!format!("{token:?}").contains("0011"));
        for other in ["1234", "+0112233445566778899aabbccddeeff", "g0112233445566778899aabbccddeeff"] {
            let refused = serde_json::from_value::<Token>(other.into()).unwrap_err();
            assert_eq!(refused.to_string(), "a token is 32 hexadecimal digits");
        }
    }
}
