//! Samples of senders' windows: at every multiple of an interval from the handshake to the last byte's
//! acknowledgement, whatever happens or does not happen in between, or at every ACK and timer.

use daybreak_trace::{WindowColumns, WindowRow};
use daybreak_units::Instant;

#[derive(Debug)]
pub(super) struct WindowSamples {
    /// 0 samples at every ACK.
    interval_ps: u64,
    /// When each flow is due; never for one that is not under way.
    due: Vec<Instant>,
    rows: WindowColumns,
}

impl WindowSamples {
    pub(super) fn new(flows: usize, interval_ps: u64) -> Self {
        Self { interval_ps, due: vec![Instant::NEVER; flows], rows: WindowColumns::default() }
    }

    /// There is one flow more, which is not sampled when it is due, but from outside.
    pub(super) fn grow(&mut self) {
        self.due.push(Instant::NEVER);
    }

    /// The flow is under way from now on.
    pub(super) fn begin(&mut self, now: Instant, flow: u32) {
        if let Some(intervals) = now.as_ps().checked_div(self.interval_ps) {
            self.due[flow as usize] = Instant::from_ps((intervals + 1) * self.interval_ps);
        }
    }

    /// The flow is complete.
    pub(super) fn end(&mut self, flow: u32) {
        self.due[flow as usize] = Instant::NEVER;
    }

    /// The time of the flow's next sample, if it has come.
    #[inline]
    pub(super) fn due(&self, now: Instant, flow: u32) -> Option<Instant> {
        let at = self.due[flow as usize];
        (at <= now).then_some(at)
    }

    #[inline]
    pub(super) fn takes_every_ack(&self) -> bool {
        self.interval_ps == 0
    }

    pub(super) fn push(&mut self, row: WindowRow) {
        let due = &mut self.due[row.flow as usize];
        if *due != Instant::NEVER {
            *due = Instant::from_ps(due.as_ps() + self.interval_ps);
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
    fn a_silent_time_has_its_samples_too() {
        let us = |us| Instant::ZERO + Duration::from_us(us);
        let mut samples = WindowSamples::new(1, Duration::from_us(10).as_ps());
        let mut taken = Vec::new();
        for now in [3, 5, 9, 10, 11, 47, 49, 50, 72] {
            if now == 5 {
                samples.begin(us(now), 0);
            }
            while let Some(at) = samples.due(us(now), 0) {
                samples.push(WindowRow { time_ns: at.as_ns(), ..WindowRow::default() });
                taken.push(at.as_us());
            }
            if now == 50 {
                samples.end(0);
            }
        }
        assert_eq!(taken, [10, 20, 30, 40, 50]);
    }
}
