//! The receiver's account of a flow of frames. Pure: callers pass the frames and their times.

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_wire::ethernet::ethertype;

use super::Settings;
use super::reading::{Extended, Read, Sought};
use crate::arrivals::{ArrivalTally, Arrivals, Entry};
use crate::datagram::Phase;
use crate::ledger::Arrival;
use crate::strays::Strays;

/// The account of one flow.
pub struct Account {
    /// The flow's own frames.
    sought: Sought,
    /// Frames that go natively, if any.
    native: Option<Sought>,
    /// Time on the realtime clock after which frames are late.
    deadline_ns: Option<u64>,
    /// The measured frames so far.
    pub arrivals: Arrivals,
    warmup_received: u64,
    strays: u64,
    /// Frames that went natively.
    native_unique: u64,
    /// Frames that came with other extension headers than those that were sent, or without any.
    otherwise_extended: u64,
    corrupt: u64,
    late: u64,
}

impl Account {
    /// The account of a flow of at most `most` frames.
    pub fn new(sought: Sought, native: Option<Sought>, most: u64, settings: &Settings) -> Self {
        Self {
            sought,
            native,
            deadline_ns: None,
            arrivals: Arrivals::new(most, settings.interval_ns),
            warmup_received: 0,
            strays: 0,
            native_unique: 0,
            otherwise_extended: 0,
            corrupt: 0,
            late: 0,
        }
    }

    /// Counts frames as late from that time of the realtime clock on.
    pub fn end_at(&mut self, realtime_ns: u64) {
        self.deadline_ns = Some(realtime_ns);
    }

    /// The number of a measured frame that came whole and in time, if it is one.
    pub fn number_of(&self, frame: &[u8], received_ns: u64) -> Option<u64> {
        let is_late = self.deadline_ns.is_some_and(|deadline_ns| received_ns > deadline_ns);
        match self.sought_of(frame).read(frame, received_ns) {
            Read::Whole(mark, _) if mark.phase == Phase::Measured && !is_late => Some(mark.sequence.into()),
            _ => None,
        }
    }

    /// The form of frames of its family.
    fn sought_of(&self, frame: &[u8]) -> &Sought {
        self.native.as_ref().filter(|native| is_of(native, frame)).unwrap_or(&self.sought)
    }

    /// Enters one frame.
    pub fn enter(&mut self, frame: &[u8], received_ns: u64) -> Entry {
        let is_native = self.native.as_ref().is_some_and(|native| is_of(native, frame));
        let (mark, extended) = match self.sought_of(frame).read(frame, received_ns) {
            Read::Whole(mark, extended) => (mark, extended),
            Read::Corrupt => {
                self.corrupt += 1;
                return Entry::Other;
            }
            Read::Stray => {
                self.strays += 1;
                return Entry::Stray;
            }
        };
        if mark.phase == Phase::WarmUp {
            self.warmup_received += 1;
            return Entry::Other;
        }
        if self.deadline_ns.is_some_and(|deadline_ns| received_ns > deadline_ns) {
            self.late += 1;
            return Entry::Other;
        }
        match self.arrivals.ledger.arrive(mark.sequence.into()) {
            Arrival::Impossible => {
                self.strays += 1;
                return Entry::Stray;
            }
            Arrival::Duplicate => return Entry::Other,
            Arrival::InOrder | Arrival::Reordered => {}
        }
        self.native_unique += u64::from(is_native);
        self.otherwise_extended += u64::from(extended == Extended::Otherwise);
        let bytes = self.sought.payload_bytes() as u64;
        self.arrivals.record(mark.sequence.into(), mark.sent_realtime_ns, received_ns, bytes)
    }

    /// The account of the flow. `sent`: the number of frames that the other side has sent.
    pub fn tally(&self, sent: Option<u64>) -> AccountTally {
        let native = |native| NativeTally { family: family_of(native), unique: self.native_unique };
        AccountTally {
            arrivals: self.arrivals.tally(sent),
            corrupt: self.corrupt,
            late: self.late,
            last_lost: sent.and_then(|sent| self.arrivals.ledger.last_lost(sent)),
            warmup_received: self.warmup_received,
            native: self.native.as_ref().map(native),
            otherwise_extended: self.sought.is_extended().then_some(self.otherwise_extended),
            strays: Strays::of_datagrams(self.strays),
        }
    }
}

/// The account of one flow, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AccountTally {
    #[serde(flatten)]
    arrivals: ArrivalTally,
    corrupt: u64,
    late: u64,
    /// The last number that is lost; absent without any, or where the number sent is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_lost: Option<u64>,
    warmup_received: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    native: Option<NativeTally>,
    /// Absent where frames have no extension headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    otherwise_extended: Option<u64>,
    strays: Strays,
}

impl AccountTally {
    /// Time from the first arrival to the last; absent where nothing came.
    pub fn measured_ns(&self) -> Option<u64> {
        self.arrivals.measured_ns
    }
}

/// The frames that went natively.
#[derive(Debug, Serialize, JsonSchema)]
struct NativeTally {
    family: u8,
    unique: u64,
}

/// True if a frame is of the family that is sought, by its EtherType.
fn is_of(sought: &Sought, frame: &[u8]) -> bool {
    let ethertype = if sought.is_ipv4() { ethertype::IPV4 } else { ethertype::IPV6 };
    frame.get(12..14) == Some(&ethertype.to_be_bytes())
}

fn family_of(sought: &Sought) -> u8 {
    if sought.is_ipv4() { 4 } else { 6 }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::{IpAddr, Ipv4Addr};

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::extensions::Extensions;
    use super::super::layout::{FrameAddresses, Mark, Template};
    use super::*;

    const TOKEN: u64 = 9;
    const MS: u64 = 1_000_000;
    const START_NS: u64 = 1_800_000_000_000 * MS;
    const FROM: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2));
    const TO: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 19, 0, 2));

    fn account() -> Account {
        let params = json!({"frame_bytes": 64, "rate_pps": 1000, "count": 10, "interval_ns": 10 * MS});
        let settings = Settings::parse(&params, FROM, true).unwrap();
        Account::new(Sought::new((FROM, TO), None, TOKEN, 18, Extensions::None), None, 10, &settings)
    }

    const HEAD_BYTES: usize = 60;

    fn frame(sequence: u32, phase: Phase, sent_ms: u64) -> [u8; HEAD_BYTES] {
        let addresses = FrameAddresses {
            source_ethernet: [2; 6],
            destination_ethernet: [4; 6],
            source: FROM,
            destination: TO,
            hop_limit: 64,
        };
        let mark = Mark { sequence, sent_realtime_ns: START_NS + sent_ms * MS, phase };
        let mut frame = [0; HEAD_BYTES];
        Template::new(&addresses, Extensions::None, TOKEN, 18).write((1, 2), &mark, &mut frame);
        frame
    }

    #[test]
    fn a_flow_by_hand() {
        let mut account = account();
        account.enter(&frame(0, Phase::WarmUp, 0), START_NS);
        // The numbers are 0 to 9: 0 is first, 4 jumps over three, 2 comes late and twice, 5 comes damaged and 6 after
        // the end.
        let mut enter = |sequence, sent_ms, received_ms| {
            account.enter(&frame(sequence, Phase::Measured, sent_ms), START_NS + received_ms * MS)
        };
        assert_eq!(enter(0, 2, 4), Entry::First(START_NS + 4 * MS));
        for (sequence, sent_ms, received_ms) in [(4, 6, 9), (2, 4, 15), (2, 4, 16)] {
            assert_eq!(enter(sequence, sent_ms, received_ms), Entry::Other);
        }
        assert_eq!(enter(10, 2, 17), Entry::Stray);
        let mut damaged = frame(5, Phase::Measured, 7);
        damaged[HEAD_BYTES - 1] ^= 1;
        account.enter(&damaged, START_NS + 18 * MS);
        account.end_at(START_NS + 20 * MS);
        account.enter(&frame(6, Phase::Measured, 8), START_NS + 21 * MS);
        assert!(!account.arrivals.has_all(10));
        let result = json!(account.tally(Some(10)));
        for (name, value) in [
            ("received", 4),
            ("unique", 3),
            ("duplicates", 1),
            ("reordered", 1),
            ("lost_middle", 2),
            ("lost_tail", 5),
            ("corrupt", 1),
            ("late", 1),
            ("unique_bytes", 54),
            ("measured_ns", 11 * MS),
            ("warmup_received", 1),
        ] {
            assert_eq!(result[name], value, "{name}");
        }
        assert_eq!(result["strays"]["datagrams"], 1);
        assert_eq!(result["one_way_delay"]["min"], 2 * MS);
        assert_eq!(result["series"]["datagrams"], json!([2, 1]));
    }

    #[test]
    fn nothing_came() {
        let result = json!(account().tally(Some(10)));
        assert_eq!((&result["lost_tail"], &result["lost_middle"]), (&json!(10), &json!(0)));
        assert_eq!(result.get("measured_ns"), None);
    }

    /// The treatment of a frame by a path.
    #[derive(Debug, Clone, Copy)]
    enum Treatment {
        Passes,
        IsLost,
        ComesTwice,
        IsDamaged,
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_ledger_says_what_the_path_did(
            (fates, order) in prop::collection::vec(
                prop_oneof![Just(Treatment::Passes), Just(Treatment::IsLost), Just(Treatment::ComesTwice), Just(Treatment::IsDamaged)],
                10,
            ).prop_flat_map(|fates| {
                let order: Vec<u32> = (0..fates.len() as u32).collect();
                (Just(fates), Just(order).prop_shuffle())
            }),
            bit in 8 * (HEAD_BYTES - 10)..8 * HEAD_BYTES,
        ) {
            let mut account = account();
            let (mut unique, mut duplicates, mut corrupt, mut reordered) = (BTreeSet::new(), 0, 0, 0);
            for &sequence in &order {
                let mut bytes = frame(sequence, Phase::Measured, 0);
                let times = match fates[sequence as usize] {
                    Treatment::IsLost => 0,
                    Treatment::Passes => 1,
                    Treatment::ComesTwice => 2,
                    Treatment::IsDamaged => {
                        bytes[bit / 8] ^= 1 << (bit % 8);
                        account.enter(&bytes, START_NS + MS);
                        corrupt += 1;
                        0
                    }
                };
                for time in 0..times {
                    account.enter(&bytes, START_NS + MS);
                    if time > 0 {
                        duplicates += 1;
                    } else {
                        // RFC 4737: reordered is what comes after a later number.
                        reordered += u64::from(unique.last().is_some_and(|&last| last > sequence));
                        unique.insert(sequence);
                    }
                }
            }
            let result = json!(account.tally(Some(10)));
            prop_assert_eq!(&result["unique"], unique.len());
            prop_assert_eq!(&result["duplicates"], duplicates);
            prop_assert_eq!(&result["corrupt"], corrupt);
            prop_assert_eq!(&result["reordered"], reordered);
            let lost = result["lost_middle"].as_u64().unwrap() + result["lost_tail"].as_u64().unwrap();
            prop_assert_eq!(lost, 10 - unique.len() as u64);
        }
    }
}
