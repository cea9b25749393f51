//! Fills the record tables while a run goes on. Bins, histograms and samples stream: memory grows
//! with the rows requested, never with the number of packets.

mod bins;
mod latency;
mod losses;
mod queues;
mod windows;

use daybreak_fabric::control::Decision;
use daybreak_fabric::{LinkTotals, QueueTotals};
use daybreak_trace::{
    BinScope, CircuitColumns, CircuitRow, ControlColumns, ControlRow, DropColumns, DropRow, LinkColumns, LinkRow,
    NO_FLOW, PacketColumns, PacketRow, Probe, QueueTotalsColumns, QueueTotalsRow, Table, WindowRow,
};
use daybreak_units::Instant;

use bins::BinnedSeries;
use daybreak_plan::Plan;
use latency::Latency;
use losses::LossBins;
use queues::QueueSamples;
use windows::WindowSamples;

/// Whether a plan records anything for which packets have to be watched.
pub(crate) fn watches_packets(plan: &Plan) -> bool {
    let records = &plan.records;
    records.bin_ps.is_some()
        || records.window_ps.is_some()
        || records.queue_ps.is_some()
        || records.drops
        || records.loss_bin_ps.is_some()
        || records.circuits
        || records.latency
        || !records.packet_links.is_empty()
        || !records.capture_links.is_empty()
}

/// The table of what every link of a plan, in its order, has carried in the whole run.
pub fn link_table(totals: impl IntoIterator<Item = LinkTotals>) -> Table {
    let mut columns = LinkColumns::default();
    for (link, LinkTotals { packets, bytes, lost, arrived, .. }) in (0..).zip(totals) {
        columns.push(LinkRow { link, packets, bytes, lost, in_flight: packets - lost - arrived });
    }
    columns.into_table()
}

/// The table of what happened at every queue of a plan, in its order, in the whole run.
pub fn queue_totals_table(totals: impl IntoIterator<Item = QueueTotals>) -> Table {
    let mut columns = QueueTotalsColumns::default();
    for (queue, QueueTotals { marked, dropped, overflowed, returned }) in (0..).zip(totals) {
        columns.push(QueueTotalsRow {
            queue,
            marked_packets: marked,
            dropped_packets: dropped,
            overflowed_packets: overflowed,
            returned_packets: returned,
        });
    }
    columns.into_table()
}

/// A decision as the tables have it.
pub fn control_row(now: Instant, controller: u32, decision: Decision) -> ControlRow {
    let Decision { event, flow, path } = decision;
    ControlRow { time_ns: now.as_ns(), controller, event: event as u8, flow: flow.unwrap_or(NO_FLOW), path }
}

/// What a link is watched for.
#[derive(Clone, Copy, Debug, Default)]
struct LinkWatch {
    tap: bool,
    bins: bool,
    packets: bool,
}

/// The probe of a run that records; the default one records nothing.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Whether each flow is recorded; none where all of them are.
    chosen: Option<Box<[bool]>>,
    links: Vec<LinkWatch>,
    taps: Option<BinnedSeries>,
    link_bins: Option<BinnedSeries>,
    delivered: Option<BinnedSeries>,
    arrived: Option<BinnedSeries>,
    windows: Option<WindowSamples>,
    queues: Option<QueueSamples>,
    drops: Option<DropColumns>,
    losses: Option<LossBins>,
    circuits: Option<CircuitColumns>,
    control: Option<ControlColumns>,
    latency: Option<Latency>,
    packets: Option<PacketColumns>,
}

impl Recorder {
    /// A recorder of what `plan` requests.
    pub fn new(plan: &Plan) -> Self {
        let records = &plan.records;
        let mut links = vec![LinkWatch::default(); plan.links.len()];
        for &link in &records.tap_links {
            links[link as usize].tap = true;
        }
        for &link in &records.bin_links {
            links[link as usize].bins = true;
        }
        for &link in &records.packet_links {
            links[link as usize].packets = true;
        }
        let bin = records.bin_ps.unwrap_or(u64::MAX);
        let flows = plan.flows.len();
        let chosen = records.flows.as_ref().map(|chosen| {
            let mut is_chosen = vec![false; flows].into_boxed_slice();
            for &flow in chosen {
                is_chosen[flow as usize] = true;
            }
            is_chosen
        });
        Self {
            chosen,
            links,
            taps: Some(BinnedSeries::new(BinScope::Tap, flows, bin)),
            link_bins: Some(BinnedSeries::new(BinScope::Link, plan.links.len(), bin)),
            delivered: records.bin_delivered.then(|| BinnedSeries::new(BinScope::Delivered, flows, bin)),
            arrived: records.bin_delivered.then(|| BinnedSeries::new(BinScope::Arrived, flows, bin)),
            windows: records.window_ps.map(|interval| WindowSamples::new(flows, interval)),
            queues: records.queue_ps.map(|interval| QueueSamples::new(plan.queues.len(), &records.queues, interval)),
            drops: records.drops.then(DropColumns::default),
            losses: records.loss_bin_ps.map(LossBins::new),
            circuits: records.circuits.then(CircuitColumns::default),
            control: records.circuits.then(ControlColumns::default),
            latency: records.latency.then(|| Latency::new(flows)),
            packets: (!records.packet_links.is_empty()).then(PacketColumns::default),
        }
    }

    /// Whether the rows of a flow are wanted. One that a program opened during the run is not chosen.
    #[inline]
    fn records(&self, flow: u32) -> bool {
        self.chosen.as_ref().is_none_or(|chosen| chosen.get(flow as usize).is_some_and(|&is_chosen| is_chosen))
    }

    /// Whether one-way delays are wanted.
    pub(crate) fn wants_latency(&self) -> bool {
        self.latency.is_some()
    }

    /// Whether packets are listed one by one.
    pub(crate) fn wants_packets(&self) -> bool {
        self.packets.is_some()
    }

    /// The tables `bins`, `window`, `queues`, `drops`, `losses`, `circuits`, `control`, `latency` and `packets`;
    /// `end` is the time at which the run stopped. What was not requested is empty.
    pub fn into_tables(self, end: Instant) -> Vec<Table> {
        vec![
            bins::into_table([self.delivered, self.taps, self.link_bins, self.arrived].into_iter().flatten()),
            self.windows.map(WindowSamples::into_columns).unwrap_or_default().into_table(),
            self.queues.map(|samples| samples.into_columns(end)).unwrap_or_default().into_table(),
            self.drops.unwrap_or_default().into_table(),
            self.losses.map(LossBins::into_columns).unwrap_or_default().into_table(),
            self.circuits.unwrap_or_default().into_table(),
            self.control.unwrap_or_default().into_table(),
            self.latency.map(Latency::into_columns).unwrap_or_default().into_table(),
            self.packets.unwrap_or_default().into_table(),
        ]
    }
}

impl Probe for Recorder {
    #[inline]
    fn link_sent(&mut self, at: Instant, link: u32, flow: u32, data: bool, wire_bytes: u32) {
        let watch = self.links[link as usize];
        if watch.tap
            && data
            && self.records(flow)
            && let Some(taps) = &mut self.taps
        {
            taps.add(at, flow, u64::from(wire_bytes));
        }
        if watch.bins
            && let Some(bins) = &mut self.link_bins
        {
            bins.add(at, link, u64::from(wire_bytes));
        }
    }

    fn link_unsent(&mut self, at: Instant, link: u32, flow: u32, data: bool, wire_bytes: u32) {
        let watch = self.links[link as usize];
        let is_tapped = watch.tap && data && self.records(flow);
        if let Some(taps) = self.taps.as_mut().filter(|_| is_tapped) {
            taps.take_back(at, flow, u64::from(wire_bytes));
        }
        if let Some(bins) = self.link_bins.as_mut().filter(|_| watch.bins) {
            bins.take_back(at, link, u64::from(wire_bytes));
        }
    }

    #[inline]
    fn wants_packets(&self, link: u32) -> bool {
        self.links[link as usize].packets
    }

    #[inline]
    fn packet(&mut self, row: PacketRow) {
        if let Some(packets) = &mut self.packets {
            packets.push(row);
        }
    }

    #[inline]
    fn queue_changed(&mut self, now: Instant, queue: u32, packets: u32, bytes: u64) {
        if let Some(samples) = &mut self.queues {
            samples.changed(now, queue, packets, bytes);
        }
    }

    fn dropped(&mut self, row: DropRow) {
        if let Some(losses) = &mut self.losses {
            losses.add(&row);
        }
        let is_recorded = self.records(row.flow);
        if let Some(drops) = self.drops.as_mut().filter(|_| is_recorded) {
            drops.push(row);
        }
    }

    #[inline]
    fn delivered(&mut self, now: Instant, flow: u32, bytes: u64) {
        let is_recorded = self.records(flow);
        if let Some(bins) = self.delivered.as_mut().filter(|_| is_recorded) {
            bins.add(now, flow, bytes);
        }
    }

    #[inline]
    fn arrived(&mut self, now: Instant, flow: u32, bytes: u64) {
        let is_recorded = self.records(flow);
        if let Some(bins) = self.arrived.as_mut().filter(|_| is_recorded) {
            bins.add(now, flow, bytes);
        }
    }

    fn flow_found(&mut self) {
        [&mut self.taps, &mut self.delivered, &mut self.arrived].into_iter().flatten().for_each(BinnedSeries::grow);
        if let Some(latency) = &mut self.latency {
            latency.grow();
        }
        if let Some(windows) = &mut self.windows {
            windows.grow();
        }
    }

    fn flow_began(&mut self, now: Instant, flow: u32) {
        let is_recorded = self.records(flow);
        if let Some(samples) = self.windows.as_mut().filter(|_| is_recorded) {
            samples.begin(now, flow);
        }
    }

    fn flow_ended(&mut self, flow: u32) {
        if let Some(samples) = &mut self.windows {
            samples.end(flow);
        }
    }

    #[inline]
    fn window_due(&self, now: Instant, flow: u32) -> Option<Instant> {
        self.windows.as_ref().and_then(|samples| samples.due(now, flow))
    }

    #[inline]
    fn wants_every_window(&self) -> bool {
        self.windows.as_ref().is_some_and(WindowSamples::takes_every_ack)
    }

    fn window(&mut self, row: WindowRow) {
        let is_recorded = self.records(row.flow);
        if let Some(samples) = self.windows.as_mut().filter(|_| is_recorded) {
            samples.push(row);
        }
    }

    fn circuit(&mut self, row: CircuitRow) {
        if let Some(circuits) = &mut self.circuits {
            circuits.push(row);
        }
    }

    fn control(&mut self, row: ControlRow) {
        if let Some(control) = &mut self.control {
            control.push(row);
        }
    }

    #[inline]
    fn packet_delay(&mut self, flow: u32, delay_ps: u64) {
        if let Some(latency) = &mut self.latency {
            latency.add(flow, delay_ps / 1_000);
        }
    }
}
