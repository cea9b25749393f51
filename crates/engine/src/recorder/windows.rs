//! Samples of senders' windows: the first ACK in each interval gives one.

use daybreak_trace::{WindowColumns, WindowRow};
use daybreak_units::Instant;

#[derive(Debug)]
pub(super) struct WindowSamples {
    /// 0 samples at every ACK.
    interval_ps: u64,
    /// When each flow is due again.
    next: Vec<Instant>,
    rows: WindowColumns,
}

impl WindowSamples {
    pub(super) fn new(flows: usize, interval_ps: u64) -> Self {
        Self { interval_ps, next: vec![Instant::ZERO; flows], rows: WindowColumns::default() }
    }

    #[inline]
    pub(super) fn is_due(&self, now: Instant, flow: u32) -> bool {
        now >= self.next[flow as usize]
    }

    pub(super) fn push(&mut self, row: WindowRow) {
        let now_ps = row.time_ns * 1_000;
        if let Some(intervals) = now_ps.checked_div(self.interval_ps) {
            self.next[row.flow as usize] = Instant::from_ps((intervals + 1) * self.interval_ps);
        }
        self.rows.push(row);
    }

    pub(super) fn into_columns(self) -> WindowColumns {
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybreak_units::Duration;

    #[test]
    fn one_sample_an_interval() {
        let mut samples = WindowSamples::new(1, Duration::from_us(10).as_ps());
        let mut taken = Vec::new();
        for us in [3, 5, 9, 10, 11, 47, 49, 50] {
            let now = Instant::ZERO + Duration::from_us(us);
            if samples.is_due(now, 0) {
                samples.push(WindowRow { time_ns: now.as_ns(), ..WindowRow::default() });
                taken.push(us);
            }
        }
        assert_eq!(taken, [3, 10, 47, 50]);
    }
}
