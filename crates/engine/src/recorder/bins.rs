//! Bytes in time bins, one series for each flow or link.
//!
//! Links may report packets that they will send, so a flow that changes its link comes back to a bin.

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
    /// The bin in hand: its start and its bytes.
    start_ps: u64,
    bytes: u64,
    /// The other bins, by their start.
    others: Vec<(u64, u64)>,
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
    pub(super) fn add(&mut self, at: Instant, id: u32, bytes: u64) {
        *self.bin(at, id) += bytes;
    }

    /// Of what was added as yet to come: it does not.
    pub(super) fn take_back(&mut self, at: Instant, id: u32, bytes: u64) {
        *self.bin(at, id) -= bytes;
    }

    #[inline]
    fn bin(&mut self, at: Instant, id: u32) -> &mut u64 {
        let series = &mut self.series[id as usize];
        if at.as_ps().wrapping_sub(series.start_ps) >= self.width_ps {
            series.turn(at.as_ps() / self.width_ps * self.width_ps);
        }
        &mut series.bytes
    }
}

impl Series {
    fn turn(&mut self, start_ps: u64) {
        self.put_away();
        self.start_ps = start_ps;
        self.bytes = match self.others.last() {
            Some(last) if start_ps <= last.0 => self.take_back(start_ps),
            _ => 0,
        };
    }

    /// The bytes of a bin that comes again, perhaps.
    fn take_back(&mut self, start_ps: u64) -> u64 {
        let place = self.others.binary_search_by_key(&start_ps, |bin| bin.0);
        place.map_or(0, |place| self.others.remove(place).1)
    }

    /// The bin in hand goes to the others, mostly to their end.
    fn put_away(&mut self) {
        if self.bytes > 0 {
            let is_last = self.others.last().is_none_or(|last| last.0 < self.start_ps);
            let place =
                if is_last { self.others.len() } else { self.others.partition_point(|bin| bin.0 < self.start_ps) };
            self.others.insert(place, (self.start_ps, self.bytes));
        }
    }
}

/// The table `bins`, in the order of scope, id and time.
pub(super) fn into_table(scopes: impl Iterator<Item = BinnedSeries>) -> Table {
    let mut columns = BinColumns::default();
    for BinnedSeries { scope, series, .. } in scopes {
        for (id, mut series) in series.into_iter().enumerate() {
            series.put_away();
            for (start_ps, bytes) in series.others {
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
        for (us, bytes) in [(0, 1), (99, 2), (100, 4), (350, 8)] {
            bins.add(at(us), 1, bytes);
        }
        check(bins);
    }

    #[test]
    fn a_bin_may_come_again_and_shrink() {
        let mut bins = BinnedSeries::new(BinScope::Link, 2, Duration::from_us(100).as_ps());
        for (us, bytes) in [(150, 4), (20, 1), (370, 3), (99, 2), (350, 5), (210, 6), (510, 7), (0, 9)] {
            bins.add(at(us), 1, bytes);
        }
        for (us, bytes) in [(210, 6), (510, 7), (0, 9)] {
            bins.take_back(at(us), 1, bytes);
        }
        check(bins);
    }

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    fn check(bins: BinnedSeries) {
        let table = into_table([bins].into_iter());
        let column = |name| &table.columns.iter().find(|(column, _)| *column == name).unwrap().1;
        assert_eq!(*column("id"), Column::U32(vec![1, 1, 1]));
        assert_eq!(*column("start_ns"), Column::U64(vec![0, 100_000, 300_000]));
        assert_eq!(*column("bytes"), Column::U64(vec![3, 4, 8]));
    }
}
