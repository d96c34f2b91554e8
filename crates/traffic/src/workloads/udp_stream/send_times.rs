//! The delay from the time in a datagram to the moment when the kernel had it ready to leave.
//!
//! A datagram carries the time before its call. The kernel notes two more for a few of a paced flow: when the datagram
//! enters the queue of the device, and when the device takes it (`SOF_TIMESTAMPING_TX_SCHED`,
//! `SOF_TIMESTAMPING_TX_SOFTWARE`). The time to the queue is the sender's part of each one-way delay; the rest is the
//! path's.

use schemars::JsonSchema;
use serde::Serialize;
use sixbench_measure::clock;
use sixbench_measure::histogram::{Times, TimesTally};
use socket2::Socket;

use crate::error_queue::{self, Stage};

/// Interval between datagrams whose times are noted: asking for them, and fetching them, takes some microseconds.
const INTERVAL_NS: u64 = 5_000_000;

/// The times of a sample of a flow's datagrams.
pub struct SendTimes {
    reading: Times,
    to_queue: Times,
    to_device: Times,
    is_possible: bool,
    next_ns: u64,
    /// The time in the datagram that is being asked about.
    asked: Option<u64>,
    /// Number of datagrams that were asked about: the answers are numbered by it.
    count: u32,
}

impl SendTimes {
    /// Send times of a socket whose error queue is otherwise unused, where `is_wanted`.
    pub fn new(socket: &Socket, is_wanted: bool) -> Self {
        Self {
            reading: clock::reading_times(),
            to_queue: Times::default(),
            to_device: Times::default(),
            is_possible: is_wanted && error_queue::ask_for_send_times(socket).is_ok(),
            next_ns: 0,
            asked: None,
            count: 0,
        }
    }

    /// True if the datagram to be sent at that time is to be one of the sample.
    #[inline]
    pub fn is_due(&self, monotonic_ns: u64) -> bool {
        self.is_possible && self.asked.is_none() && monotonic_ns >= self.next_ns
    }

    /// Notes that a datagram of the sample was sent, with that time in it.
    pub fn note_asked(&mut self, monotonic_ns: u64, sent_realtime_ns: u64) {
        self.next_ns = monotonic_ns + INTERVAL_NS;
        self.asked = Some(sent_realtime_ns);
        self.count = self.count.wrapping_add(1);
    }

    /// Fetches the answers about the one before, once another datagram has gone: the device may have taken a while.
    #[inline]
    pub fn collect(&mut self, socket: &Socket) {
        if let Some(sent_realtime_ns) = self.asked.take() {
            self.fetch(socket, sent_realtime_ns);
        }
    }

    #[cold]
    fn fetch(&mut self, socket: &Socket, sent_realtime_ns: u64) {
        while let Some(time) = error_queue::next_send_time(socket) {
            // A step of the clock back makes no time.
            let since_ns = time.realtime_ns.checked_sub(sent_realtime_ns);
            if let (true, Some(since_ns)) = (time.number == self.count.wrapping_sub(1), since_ns) {
                match time.stage {
                    Stage::Queue => self.to_queue.record(since_ns),
                    Stage::Device => self.to_device.record(since_ns),
                }
            }
        }
    }

    /// Starts the sample again.
    pub fn forget(&mut self) {
        (self.to_queue, self.to_device) = (Times::default(), Times::default());
    }

    /// The account of the sample.
    pub fn tally(&self) -> SendTimeTally {
        SendTimeTally {
            clock_reading: self.reading.tally(),
            to_queue: self.is_possible.then(|| self.to_queue.tally()),
            to_device: self.is_possible.then(|| self.to_device.tally()),
        }
    }
}

/// The times of a sample of a flow's datagrams, as histograms: `timestamping` of the sender's result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SendTimeTally {
    /// Times that reading the clock takes.
    pub clock_reading: TimesTally,
    /// Times to the queue of the device; absent where the kernel notes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_queue: Option<TimesTally>,
    /// Times to the device; absent where the kernel notes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_device: Option<TimesTally>,
}
