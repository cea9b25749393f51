//! Feeds the ACKs that another sender has heard into ours, and compares what both have sent.
//!
//! In a run of a whole scenario two senders part at the first difference, and the network enlarges
//! it. Here ours hears exactly what the other heard, at the same times, so every segment that differs
//! is a decision of TCP that differs. What was heard is captured at the start of the last link of the
//! ACKs' path; that link has no jitter and no loss, so the time of arrival is known.
//!
//! The sender must have its NIC for itself: when a packet leaves it is what TCP small queues wait for.

use daybreak_tcp::config::Config;
use daybreak_tcp::congestion::Draw;
use daybreak_tcp::connection::Connection;
use daybreak_tcp::{Flags, Segment};
use daybreak_units::{Duration, Instant};

use crate::error::EngineError;
use crate::wiring::{self, Rule};
use daybreak_plan::{Action, Application, Flow, Plan, PlanError, Step};

use end::{End, LastLink, Log, Nic, Way};

mod end;
mod log;
mod receiver;

pub use log::{COLUMNS, NoSegment};
pub use receiver::{Answered, answer};

/// A rule that draws random numbers is tried with so many sequences of them at most, since what the other
/// sender has drawn is not known.
pub const ATTEMPTS: usize = 1_024;
/// So many of them that part from the other at one segment show that it is not a draw that differs there.
const ALIKE: usize = 16;
/// Segments that leave less than this apart leave at one time. Where the other's application has just been
/// woken, it holds its socket for up to a microsecond of the kernel's virtual clock.
const AT_ONE_TIME: Duration = Duration::from_us(2);
const PS_PER_NS: u64 = 1_000;
/// A run in the guest starts so long after its boot, from which the clock of TCP's timestamps counts: at the second
/// jiffy whose number is a multiple of 4,096.
const GUEST_UPTIME_MS: u32 = 5_088;

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
/// asks for, when the dialogue does not start with a SYN, or time runs backwards in it. The error names the field.
pub fn replay(plan: &Plan, flow: usize, dialogue: &Dialogue) -> Result<Replayed, EngineError> {
    let entry = find(plan, flow)?;
    dialogue.check()?;
    let bytes = entry.application.limited_bytes();
    let nic = Nic::of(plan, flow, Way::Data)?;
    let way = LastLink::of(plan, flow, Way::Acks)?;
    let Some(opening) = dialogue.sent.first().filter(|first| first.segment.flags.contains(Flags::SYN)) else {
        let first = dialogue.sent.first().map_or("nothing".to_owned(), |first| format!("{:?}", first.segment.flags));
        return Err(refused("dialogue.sent[0]", first, "a sender's capture starts with its SYN".into()));
    };
    if let Some(early) = dialogue.heard.first().filter(|heard| heard.at < opening.at) {
        let problem = format!("the SYN, which it must answer, is of {}", opening.at);
        return Err(refused("dialogue.heard[0].at", early.at, problem));
    }
    let theirs = with_payload(&dialogue.sent);
    // What is captured later would have been captured of ours as well.
    let end = dialogue.sent.iter().chain(&dialogue.heard).map(|captured| captured.at).max().expect("it has a SYN");
    // The sender hears it all, or as long as it sends what the other has sent.
    let attempt = |outcomes: &[u32], measure: Measure, to_the_end: bool| {
        let mut sender = Sender::new(plan, entry, outcomes, nic.clone());
        sender.open(opening.at, bytes);
        // The other's timestamps start anywhere: both clocks show the same when the SYN is sent.
        let offset = opening.segment.ts_val.wrapping_sub(sender.timestamp(opening.at));
        let (mut together, mut before) = (0, opening.at);
        for heard in &dialogue.heard {
            let mut segment = heard.segment;
            if opening.segment.syn.timestamps {
                segment.ts_ecr = segment.ts_ecr.wrapping_sub(offset);
            }
            // On a link nothing overtakes what is before it.
            let at = way.arrival(heard.at, &segment).max(before);
            before = at;
            if at > end {
                break;
            }
            sender.hear(at, &segment);
            let sent = &sender.end.log.sent;
            together += measure.together(&sent[together..], &theirs[together..]);
            if !to_the_end && together < sent.len() {
                break;
            }
        }
        sender.end.wait(end + AT_ONE_TIME);
        let mut sent = sender.end.log.sent;
        sent.retain(|sent| sent.at < end + AT_ONE_TIME);
        // Where only the order counts, some of what is in the same place may have left after the end.
        together = together.min(sent.len());
        together += measure.together(&sent[together..], &theirs[together..]);
        Attempt { together, sent, drawn: sender.drawn }
    };
    Ok(best(&theirs, attempt))
}

/// A flow that can be replayed.
fn find(plan: &Plan, flow: usize) -> Result<&Flow, EngineError> {
    plan.validate()?;
    let Some(entry) = plan.flows.get(flow) else {
        return Err(refused("flow", flow, format!("the plan has only {} flows", plan.flows.len())));
    };
    if !matches!(entry.application, Application::Bulk { .. }) {
        let field = format!("flows[{flow}].application");
        return Err(refused(&field, "another", "a bulk transfer can be replayed".into()));
    }
    Ok(entry)
}

/// What one of our senders has done.
struct Attempt {
    /// So many segments from the first are those of the other.
    together: usize,
    sent: Vec<Sent>,
    /// What its rule has drawn.
    drawn: Vec<Drawn>,
}

/// A draw, and how many segments had been sent then.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    draw: Draw,
    sent: usize,
}

/// When two segments in one place are the same.
#[derive(Clone, Copy, Debug)]
enum Measure {
    OrderAndTime,
    Order,
}

impl Measure {
    fn together(self, ours: &[Sent], theirs: &[Sent]) -> usize {
        let is_one = |(ours, theirs): &(&Sent, &Sent)| match self {
            Measure::OrderAndTime => is_same(ours, theirs) && is_at_one_time(ours, theirs),
            Measure::Order => is_same(ours, theirs),
        };
        ours.iter().zip(theirs).take_while(is_one).count()
    }
}

/// The sender that stays with the other for longest: in order and time, and if none does to the end, in order.
fn best(theirs: &[Sent], attempt: impl Fn(&[u32], Measure, bool) -> Attempt) -> Replayed {
    let mut outcomes = Vec::new();
    for measure in [Measure::OrderAndTime, Measure::Order] {
        let found;
        (outcomes, found) = search(theirs, outcomes, |outcomes| attempt(outcomes, measure, false));
        if let Some(sent) = found {
            return compared(sent, theirs);
        }
    }
    compared(attempt(&outcomes, Measure::Order, true).sent, theirs)
}

/// The draws of the sender that stays with the other for longest, beginning with `outcomes`, and what it sends
/// if that is the same to the end. What was drawn last before two senders part is changed first.
fn search(
    theirs: &[Sent],
    mut outcomes: Vec<u32>,
    attempt: impl Fn(&[u32]) -> Attempt,
) -> (Vec<u32>, Option<Vec<Sent>>) {
    let (mut longest, mut best) = (0, Vec::new());
    let (mut parted, mut alike) = (0, 0);
    for n in 0..ATTEMPTS {
        let tried = attempt(&outcomes);
        let mut drawn = tried.drawn;
        // What was drawn after they parted cannot be the reason.
        drawn.truncate(drawn.partition_point(|drawn| drawn.sent <= tried.together));
        if n == 0 || tried.together > longest {
            longest = tried.together;
            best = drawn.iter().map(|drawn| drawn.draw.outcome).collect();
        }
        if tried.together == theirs.len() && tried.together == tried.sent.len() {
            return (best, Some(tried.sent));
        }
        alike = if tried.together == parted { alike + 1 } else { 0 };
        parted = tried.together;
        if alike == ALIKE {
            break;
        }
        // The next outcome of the last draw that has one.
        while drawn.last().is_some_and(|drawn| drawn.draw.outcome + 1 == drawn.draw.outcomes) {
            drawn.pop();
        }
        let Some(last) = drawn.last_mut() else { break };
        last.draw.outcome += 1;
        outcomes = drawn.iter().map(|drawn| drawn.draw.outcome).collect();
    }
    (best, None)
}

/// Our sender.
struct Sender {
    end: End<Payloads>,
    config: Config,
    drawn: Vec<Drawn>,
}

/// The segments with payload.
#[derive(Default)]
struct Payloads {
    /// End of what has been sent.
    highest: u64,
    sent: Vec<Sent>,
}

impl Log for Payloads {
    fn note(&mut self, captured: Captured) {
        self.sent.extend(payload(&captured, &mut self.highest));
    }
}

impl Sender {
    /// A sender whose rule draws `outcomes`.
    fn new(plan: &Plan, flow: &Flow, outcomes: &[u32], nic: Nic) -> Self {
        let config =
            Config { timestamp_offset: GUEST_UPTIME_MS - 1, ..wiring::stack(&plan.stacks[flow.src_stack as usize]) };
        let rule = Rule::new(&plan.rules[flow.rule as usize]).make(0);
        let mut connection = Connection::client(config.clone(), rule);
        if let Some(draws) = connection.draws() {
            draws.follow(outcomes.to_vec());
        }
        Self { end: End { connection, nic, log: Payloads::default() }, config, drawn: Vec::new() }
    }

    fn timestamp(&self, at: Instant) -> u32 {
        self.config.timestamp(at)
    }

    fn open(&mut self, at: Instant, bytes: Option<u64>) {
        let connection = &mut self.end.connection;
        connection.open(at);
        connection.write(at, bytes.unwrap_or(u64::MAX));
        if bytes.is_some() {
            connection.close(at);
        }
        self.end.transmit(at);
    }

    /// Everything that is due before the segment, then the segment.
    fn hear(&mut self, at: Instant, segment: &Segment) {
        self.end.wait(at);
        let sent = self.end.log.sent.len();
        self.end.connection.on_segment(at, segment);
        if let Some(draws) = self.end.connection.draws() {
            let made = draws.made();
            self.drawn.extend(made[self.drawn.len()..].iter().map(|&draw| Drawn { draw, sent }));
        }
        self.end.transmit(at);
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
    /// draws, one of seven.
    fn drawn(outcomes: [u32; 3]) -> Vec<Sent> {
        let early_us = |n: u64| if n < 30 { 0 } else { 100 * u64::from(outcomes[n as usize / 30 - 1]) };
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

    /// What the sender with these draws does, and draws, while it stays with the other.
    fn against(theirs: &[Sent], outcomes: &[u32], measure: Measure) -> Attempt {
        let outcome = |n: usize| outcomes.get(n).copied().unwrap_or(0);
        let sent = drawn([outcome(0), outcome(1), outcome(2)]);
        let together = measure.together(&sent, theirs);
        let drawn = (0..3).map(|n| Drawn { draw: Draw { outcomes: 7, outcome: outcome(n) }, sent: 30 * (n + 1) });
        Attempt { together, drawn: drawn.filter(|drawn| drawn.sent <= together + 1).collect(), sent }
    }

    #[test]
    fn three_draws_of_seven_are_found() {
        let theirs = drawn([5, 0, 6]);
        let tried = std::cell::Cell::new(0);
        let found = best(&theirs, |outcomes, measure, _| {
            tried.set(tried.get() + 1);
            against(&theirs, outcomes, measure)
        });
        assert_eq!((found.same, found.other_time), (100, 0));
        assert_eq!(found.sent, theirs);
        assert!(tried.get() <= 15, "{} tries", tried.get());
    }

    #[test]
    fn without_a_draw_that_fits_the_longest_way_counts() {
        // Nobody leaves segment 70 out.
        let mut theirs = drawn([5, 3, 0]);
        theirs.remove(70);
        let found = best(&theirs, |outcomes, measure, _| against(&theirs, outcomes, measure));
        assert_eq!((found.same, found.other_time), (70, 0));
        assert!(!found.is_identical());
    }

    #[test]
    fn where_nothing_is_drawn_one_is_tried() {
        let theirs = drawn([1, 0, 0]);
        let tried = std::cell::Cell::new(0);
        let found = best(&theirs, |_, measure, _| {
            tried.set(tried.get() + 1);
            Attempt { drawn: Vec::new(), ..against(&theirs, &[], measure) }
        });
        assert_eq!((found.same, found.other_time), (100, 30));
        assert_eq!(tried.get(), 2, "in order and time, and in order");
    }
}
