//! Feeds the segments that another receiver has heard into ours, and compares what both have answered: every ACK, its
//! time, its number, its window, its echoed timestamp and its SACK blocks.
//!
//! What was heard is captured at the start of the last link of the data's path, what was answered at the start of the
//! first link of the ACKs' path.

use daybreak_plan::Plan;
use daybreak_tcp::config::Config;
use daybreak_tcp::connection::{Connection, State};
use daybreak_tcp::{Flags, Segment};
use daybreak_units::Instant;

use super::end::{End, LastLink, Log, Nic, Way};
use super::{AT_ONE_TIME, Captured, Dialogue, GUEST_UPTIME_MS, find, refused};
use crate::error::EngineError;
use crate::wiring::{self, Rule};

/// What our receiver has made of the data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// Its segments, in the order in which they were sent.
    pub sent: Vec<Captured>,
    /// So many of them, from the first, say what the other's say.
    pub same: usize,
    /// Of these, how many left at another time than the other's, 2 us before or after it.
    pub other_time: usize,
    /// Segments that the other has sent.
    pub theirs: usize,
}

impl Answered {
    /// Both have sent the same segments in the same order, and no other.
    pub fn is_identical(&self) -> bool {
        self.same == self.theirs && self.same == self.sent.len()
    }
}

/// Replays a flow of the plan: its server, whose application reads at once what comes, hears what `dialogue` says.
///
/// # Errors
/// When the plan is not sound or has no such flow, when one of its two links is not what the module asks for, or when
/// the other did not answer a SYN, or time runs backwards in the dialogue. The error names the field.
pub fn answer(plan: &Plan, flow: usize, dialogue: &Dialogue) -> Result<Answered, EngineError> {
    let entry = find(plan, flow)?;
    dialogue.check()?;
    let nic = Nic::of(plan, flow, Way::Acks)?;
    let way = LastLink::of(plan, flow, Way::Data)?;
    let Some(opening) = dialogue.sent.first().filter(|first| first.segment.flags.contains(Flags::SYN)) else {
        return Err(refused("dialogue.sent[0]", dialogue.sent.len(), "a receiver's capture starts with a SYN".into()));
    };
    let config =
        Config { timestamp_offset: GUEST_UPTIME_MS - 1, ..wiring::stack(&plan.stacks[entry.dst_stack as usize]) };
    // Both clocks show the same when the SYN is answered.
    let offset = opening.segment.ts_val.wrapping_sub(config.timestamp(opening.at));
    let rule = Rule::new(&plan.rules[entry.rule as usize]).make(0);
    let mut receiver = End { connection: Connection::server(config, rule), nic, log: Everything::default() };
    let end = dialogue.sent.iter().chain(&dialogue.heard).map(|captured| captured.at).max().expect("it has a SYN");
    let mut before = Instant::ZERO;
    for heard in &dialogue.heard {
        let mut segment = heard.segment;
        if segment.ts_ecr != 0 && opening.segment.syn.timestamps {
            segment.ts_ecr = segment.ts_ecr.wrapping_sub(offset);
        }
        // On a link nothing overtakes what is before it.
        let at = way.arrival(heard.at, &segment).max(before);
        before = at;
        if at > end {
            break;
        }
        receiver.wait(at);
        receiver.connection.on_segment(at, &segment);
        receiver.transmit(at);
        if receiver.connection.state() == State::CloseWait {
            receiver.connection.close(at);
            receiver.transmit(at);
        }
    }
    receiver.wait(end + AT_ONE_TIME);
    let mut sent = receiver.log.0;
    sent.retain(|sent| sent.at < end + AT_ONE_TIME);
    Ok(compared(sent, &dialogue.sent))
}

/// Every segment.
#[derive(Default)]
struct Everything(Vec<Captured>);

impl Log for Everything {
    fn note(&mut self, captured: Captured) {
        self.0.push(captured);
    }
}

fn compared(sent: Vec<Captured>, theirs: &[Captured]) -> Answered {
    let both = || sent.iter().zip(theirs);
    let same = both().take_while(|(ours, theirs)| is_same(&ours.segment, &theirs.segment)).count();
    let is_late = |ours: Instant, theirs: Instant| ours.max(theirs) >= ours.min(theirs) + AT_ONE_TIME;
    let other_time = both().take(same).filter(|(ours, theirs)| is_late(ours.at, theirs.at)).count();
    Answered { same, other_time, theirs: theirs.len(), sent }
}

/// Everything but its own timestamp, which is its time.
fn is_same(ours: &Segment, theirs: &Segment) -> bool {
    let says = |segment: &Segment| {
        (segment.seq, segment.ack, segment.len, segment.window, segment.ts_ecr, segment.flags.0 & !Flags::PSH.0)
    };
    says(ours) == says(theirs) && ours.sacks() == theirs.sacks()
}
