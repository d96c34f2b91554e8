//! Hardware time stamps of tagged frames: the choice of tagged frames, the interface that stamps them, and the times at
//! which they passed it.
//!
//! Two hardware clocks differ, so a stamp is only ever compared with one of the same clock. Many interfaces keep only
//! one stamp of a sent frame until it is read, so not every frame has a tag.

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_netlink::Client;
use sixbench_packet::stamping::{self, Abilities, Setting};

use super::Settings;
use super::ends::Ends;

/// The most tagged frames of a flow, and of a second of it. RFC 8219 section 7.2 asks for 500 in a stream.
const MOST: u64 = 2000;
const MOST_PPS: u64 = 1000;

/// A part that was wanted, or the reason why there is none; `None` where it was not wanted.
pub type Wanted<T> = Option<Result<T, String>>;

/// An interface that stamps what it sends and what it receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamper {
    /// Its name.
    pub interface: String,
    /// Its index in this namespace.
    pub ifindex: u32,
    /// The number of its clock, which is that of a device: 0 is `/dev/ptp0`.
    clock: u32,
}

impl Stamper {
    /// Has the interface by which the peer is reached stamp frames, if it can. It does so from here on: the lender of
    /// the interface restores its setting. The error says why it does not; the setting is unchanged then.
    pub fn turn_on(ends: &Ends) -> Result<Self, String> {
        if ends.path.is_open() {
            return Err("the peer is not known yet".to_owned());
        }
        let link = Client::open().and_then(|mut client| {
            let route = client.route(ends.path.peer, Some(ends.path.address.ip()), ends.path.address.interface())?;
            route.and_then(|route| route.link).map(|index| client.link(index)).transpose()
        });
        let link = link.map_err(|error| format!("asking for the interface: {error}"))?;
        let link = link.ok_or("there is no route to the peer")?;
        let clock = turn_on(&link.name).map_err(|why| format!("{}: {why}", link.name))?;
        Ok(Self { interface: link.name, ifindex: link.index, clock })
    }
}

fn turn_on(interface: &str) -> Result<u32, String> {
    let doing = |what: &'static str| move |error: std::io::Error| format!("{what}: {error}");
    let abilities = stamping::abilities(interface).map_err(doing("asking what it can stamp (ETHTOOL_GET_TS_INFO)"))?;
    let clock = clock_of(abilities)?;
    // A driver that does not tell could not be set back either.
    let before = stamping::setting(interface).map_err(doing("asking how its stamps are set (SIOCGHWTSTAMP)"))?;
    if before == Setting::ALL {
        return Ok(clock);
    }
    let set = stamping::set(interface, Setting::ALL).map_err(doing("having it stamp frames (SIOCSHWTSTAMP)"))?;
    if (set.tx_type, set.rx_filter) == (Setting::ALL.tx_type, Setting::ALL.rx_filter) {
        return Ok(clock);
    }
    stamping::set(interface, before).map_err(doing("setting its stamps back (SIOCSHWTSTAMP)"))?;
    Err("its driver stamps only some frames".to_owned())
}

/// The clock of an interface that can do it all.
fn clock_of(abilities: Abilities) -> Result<u32, String> {
    let missing = match (abilities.receives, abilities.sends, abilities.clock) {
        (true, true, Some(clock)) => return Ok(clock),
        (false, false, _) => "it stamps no frames by hardware",
        (false, true, _) => "it does not stamp every frame that it receives",
        (true, false, _) => "it does not stamp what it sends",
        (true, true, None) => "it has no hardware clock",
    };
    Err(missing.to_owned())
}

/// The share of frames of a flow that are tagged: one of this many, the first among them. Both ends compute the same.
pub fn one_of(settings: &Settings, rate_pps: u64) -> u32 {
    let fastest_pps = settings.step.map_or(rate_pps, |(_, step_pps)| rate_pps.max(step_pps));
    let one_of = settings.due(rate_pps).div_ceil(MOST).max(fastest_pps.div_ceil(MOST_PPS));
    u32::try_from(one_of.max(1)).unwrap_or(u32::MAX)
}

/// The state of a tagged frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tagged {
    Awaited,
    /// It passed, and nothing stamped it.
    Unstamped,
    /// It passed at this time of the interface's clock.
    At(u64),
}

/// Time stamps of the tagged frames of a flow at one end.
#[derive(Debug)]
pub struct Stamps {
    stamper: Stamper,
    /// One of this many frames is tagged.
    pub one_of: u32,
    /// Tagged frames in their order.
    tagged: Vec<Tagged>,
    /// Number of tagged frames with a known state.
    known: u64,
}

impl Stamps {
    /// No stamps yet, of a flow with that rate.
    pub fn new(stamper: Stamper, settings: &Settings, rate_pps: u64) -> Self {
        let one_of = one_of(settings, rate_pps);
        let count = settings.due(rate_pps).div_ceil(one_of.into()).min(MOST);
        Self { stamper, one_of, tagged: vec![Tagged::Awaited; count as usize], known: 0 }
    }

    /// Notes when a frame passed; nothing where no hardware stamped it. Its first passage counts.
    pub fn note(&mut self, sequence: u64, hardware_ns: Option<u64>) {
        let one_of = u64::from(self.one_of);
        if sequence % one_of != 0 {
            return;
        }
        let place = usize::try_from(sequence / one_of).ok().and_then(|at| self.tagged.get_mut(at));
        if let Some(place @ Tagged::Awaited) = place {
            // A clock that says 0 says nothing.
            *place = hardware_ns.filter(|&ns| ns > 0).map_or(Tagged::Unstamped, Tagged::At);
            self.known += 1;
        }
    }

    /// True if nothing is known yet of some of the tagged frames among the first `frames`.
    pub fn awaits_any_of(&self, frames: u64) -> bool {
        self.known < frames.div_ceil(self.one_of.into()).min(self.tagged.len() as u64)
    }

    /// The stamps of the flow.
    pub fn tally(&self) -> StampTally {
        let time = |tagged: &Tagged| if let Tagged::At(ns) = tagged { Some(*ns) } else { None };
        let from_ns = self.tagged.iter().filter_map(time).min();
        StampTally {
            interface: self.stamper.interface.clone(),
            clock: self.stamper.clock,
            one_of: self.one_of,
            from_ns,
            after_ns: self.tagged.iter().map(|tagged| Some(time(tagged)? - from_ns?)).collect(),
        }
    }
}

/// The stamps of a flow at one end: `hardware_stamps` of the results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StampTally {
    interface: String,
    clock: u32,
    one_of: u32,
    /// The earliest stamp on the interface's clock; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_ns: Option<u64>,
    /// The stamps of tagged frames in their order, since the earliest.
    after_ns: Vec<Option<u64>>,
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use serde_json::{Value, json};

    use super::*;

    fn settings(params: Value) -> Settings {
        Settings::parse(&params, IpAddr::V4(Ipv4Addr::LOCALHOST), true).unwrap()
    }

    #[test]
    fn so_many_frames_are_tagged() {
        let tagged = |rate: u64, count: u64| {
            let settings = settings(json!({"frame_bytes": 64, "rate_pps": rate, "count": count}));
            let stamps = Stamps::new(stamper(), &settings, rate);
            (stamps.one_of, stamps.tagged.len())
        };
        assert_eq!(tagged(1000, 1), (1, 1));
        assert_eq!(tagged(1000, 400), (1, 400));
        assert_eq!(tagged(1001, 400), (2, 200));
        assert_eq!(tagged(148_809, 148_809 * 60), (4465, 2000));
        assert_eq!(tagged(1_000_000_000, 1 << 32), (2_147_484, 2000));
        let stepped = json!({"frame_bytes": 64, "rate_pps": 10, "count": 9, "step_after_ns": 5, "step_rate_pps": 9000});
        assert_eq!(one_of(&settings(stepped), 10), 9);
    }

    fn stamper() -> Stamper {
        Stamper { interface: "eth1".to_owned(), ifindex: 2, clock: 3 }
    }

    #[test]
    fn a_frame_without_a_stamp_has_none() {
        let settings = settings(json!({"frame_bytes": 64, "rate_pps": 2000, "count": 9}));
        let mut stamps = Stamps::new(stamper(), &settings, 2000);
        assert!(stamps.awaits_any_of(1));
        stamps.note(0, Some(u64::MAX));
        assert!(!stamps.awaits_any_of(1));
        stamps.note(4, Some(1_000_000_000));
        stamps.note(4, Some(7));
        stamps.note(5, Some(3));
        stamps.note(2, Some(0));
        stamps.note(2, Some(5));
        stamps.note(6, None);
        stamps.note(u64::MAX - 1, Some(1));
        assert!(!stamps.awaits_any_of(6));
        assert!(stamps.awaits_any_of(9));
        let after = json!([u64::MAX - 1_000_000_000, null, 0, null, null]);
        let tally = json!({"interface": "eth1", "clock": 3, "one_of": 2, "from_ns": 1_000_000_000, "after_ns": after});
        assert_eq!(json!(stamps.tally()), tally);
    }

    #[test]
    fn a_flow_without_stamps_has_no_beginning() {
        let settings = settings(json!({"frame_bytes": 64, "rate_pps": 1, "count": 2}));
        let tally = json!({"interface": "eth1", "clock": 3, "one_of": 1, "after_ns": [null, null]});
        assert_eq!(json!(Stamps::new(stamper(), &settings, 1).tally()), tally);
    }

    #[test]
    fn an_interface_that_cannot_says_what_it_lacks() {
        let of = |sends, receives, clock| clock_of(Abilities { sends, receives, clock });
        assert_eq!(of(true, true, Some(4)), Ok(4));
        for (clock, reason) in [
            (of(false, false, None), "stamps no frames by hardware"),
            (of(true, false, Some(1)), "every frame that it receives"),
            (of(false, true, Some(1)), "what it sends"),
            (of(true, true, None), "no hardware clock"),
        ] {
            assert!(clock.unwrap_err().contains(reason));
        }
        assert!(turn_on("sixbench-none").unwrap_err().contains("asking what it can stamp"));
    }
}
