//! Programs under test: loaded, and run on packets without sending any.
#![allow(dead_code)] // Each file of tests uses a part.

use std::os::fd::AsFd;
use std::process::Command;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use sixbench_plane::abi::{Outcome, Verdict};
use sixbench_plane::device::Device;
use sixbench_plane::features::Features;
use sixbench_plane::program::{DECAPSULATE, ENCAPSULATE, Programs};
use sixbench_plane::{Spec, sys};

pub const ETHERNET_BYTES: usize = 14;

/// The prefix that is on-link on the tunnel device, besides link-local addresses.
pub const ON_LINK: &str = "2001:db8:5::/64";

/// A namespace, for this thread, with a device that everything is routed to, and a tunnel device, which has the prefix
/// [`ON_LINK`] and a gateway to 2001:db8:6::/64.
pub struct Bench {
    device: Device,
    underlay_ifindex: u32,
}

/// The programs of one tunnel.
pub struct Loaded {
    programs: Programs,
    near_ifindex: u32,
    underlay_ifindex: u32,
}

/// The result of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub outcome: Outcome,
    /// The packet from the IP header on; `None` where it was dropped.
    pub packet: Option<Vec<u8>>,
    /// The Ethernet header as the program left it.
    pub ethernet: Vec<u8>,
    pub duration_ns: u32,
}

impl Bench {
    /// The bench, or `None` where the machine does not permit it. Fails if that is where it is expected to.
    pub fn build() -> Option<Self> {
        if let Err(errno) = unshare(CloneFlags::CLONE_NEWNET) {
            let is_expected = std::env::var("SIXBENCH_EXPECT_LAB").is_ok_and(|value| value == "1");
            assert!(errno == Errno::EPERM && !is_expected, "a network namespace: {errno}");
            println!("skipped: a network namespace needs root");
            return None;
        }
        let setup =
            "ip link add c0 address 02:00:00:00:00:01 type veth peer name c1; ip link set c1 up; ip link set c0 up
            ip address add 192.0.2.100/32 dev c0; ip route add 192.0.2.200 dev c0; ip route add default via 192.0.2.200
            ip address add 2001:db8::100/128 dev c0 nodad; ip -6 route add 2001:db8::200 dev c0; ip -6 route add default via 2001:db8::200
            ip neighbour add 192.0.2.200 lladdr 02:00:00:00:00:02 dev c0; ip neighbour add 2001:db8::200 lladdr 02:00:00:00:00:02 dev c0";
        let status = Command::new("sh").args(["-ec", setup]).status().expect("sh");
        assert!(status.success());
        let spec = r#"{"device": "sb0", "mtu_bytes": 1480, "outer": "ipv4", "payload": "gre", "local": "192.0.2.1", "underlay": ["c0"],
            "mapping": {"kind": "fixed", "remote": "192.0.2.2"}}"#;
        let spec: Spec = serde_json::from_str(spec).expect("a tunnel");
        let device = Device::make(&spec).expect("a device");
        let routes = format!(
            "ip link set sb0 up; ip -6 route add {ON_LINK} dev sb0; ip -6 route add 2001:db8:6::/64 via fe80::5efe:c000:209 dev sb0"
        );
        let status = Command::new("sh").args(["-ec", &routes]).status().expect("sh");
        assert!(status.success());
        let underlay_ifindex = nix::net::if_::if_nametoindex("c0").expect("it is there");
        Some(Self { device, underlay_ifindex })
    }

    /// The index of a device from which packets are forwarded.
    pub fn far_ifindex(&self) -> u32 {
        self.device.far_ifindex
    }

    pub fn load(&self, spec: &Spec) -> Loaded {
        self.load_with(spec, Features::here())
    }

    /// Loads the programs as for a kernel with these features.
    pub fn load_with(&self, spec: &Spec, features: Features) -> Loaded {
        let mut tunnel = spec.compile().expect("a tunnel");
        tunnel.near_ifindex = self.device.near_ifindex;
        tunnel.far_ifindex = self.device.far_ifindex;
        let programs = Programs::load("sb0", &tunnel, features).unwrap_or_else(|error| panic!("{error}"));
        Loaded { programs, near_ifindex: self.device.near_ifindex, underlay_ifindex: self.underlay_ifindex }
    }
}

impl Loaded {
    pub fn encapsulate(&self, packet: &[u8]) -> Ran {
        self.run(ENCAPSULATE, packet, 1)
    }

    pub fn decapsulate(&self, packet: &[u8]) -> Ran {
        self.run(DECAPSULATE, packet, 1)
    }

    pub fn run(&self, program: &str, packet: &[u8], repeat: u32) -> Ran {
        self.run_to([0x02, 0, 0, 0, 0, 0x01], program, packet, repeat)
    }

    /// Runs a program on a packet with that Ethernet destination.
    pub fn run_to(&self, to: [u8; 6], program: &str, packet: &[u8], repeat: u32) -> Ran {
        let ifindex = if program == ENCAPSULATE { self.near_ifindex } else { self.underlay_ifindex };
        let ethertype = if packet.first().is_some_and(|first| first >> 4 == 6) { 0x86dd_u16 } else { 0x0800 };
        let mut frame = to.to_vec();
        frame.extend([0; 6]);
        frame.extend(ethertype.to_be_bytes());
        frame.extend(packet);
        let before = self.programs.counts().expect("counters");
        let descriptor = self.programs.descriptor(program).expect("a descriptor");
        let run = sys::test_run(descriptor.as_fd(), &frame, ifindex, repeat).expect("a test run");
        let after = self.programs.counts().expect("counters");
        let changed: Vec<usize> = (0..Outcome::ALL.len()).filter(|&index| before[index] != after[index]).collect();
        assert!(changed.len() <= 1, "one outcome a packet: {changed:?}");
        let outcome = changed.first().map_or(Outcome::NotOurs, |&index| Outcome::ALL[index]);
        let expected_action = match outcome.verdict() {
            Verdict::Done => 7,
            Verdict::Pass | Verdict::Slow => -1,
            Verdict::Drop => 2,
        };
        assert_eq!(run.action, expected_action, "{outcome:?}");
        let packet = (outcome.verdict() != Verdict::Drop).then(|| run.packet[ETHERNET_BYTES..].to_vec());
        let ethernet = run.packet[..ETHERNET_BYTES].to_vec();
        Ran { outcome, packet, ethernet, duration_ns: run.duration_ns }
    }
}
