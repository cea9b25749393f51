//! Bytes in time bins, one series for each flow or link.

use daybreak_trace::{BinColumns, BinRow, BinScope, Table};
use daybreak_units::Instant;

/// The series of one scope.
#[derive(Debug)]
pub(super) struct BinnedSeries {
    scope: BinScope,
    width_ps: u64,
    series: Vec<Series>,
}

#[derive(Clone, Debug, Default)]
struct Series {
    /// The bin in hand: its start, its end, its bytes.
    start_ps: u64,
    end_ps: u64,
    bytes: u64,
    /// Bins that are complete: start and bytes.
    done: Vec<(u64, u64)>,
}

impl BinnedSeries {
    pub(super) fn new(scope: BinScope, count: usize, width_ps: u64) -> Self {
        Self { scope, width_ps, series: vec![Series::default(); count] }
    }

    /// One more flow or link.
    pub(super) fn grow(&mut self) {
        self.series.push(Series::default());
    }

    #[inline]
    pub(super) fn add(&mut self, now: Instant, id: u32, bytes: u64) {
        let series = &mut self.series[id as usize];
        if now.as_ps() >= series.end_ps {
            series.turn(now.as_ps() / self.width_ps * self.width_ps, self.width_ps);
        }
        series.bytes += bytes;
    }
}

impl Series {
    fn turn(&mut self, start_ps: u64, width_ps: u64) {
        if self.bytes > 0 {
            self.done.push((self.start_ps, self.bytes));
        }
        self.start_ps = start_ps;
        self.end_ps = start_ps.saturating_add(width_ps);
        self.bytes = 0;
    }
}

/// The table `bins`, in the order of scope, id and time.
pub(super) fn into_table(scopes: impl Iterator<Item = BinnedSeries>) -> Table {
    let mut columns = BinColumns::default();
    for BinnedSeries { scope, series, .. } in scopes {
        for (id, mut series) in series.into_iter().enumerate() {
            series.turn(0, 0);
            for (start_ps, bytes) in series.done {
                columns.push(BinRow { scope: scope as u8, id: id as u32, start_ns: start_ps / 1_000, bytes });
            }
        }
    }
    columns.into_table()
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybreak_trace::Column;
    use daybreak_units::Duration;

    #[test]
    fn empty_bins_are_left_out() {
        let mut bins = BinnedSeries::new(BinScope::Link, 2, Duration::from_us(100).as_ps());
        let at = |us| Instant::ZERO + Duration::from_us(us);
        for (us, bytes) in [(0, 1), (99, 2), (100, 4), (350, 8)] {
            bins.add(at(us), 1, bytes);
        }
        let table = into_table([bins].into_iter());
        let column = |name| &table.columns.iter().find(|(column, _)| *column == name).unwrap().1;
        assert_eq!(*column("id"), Column::U32(vec![1, 1, 1]));
        assert_eq!(*column("start_ns"), Column::U64(vec![0, 100_000, 300_000]));
        assert_eq!(*column("bytes"), Column::U64(vec![3, 4, 8]));
    }
}
