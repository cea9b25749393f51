//! Derives the completion of requests from the delivery of their responses.

use daybreak_plan::ExchangeRun;
use daybreak_trace::ExchangeRow;
use daybreak_units::{Duration, Instant};

/// The exchanges of one flow, in order.
#[derive(Clone, Debug)]
pub struct Exchanges {
    flow: u32,
    runs: Vec<ExchangeRun>,
    /// Position among the runs, and within that run.
    run: usize,
    place: u32,
    /// Exchanges that are complete.
    complete: u32,
    /// When the current exchange began.
    began: Instant,
    /// Total number of delivered bytes at which the client has the current response.
    goal: u64,
}

impl Exchanges {
    /// The exchanges of `flow`, whose client opens its connection at `start`.
    pub fn new(flow: u32, runs: &[ExchangeRun], start: Instant) -> Self {
        let goal = runs.first().map_or(u64::MAX, |run| run.response_bytes);
        Self { flow, runs: runs.to_vec(), run: 0, place: 0, complete: 0, began: start, goal }
    }

    /// Notes that the client has received `delivered` bytes in order. Returns the exchange that this completes, if any:
    /// since the next one begins after it, there is at most one.
    pub fn delivered(&mut self, now: Instant, delivered: u64) -> Option<ExchangeRow> {
        let &ExchangeRun { count, request_bytes, response_bytes, .. } = self.runs.get(self.run)?;
        if delivered < self.goal {
            return None;
        }
        let row = ExchangeRow {
            flow: self.flow,
            exchange: self.complete,
            request_bytes,
            response_bytes,
            start_ns: self.began.as_ns(),
            end_ns: now.as_ns(),
            fct_ns: (now - self.began).as_ns(),
        };
        self.complete += 1;
        self.place += 1;
        if self.place == count {
            (self.run, self.place) = (self.run + 1, 0);
        }
        if let Some(next) = self.runs.get(self.run) {
            self.goal += next.response_bytes;
            self.began = now + Duration::from_ps(next.think_ps);
        }
        Some(row)
    }

    /// Whether every response has been delivered.
    pub fn are_complete(&self) -> bool {
        self.run == self.runs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_takes_from_the_request_to_the_last_byte_of_the_response() {
        let at = Instant::from_ps;
        let run = |count, response_bytes, think_ps| ExchangeRun { count, request_bytes: 3, response_bytes, think_ps };
        let mut exchanges = Exchanges::new(9, &[run(2, 100, 4_000), run(1, 50, 0)], at(1_000));
        assert_eq!(exchanges.delivered(at(5_000), 99), None);
        let row = |exchange, response_bytes, start_ns, end_ns| {
            let fct_ns = end_ns - start_ns;
            Some(ExchangeRow { flow: 9, exchange, request_bytes: 3, response_bytes, start_ns, end_ns, fct_ns })
        };
        assert_eq!(exchanges.delivered(at(8_000), 100), row(0, 100, 1, 8));
        assert_eq!(exchanges.delivered(at(20_000), 200), row(1, 100, 12, 20));
        assert!(!exchanges.are_complete());
        assert_eq!(exchanges.delivered(at(25_000), 250), row(2, 50, 20, 25));
        assert!(exchanges.are_complete());
        assert_eq!(exchanges.delivered(at(26_000), 250), None);
    }
}
