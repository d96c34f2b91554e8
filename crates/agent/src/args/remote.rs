//! The arguments of `serve` and `connect`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use sixbench_packet::LocalAddress;
use sixbench_remote::{Addresses, Target};
use sixbench_wire::family::Family;

/// The port of control connections.
const DEFAULT_PORT: u16 = 5210;
const DEFAULT_MAX_CLIENTS: usize = 8;
/// Most flows of a client: both directions of the 128 streams that a session may have.
const DEFAULT_MAX_CLIENT_FLOWS: usize = 256;
/// Most flows of all clients. With some threads for each session, this is far from what a process may have (`ulimit
/// -u`, `pids.max`).
const DEFAULT_MAX_FLOWS: usize = 1_024;
const DEFAULT_MAX_RATE_BPS: u64 = 1_000_000_000;
const DEFAULT_MAX_DURATION_S: u64 = 120;
const MAX_ADDRESSES: usize = 16;

/// The options of `serve`.
#[derive(Debug, PartialEq, Eq)]
pub struct ServeOptions {
    /// `--listen` and `--port`.
    pub addresses: Addresses,
    /// `--key`.
    pub key: Option<PathBuf>,
    /// `--max-clients`.
    pub max_clients: usize,
    /// `--max-client-flows`.
    pub max_client_flows: usize,
    /// `--max-flows`.
    pub max_flows: usize,
    /// `--max-rate`.
    pub max_rate_bps: u64,
    /// `--max-duration`.
    pub max_duration_s: u64,
    /// `--one-off`.
    pub one_off: bool,
}

/// The options of `connect`.
#[derive(Debug, PartialEq, Eq)]
pub struct ConnectOptions {
    /// `HOST`, `PORT`, `--bind`, `-4` and `-6`.
    pub target: Target,
    /// `--key`.
    pub key: Option<PathBuf>,
}

/// Reads the arguments after `serve`.
pub fn parse_serve(arguments: impl Iterator<Item = Result<String, String>>) -> Result<ServeOptions, String> {
    let mut arguments = Arguments(arguments);
    let mut options = ServeOptions {
        addresses: Addresses {
            addresses: [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
                .map(LocalAddress::from)
                .into(),
            first_will_do: true,
            port: DEFAULT_PORT,
        },
        key: None,
        max_clients: DEFAULT_MAX_CLIENTS,
        max_client_flows: DEFAULT_MAX_CLIENT_FLOWS,
        max_flows: DEFAULT_MAX_FLOWS,
        max_rate_bps: DEFAULT_MAX_RATE_BPS,
        max_duration_s: DEFAULT_MAX_DURATION_S,
        one_off: false,
    };
    while let Some(argument) = arguments.next()? {
        match argument.as_str() {
            "--listen" => {
                options.addresses.addresses = addresses(&arguments.value("--listen")?)?;
                options.addresses.first_will_do = false;
            }
            "--port" => options.addresses.port = number(&arguments.value("--port")?, "--port", 0..=65_535)? as u16,
            "--key" => options.key = Some(arguments.value("--key")?.into()),
            "--max-clients" => {
                let most = number(&arguments.value("--max-clients")?, "--max-clients", 1..=256)?;
                options.max_clients = most as usize;
            }
            flag @ ("--max-client-flows" | "--max-flows") => {
                let most = number(&arguments.value(flag)?, flag, 1..=65_536)? as usize;
                *(if flag == "--max-flows" { &mut options.max_flows } else { &mut options.max_client_flows }) = most;
            }
            "--max-rate" => options.max_rate_bps = rate_bps(&arguments.value("--max-rate")?)?,
            "--max-duration" => {
                options.max_duration_s = number(&arguments.value("--max-duration")?, "--max-duration", 1..=86_400)?;
            }
            "--one-off" => options.one_off = true,
            other => return Err(format!("`serve` has no argument `{other}`")),
        }
    }
    Ok(options)
}

/// Reads the arguments after `connect`.
pub fn parse_connect(arguments: impl Iterator<Item = Result<String, String>>) -> Result<ConnectOptions, String> {
    let mut arguments = Arguments(arguments);
    let (mut words, mut key, mut bind, mut family) = (Vec::new(), None, None, None);
    while let Some(argument) = arguments.next()? {
        match argument.as_str() {
            "--key" => key = Some(arguments.value("--key")?.into()),
            "--bind" => bind = Some(address(&arguments.value("--bind")?, "--bind")?),
            "-4" => family = Some(Family::Ipv4),
            "-6" => family = Some(Family::Ipv6),
            other if other.starts_with('-') => return Err(format!("`connect` has no argument `{other}`")),
            _ => words.push(argument),
        }
    }
    let Ok([host, port]) = <[String; 2]>::try_from(words) else {
        return Err("`connect` needs HOST and PORT".to_owned());
    };
    let port = number(&port, "PORT", 1..=65_535)? as u16;
    Ok(ConnectOptions { target: Target { host, port, bind, family }, key })
}

struct Arguments<I>(I);

impl<I: Iterator<Item = Result<String, String>>> Arguments<I> {
    fn next(&mut self) -> Result<Option<String>, String> {
        self.0.next().transpose()
    }

    fn value(&mut self, of: &str) -> Result<String, String> {
        self.next()?.ok_or_else(|| format!("{of} needs a value"))
    }
}

fn addresses(text: &str) -> Result<Vec<LocalAddress>, String> {
    let addresses = text.split(',').map(|part| address(part, "--listen")).collect::<Result<Vec<_>, _>>()?;
    if addresses.len() > MAX_ADDRESSES {
        return Err(format!("--listen takes at most {MAX_ADDRESSES} addresses"));
    }
    Ok(addresses)
}

fn address(text: &str, of: &str) -> Result<LocalAddress, String> {
    LocalAddress::parse_present(text.trim()).map_err(|why| format!("{of} needs an IP address of this machine: {why}"))
}

fn number(text: &str, of: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("{of} needs a whole number from {} to {}, not `{text}`", range.start(), range.end()))
}

/// Bits a second; `K`, `M`, `G` are powers of 1000.
fn rate_bps(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.as_bytes().last().map(u8::to_ascii_uppercase) {
        Some(b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'M') => (&text[..text.len() - 1], 1_000_000),
        Some(b'G') => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let rate = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).filter(|rate| *rate > 0);
    rate.ok_or_else(|| format!("--max-rate needs bits a second, such as 500M or 1G, not `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve(words: &[&str]) -> Result<ServeOptions, String> {
        parse_serve(words.iter().map(|word| Ok((*word).to_owned())))
    }

    fn connect(words: &[&str]) -> Result<ConnectOptions, String> {
        parse_connect(words.iter().map(|word| Ok((*word).to_owned())))
    }

    #[test]
    fn serving_is_on_loopback_unless_told_otherwise() {
        let options = serve(&[]).expect("defaults");
        assert!(!options.addresses.are_beyond_loopback());
        assert_eq!((options.addresses.port, options.max_clients, options.max_duration_s), (5210, 8, 120));
        assert_eq!((options.max_client_flows, options.max_flows), (256, 1_024));
        let flows = serve(&["--max-client-flows", "7", "--max-flows", "9"]).expect("options");
        assert_eq!((flows.max_client_flows, flows.max_flows), (7, 9));
        let options =
            serve(&["--listen", "0.0.0.0,::", "--port", "0", "--max-rate", "500M", "--one-off"]).expect("options");
        assert!(options.addresses.are_beyond_loopback() && options.one_off);
        assert_eq!((options.addresses.port, options.max_rate_bps), (0, 500_000_000));
    }

    #[test]
    fn what_cannot_be_is_a_usage_error_that_says_what_could() {
        for (words, reason) in [
            (
                &["--listen", "localhost"][..],
                "--listen needs an IP address of this machine: `localhost` is no IP address",
            ),
            (&["--listen"], "--listen needs a value"),
            (&["--port", "65536"], "--port needs a whole number from 0 to 65535, not `65536`"),
            (&["--max-clients", "0"], "--max-clients needs a whole number from 1 to 256, not `0`"),
            (&["--max-flows", "0"], "--max-flows needs a whole number from 1 to 65536, not `0`"),
            (&["--max-rate", "fast"], "--max-rate needs bits a second, such as 500M or 1G, not `fast`"),
            (&["--max-rate", "99999999999999G"], "--max-rate needs bits a second"),
            (&["--max-duration", "-1"], "--max-duration needs a whole number from 1 to 86400, not `-1`"),
            (&["--why"], "`serve` has no argument `--why`"),
        ] {
            let error = serve(words).expect_err(reason);
            assert!(error.contains(reason), "{error}");
        }
        for words in [
            &[][..],
            &["host"],
            &["host", "0"],
            &["host", "1", "2"],
            &["host", "1", "-5"],
            &["host", "1", "--bind", "x"],
        ] {
            assert!(connect(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn connecting_names_a_host_and_a_port() {
        let options = connect(&["-6", "example.org", "5210", "--bind", "::1", "--key", "k"]).expect("options");
        let target = Target {
            host: "example.org".to_owned(),
            port: 5210,
            bind: Some(IpAddr::from(Ipv6Addr::LOCALHOST).into()),
            family: Some(Family::Ipv6),
        };
        assert_eq!(options, ConnectOptions { target, key: Some("k".into()) });
    }
}
