//! Several paths under one connection: time-division TCP (Chen et al., "Time-division TCP for reconfigurable data center
//! networks", SIGCOMM 2022).
//!
//! A network whose paths change under a connection in turn, such as packets and circuits, shows its senders which one
//! is there now. For each the sender keeps a congestion state of its own, a [`Path`]; the sequence space and the
//! scoreboard are one. [`Sender::path`] is the present one: it decides what may be sent. A segment belongs to the path
//! on which it was sent last ([`Sent::PATH`]), and what an ACK reports of it counts there. So an ACK is processed once for
//! each path, which sees only its own segments, as if it were the present one. A path finds a segment lost by what was
//! delivered of its own segments later; that segments of another path arrive proves nothing, since paths differ in length
//! (the paper's relaxed reordering detection), but that the segment is lost when it has had twice the RTT of the
//! slowest path: its own may not come back for long, and what is missing holds the receiver's window. This limit is not
//! in the paper; we chose it. Whatever is lost is sent again on the present path, and from then on it is a segment of
//! that one.
//!
//! A [`PathChoice`] decides at each ACK which path is there. Unless another is set it is the ECE flag that decides, as
//! with reTCP (`congestion/retcp.rs`): with it the second path is there, without it the first. The paper's switches send ICMP
//! messages to hosts; here the first ACK that passes the switch after a change
//! shows it to the sender. The paper's option, by which segments and ACKs name their paths, is not modelled: an RTT or a
//! rate is taken from a segment only if no change has been seen since it was sent.
//!
//! There is one timer. A timeout is that of the path of the oldest segment, after the present path's RTO; a tail loss
//! probe waits for the timer of reordering, and F-RTO does not judge. The paper's timeouts allow for an ACK that comes by
//! the slowest path; Linux's least variance of 200 ms does so here. Several paths need SACK, and no ECN, whose echo is
//! the same flag: a connection that has negotiated otherwise keeps its first path alone. What a host remembers of a
//! destination (`metrics.rs`) is of the first path at the start, and of the present one at the end.
//!
//! Validated by the tests below, by random conversations and networks whose counts add up and whose streams arrive
//! (`connection/fast_path_tests.rs`, `tests/properties.rs`), and by what it gains where a circuit and a packet network take
//! turns, which it does not without the marks. Linux 6.1 has no such TCP to compare with.

mod choice;

pub use choice::{EchoMarks, PathChoice};

use super::Sender;
use super::flight::{Sent, Tally};
use super::path::Path;
use crate::Segment;
use crate::config::Config;
use crate::congestion::Rule;

/// The lowest bit of [`Sent::PATH`].
const FIRST_BIT: u32 = Sent::PATH.trailing_zeros();

/// What a connection with several paths has besides the present one.
#[derive(Debug)]
pub(crate) struct Paths {
    /// Chooses which is there.
    choice: Box<dyn PathChoice>,
    /// The others; empty with a single path.
    others: Vec<Path>,
    /// Tag of the present path.
    present: u16,
    /// Since when it is, in microseconds.
    pub since_us: u64,
}

impl Default for Paths {
    fn default() -> Self {
        Self { choice: Box::new(EchoMarks), others: Vec::new(), present: 0, since_us: 0 }
    }
}

impl Paths {
    /// The path with this tag; `present` is the one that is not here.
    #[inline]
    pub fn get<'a>(&'a mut self, present: &'a mut Path, tag: u16) -> &'a mut Path {
        if tag == present.tally.tag() {
            return present;
        }
        self.other(tag)
    }

    /// The path with this tag, which is not the present one.
    #[inline]
    fn other(&mut self, tag: u16) -> &mut Path {
        self.others
            .iter_mut()
            .find(|path| path.tally.tag() == tag)
            .expect("a segment's path is one of the connection's")
    }

    /// All of them.
    #[inline]
    pub fn each<'a>(&'a mut self, present: &'a mut Path) -> impl Iterator<Item = &'a mut Path> {
        std::iter::once(present).chain(&mut self.others)
    }

    /// Nothing is SACKed on any of the others.
    #[inline]
    pub fn hold_no_sacks(&self) -> bool {
        self.others.iter().all(|path| path.tally.sacked_out() == 0)
    }

    /// The path whose reduction a duplicate that ends at `end` may show to have been needless. Its record may be gone, or
    /// name the path on which it was sent again.
    #[inline]
    pub fn of_duplicate<'a>(&'a mut self, present: &'a mut Path, end: u64) -> &'a mut Path {
        let waits = |path: &Path| path.undo.marker != 0 && path.undo.retrans > 0 && end > path.undo.marker;
        if self.others.is_empty() || waits(present) {
            return present;
        }
        self.others.iter_mut().find(|path| waits(path)).unwrap_or(present)
    }
}

impl Sender {
    /// The connection has one path more. To be called before the handshake.
    pub fn add_path(&mut self, config: &Config, rule: Rule) {
        let tag = (self.paths.others.len() as u16 + 1) << FIRST_BIT;
        assert!(tag != 0, "a connection has at most 16 paths");
        let path = Path::new(config, rule, self.path.rtt.clone());
        let tally = Tally::new(tag);
        self.pacing_rates.are_used |= path.window.is_paced;
        self.paths.others.push(Path { tally, has_others: true, one_by_one: true, ..path });
        (self.path.has_others, self.path.one_by_one) = (true, true);
        // Marks of one path may stand between those of another: no short way for what is sent in order.
        self.flight.keep_time_order();
    }

    /// `choice` decides which path is there from now on.
    pub fn choose_paths(&mut self, choice: Box<dyn PathChoice>) {
        self.paths.choice = choice;
    }

    /// The present path, then the others.
    pub(in crate::sender) fn all_paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.path).chain(&self.paths.others)
    }

    /// There is more than one path.
    #[inline]
    pub(in crate::sender) fn has_paths(&self) -> bool {
        self.path.has_others
    }

    /// Only the first path is left: the handshake has not negotiated what several need.
    pub(in crate::sender) fn keep_first_path(&mut self) {
        if self.has_paths() {
            self.paths.others.clear();
            (self.path.has_others, self.path.one_by_one) = (false, self.path.window.is_paced);
            self.flight.drop_time_order();
        }
    }

    /// An ACK has arrived: takes the path that is there now.
    pub(in crate::sender) fn choose_path(&mut self, ack: &Segment) {
        let index = self.paths.choice.choose(self.clock.now, ack);
        assert!(usize::from(index) <= self.paths.others.len(), "path {index} was chosen, which was not added");
        let tag = index << FIRST_BIT;
        if tag == self.path.tally.tag() {
            return;
        }
        self.path.pacing.waiting = false;
        self.enter_path(tag);
        self.paths.present = tag;
        self.paths.since_us = self.clock.now_us;
    }

    /// Swaps the path with this tag into [`Sender::path`].
    #[inline]
    fn enter_path(&mut self, tag: u16) {
        if tag != self.path.tally.tag() {
            std::mem::swap(self.paths.other(tag), &mut self.path);
        }
    }

    /// The path that is looked at is the one that is there.
    pub(in crate::sender) fn is_on_present_path(&self) -> bool {
        self.path.tally.tag() == self.paths.present
    }

    /// Does it for the path of a segment with this tag, as if that were the present one.
    pub(in crate::sender) fn on_path(&mut self, tag: u16, act: impl FnOnce(&mut Self)) {
        self.enter_path(tag);
        act(self);
        self.enter_path(self.paths.present);
    }

    /// Does it for each path in turn, as if that were the present one.
    pub(in crate::sender) fn on_each_path(&mut self, mut act: impl FnMut(&mut Self)) {
        for index in 0..=self.paths.others.len() as u16 {
            self.on_path(index << FIRST_BIT, &mut act);
        }
    }

    /// The segment at `at` is about to be sent on the present path: if it was another's, it leaves that one with its
    /// marks, and is a new segment here.
    pub(in crate::sender) fn take_over(&mut self, at: u32) {
        let tag = self.flight.get(at).path();
        if tag != self.path.tally.tag() {
            let from = self.paths.other(tag);
            self.flight.take_over(at, &mut from.tally, &mut self.path.tally, self.snd_una);
        }
    }

    /// Another path than the present one has lost something that is to be sent again.
    pub(in crate::sender) fn is_lost_elsewhere(&self) -> bool {
        self.paths.others.iter().any(|path| path.tally.has_to_resend())
    }

    /// Sent and not acknowledged, SACKed, lost, and sent again and in flight, on all paths.
    pub fn outstanding(&self) -> [u32; 4] {
        let mut counts = [0; 4];
        for path in self.all_paths() {
            counts.iter_mut().zip(path.tally.counts()).for_each(|(count, more)| *count += more);
        }
        counts
    }
}

#[cfg(test)]
mod tests;
