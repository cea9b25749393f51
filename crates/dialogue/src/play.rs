//! Plays a script with a stack and compares its answers with the lines.

use std::collections::VecDeque;

use daybreak_tcp::Segment;
use daybreak_units::{Duration, Instant};

use crate::DialogueError;
use crate::claim::{Claim, Relation};
use crate::compare::{differences, text};
use crate::pattern::Pattern;
use crate::peer::Peer;
use crate::script::{Reading, Script, SocketOption, Step, What};

/// A stack's value for a name of `expect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The value as text.
    Is(String),
    /// The stack has no such value: the line is an error.
    Unknown,
    /// The stack cannot report this value: the claim is skipped.
    Withheld,
}

/// The host under test: its stack, its application, its clock. An error of a method ends the dialogue.
pub trait Host {
    /// Resolution of the host's times; the tolerance of lines without one.
    const GRAIN: Duration;

    /// The next segment that leaves at or before `until`, with its time; `None` if there is none, and the time is then
    /// `until`.
    fn next_segment(&mut self, until: Instant) -> Result<Option<(Instant, Segment)>, String>;
    /// The application connects.
    fn open(&mut self, now: Instant) -> Result<(), String>;
    /// The application writes this number of bytes, `u64::MAX` for an unlimited stream.
    fn write(&mut self, now: Instant, bytes: u64) -> Result<(), String>;
    /// The application closes its side.
    fn close(&mut self, now: Instant) -> Result<(), String>;
    /// The application reads, or changes how it reads.
    fn read(&mut self, now: Instant, reading: Reading) -> Result<(), String>;
    /// The application sets an option of its socket.
    fn set(&mut self, now: Instant, option: SocketOption) -> Result<(), String>;
    /// A segment of the peer arrives; the application reads it if it reads everything at once.
    fn on_segment(&mut self, now: Instant, segment: &Segment) -> Result<(), String>;
    /// The value that the stack reports under this name.
    fn observe(&mut self, name: &str) -> Result<Answer, String>;
}

/// Plays all steps; the error names the line, what was expected and what was observed.
pub fn play<H: Host>(script: &Script, host: &mut H) -> Result<(), DialogueError> {
    let peer = Peer::new(script);
    let mut player = Player { host, script, peer, left: VecDeque::new(), now: Instant::ZERO, expects: true };
    for step in &script.steps {
        player.step(step).map_err(|problem| DialogueError { line: Some(step.line), column: None, problem })?;
    }
    player.nothing_else("the end of the dialogue").map_err(|problem| DialogueError {
        line: None,
        column: None,
        problem,
    })
}

struct Player<'a, H> {
    host: &'a mut H,
    script: &'a Script,
    peer: Peer,
    /// Segments that have left and were not yet expected.
    left: VecDeque<(Instant, Segment)>,
    /// Time of the last segment or step.
    now: Instant,
    /// Every segment that leaves must be expected.
    expects: bool,
}

impl<H: Host> Player<'_, H> {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        if let What::Leaves(pattern) = &step.what {
            return self.expect_segment(step, pattern);
        }
        // Segments due before this step, or at its time, come first. A segment that was late within its // tolerance
        // delays the step as well.
        let at = step.at.max(self.now);
        while self.take_segment(at)? {}
        self.now = at;
        match &step.what {
            What::Expect(claims) => return self.expect(claims),
            _ if step.continues => {}
            _ => self.nothing_else("this step")?,
        }
        match &step.what {
            What::Arrives(pattern) => {
                let segment = self.peer.segment(pattern, at)?;
                self.host.on_segment(at, &segment)?;
            }
            What::Open => self.host.open(at)?,
            What::Write(bytes) => self.host.write(at, *bytes)?,
            What::Close => self.host.close(at)?,
            What::Read(reading) => self.host.read(at, *reading)?,
            What::Set(option) => self.host.set(at, *option)?,
            What::Rest => self.expects = false,
            What::Expect(_) | What::Leaves(_) => {}
        }
        // The peer's next segment, even at the same time, echoes what leaves now.
        while self.take_segment(at)? {}
        Ok(())
    }

    /// Takes the next segment that leaves by `until`; false if there is none.
    fn take_segment(&mut self, until: Instant) -> Result<bool, String> {
        let next = self.host.next_segment(until)?;
        if let Some((at, segment)) = &next {
            self.now = self.now.max(*at);
            self.peer.on_segment(segment);
        }
        if self.expects {
            self.left.extend(next);
        }
        Ok(next.is_some())
    }

    fn expect(&mut self, claims: &[Claim]) -> Result<(), String> {
        for claim in claims {
            let Claim { name, relation, value } = claim;
            match self.host.observe(name)? {
                Answer::Unknown => return Err(format!("the stack does not report \"{name}\"")),
                Answer::Is(reported) if !claim.holds(&reported)? => {
                    let sign = if *relation == Relation::Is { String::new() } else { format!("{relation} ") };
                    return Err(format!("{name} is {reported}, expected {sign}{value}"));
                }
                Answer::Is(_) | Answer::Withheld => {}
            }
        }
        Ok(())
    }

    /// Every segment that leaves must be expected.
    fn nothing_else(&self, place: &str) -> Result<(), String> {
        match self.left.front() {
            Some((at, segment)) => Err(format!("before {place}, nothing expected at {at}: {}", text(segment))),
            None => Ok(()),
        }
    }

    fn expect_segment(&mut self, step: &Step, pattern: &Pattern) -> Result<(), String> {
        let (early, late) = (step.early.max(H::GRAIN), step.late.max(H::GRAIN));
        let latest = step.at.saturating_add(late);
        if self.left.is_empty() {
            self.take_segment(latest)?;
        }
        let when = || {
            if early == late {
                return format!("at {} within {late}", step.at);
            }
            format!("between {} and {latest}", Instant::ZERO + step.at.saturating_since(Instant::ZERO + early))
        };
        let Some((at, segment)) = self.left.pop_front() else {
            return Err(format!("expected {pattern} at {}, nothing came by {latest}", step.at));
        };
        let differences = differences(pattern, &segment, &self.script.config);
        if !differences.is_empty() {
            return Err(format!("expected {pattern}, got {} at {at}: {}", text(&segment), differences.join(", ")));
        }
        if step.at.saturating_since(at) > early || at > latest {
            return Err(format!("{} left at {at}, expected {}", text(&segment), when()));
        }
        Ok(())
    }
}
