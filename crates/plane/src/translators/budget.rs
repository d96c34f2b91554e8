//! The limit on the errors that a translator sends: RFC 4443 section 2.4 (f), RFC 1812 section 4.3.2.8.

use std::time::{Duration, Instant};

/// Errors a second, and at once: as many as Linux sends of all kinds (`net.ipv4.icmp_msgs_per_sec`).
const ERRORS_PER_SECOND: u32 = 1000;
const PAUSE: Duration = Duration::from_nanos(1_000_000_000 / ERRORS_PER_SECOND as u64);

/// A bucket of tokens, which is full at first.
#[derive(Debug)]
pub struct Budget {
    tokens: u32,
    filled: Instant,
}

impl Budget {
    /// A full one.
    pub fn new(now: Instant) -> Self {
        Self { tokens: ERRORS_PER_SECOND, filled: now }
    }

    /// Takes a token. False: there is none.
    pub fn take(&mut self, now: Instant) -> bool {
        let due = now.saturating_duration_since(self.filled).as_nanos() / PAUSE.as_nanos();
        if due > 0 {
            let more = due.min(u128::from(ERRORS_PER_SECOND)) as u32;
            self.tokens = self.tokens.saturating_add(more).min(ERRORS_PER_SECOND);
            self.filled = now;
        }
        let has_one = self.tokens > 0;
        self.tokens -= u32::from(has_one);
        has_one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_at_once_and_so_many_a_second() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        let taken = |budget: &mut Budget, now| (0..5000).filter(|_| budget.take(now)).count();
        assert_eq!(taken(&mut budget, start), 1000);
        assert_eq!(taken(&mut budget, start + Duration::from_micros(900)), 0);
        assert_eq!(taken(&mut budget, start + Duration::from_millis(10)), 10);
        assert_eq!(taken(&mut budget, start + Duration::from_secs(60)), 1000);
    }
}
