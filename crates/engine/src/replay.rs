//! Feeds the ACKs that another sender has heard into ours, and compares what both have sent.
//!
//! In a run of a whole scenario two senders part at the first difference, and the network enlarges
//! it. Here ours hears exactly what the other heard, at the same times, so every segment that differs
//! is a decision of TCP that differs. What was heard is captured at the start of the last link of the
//! ACKs' path; that link has no jitter and no loss, so the time of arrival is known.
//!
//! The sender must have its NIC for itself: when a packet leaves it is what TCP small queues wait for.

use std::collections::VecDeque;

use daybreak_tcp::connection::Connection;
use daybreak_tcp::{Flags, Segment};
use daybreak_units::{ByteTime, Duration, Instant, Rate};

use crate::error::EngineError;
use crate::wire::IP_HEADER;
use crate::wiring::{self, Rule};
use daybreak_plan::{Action, Application, Flow, Plan, PlanError, Step};

/// Rules that draw random numbers are tried with so many seeds, since what the other sender has drawn is
/// not known: two draws of seven are met for certain, three in most cases.
pub const RULE_SEEDS: u64 = 1_024;
/// So many seeds that part from the other at one segment show that it is not a draw that differs there.
const ALIKE: usize = 16;
/// Of the seeds that stay with the other for longest, so many are tried to the end.
const FINALISTS: usize = 64;
/// Segments that leave less than this apart leave at one time. Where the other's application has just been
/// woken, it holds its socket for up to a microsecond of the kernel's virtual clock.
const AT_ONE_TIME: Duration = Duration::from_us(2);

/// A segment of a capture. Sequence numbers are counted from the SYN, windows are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// When it started on its link.
    pub at: Instant,
    /// What it says.
    pub segment: Segment,
}

/// What a sender has said and heard, each in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialogue {
    /// Captured at the start of the first link of the data's path; a SYN is the first.
    pub sent: Vec<Captured>,
    /// Captured at the start of the last link of the ACKs' path.
    pub heard: Vec<Captured>,
}

/// A segment with payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When its transmission at the NIC started.
    pub at: Instant,
    /// First byte, counted from the SYN.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    /// It has the PSH flag.
    pub is_pushed: bool,
    /// Some of it was sent before.
    pub is_retransmission: bool,
}

/// What our sender has made of the ACKs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Its segments with payload, in the order in which they were sent.
    pub sent: Vec<Sent>,
    /// So many of them, from the first, have the sequence number and length of the other's.
    pub same: usize,
    /// Of these, how many differ in PSH.
    pub other_push: usize,
    /// Of these, how many left at another time than the other's, 2 us before or after it.
    pub other_time: usize,
    /// Segments with payload that the other has sent.
    pub theirs: usize,
    /// How many of those have been sent before.
    pub their_retransmissions: usize,
}

impl Replayed {
    /// Both have sent the same segments in the same order, and no other.
    pub fn is_identical(&self) -> bool {
        self.same == self.theirs && self.same == self.sent.len()
    }
}

/// Replays a flow of the plan: its client, with the plan's stack and rule, hears what `dialogue` says.
///
/// # Errors
/// When the plan is not sound or has no such flow, when one of its two links is not what the module
/// asks for, or when the dialogue does not start with a SYN. The error names the field.
pub fn replay(plan: &Plan, flow: usize, dialogue: &Dialogue) -> Result<Replayed, EngineError> {
    plan.validate()?;
    let Some(entry) = plan.flows.get(flow) else {
        return Err(refused("flow", flow, format!("the plan has only {} flows", plan.flows.len())));
    };
    let nic = Nic::of(plan, flow, entry)?;
    let way = LastLink::of(plan, flow, entry)?;
    let Some(opening) = dialogue.sent.first().filter(|first| first.segment.flags.contains(Flags::SYN)) else {
        let first = dialogue.sent.first().map_or("nothing".to_owned(), |first| format!("{:?}", first.segment.flags));
        return Err(refused("dialogue.sent[0]", first, "a sender's capture starts with its SYN".into()));
    };
    let theirs = with_payload(&dialogue.sent);
    // The sender with a seed hears it all, or as long as it sends what the other has sent, when it did.
    let with_seed = |seed: u64, to_the_end: bool| {
        let mut sender = Sender::new(plan, entry, seed, nic.clone());
        sender.open(opening.at, entry.application);
        // The other's timestamps start anywhere: both clocks show the same when the SYN is sent.
        let offset = opening.segment.ts_val.wrapping_sub(sender.timestamp(opening.at));
        let mut together = 0;
        for heard in &dialogue.heard {
            let mut segment = heard.segment;
            segment.ts_ecr = segment.ts_ecr.wrapping_sub(offset);
            sender.hear(heard.at + way.time_for(&segment), &segment);
            let more = sender.sent[together..].iter().zip(&theirs[together..]);
            together += more.take_while(|(ours, theirs)| is_same(ours, theirs) && is_at_one_time(ours, theirs)).count();
            if !to_the_end && together < sender.sent.len() {
                break;
            }
        }
        (together, sender.sent)
    };
    Ok(best(&theirs, with_seed))
}

/// The longest way with the other: the seeds that stay with it in order and time for longest are tried to
/// the end, where only the order counts.
fn best(theirs: &[Sent], with_seed: impl Fn(u64, bool) -> (usize, Vec<Sent>)) -> Replayed {
    let mut finalists: Vec<u64> = Vec::new();
    let (mut longest, mut is_drawn) = (0, false);
    for seed in 0..RULE_SEEDS {
        let (together, sent) = with_seed(seed, false);
        if together == theirs.len() && together == sent.len() {
            return compared(sent, theirs);
        }
        is_drawn |= seed > 0 && together != longest;
        if together > longest {
            longest = together;
            finalists.clear();
        }
        if together == longest {
            finalists.push(seed);
        }
        if finalists.len() == ALIKE && !is_drawn || finalists.len() == FINALISTS {
            break;
        }
    }
    let mut best = Replayed::default();
    for (n, seed) in finalists.into_iter().enumerate() {
        let found = compared(with_seed(seed, true).1, theirs);
        if n == 0 || found.same > best.same || found.is_identical() {
            best = found;
        }
        if best.is_identical() {
            break;
        }
    }
    best
}

/// Our sender and its NIC.
struct Sender {
    connection: Connection,
    config: daybreak_tcp::config::Config,
    nic: Nic,
    /// End of what has been sent.
    highest: u64,
    sent: Vec<Sent>,
}

impl Sender {
    fn new(plan: &Plan, flow: &Flow, seed: u64, nic: Nic) -> Self {
        let config = wiring::stack(&plan.stacks[flow.src_stack as usize]);
        let rule = Rule::new(&plan.rules[flow.rule as usize]).make(seed);
        let connection = Connection::client(config.clone(), rule);
        Self { connection, config, nic, highest: 0, sent: Vec::new() }
    }

    fn timestamp(&self, at: Instant) -> u32 {
        self.config.timestamp(at)
    }

    fn open(&mut self, at: Instant, application: Application) {
        self.connection.open(at);
        match application {
            Application::Bulk { bytes: None } => self.connection.write(at, u64::MAX),
            Application::Bulk { bytes: Some(bytes) } => {
                self.connection.write(at, bytes);
                self.connection.close(at);
            }
        }
        self.transmit(at);
    }

    /// Everything that is due before the segment, then the segment.
    fn hear(&mut self, at: Instant, segment: &Segment) {
        loop {
            let (timer, freed) = (self.connection.poll_timeout(), self.nic.next_start());
            let now = timer.min(freed);
            // At one time, what arrives comes before what is due.
            if now >= at {
                break;
            }
            if timer <= freed {
                self.connection.on_timeout(now);
            }
            self.transmit(now);
        }
        self.connection.on_segment(at, segment);
        self.transmit(at);
    }

    fn transmit(&mut self, now: Instant) {
        loop {
            while let Some(segment) = self.connection.poll_transmit(now) {
                let at = self.nic.send(now, IP_HEADER + segment.header_len() + segment.len);
                self.sent.extend(payload(&Captured { at, segment }, &mut self.highest));
            }
            let mut is_freed = false;
            while let Some(bytes) = self.nic.started(now) {
                self.connection.on_nic_freed(now, bytes);
                is_freed = true;
            }
            if !is_freed {
                break;
            }
        }
    }
}

/// The queue and the serialiser of the sender's first link.
#[derive(Clone)]
struct Nic {
    byte_time: ByteTime,
    framing: u32,
    /// When it has sent everything.
    free: Instant,
    /// When each packet's transmission starts, and its IP length.
    waiting: VecDeque<(Instant, u32)>,
}

impl Nic {
    fn of(plan: &Plan, index: usize, flow: &Flow) -> Result<Self, EngineError> {
        if let Some(other) = (0..plan.flows.len()).find(|&other| other != index && plan.flows[other].src == flow.src) {
            let problem = format!("flows[{other}] starts there as well, and a replay needs the NIC for itself");
            return Err(refused(&format!("flows[{index}].src"), flow.src, problem));
        }
        let link = only_link(plan, &format!("flows[{index}].data_path"), plan.paths[flow.data_path as usize].first())?;
        let link = &plan.links[link];
        Ok(Self {
            byte_time: ByteTime::new(Rate::from_bps(link.rate_bps)),
            framing: link.framing_bytes,
            free: Instant::ZERO,
            waiting: VecDeque::new(),
        })
    }

    /// When the transmission starts.
    fn send(&mut self, now: Instant, bytes: u32) -> Instant {
        let start = now.max(self.free);
        self.free = start + self.byte_time.of(bytes + self.framing);
        self.waiting.push_back((start, bytes));
        start
    }

    fn next_start(&self) -> Instant {
        self.waiting.front().map_or(Instant::NEVER, |&(start, _)| start)
    }

    /// The next packet whose transmission has started.
    fn started(&mut self, now: Instant) -> Option<u32> {
        if self.next_start() > now {
            return None;
        }
        self.waiting.pop_front().map(|(_, bytes)| bytes)
    }
}

/// The link that brings the ACKs to the sender.
struct LastLink {
    byte_time: ByteTime,
    framing: u32,
    delay: Duration,
}

impl LastLink {
    fn of(plan: &Plan, index: usize, flow: &Flow) -> Result<Self, EngineError> {
        let number = only_link(plan, &format!("flows[{index}].ack_path"), plan.paths[flow.ack_path as usize].last())?;
        let link = &plan.links[number];
        let arrival = "the time of arrival of what is captured there must be known, so it must be 0";
        if link.jitter_ps != 0 {
            return Err(refused(&format!("links[{number}].jitter_ps"), link.jitter_ps, arrival.into()));
        }
        if link.loss_ppb != 0 {
            return Err(refused(&format!("links[{number}].loss_ppb"), link.loss_ppb, arrival.into()));
        }
        Ok(Self {
            byte_time: ByteTime::new(Rate::from_bps(link.rate_bps)),
            framing: link.framing_bytes,
            delay: Duration::from_ps(link.delay_ps),
        })
    }

    fn time_for(&self, segment: &Segment) -> Duration {
        self.byte_time.of(IP_HEADER + segment.header_len() + segment.len + self.framing) + self.delay
    }
}

/// The link that serves the queue of a step.
fn only_link(plan: &Plan, field: &str, step: Option<&Step>) -> Result<usize, EngineError> {
    let problem = "a replay needs one queue there that one link serves";
    match step {
        Some(&Step::Queue(queue)) => match plan.queues[queue as usize].served_by[..] {
            [link] if changes_rate(plan, link) => {
                Err(refused(field, format!("queue {queue}"), "a replay needs a link of one rate there".into()))
            }
            [link] => Ok(link as usize),
            _ => Err(refused(field, format!("queue {queue}"), problem.into())),
        },
        Some(other) => Err(refused(field, format!("{other:?}"), problem.into())),
        None => Err(refused(field, "empty", problem.into())),
    }
}

fn changes_rate(plan: &Plan, index: u32) -> bool {
    plan.actions().any(|action| matches!(*action, Action::SetRate { link, .. } if link == index))
}

fn with_payload(sent: &[Captured]) -> Vec<Sent> {
    let mut highest = 0;
    sent.iter().filter_map(|captured| payload(captured, &mut highest)).collect()
}

/// The segment if it has payload; `highest` is the end of what was sent before it, and becomes that with it.
fn payload(captured: &Captured, highest: &mut u64) -> Option<Sent> {
    let Captured { at, segment } = captured;
    let is_retransmission = segment.seq < *highest;
    (segment.len > 0).then(|| {
        *highest = (*highest).max(segment.seq + u64::from(segment.len));
        Sent {
            at: *at,
            seq: segment.seq,
            len: segment.len,
            is_pushed: segment.flags.contains(Flags::PSH),
            is_retransmission,
        }
    })
}

fn is_same(ours: &Sent, theirs: &Sent) -> bool {
    (ours.seq, ours.len) == (theirs.seq, theirs.len)
}

fn is_at_one_time(ours: &Sent, theirs: &Sent) -> bool {
    ours.at.max(theirs.at) < ours.at.min(theirs.at) + AT_ONE_TIME
}

fn compared(ours: Vec<Sent>, theirs: &[Sent]) -> Replayed {
    let both = || ours.iter().zip(theirs);
    let same = both().take_while(|(ours, theirs)| is_same(ours, theirs)).count();
    Replayed {
        same,
        other_push: both().take(same).filter(|(ours, theirs)| ours.is_pushed != theirs.is_pushed).count(),
        other_time: both().take(same).filter(|(ours, theirs)| !is_at_one_time(ours, theirs)).count(),
        theirs: theirs.len(),
        their_retransmissions: theirs.iter().filter(|sent| sent.is_retransmission).count(),
        sent: ours,
    }
}

fn refused(field: &str, value: impl ToString, problem: String) -> EngineError {
    EngineError::Plan(PlanError { field: field.to_owned(), value: value.to_string(), problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred segments a millisecond apart; behind every thirtieth the sender is early or late by what it
    /// draws, one of seven: the digits of its seed.
    fn drawn(seed: u64) -> Vec<Sent> {
        let early_us = |n: u64| if n < 30 { 0 } else { 100 * (seed / 7u64.pow((n / 30 - 1) as u32) % 7) };
        (0..100)
            .map(|n| Sent {
                at: Instant::ZERO + Duration::from_us(1_000 * (n + 1) - early_us(n)),
                seq: 1 + 100 * n,
                len: 100,
                is_pushed: false,
                is_retransmission: false,
            })
            .collect()
    }

    /// How long the sender with a seed stays with the other, and what it sends.
    fn against(theirs: &[Sent], seed: u64) -> (usize, Vec<Sent>) {
        let ours = drawn(seed);
        (ours.iter().zip(theirs).take_while(|(ours, theirs)| is_at_one_time(ours, theirs)).count(), ours)
    }

    #[test]
    fn three_draws_of_seven_are_found() {
        let theirs = drawn(341);
        let found = best(&theirs, |seed, _| against(&theirs, seed));
        assert_eq!((found.same, found.other_time), (100, 0));
        assert_eq!(found.sent, theirs);
    }

    #[test]
    fn without_a_draw_that_fits_the_longest_way_counts() {
        // Nobody leaves segment 70 out, so all of the second draw's seven are tried to the end.
        let mut theirs = drawn(5 + 7 * 3);
        theirs.remove(70);
        let found = best(&theirs, |seed, _| against(&theirs, seed));
        assert_eq!((found.same, found.other_time), (70, 0));
        assert!(!found.is_identical());
    }

    #[test]
    fn of_those_that_stay_longest_the_one_whose_order_holds_longest_counts() {
        let theirs = drawn(0);
        // By seed: how long it stays in order and time, and in order.
        let ways = [(3, 99), (50, 60), (50, 80), (50, 70), (49, 99)];
        let found = best(&theirs, |seed, _| {
            let (together, same) = *ways.get(seed as usize).unwrap_or(&(0, 0));
            let mut ours = drawn(0);
            ours[same].seq += 1;
            (together, ours)
        });
        assert_eq!(found.same, 80);
    }

    #[test]
    fn where_nothing_is_drawn_few_are_tried() {
        let theirs = drawn(1);
        let tried = std::cell::Cell::new(0);
        let found = best(&theirs, |_, _| {
            tried.set(tried.get() + 1);
            against(&theirs, 0)
        });
        assert_eq!((found.same, found.other_time), (100, 30));
        assert!(tried.get() < 20, "{} tries", tried.get());
    }
}
