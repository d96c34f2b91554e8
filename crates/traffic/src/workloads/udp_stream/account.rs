//! The receiver's account of a flow of datagrams. Pure: callers pass the datagrams and their times.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::Serialize;

use super::Settings;
use crate::arrivals::{ArrivalTally, Arrivals, Entry};
use crate::datagram::{Header, Phase};
use crate::ledger::Arrival;
use crate::packet_log::{ArrivalLog, ArrivalLogTally};
use crate::session::Endpoint;
use crate::strays::Strays;

/// A datagram as it came from the socket.
pub struct Incoming<'a> {
    pub bytes: &'a [u8],
    pub source: Option<IpAddr>,
    /// Time at which the kernel received it, on the realtime clock; absent where it did not tell.
    pub kernel_realtime_ns: Option<u64>,
}

/// The account of one flow.
pub struct Account {
    peer: IpAddr,
    token: u64,
    payloads: RangeInclusive<usize>,
    warmup_received: u64,
    strays: u64,
    user_timestamps: u64,
    /// The measured datagrams so far.
    pub arrivals: Arrivals,
    log: Option<ArrivalLog>,
}

impl Account {
    pub fn new(endpoint: &Endpoint, strays: u64, settings: &Settings) -> Self {
        Self {
            peer: endpoint.peer,
            token: endpoint.token.short(),
            payloads: settings.payloads(),
            warmup_received: 0,
            strays,
            user_timestamps: 0,
            arrivals: Arrivals::new(settings.most(), settings.interval_ns),
            log: settings.packet_log.then(ArrivalLog::default),
        }
    }

    /// Enters one datagram; `now_realtime_ns` is asked where the kernel noted no time.
    pub fn enter(&mut self, incoming: &Incoming, now_realtime_ns: impl FnOnce() -> u64) -> Entry {
        let of_the_peer = incoming.source == Some(self.peer) && self.payloads.contains(&incoming.bytes.len());
        let header = Header::decode(incoming.bytes).filter(|header| of_the_peer && header.token == self.token);
        let Some(header) = header else { return self.stray() };
        if header.phase == Phase::WarmUp {
            self.warmup_received += 1;
            return Entry::Other;
        }
        let arrival = self.arrivals.ledger.arrive(header.sequence);
        if arrival == Arrival::Impossible {
            return self.stray();
        }
        if arrival == Arrival::Duplicate {
            if let Some(log) = &mut self.log {
                log.note(header.sequence, incoming.kernel_realtime_ns.unwrap_or_else(now_realtime_ns));
            }
            return Entry::Other;
        }
        let received_ns = incoming.kernel_realtime_ns.unwrap_or_else(|| {
            self.user_timestamps += 1;
            now_realtime_ns()
        });
        if let Some(log) = &mut self.log {
            log.note(header.sequence, received_ns);
        }
        let bytes = incoming.bytes.len() as u64;
        self.arrivals.record(header.sequence, header.sent_realtime_ns, received_ns, bytes)
    }

    /// True if nothing of this trial has come.
    pub fn is_empty(&self) -> bool {
        self.arrivals.ledger.unique() == 0 && self.warmup_received == 0
    }

    /// The account of the flow. `sent`: the number of datagrams that the other side has sent.
    pub fn tally(&self, sent: Option<u64>) -> AccountTally {
        AccountTally {
            arrivals: self.arrivals.tally(sent),
            user_timestamps: self.user_timestamps,
            warmup_received: self.warmup_received,
            strays: Strays::of_datagrams(self.strays),
            packet_log: self.log.as_ref().map(ArrivalLog::tally),
        }
    }

    fn stray(&mut self) -> Entry {
        self.strays += 1;
        Entry::Stray
    }
}

/// The account of one flow, by the names of the protocol document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AccountTally {
    #[serde(flatten)]
    pub arrivals: ArrivalTally,
    /// Datagrams whose time the kernel did not note.
    pub user_timestamps: u64,
    pub warmup_received: u64,
    pub strays: Strays,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_log: Option<ArrivalLogTally>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::progress::Datagrams;
    use crate::{ConnectionLogs, Progress};
    use sixbench_wire::token::Token;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
    const MS: u64 = 1_000_000;

    fn account(count: u64) -> Account {
        let endpoint = Endpoint {
            address: IpAddr::from([192, 0, 2, 1]).into(),
            peer: PEER,
            port: 0,
            token: Token([7; 16]),
            cookie: false,
            certificate: None,
            logs: ConnectionLogs::default(),
            progress: Progress::default(),
        };
        let params = json!({"datagram_bytes": 40, "count": count, "interval_ns": 10 * MS});
        Account::new(&endpoint, 0, &Settings::parse(&params, endpoint.address.ip()).unwrap())
    }

    fn datagram(sequence: u64, phase: Phase, sent_ms: u64) -> Vec<u8> {
        let header = Header {
            token: u64::from_be_bytes([7; 8]),
            sequence,
            sent_realtime_ns: 1_000_000 * MS + sent_ms * MS,
            phase,
        };
        [&header.encode()[..], &[0; 8]].concat()
    }

    fn enter(account: &mut Account, bytes: &[u8], source: IpAddr, received_ms: u64) -> Entry {
        let kernel_realtime_ns = Some(1_000_000 * MS + received_ms * MS);
        account.enter(&Incoming { bytes, source: Some(source), kernel_realtime_ns }, || panic!("the kernel told"))
    }

    fn result(account: &Account, sent: Option<u64>) -> Map<String, Value> {
        match json!(account.tally(sent)) {
            Value::Object(result) => result,
            other => panic!("{other} is no object"),
        }
    }

    /// A value as the vectors have it: of a histogram its buckets.
    fn as_in_a_vector(value: &Value) -> &Value {
        value.get("buckets").unwrap_or(value)
    }

    #[test]
    fn vectors() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/flow");
        let mut checked = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let vector: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let sent = vector["sent"].as_u64().unwrap();
            let mut account = account(sent);
            let token = u64::from_be_bytes([7; 8]);
            for arrival in vector["arrivals"].as_array().unwrap() {
                let [sequence, sent_realtime_ns, received_ns] = [0, 1, 2].map(|index| arrival[index].as_u64().unwrap());
                let header = Header { token, sequence, sent_realtime_ns, phase: Phase::Measured };
                let bytes = [&header.encode()[..], &[0; 8]].concat();
                let incoming = Incoming { bytes: &bytes, source: Some(PEER), kernel_realtime_ns: Some(received_ns) };
                account.enter(&incoming, || panic!("the kernel told"));
            }
            let result = result(&account, Some(sent));
            for (name, expected) in vector["expected"].as_object().unwrap() {
                assert_eq!(as_in_a_vector(&result[name]), expected, "{name} of {}", path.display());
                checked += 1;
            }
            for absent in vector["absent"].as_array().into_iter().flatten() {
                assert!(!result.contains_key(absent.as_str().unwrap()), "{absent} of {}", path.display());
            }
        }
        assert!(checked >= 40, "{checked} values");
    }

    #[test]
    fn a_flow_by_hand() {
        let mut account = account(10);
        assert_eq!(enter(&mut account, &datagram(0, Phase::WarmUp, 0), PEER, 1), Entry::Other);
        // The numbers are 0 to 9: 0 is first, 4 jumps over three, 2 comes late and twice, 5 comes, 6 to 9 do not.
        for (sequence, sent, received) in [(0, 2, 4), (4, 6, 9), (2, 4, 15), (2, 4, 16), (5, 7, 39)] {
            enter(&mut account, &datagram(sequence, Phase::Measured, sent), PEER, received);
        }
        let result = result(&account, Some(10));
        for (name, value) in [
            ("received", 5),
            ("unique", 4),
            ("duplicates", 1),
            ("reordered", 1),
            ("lost_middle", 2),
            ("highest_sequence", 5),
            ("lost_tail", 4),
            ("unique_bytes", 160),
            ("measured_bytes", 120),
            ("measured_ns", 35 * MS),
            ("user_timestamps", 0),
            ("warmup_received", 1),
        ] {
            assert_eq!(result[name], value, "{name}");
        }
        assert_eq!(
            result["series"],
            json!({
                "t_ns": [10 * MS, 20 * MS, 30 * MS, 35 * MS],
                "datagrams": [2, 1, 0, 1], "bytes": [80, 40, 0, 40], "lost_middle": [3, -1, 0, 0],
            })
        );
        assert_eq!(result["one_way_delay"]["count"], 4);
        let Datagrams { unique, lost_middle, jitter_ns } = account.arrivals.datagrams();
        assert_eq!((unique, lost_middle, json!(jitter_ns)), (4, 2, result["jitter_rfc3550_ns"].clone()));
        assert_eq!(result["ipdv_signed"], json!({"count": 1, "min_ns": 29 * MS, "p50_ns": 29 * MS, "max_ns": 29 * MS}));
    }

    #[test]
    fn strays_are_counted_and_change_nothing() {
        let mut account = account(10);
        let good = datagram(3, Phase::Measured, 0);
        let mut other_token = good.clone();
        other_token[7] ^= 1;
        let mut no_phase = good.clone();
        no_phase[24] = 9;
        let longer = [&good[..], &[0]].concat();
        for bytes in [&other_token, &no_phase, &longer, &good[..39].to_vec(), &Vec::new()] {
            assert_eq!(enter(&mut account, bytes, PEER, 1), Entry::Stray);
        }
        assert_eq!(enter(&mut account, &good, [192, 0, 2, 3].into(), 1), Entry::Stray);
        assert_eq!(enter(&mut account, &datagram(10, Phase::Measured, 0), PEER, 1), Entry::Stray);
        let result = result(&account, Some(10));
        assert_eq!(result["strays"], json!({"connections": 0, "datagrams": 7}));
        assert_eq!((&result["received"], &result["lost_tail"]), (&json!(0), &json!(10)));
        assert!(!result.contains_key("highest_sequence") && !result.contains_key("measured_ns"));
        assert_eq!(result["series"], json!({"t_ns": [], "datagrams": [], "bytes": [], "lost_middle": []}));
    }

    #[test]
    fn a_time_the_kernel_did_not_note_is_the_readers_and_counted() {
        let mut account = account(10);
        let bytes = datagram(0, Phase::Measured, 0);
        let incoming = Incoming { bytes: &bytes, source: Some(PEER), kernel_realtime_ns: None };
        assert_eq!(account.enter(&incoming, || 77), Entry::First(77));
        assert_eq!(result(&account, None)["user_timestamps"], 1);
        assert!(!result(&account, None).contains_key("lost_tail"));
    }
}
