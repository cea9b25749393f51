//! Feeds the segments that one end of a connection received to ours, and compares what both sent.
//!
//! In a run of a whole scenario two ends diverge at the first difference, and the network amplifies it. Here our end
//! receives exactly what the other one received, at the same times, and its application makes the same calls, so every
//! segment that differs is a different decision of TCP. Received segments are captured at the start of the last link on
//! their path; that link has no jitter and no loss, so the time of arrival is known.
//!
//! The end must have its NIC for itself: when a packet leaves it is what TCP small queues wait for.

use daybreak_tcp::{Flags, Segment};
use daybreak_units::{Duration, Instant};

use crate::error::EngineError;
use daybreak_plan::{Action, Application, Flow, Plan, PlanError, Step};

use draws::Attempt;
use end::{End, LastLink, Nic};

mod draws;
mod end;
mod log;

pub use draws::ATTEMPTS;
pub use log::{COLUMNS, NoSegment};

/// Segments that leave less than this apart leave at one time. Where the other's application has just been
/// woken, it holds its socket for up to a microsecond of the kernel's virtual clock.
const AT_ONE_TIME: Duration = Duration::from_us(2);
const PS_PER_NS: u64 = 1_000;

/// Which end of a flow is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that opens the connection: the sender of a bulk transfer, or the client of an exchange.
    Client,
    /// The end that accepts it: the receiver of a bulk transfer, or a server.
    Server,
}

/// A segment of a capture. Sequence numbers are counted from the SYN, windows are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// When it started on its link.
    pub at: Instant,
    /// Its content.
    pub segment: Segment,
}

/// The segments that an end sent and received, each in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialogue {
    /// Captured at the start of the first link of its way; a SYN is the first, if there is any.
    pub sent: Vec<Captured>,
    /// Captured at the start of the last link of the other way.
    pub received: Vec<Captured>,
}

/// The result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Its segments, in the order in which they were sent.
    pub sent: Vec<Captured>,
    /// Length of the common prefix in segments, which agree in everything but PSH.
    pub same: usize,
    /// Of these, how many differ in PSH.
    pub other_push: usize,
    /// Of these, how many left at another time than the other's, 2 us before or after it.
    pub other_time: usize,
    /// Segments that the other has sent.
    pub theirs: usize,
    /// How many of those have payload that it had sent before.
    pub their_retransmissions: usize,
}

impl Replayed {
    /// Both have sent the same segments in the same order, and no other.
    pub fn is_identical(&self) -> bool {
        self.same == self.theirs && self.same == self.sent.len()
    }
}

/// Replays one end of a flow of the plan: with the plan's stack, rule and application, it receives the segments of
/// `dialogue`.
///
/// # Errors
/// When the plan is not sound or has no such flow, when one of its two links is not what the module
/// asks for, when what the end has sent does not start with a SYN, or time runs backwards in it. The error names the
/// field.
pub fn replay(plan: &Plan, flow: usize, side: Side, dialogue: &Dialogue) -> Result<Replayed, EngineError> {
    let entry = find(plan, flow)?;
    dialogue.check()?;
    let nic = Nic::of(plan, flow, side)?;
    let way = LastLink::of(plan, flow, side)?;
    let opening = dialogue.opening(side)?;
    let Some(last) = dialogue.sent.iter().chain(&dialogue.received).map(|captured| captured.at).max() else {
        return Ok(Replayed::default());
    };
    // What is captured later would have been captured of ours as well. A capture has cut off fractions of nanoseconds.
    let end = last + Duration::from_ns(1);
    let theirs = &dialogue.sent[..];
    // Ours receives all of it, or as long as it sends what the other has sent.
    let attempt = |outcomes: &[u32], measure: draws::Measure, to_the_end: bool| {
        let mut ours = End::new(plan, entry, side, outcomes, nic.clone());
        // The other's timestamps start anywhere: both clocks show the same when its first SYN is sent.
        let offset = opening.map_or(0, |syn| syn.segment.ts_val.wrapping_sub(ours.timestamp(syn.at)));
        ours.begin(opening.map_or(Instant::ZERO, |syn| syn.at));
        let (mut together, mut before) = (0, Instant::ZERO);
        for received in &dialogue.received {
            let mut segment = received.segment;
            if segment.ts_val != 0 && segment.flags.contains(Flags::ACK) {
                segment.ts_ecr = segment.ts_ecr.wrapping_sub(offset);
            }
            // On a link nothing overtakes what is before it.
            let at = way.arrival(received.at, &segment).max(before);
            before = at;
            if at > end {
                break;
            }
            ours.receive(at, &segment);
            together += measure.together(&ours.sent[together..], &theirs[together..]);
            if !to_the_end && together < ours.sent.len() {
                break;
            }
        }
        ours.wait(end + AT_ONE_TIME);
        let End { mut sent, drawn, .. } = ours;
        sent.retain(|sent| sent.at < end + AT_ONE_TIME);
        // What leaves after the end in place of nothing is not too much: the other may have sent it as well.
        let in_time = sent.partition_point(|sent| sent.at <= end);
        sent.truncate(in_time.max(theirs.len()));
        // Where only the order counts, some of what is in the same place may have left after the end.
        together = together.min(sent.len());
        together += measure.together(&sent[together..], &theirs[together..]);
        Attempt { together, sent, drawn }
    };
    Ok(compared(draws::best(theirs, attempt), theirs))
}

/// A flow that can be replayed.
fn find(plan: &Plan, flow: usize) -> Result<&Flow, EngineError> {
    plan.validate()?;
    let Some(entry) = plan.flows.get(flow) else {
        return Err(refused("flow", flow, format!("the plan has only {} flows", plan.flows.len())));
    };
    if let Application::ConstantRate { .. } = entry.application {
        let field = format!("flows[{flow}].application");
        return Err(refused(&field, "datagrams", "what has a connection can be replayed".into()));
    }
    Ok(entry)
}

impl Dialogue {
    /// The SYN, or the answer to one, with which an end begins; of a server that has sent nothing there is none.
    fn opening(&self, side: Side) -> Result<Option<&Captured>, EngineError> {
        let Some(first) = self.sent.first() else {
            let problem = "what a client has sent starts with its SYN";
            return if side == Side::Server {
                Ok(None)
            } else {
                Err(refused("dialogue.sent[0]", "nothing", problem.into()))
            };
        };
        if !first.segment.flags.contains(Flags::SYN) {
            let problem = "what an end has sent starts with a SYN".into();
            return Err(refused("dialogue.sent[0]", format!("{:?}", first.segment.flags), problem));
        }
        match self.received.first().filter(|received| side == Side::Client && received.at < first.at) {
            Some(early) => {
                let problem = format!("the SYN, which it must answer, is of {}", first.at);
                Err(refused("dialogue.received[0].at", early.at, problem))
            }
            None => Ok(Some(first)),
        }
    }
}

/// The link that serves the queue of a step.
fn only_link(plan: &Plan, field: &str, step: Option<&Step>) -> Result<usize, EngineError> {
    let problem = "a replay needs one queue there that one link serves";
    match step {
        Some(&Step::Queue(queue)) => match plan.queues[queue as usize].served_by[..] {
            [link] if is_changed(plan, link) => {
                let problem = "a replay needs a link there whose rate, delay and loss do not change";
                Err(refused(field, format!("queue {queue}"), problem.into()))
            }
            [link] => Ok(link as usize),
            _ => Err(refused(field, format!("queue {queue}"), problem.into())),
        },
        Some(other) => Err(refused(field, format!("{other:?}"), problem.into())),
        None => Err(refused(field, "empty", problem.into())),
    }
}

fn is_changed(plan: &Plan, index: u32) -> bool {
    plan.actions().any(|action| match *action {
        Action::SetRate { link, .. } | Action::SetDelay { link, .. } | Action::SetLoss { link, .. } => link == index,
        _ => false,
    })
}

/// Everything is the same but PSH, and its own timestamp, which is its time.
fn is_same(ours: &Captured, theirs: &Captured) -> bool {
    let says = |Captured { segment, .. }: &Captured| {
        let flags = segment.flags.0 & !Flags::PSH.0;
        let echoed = (segment.ts_val != 0, segment.ts_ecr);
        (segment.seq, segment.len, segment.ack, segment.window, echoed, flags, segment.ecn, segment.syn)
    };
    says(ours) == says(theirs) && ours.segment.sacks() == theirs.segment.sacks()
}

fn is_at_one_time(ours: &Captured, theirs: &Captured) -> bool {
    ours.at.max(theirs.at) < ours.at.min(theirs.at) + AT_ONE_TIME
}

fn compared(ours: Vec<Captured>, theirs: &[Captured]) -> Replayed {
    let is_pushed = |captured: &Captured| captured.segment.flags.contains(Flags::PSH);
    let both = || ours.iter().zip(theirs);
    let same = both().take_while(|(ours, theirs)| is_same(ours, theirs)).count();
    Replayed {
        same,
        other_push: both().take(same).filter(|(ours, theirs)| is_pushed(ours) != is_pushed(theirs)).count(),
        other_time: both().take(same).filter(|(ours, theirs)| !is_at_one_time(ours, theirs)).count(),
        theirs: theirs.len(),
        their_retransmissions: retransmissions(theirs),
        sent: ours,
    }
}

/// Segments with payload that was sent before.
fn retransmissions(sent: &[Captured]) -> usize {
    let mut highest = 0;
    let is_again = |captured: &&Captured| {
        let Segment { header, .. } = captured.segment;
        let is_again = header.len > 0 && header.seq < highest;
        highest = highest.max(header.seq + u64::from(header.len));
        is_again
    };
    sent.iter().filter(is_again).count()
}

fn refused(field: &str, value: impl ToString, problem: String) -> EngineError {
    EngineError::Plan(PlanError { field: field.to_owned(), value: value.to_string(), problem })
}
