//! The tunnel's device: a veth pair, and how it is made.

use std::fs;
use std::io::{self, Write};
use std::net::Ipv6Addr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::net::if_::if_nametoindex;
use sixbench_netlink::{Client, RouteKind};

use crate::error::tunnel_exists;
use crate::spec::{MIN_IPV6_MTU_BYTES, Spec};
use crate::{Error, Result};

/// Longest wait for work that the kernel does at once, but not before it answers.
const PATIENCE: Duration = Duration::from_secs(20);

/// The queue of a device that does not send yet.
const DROPS_ALL: &str = "noop";

/// A pair that was made. It goes with this value.
#[derive(Debug)]
pub struct Device {
    name: String,
    /// The index of the near end: the tunnel's device.
    pub near_ifindex: u32,
    /// The index of the far end, where packets come out that the fast path leaves to the slow path.
    pub far_ifindex: u32,
}

/// The far end's name.
pub fn far_name(near: &str) -> String {
    format!("{near}.far")
}

/// The commands that make the pair, for `ip -batch`. They are carried out one after the other. The near end stays down:
/// no packet is to come before the programs are attached.
pub fn commands(spec: &Spec) -> String {
    let (near, far, mtu_bytes) = (&spec.device, far_name(&spec.device), spec.mtu_bytes);
    let mac = spec.near_mac().map(|octet| format!("{octet:02x}")).join(":");
    let has_neighbours = spec.mapping.uses_groups();
    // Below IPv6's least MTU a device has no IPv6, and refuses settings of it: RFC 8200 section 5.
    let no_addresses = if mtu_bytes < MIN_IPV6_MTU_BYTES { "" } else { " addrgenmode none" };
    // The far end needs IPv6 even so, as outer IPv6 packets are routed from it.
    let far_bytes = mtu_bytes.max(MIN_IPV6_MTU_BYTES);
    let lines = [
        format!("link add {near} mtu {mtu_bytes} address {mac} type veth peer name {far} mtu {far_bytes}"),
        // Without neighbours to be found, every packet goes into the tunnel. In 6over4 they are found by IPv4
        // multicast.
        format!("link set {near} arp {}{no_addresses}", if has_neighbours { "on" } else { "off" }),
        format!("link set {far} arp off addrgenmode none up"),
        String::new(),
    ];
    lines.join("\n")
}

/// The commands that let packets into the tunnel.
pub fn opening_commands(spec: &Spec) -> String {
    let near = &spec.device;
    let address = spec.link_local().map(|address| format!("address add {address}/64 dev {near} scope link nodad\n"));
    format!("link set {near} up\n{}", address.unwrap_or_default())
}

/// Settings of the far end, in order. Outer packets are routed as if they came from there, so it forwards; it has no
/// addresses, so that nothing is sent to it and it says nothing.
pub fn settings(spec: &Spec) -> Vec<(String, &'static str)> {
    let far = far_name(&spec.device);
    vec![
        (format!("/proc/sys/net/ipv6/conf/{far}/disable_ipv6"), "1"),
        (format!("/proc/sys/net/ipv6/conf/{far}/forwarding"), "1"),
        (format!("/proc/sys/net/ipv4/conf/{far}/forwarding"), "1"),
    ]
}

impl Device {
    /// Makes the pair of a tunnel in the namespace of this thread.
    pub fn make(spec: &Spec) -> Result<Self> {
        let name = spec.device.clone();
        if if_nametoindex(name.as_str()).is_ok() {
            return Err(tunnel_exists(&name));
        }
        Self::pair(name, "making the tunnel device", &commands(spec), &settings(spec))
    }

    /// Makes a pair by these commands, and gives it these settings.
    pub(crate) fn pair(name: String, doing: &str, commands: &str, settings: &[(String, &'static str)]) -> Result<Self> {
        let doing = format!("{doing} {name}");
        let outcome = ip(commands).map_err(|error| Error::system(&doing, "ip -batch", error));
        let device = Self { name, near_ifindex: 0, far_ifindex: 0 };
        outcome?;
        for (file, value) in settings {
            set(file, value, &doing)?;
        }
        // The far end's packets are for the slow path, which takes no segments; the fast path gets them before they are
        // cut.
        let features = ["-K", &device.name, "tso", "off", "gso", "off", "tx-udp-segmentation", "off"];
        run(Command::new("ethtool").args(features), "", "ethtool")
            .map_err(|error| Error::system(&doing, "ethtool", error))?;
        device.find_indices(&doing)
    }

    /// Lets packets in.
    pub fn open(&self, spec: &Spec) -> Result<()> {
        let doing = || format!("setting the tunnel device {} up", self.name);
        ip(&opening_commands(spec)).map_err(|error| Error::system(doing(), "ip -batch", error))?;
        self.wait_until_sending().map_err(|error| Error::system(doing(), "netlink", error))?;
        match spec.link_local() {
            Some(address) => self.wait_for(address).map_err(|error| Error::system(doing(), "netlink", error)),
            None => Ok(()),
        }
    }

    /// Waits until the node knows the address as its own: the kernel does that after it has answered
    /// (net/ipv6/addrconf.c, addrconf_dad_work).
    fn wait_for(&self, address: Ipv6Addr) -> io::Result<()> {
        let mut client = Client::open()?;
        let end = Instant::now() + PATIENCE;
        let is_local = |route: sixbench_netlink::Route| route.kind == RouteKind::Local;
        while !client.route(address.into(), None, Some(self.near_ifindex))?.is_some_and(is_local) {
            if Instant::now() > end {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("the address {address} did not appear within {PATIENCE:?}"),
                ));
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Waits until both ends send. If an end was up before the other one, the kernel drops all its packets until it has
    /// noticed, which is after it has answered (net/core/link_watch.c).
    pub(crate) fn wait_until_sending(&self) -> io::Result<()> {
        let mut client = Client::open()?;
        let end = Instant::now() + PATIENCE;
        for index in [self.near_ifindex, self.far_ifindex] {
            while client.link(index)?.queue.as_deref() == Some(DROPS_ALL) {
                if Instant::now() > end {
                    let words = format!("{} did not become able to send within {PATIENCE:?}", self.name);
                    return Err(io::Error::new(io::ErrorKind::TimedOut, words));
                }
                thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }

    fn find_indices(mut self, doing: &str) -> Result<Self> {
        let index = |name: &str| if_nametoindex(name).map_err(|errno| Error::system(doing, "if_nametoindex", errno));
        self.near_ifindex = index(&self.name)?;
        self.far_ifindex = index(&far_name(&self.name))?;
        Ok(self)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // It may be gone already, with a namespace or by hand.
        let _ = ip(&format!("link delete {}\n", self.name));
    }
}

/// Writes a setting of a device. Those of IPv6 are not there where the kernel has no IPv6.
fn set(file: &str, value: &str, doing: &str) -> Result<()> {
    if file.contains("/ipv6/") && !fs::exists(file).unwrap_or(false) {
        return Ok(());
    }
    fs::write(file, value).map_err(|error| Error::system(format!("{doing}: setting {file}"), "write", error))
}

/// Gives `ip -batch` its lines.
pub fn ip(lines: &str) -> io::Result<()> {
    run(Command::new("ip").args(["-batch", "-"]), lines, "iproute2")
}

/// Gives `tc -batch` its lines.
pub fn tc(lines: &str) -> io::Result<()> {
    run(Command::new("tc").args(["-batch", "-"]), lines, "iproute2")
}

/// Runs a command that must succeed; `package` has it.
fn run(command: &mut Command, input: &str, package: &str) -> io::Result<()> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("{error}; install the Debian package {package}")))?;
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes()));
    let finished = child.wait_with_output()?;
    if finished.status.success() {
        // A command that reads no input may have ended before the input was written.
        return if input.is_empty() { Ok(()) } else { written };
    }
    let words = String::from_utf8_lossy(&finished.stderr);
    Err(io::Error::other(words.trim().replace('\n', "; ")))
}
