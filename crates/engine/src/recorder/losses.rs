//! Lost packets in time bins, for each reason, place, flow and direction.

use std::collections::BTreeMap;

use daybreak_trace::{DropRow, LossColumns, LossRow};

/// The bins, filled in the order of time.
#[derive(Debug)]
pub(super) struct LossBins {
    width_ns: u64,
    /// The bin in hand, in the order of reason, place, flow and direction.
    current: BTreeMap<(u8, u32, u32, u8), Count>,
    start_ns: u64,
    end_ns: u64,
    done: LossColumns,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: u64,
    bytes: u64,
}

impl LossBins {
    pub(super) fn new(width_ps: u64) -> Self {
        let width_ns = (width_ps / 1_000).max(1);
        Self { width_ns, current: BTreeMap::new(), start_ns: 0, end_ns: 0, done: LossColumns::default() }
    }

    pub(super) fn add(&mut self, lost: &DropRow) {
        if lost.time_ns >= self.end_ns {
            self.close();
            self.start_ns = lost.time_ns / self.width_ns * self.width_ns;
            self.end_ns = self.start_ns.saturating_add(self.width_ns);
        }
        let count = self.current.entry((lost.reason, lost.place, lost.flow, lost.data)).or_default();
        count.packets += 1;
        count.bytes += u64::from(lost.bytes);
    }

    fn close(&mut self) {
        let start_ns = self.start_ns;
        while let Some(((reason, place, flow, data), Count { packets, bytes })) = self.current.pop_first() {
            self.done.push(LossRow { start_ns, reason, place, flow, data, packets, bytes });
        }
    }

    /// The table `losses`, in the order of time, reason, place, flow and direction.
    pub(super) fn into_columns(mut self) -> LossColumns {
        self.close();
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybreak_trace::Column;
    use daybreak_units::Duration;

    #[test]
    fn a_bin_counts_each_reason_place_flow_and_direction_by_itself() {
        let mut losses = LossBins::new(Duration::from_us(1).as_ps());
        let lost =
            |time_ns, reason, place, flow, data, bytes| DropRow { time_ns, reason, place, flow, data, seq: 0, bytes };
        for row in [
            lost(0, 1, 0, 0, 1, 1500),
            lost(999, 1, 0, 0, 1, 1000),
            lost(999, 0, 2, 0, 1, 40),
            lost(1_000, 1, 0, 0, 1, 1500),
            lost(5_000, 1, 0, 1, 1, 1500),
            lost(5_001, 1, 0, 1, 0, 52),
        ] {
            losses.add(&row);
        }
        let table = losses.into_columns().into_table();
        let column = |name| &table.columns.iter().find(|(column, _)| *column == name).unwrap().1;
        assert_eq!(*column("start_ns"), Column::U64(vec![0, 0, 1_000, 5_000, 5_000]));
        assert_eq!(*column("reason"), Column::U8(vec![0, 1, 1, 1, 1]));
        assert_eq!(*column("place"), Column::U32(vec![2, 0, 0, 0, 0]));
        assert_eq!(*column("flow"), Column::U32(vec![0, 0, 0, 1, 1]));
        assert_eq!(*column("data"), Column::U8(vec![1, 1, 1, 0, 1]));
        assert_eq!(*column("packets"), Column::U64(vec![1, 2, 1, 1, 1]));
        assert_eq!(*column("bytes"), Column::U64(vec![40, 2500, 1500, 52, 1500]));
    }
}
