//! Flow queue CoDel: Høiland-Jørgensen, McKenney, Taht, Gettys and Dumazet, "The Flow Queue CoDel Packet Scheduler and
//! Active Queue Management Algorithm", RFC 8290.
//!
//! Packets wait in sub-queues, by a hash of their flow and direction, and links take them from the sub-queues in turn:
//! each may send `quantum` bytes, then the next (deficit round robin, section 4.2). A sub-queue that was empty is new,
//! and new ones come before old ones until they have sent a quantum or are empty. Each has its own CoDel
//! ([`super::codel`]). When the queue is full, an arriving packet is accepted and the sub-queue with most bytes loses
//! packets at its front: half of its bytes, but at most `drop_batch` packets (section 4.1).
//!
//! What the RFC leaves open is done as Linux 6.1 does it (`sch_fq_codel`): a packet counts with the 14 bytes of its
//! Ethernet header, for the quantum and for CoDel's last full packet, and the number of packets lost is added to the
//! count of CoDel.
//!
//! And otherwise:
//! * The hash is keyed by the queue's random stream, and two ends of a connection are two flows.
//! * CoDel's full packet is the largest one so far; Linux takes the device's MTU.
//! * There is no limit on memory except the queue's.
//! * If the queue has an overflow path, packets that find it full take it, and none is lost.
//! * A lower limit drops from the sub-queue with most bytes, one packet after the other. While a gate closes with
//!   `drain`, the turn of a sub-queue is over when its next packet may not pass.
//! * Packets that came back are served first, and not seen.
//!
//! Checked packet by packet against `sch_fq_codel` of Linux 6.1.192 on drawn loads (`tools/disciplines-of-linux`,
//! `tests/of_linux.rs`).

use std::cmp::Reverse;
use std::collections::VecDeque;

use daybreak_units::parameters::{Kind, Parameter, Settings, Value};
use daybreak_units::{Duration, Instant, splitmix};

use super::codel::{EXACT_ROOT, INTERVAL, Law, TARGET, Targets};
use super::{Arrival, Discipline, Kept, Leaving, Setup, Verdict};

/// Of an Ethernet header.
const HEADER_BYTES: u32 = 14;
const FLOWS: u64 = 1024;
const QUANTUM: u64 = 1514;
const DROP_BATCH: u64 = 64;

/// The sub-queues of a queue. Boxed, so that plainer queues stay small.
#[derive(Debug)]
pub(crate) struct FqCoDel(Box<State>);

#[derive(Debug)]
struct State {
    targets: Targets,
    /// Number of sub-queues.
    flows: u32,
    quantum: i64,
    drop_batch: u32,
    /// Of the hash.
    key: u64,
    /// By the hash, the place in `sub_queues` of one that was ever used.
    places: Vec<Option<u32>>,
    sub_queues: Vec<SubQueue>,
    /// Places of those that may send; new ones come first. Some may be empty.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Of all that waits, with headers.
    bytes: u64,
}

#[derive(Debug)]
struct SubQueue {
    /// The hash.
    number: u32,
    packets: VecDeque<Kept>,
    /// With headers.
    bytes: u64,
    /// Bytes that it may send before the next one.
    deficit: i64,
    /// It is among the new or the old ones.
    is_listed: bool,
    law: Law,
}

fn length(bytes: u32) -> u32 {
    bytes + HEADER_BYTES
}

impl Discipline for FqCoDel {
    const NAME: &'static str = "fq_codel";
    const SUMMARY: &'static str = "flow queues, each with controlled delay, served in turn (RFC 8290)";
    const PARAMETERS: &'static [Parameter] = &[
        TARGET,
        INTERVAL,
        Parameter::switch("ecn", true, "mark ECN-capable packets instead of dropping them"),
        EXACT_ROOT,
        Parameter::count("flows", FLOWS, (1, 1 << 16), "number of sub-queues; flows whose hashes meet share one"),
        Parameter {
            name: "quantum",
            kind: Kind::Bytes { least: 256, most: 1 << 20 },
            default: Some(Value::Bytes(QUANTUM)),
            summary: "what a sub-queue sends before the next, with 14 bytes a packet for its Ethernet header",
        },
        Parameter::count("drop_batch", DROP_BATCH, (1, 1 << 20), "most packets that a full queue drops at a time"),
    ];
    const SEES_EVERY_ARRIVAL: bool = true;
    const KEEPS_PACKETS: bool = true;
    const SETTLES_ON_ARRIVAL: bool = false;
    const MARKS: bool = true;

    fn check(settings: &Settings) -> Result<(), String> {
        Targets::check(settings)
    }

    fn new(setup: &Setup) -> Self {
        let mut made = Self(Box::new(State {
            targets: Targets::new(setup.settings),
            flows: 0,
            quantum: 0,
            drop_batch: 0,
            key: setup.stream.clone().next_u64(),
            places: Vec::new(),
            sub_queues: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            bytes: 0,
        }));
        made.configure(setup.settings);
        made
    }

    fn configure(&mut self, settings: &Settings) {
        let state = &mut *self.0;
        state.targets.configure(settings);
        state.flows = settings.whole("flows") as u32;
        state.quantum = settings.whole("quantum") as i64;
        state.drop_batch = settings.whole("drop_batch") as u32;
    }

    /// Only called for packets that do not wait: they leave at once, and no sub-queue has anything to send.
    fn arrival(&mut self, arrival: &Arrival) -> Verdict {
        let state = &mut *self.0;
        state.finds_nothing();
        let place = state.place_of(arrival.flow);
        state.list(place);
        let leaving = Leaving {
            now: arrival.now,
            waited: Duration::ZERO,
            bytes: length(arrival.bytes),
            behind: 0,
            is_ect: arrival.is_ect,
        };
        let sub_queue = &mut state.sub_queues[place as usize];
        sub_queue.deficit -= i64::from(length(arrival.bytes));
        sub_queue.law.departure(&mut state.targets, &leaving)
    }

    fn keep(&mut self, kept: Kept) {
        let state = &mut *self.0;
        let place = state.place_of(kept.flow);
        let bytes = u64::from(length(kept.bytes));
        state.bytes += bytes;
        let sub_queue = &mut state.sub_queues[place as usize];
        sub_queue.bytes += bytes;
        sub_queue.packets.push_back(kept);
        state.list(place);
    }

    fn next(&mut self, now: Instant, before: u64) -> Option<(Kept, Verdict)> {
        self.0.next(now, before)
    }

    fn kept_before(&self, number: u64) -> u32 {
        let lower = |one: &SubQueue| one.packets.partition_point(|kept| kept.number < number) as u32;
        self.0.sub_queues.iter().map(lower).sum()
    }

    fn evict(&mut self, most: u32, lost: &mut Vec<Kept>) {
        let most = most.min(self.0.drop_batch);
        self.0.evict(most, lost);
    }

    fn empty(&mut self, lost: &mut Vec<Kept>) {
        let state = &mut *self.0;
        for sub_queue in &mut state.sub_queues {
            lost.extend(sub_queue.packets.drain(..));
            sub_queue.bytes = 0;
        }
        state.bytes = 0;
        state.finds_nothing();
    }
}

impl State {
    /// Place of the sub-queue of a flow.
    fn place_of(&mut self, flow: u32) -> u32 {
        let hash = splitmix(self.key ^ splitmix(u64::from(flow))) >> 32;
        let number = (hash * u64::from(self.flows)) >> 32;
        if self.places.len() <= number as usize {
            self.places.resize(self.flows as usize, None);
        }
        let sub_queues = &mut self.sub_queues;
        *self.places[number as usize].get_or_insert_with(|| {
            sub_queues.push(SubQueue {
                number: number as u32,
                packets: VecDeque::new(),
                bytes: 0,
                deficit: 0,
                is_listed: false,
                law: Law::default(),
            });
            sub_queues.len() as u32 - 1
        })
    }

    /// A sub-queue in which nothing was is new.
    fn list(&mut self, place: u32) {
        let sub_queue = &mut self.sub_queues[place as usize];
        if !std::mem::replace(&mut sub_queue.is_listed, true) {
            sub_queue.deficit = self.quantum;
            self.new.push_back(place);
        }
    }

    /// A link was ready and no sub-queue had a packet.
    fn finds_nothing(&mut self) {
        for place in self.new.drain(..).chain(self.old.drain(..)) {
            let sub_queue = &mut self.sub_queues[place as usize];
            sub_queue.is_listed = false;
            sub_queue.law.is_empty();
        }
    }

    /// The next packet, and CoDel's verdict. A dropped one costs its sub-queue nothing, which stays first.
    fn next(&mut self, now: Instant, before: u64) -> Option<(Kept, Verdict)> {
        debug_assert!(before > 0, "no packet may pass");
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let place = *list.front()?;
            let sub_queue = &mut self.sub_queues[place as usize];
            let may_not_pass = sub_queue.packets.front().is_some_and(|kept| kept.number >= before);
            if sub_queue.deficit <= 0 || may_not_pass {
                if !may_not_pass {
                    sub_queue.deficit += self.quantum;
                }
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            let Some(kept) = sub_queue.packets.pop_front() else {
                sub_queue.law.is_empty();
                list.pop_front();
                // A new one goes through the old ones once, lest these starve.
                if is_new && !self.old.is_empty() {
                    self.old.push_back(place);
                } else {
                    sub_queue.is_listed = false;
                }
                continue;
            };
            let bytes = length(kept.bytes);
            sub_queue.bytes -= u64::from(bytes);
            self.bytes -= u64::from(bytes);
            let Kept { is_ect, .. } = kept;
            let leaving = Leaving { now, waited: now - kept.came, bytes, behind: self.bytes, is_ect };
            let verdict = sub_queue.law.departure(&mut self.targets, &leaving);
            if verdict != Verdict::Drop {
                sub_queue.deficit -= i64::from(bytes);
            }
            return Some((kept, verdict));
        }
    }

    /// Removes packets from the sub-queue with most bytes: the first ones, until half of the bytes are gone or `most`
    /// are removed.
    fn evict(&mut self, most: u32, lost: &mut Vec<Kept>) {
        let fattest = self.sub_queues.iter_mut().max_by_key(|one| (one.bytes, Reverse(one.number)));
        let Some(sub_queue) = fattest else { return };
        let half = sub_queue.bytes / 2;
        let (mut packets, mut bytes) = (0, 0);
        while let Some(kept) = sub_queue.packets.pop_front() {
            packets += 1;
            bytes += u64::from(length(kept.bytes));
            lost.push(kept);
            if packets == most || bytes >= half {
                break;
            }
        }
        sub_queue.bytes -= bytes;
        self.bytes -= bytes;
        sub_queue.law.add_to_count(packets);
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use daybreak_units::{Rate, Stream};

    use super::*;
    use crate::PacketId;

    fn discipline(given: &[(&str, Value)]) -> FqCoDel {
        let settings = Settings::new(FqCoDel::PARAMETERS, given.iter().copied()).unwrap();
        let stream = Stream::new(1, "test");
        FqCoDel::new(&Setup { settings: &settings, rate: Rate::from_bps(1 << 30), framing_bytes: 0, stream })
    }

    fn us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    /// Packets of 1500 bytes, or of 186, which count as 200, come at a time; the number is that of the flow.
    fn come(fq: &mut FqCoDel, now: Instant, flows: &[u32], bytes: u32) {
        for &flow in flows {
            let number = fq.kept_before(u64::MAX).into();
            fq.keep(Kept { id: PacketId(flow), number, flow, bytes, is_ect: true, came: now });
        }
    }

    /// Flows of the next packets.
    fn order(fq: &mut FqCoDel, now: Instant, packets: usize) -> Vec<u32> {
        std::iter::from_fn(|| fq.next(now, u64::MAX)).take(packets).map(|(kept, _)| kept.flow).collect()
    }

    #[test]
    fn full_packets_leave_in_turn() {
        let mut fq = discipline(&[]);
        come(&mut fq, us(0), &[1, 1, 1, 1, 2, 2, 3], 1_500);
        assert_eq!(order(&mut fq, us(1), 9), [1, 2, 3, 1, 2, 1, 1]);
    }

    #[test]
    fn a_quantum_is_shared_by_small_packets() {
        let mut fq = discipline(&[]);
        come(&mut fq, us(0), &[1; 10], 186);
        come(&mut fq, us(0), &[2; 3], 1_500);
        // A deficit of 1514 is used up by 8 packets of 200 bytes, to -86; the next one, of 1428, by the other two with
        // 1028 left.
        assert_eq!(order(&mut fq, us(1), 13), [1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 2, 2]);
    }

    #[test]
    fn a_new_flow_comes_before_old_ones_once() {
        let mut fq = discipline(&[]);
        come(&mut fq, us(0), &[1, 1, 1, 1, 2, 2, 2, 2], 1_500);
        assert_eq!(order(&mut fq, us(1), 4), [1, 2, 1, 2]);
        come(&mut fq, us(1), &[3, 3], 1_500);
        // The turn of 2 is over when it is looked at next: it goes behind 3, whose first turn was that of a new one.
        assert_eq!(order(&mut fq, us(2), 6), [3, 1, 3, 2, 1, 2]);
    }

    #[test]
    fn the_flow_with_most_bytes_loses_half_of_them_but_at_most_a_batch() {
        for (batch, lost) in [(64, 3), (2, 2)] {
            let mut fq = discipline(&[("drop_batch", Value::Count(batch))]);
            come(&mut fq, us(0), &[1; 3], 1_500);
            come(&mut fq, us(0), &[2; 6], 1_500);
            let mut evicted = Vec::new();
            fq.evict(u32::MAX, &mut evicted);
            assert_eq!(evicted.iter().map(|kept| kept.flow).collect::<Vec<_>>(), vec![2; lost]);
            assert_eq!(evicted[0].number, 3, "the first ones");
            assert_eq!(fq.kept_before(u64::MAX), 9 - lost as u32);
        }
    }

    #[test]
    fn flows_whose_hashes_meet_share_a_sub_queue() {
        let mut fq = discipline(&[("flows", Value::Count(1))]);
        come(&mut fq, us(0), &[1, 1, 2, 1], 1_500);
        assert_eq!(order(&mut fq, us(1), 4), [1, 1, 2, 1]);
        // Of 1024 sub-queues 100 flows take about 95: 1024 (1 - (1023 / 1024)^100), a standard deviation is 2.
        let mut fq = discipline(&[]);
        come(&mut fq, us(0), &(0..100).collect::<Vec<_>>(), 100);
        assert!((89..=100).contains(&fq.0.sub_queues.len()), "{}", fq.0.sub_queues.len());
    }

    #[test]
    fn packets_that_came_later_may_be_kept_back() {
        let mut fq = discipline(&[]);
        come(&mut fq, us(0), &[1, 1, 2, 1, 3, 3], 1_500);
        let passed: Vec<u32> =
            std::iter::from_fn(|| (fq.kept_before(4) > 0).then(|| fq.next(us(1), 4).unwrap().0.flow)).collect();
        assert_eq!(passed, [1, 2, 1, 1]);
        assert_eq!(order(&mut fq, us(2), 9), [3, 3]);
    }

    /// A link of 12 Mbit/s takes a packet of 1500 bytes each ms. One flow offers more than all of it, a second a third,
    /// and a third a packet each 40 ms.
    #[test]
    fn shares_and_waits_of_flows_of_different_rates() {
        let mut curve = String::from("flow  offered  sent  dropped  longest wait in ms, from 1 s on\n");
        let mut fq = discipline(&[("ecn", Value::Switch(false))]);
        let every = [700, 3_000, 40_000];
        let (mut offered, mut sent, mut dropped, mut longest) = ([0; 3], [0; 3], [0; 3], [0; 3]);
        for ms in 1..5_000 {
            for (flow, period) in every.into_iter().enumerate() {
                for at in ((ms - 1) * 1_000 + 1..=ms * 1_000).filter(|at| at % period == 0) {
                    come(&mut fq, us(at), &[flow as u32], 1_500);
                    offered[flow] += 1;
                }
            }
            let now = us(ms * 1_000);
            while let Some((kept, verdict)) = fq.next(now, u64::MAX) {
                let flow = kept.flow as usize;
                if verdict == Verdict::Drop {
                    dropped[flow] += 1;
                    continue;
                }
                sent[flow] += 1;
                if ms > 1_000 {
                    longest[flow] = longest[flow].max((now - kept.came).as_ps() / 1_000_000_000);
                }
                break;
            }
        }
        for flow in 0..3 {
            writeln!(
                curve,
                "{flow:4}  {:7}  {:4}  {:7}  {:5}",
                offered[flow], sent[flow], dropped[flow], longest[flow]
            )
            .unwrap();
        }
        assert_eq!((dropped[1], dropped[2]), (0, 0));
        insta::with_settings!({ snapshot_path => "../../tests/curves", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("fq_codel", curve);
        });
    }

    #[test]
    fn a_target_beyond_the_interval_is_refused() {
        for (target, fits) in [(100, true), (101, false)] {
            let given = [("target", Value::Ps(target * 1_000_000_000)), ("interval", Value::Ps(100_000_000_000))];
            assert_eq!(
                FqCoDel::check(&Settings::new(FqCoDel::PARAMETERS, given).unwrap()).is_ok(),
                fits,
                "{target} ms"
            );
        }
    }

    #[test]
    fn what_is_emptied_is_gone() {
        let mut fq = discipline(&[]);
        come(&mut fq, us(0), &[1, 2, 1], 1_500);
        let mut lost = Vec::new();
        fq.empty(&mut lost);
        assert_eq!((lost.len(), fq.kept_before(u64::MAX), fq.0.bytes), (3, 0, 0));
        assert!(fq.next(us(1), u64::MAX).is_none());
        come(&mut fq, us(2), &[5], 1_500);
        assert_eq!(order(&mut fq, us(3), 1), [5]);
    }
}
