//! Several paths under one connection: time-division TCP (Chen et al., "Time-division TCP for reconfigurable data center
//! networks", SIGCOMM 2022).
//!
//! A network whose paths change under a connection in turn, such as packets and circuits, tells its senders which one is there
//! now. For each the sender keeps a congestion state of its own, a [`Path`]; the sequence space and the scoreboard are one.
//! [`Sender::path`] is the present one: it decides what may be sent. A segment belongs to the path on which it was sent last
//! ([`Sent::PATH`]), and what an ACK says of it counts there. So an ACK is processed once for each path, which sees only its own
//! segments, as if it were the present one. A path finds a segment lost by what was delivered of its own segments later;
//! that segments of another path arrive says nothing, since paths differ in length (the paper's relaxed reordering
//! detection), but that the segment is lost when it has had twice the RTT of the slowest path: its own may not come back for
//! long, and what is missing holds the receiver's window. This limit is ours. Whatever is lost is sent again on the present
//! path, and from then on it is a segment of that one.
//!
//! The network's word is the ECE flag of ACKs, as with reTCP (`congestion/retcp.rs`): with it the second path is there,
//! without it the first. The paper's switches send ICMP messages to hosts; here a sender hears of a change with the first
//! ACK that passes the switch after it. The paper's option, by which segments and ACKs name their paths, is not modelled: an RTT
//! or a rate is taken from a segment only if the present path has been there ever since it was sent, as far as the
//! sender knows.
//!
//! There is one timer. A timeout is that of the path of the oldest segment, as long as the present path says; a tail loss
//! probe waits for the timer of reordering, and F-RTO does not judge. The paper's timeouts allow for an ACK that comes by
//! the slowest path; Linux's least variance of 200 ms does so here. Several paths need SACK, and no ECN, whose echo is
//! the same flag: a connection that has negotiated otherwise keeps its first path alone. What a host remembers of a
//! destination (`metrics.rs`) is of the first path at the start, and of the present one at the end.
//!
//! Validated by the tests below, by random conversations and networks whose counts add up and whose streams arrive
//! (`connection/fast_path_tests.rs`, `tests/properties.rs`), and by what it gains where a circuit and a packet network take
//! turns, which it does not without the marks. Linux 6.1 has no such TCP to compare with.

use super::Sender;
use super::ack::{Ack, AckFlags, Cleaned};
use super::flight::{Sent, Tally};
use super::output::Due;
use super::path::Path;
use super::timer::TimerKind;
use crate::Segment;
use crate::config::Config;
use crate::congestion::{CaState, Congestion};

/// The lowest bit of [`Sent::PATH`].
const FIRST_BIT: u32 = Sent::PATH.trailing_zeros();

/// Segments that have been out for too long, though later ones were delivered.
#[derive(Clone, Copy, Debug, Default)]
struct Overdue {
    /// There are some.
    found: bool,
    /// Microseconds until more may be.
    wait_us: Option<u64>,
}

/// What a connection with several paths has besides the present one.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// The others; empty with a single path.
    others: Vec<Path>,
    /// Tag of the present path.
    present: u16,
    /// Since when it is, in microseconds.
    since_us: u64,
    /// Tail loss probes are configured.
    probes: bool,
}

impl Paths {
    /// The path with this tag; `present` is the one that is not here.
    #[inline]
    pub fn get<'a>(&'a mut self, present: &'a mut Path, tag: u16) -> &'a mut Path {
        if tag == present.tally.tag() {
            return present;
        }
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
    pub fn add_path(&mut self, config: &Config, rule: Box<dyn Congestion>) {
        let tag = (self.paths.others.len() as u16 + 1) << FIRST_BIT;
        assert!(tag != 0, "a connection has at most 16 paths");
        let path = Path::new(config, rule, self.path.rtt.clone());
        let tally = Tally::new(tag);
        self.paths.others.push(Path { tally, has_others: true, one_by_one: true, ..path });
        (self.path.has_others, self.path.one_by_one) = (true, true);
        self.paths.probes = self.tail_loss_probe;
        // Marks of one path may stand between those of another: no short way for what is sent in order.
        self.flight.keep_time_order();
    }

    /// There is more than one path.
    #[inline]
    pub(super) fn has_paths(&self) -> bool {
        self.path.has_others
    }

    /// Only the first path is left: the handshake has not negotiated what several need.
    pub(super) fn keep_first_path(&mut self) {
        if self.has_paths() {
            self.paths.others.clear();
            (self.path.has_others, self.path.one_by_one) = (false, self.path.window.is_paced);
            self.flight.drop_time_order();
        }
    }

    /// The network says which path is there now.
    pub(super) fn switch_path(&mut self, index: u16) {
        let tag = index << FIRST_BIT;
        if tag == self.path.tally.tag() {
            return;
        }
        self.path.pacing.waiting = false;
        self.enter_path(tag);
        self.paths.present = tag;
        self.paths.since_us = self.clock.now_us;
    }

    /// What is said of [`Sender::path`] is said of this one from now on.
    #[inline]
    pub(super) fn enter_path(&mut self, tag: u16) {
        if tag != self.path.tally.tag() {
            std::mem::swap(
                self.paths.others.iter_mut().find(|path| path.tally.tag() == tag).expect("a known path"),
                &mut self.path,
            );
        }
    }

    /// The path that is looked at is the one that is there.
    pub(super) fn is_on_present_path(&self) -> bool {
        self.path.tally.tag() == self.paths.present
    }

    /// Does it for each path in turn, as if that were the present one.
    pub(super) fn on_each_path(&mut self, mut act: impl FnMut(&mut Self)) {
        for index in 0..=self.paths.others.len() as u16 {
            self.enter_path(index << FIRST_BIT);
            act(self);
        }
        self.enter_path(self.paths.present);
    }

    /// The segment at `at` is about to be sent on the present path: if it was another's, it leaves that one with its
    /// marks, and is a new segment here.
    pub(super) fn take_over(&mut self, at: u32) {
        let record = self.flight.get(at);
        if self.path.tally.owns(record) {
            return;
        }
        let tag = record.path();
        let from = self.paths.others.iter_mut().find(|path| path.tally.tag() == tag).expect("a known path");
        self.flight.take_over(at, &mut from.tally, &mut self.path.tally, self.snd_una);
    }

    /// Processes an ACK that is not old.
    #[cold]
    pub(super) fn on_ack_of_paths(&mut self, segment: &Segment, mut ack: Ack) {
        self.switch_path(u16::from(ack.has_ece));
        let had_queue = !self.flight.is_empty();
        self.advance_una(segment, &mut ack);
        let reported = (segment.sack_count > 0).then(|| self.take_sacks(segment, &mut ack));
        if !had_queue {
            self.on_ack_without_queue(&mut ack);
            self.on_each_path(|sender| {
                if !sender.is_on_present_path() {
                    sender.hear_late(&mut ack);
                }
            });
            self.heed_others();
            return;
        }
        let mut heard = Vec::with_capacity(self.paths.others.len() + 1);
        self.on_each_path(|sender| {
            let (mut ack, prior) = (ack, sender.prior(ack.prior_una));
            if let Some(reported) = &reported {
                sender.tag_reported(reported, &mut ack);
            }
            let cleaned = sender.clean_path(&mut ack);
            sender.drop_ambiguous(&mut ack);
            heard.push((ack, prior, cleaned));
        });
        self.pop_acknowledged();
        if let Some(reported) = &reported {
            self.remember_sacks(reported);
        }
        let reneging = self.flight.first().is_some_and(|first| first.has(Sent::SACKED));
        let mut heard = heard.into_iter();
        let (mut arms, mut waits) = (false, false);
        self.on_each_path(|sender| {
            let (mut ack, prior, mut cleaned) = heard.next().expect("one for each path");
            let overdue = sender.detect_overdue();
            if let Some(wait_us) = overdue.wait_us {
                sender.set_reorder_timer(wait_us);
                waits = true;
            }
            if overdue.found {
                ack.flags.set(AckFlags::OVERDUE);
            }
            let delivers = AckFlags::DATA_ACKED | AckFlags::DATA_SACKED | AckFlags::DSACKING;
            let is_concerned = ack.flags.any(delivers | AckFlags::OVERDUE);
            let is_calm = sender.path.state == CaState::Open && sender.path.probe.high_seq == 0;
            if !is_concerned && is_calm && !sender.is_on_present_path() {
                return;
            }
            if reneging {
                ack.flags.set(AckFlags::SACK_RENEGING);
            }
            if !sender.is_measured(cleaned.first_us) {
                cleaned.first_us = None;
            }
            let asked = ack.flags.any(AckFlags::SET_TIMER);
            sender.respond(&mut ack, &prior, cleaned);
            let asks = ack.flags.any(AckFlags::SET_TIMER);
            arms |= asks;
            // Loss detection has set the timer itself.
            waits |= asked && !asks;
        });
        self.arm = arms && !waits;
        self.heed_others();
    }

    /// Of an ACK older than the last only the SACKs count.
    #[cold]
    pub(super) fn on_old_ack_of_paths(&mut self, segment: &Segment, mut ack: Ack) {
        let reported = self.take_sacks(segment, &mut ack);
        let mut heard = Vec::with_capacity(self.paths.others.len() + 1);
        self.on_each_path(|sender| {
            let (mut ack, delivered_before) = (ack, sender.path.delivery.delivered);
            sender.tag_reported(&reported, &mut ack);
            heard.push((ack, delivered_before));
        });
        self.remember_sacks(&reported);
        let mut heard = heard.into_iter();
        self.on_each_path(|sender| {
            let (mut ack, delivered_before) = heard.next().expect("one for each path");
            sender.alert_old(&mut ack, delivered_before);
        });
        self.heed_others();
    }

    /// The path's segments that are acknowledged; their records stay until all paths have seen theirs.
    fn clean_path(&mut self, ack: &mut Ack) -> Cleaned {
        let mut cleaned = Cleaned { reord: self.snd_nxt, ..Cleaned::default() };
        for at in self.flight.positions() {
            let record = self.flight.get(at);
            if record.end() > self.snd_una {
                break;
            }
            if self.path.tally.owns(record) {
                self.clean_marked(at, ack, &mut cleaned);
                cleaned.segments += 1;
            }
        }
        self.flight.release(&mut self.path.tally, cleaned.segments);
        if cleaned.segments > 0 {
            ack.flags.set(AckFlags::DATA_ACKED | AckFlags::SET_TIMER);
        } else {
            // Nothing of this path's is acknowledged: its recovery has made no progress.
            ack.flags.unset(AckFlags::UNA_ADVANCED);
        }
        cleaned
    }

    fn pop_acknowledged(&mut self) {
        let at =
            self.flight.positions().find(|&at| self.flight.get(at).end() > self.snd_una).unwrap_or(self.flight.tail());
        self.flight.pop_to(at);
        debug_assert_eq!(
            self.path.tally.packets_out() + self.paths.others.iter().map(|path| path.tally.packets_out()).sum::<u32>(),
            self.flight.len(),
            "packets_out is not what is queued"
        );
    }

    /// The path was there all the time since `sent_us`.
    fn is_measured(&self, sent_us: Option<u64>) -> bool {
        self.is_on_present_path() && sent_us.is_some_and(|sent_us| sent_us >= self.paths.since_us)
    }

    /// Forgets the RTT and the rate of segments whose ACKs may have come by another path.
    fn drop_ambiguous(&mut self, ack: &mut Ack) {
        if !self.is_measured(ack.first_sacked_us) {
            ack.first_sacked_us = None;
        }
        if !self.is_measured(ack.rate.taken.then_some(self.path.delivery.first_sent_us)) {
            ack.rate.taken = false;
        }
    }

    /// The reordering timer fired: each path looks for what it waited for.
    #[cold]
    pub(super) fn on_reorder_timeout_of_paths(&mut self) {
        let mut wait: Option<u64> = None;
        self.on_each_path(|sender| {
            let overdue = sender.detect_overdue();
            let reordered = sender.judge_reordering(overdue.found);
            wait = wait.into_iter().chain(overdue.wait_us).chain(reordered).min();
        });
        self.timer.kind = TimerKind::None;
        if let Some(us) = wait {
            self.set_reorder_timer(us);
        }
        self.heed_others();
        if wait.is_none() {
            self.arm_after_ack();
        }
    }

    /// Finds segments of the path that were sent before what has been delivered on another, and for which twice the smoothed
    /// RTT of the slowest path has passed, as for a tail loss probe (RFC 8985, section 7.2): they are lost, or the path may
    /// be long gone before one of its own segments shows it.
    fn detect_overdue(&mut self) -> Overdue {
        let each = || std::iter::once(&self.path).chain(&self.paths.others);
        let delivered_us = each().map(|path| path.rack.sent_us()).max().unwrap_or(0);
        let patience_us = 2 * u64::from(each().map(|path| path.rtt.srtt_us()).max().unwrap_or(0));
        let now_us = self.clock.now_us;
        let mut overdue = Overdue::default();
        if patience_us == 0 {
            return overdue;
        }
        let mut next = self.flight.oldest();
        while let Some(at) = next {
            let sent = *self.flight.get(at);
            if sent.sent_us >= delivered_us {
                break;
            }
            next = self.flight.newer(at);
            if !self.path.tally.owns(&sent) {
                continue;
            }
            let wait_us = (sent.sent_us + patience_us).saturating_sub(now_us);
            if wait_us > 0 {
                overdue.wait_us = Some(wait_us);
                break;
            }
            self.mark_lost(at);
            self.flight.note_racked(at);
            overdue.found = true;
        }
        overdue
    }

    /// Another path than the present one has lost something that is to be sent again.
    pub(super) fn is_lost_elsewhere(&self) -> bool {
        self.paths.others.iter().any(|path| path.tally.has_to_resend())
    }

    /// After an ACK or a timeout: what other paths ask for. A tail loss probe would take the timer with which a path waits for
    /// what may be reordered.
    pub(super) fn heed_others(&mut self) {
        self.tail_loss_probe = self.paths.probes && self.timer.kind != TimerKind::Reorder;
        if self.is_lost_elsewhere() {
            self.due = Due::LostElsewhere;
        }
    }

    /// Sent and not acknowledged, SACKed, lost, and sent again and in flight, on all paths.
    pub fn outstanding(&self) -> [u32; 4] {
        let mut counts = [0; 4];
        for path in std::iter::once(&self.path).chain(&self.paths.others) {
            counts.iter_mut().zip(path.tally.counts()).for_each(|(count, more)| *count += more);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use daybreak_units::{Duration, Instant};

    use super::super::Opening;
    use super::*;
    use crate::config::BufferLimits;
    use crate::congestion::find;
    use crate::{Flags, Header, SackBlock};

    const LEN: u64 = 1_000;
    const WINDOW: u32 = 1_000_000;

    /// A sender with two paths, ten segments a window on each.
    fn sender() -> Sender {
        // Without small queues nobody has to say that segments have left the host.
        let wmem = BufferLimits { default: 1_000_000, ..Config::default().wmem };
        let config = Config { limit_output_bytes: None, wmem, ..Config::default() };
        let rule = || find("reno").expect("a rule").rule(1);
        let mut sender = Sender::new(&config, rule());
        sender.add_path(&config, rule());
        sender.negotiate(LEN as u32, true, false);
        sender.begin(Instant::ZERO + Duration::from_ms(1));
        sender.start(Opening { syn_retransmits: 0, rtt_us: Some(1_000), is_client: true, window: WINDOW });
        sender
    }

    /// The application writes so many segments; those that leave, by number.
    fn send(sender: &mut Sender, at_us: u64, segments: u64) -> Vec<u64> {
        sender.write(Instant::ZERO + Duration::from_us(at_us), segments * LEN);
        poll(sender)
    }

    fn poll(sender: &mut Sender) -> Vec<u64> {
        let mut sent = Vec::new();
        while sender.has_ready() {
            sent.push(sender.push_ready().0 / LEN);
        }
        while let Some(outgoing) = sender.next_outgoing() {
            sent.push(outgoing.seq / LEN);
            while sender.has_ready() {
                sent.push(sender.push_ready().0 / LEN);
            }
        }
        sent
    }

    /// Everything below segment `ack` has arrived, and the segments `sacked`; what leaves then, by number.
    fn ack(
        sender: &mut Sender,
        at_us: u64,
        index: u16,
        ack: u64,
        sacked: impl Into<Option<std::ops::Range<u64>>>,
    ) -> Vec<u64> {
        let ece = if index == 0 { Flags::default() } else { Flags::ECE };
        let header = Header { ack: 1 + ack * LEN, window: WINDOW, flags: Flags::ACK.with(ece), ..Header::default() };
        let mut segment = Segment::from(header);
        if let Some(range) = sacked.into() {
            segment.sack[0] = SackBlock { start: 1 + range.start * LEN, end: 1 + range.end * LEN };
            segment.sack_count = 1;
        }
        sender.begin(Instant::ZERO + Duration::from_us(at_us));
        sender.on_ack(&segment, true);
        let sent = poll(sender);
        sender.audit().expect("counts add up");
        sent
    }

    /// What a path has out, of this SACKed, lost, and sent again.
    fn counts(sender: &mut Sender, index: u16) -> [u32; 4] {
        path(sender, index).tally.counts()
    }

    fn path(sender: &mut Sender, index: u16) -> &mut Path {
        sender.paths.get(&mut sender.path, index << FIRST_BIT)
    }

    /// Segments 0 to 9 on the first path at 1 ms; 0 arrives at 1.2 ms with the news of the second, where 10 to 19 leave.
    fn on_both() -> Sender {
        let mut sender = sender();
        assert_eq!(send(&mut sender, 1_000, 100), (0..10).collect::<Vec<_>>());
        assert_eq!(ack(&mut sender, 1_200, 1, 1, None), (10..20).collect::<Vec<_>>(), "the second path's own window");
        sender
    }

    #[test]
    fn what_an_ack_says_counts_on_the_path_of_each_segment() {
        let mut sender = on_both();
        assert_eq!((counts(&mut sender, 0), counts(&mut sender, 1)), ([9, 0, 0, 0], [10, 0, 0, 0]));
        assert_eq!((path(&mut sender, 0).window.cwnd, path(&mut sender, 1).window.cwnd), (11, 10));
        // Of the first path 1 to 3, of the second 10 to 13, by SACK.
        ack(&mut sender, 1_300, 1, 4, 10..14);
        assert_eq!(counts(&mut sender, 0), [6, 0, 0, 0]);
        let [out, sacked, lost, again] = counts(&mut sender, 1);
        assert_eq!((out - sacked, sacked, lost, again), (path(&mut sender, 1).window.cwnd, 4, 0, 0));
        let delivered = |sender: &mut Sender, index| path(sender, index).delivery.delivered - 1;
        assert_eq!((delivered(&mut sender, 0), delivered(&mut sender, 1)), (4, 4));
    }

    #[test]
    fn what_arrives_of_one_path_says_nothing_of_losses_on_another() {
        let mut sender = on_both();
        let sent = ack(&mut sender, 1_300, 1, 1, 10..20);
        assert!(sent.iter().all(|&segment| segment >= 20), "{sent:?}");
        assert_eq!((counts(&mut sender, 0), path(&mut sender, 0).state), ([9, 0, 0, 0], CaState::Open));
        // Of the first path 5 to 9 arrive: 1 to 4 are lost there, and only its window is reduced.
        let (first, second) = (path(&mut sender, 0).window.cwnd, path(&mut sender, 1).window.cwnd);
        ack(&mut sender, 1_400, 1, 1, 5..20);
        assert_eq!(path(&mut sender, 0).state, CaState::Recovery);
        assert!(path(&mut sender, 0).window.ssthresh <= first / 2);
        assert_eq!((path(&mut sender, 1).window.ssthresh, path(&mut sender, 1).window.cwnd), (u32::MAX, second));
    }

    #[test]
    fn what_is_lost_goes_again_on_the_present_path_and_belongs_to_it() {
        let mut sender = on_both();
        let end = 20 + ack(&mut sender, 1_300, 1, 1, 10..20).len() as u64;
        let sent = ack(&mut sender, 1_400, 1, 1, 3..end);
        assert_eq!(sent[..2], [1, 2]);
        assert_eq!(counts(&mut sender, 0), [7, 7, 0, 0]);
        let first = *sender.flight.get(sender.flight.head());
        assert_eq!((first.path(), first.has(Sent::EVER_RETRANS), first.has(Sent::LOST)), (1 << FIRST_BIT, true, false));
        // It arrives, and the recovery of the first path is over once all of it has.
        ack(&mut sender, 1_500, 1, end, None);
        assert_eq!((counts(&mut sender, 0), path(&mut sender, 0).state), ([0; 4], CaState::Open));
    }

    #[test]
    fn what_was_left_behind_is_lost_after_twice_the_longest_rtt() {
        let mut sender = on_both();
        let first = ack(&mut sender, 1_240, 0, 10, None);
        let end = 20 + first.len() as u64;
        // 10 to 19 left at 1.2 ms on the second path, which is gone. The RTT of the first, the only one known, is 1 ms.
        ack(&mut sender, 2_240, 0, 10, 20..end - 1);
        assert_eq!((counts(&mut sender, 1), path(&mut sender, 1).state), ([10, 0, 0, 0], CaState::Open));
        assert_eq!(sender.timer.kind, TimerKind::Reorder, "in a millisecond or so");
        let sent = ack(&mut sender, 3_600, 0, 10, 20..end);
        assert_eq!(sent[0], 10);
        assert_eq!(path(&mut sender, 1).state, CaState::Recovery);
    }

    #[test]
    fn an_rtt_is_measured_only_where_the_path_was_there_all_the_time() {
        let mut sender = on_both();
        // The ACK that came with the news acknowledged a segment of the other path.
        assert_eq!((path(&mut sender, 0).rtt.srtt_us(), path(&mut sender, 1).rtt.srtt_us()), (1_000, 0));
        ack(&mut sender, 1_240, 1, 11, None);
        assert_eq!(path(&mut sender, 0).rtt.srtt_us(), 1_000, "segments 1 to 9 were sent before the change");
        assert_eq!(path(&mut sender, 1).rtt.srtt_us(), 40);
        // The rest of the second path's arrives when the first is there again.
        ack(&mut sender, 1_700, 0, 20, None);
        assert_eq!((path(&mut sender, 0).rtt.srtt_us(), path(&mut sender, 1).rtt.srtt_us()), (1_000, 40));
    }

    #[test]
    fn a_path_that_is_back_is_measured_from_then_on() {
        let mut sender = on_both();
        // The first path is there again, after 40 us of the other. 1 to 4 left on it before: their ACKs may have come by either.
        let sent = ack(&mut sender, 1_240, 0, 1, None);
        ack(&mut sender, 1_300, 0, 5, None);
        assert_eq!(path(&mut sender, 0).rtt.srtt_us(), 1_000);
        // What has left since is measured: 160 us, an eighth of the way from 1 ms.
        ack(&mut sender, 1_400, 0, 10, sent[0]..sent[0] + 1);
        assert_eq!(path(&mut sender, 0).rtt.srtt_us(), 1_000 - (1_000 - 160) / 8);
    }

    #[test]
    fn a_timeout_is_that_of_the_path_of_the_oldest_segment() {
        let mut sender = on_both();
        let at = sender.deadline();
        // Neither a probe nor the timeout before it is in question here: all is lost.
        let (mut now, mut fired) = (at, 0);
        while sender.counters().rtos == 0 {
            sender.begin(now);
            sender.on_timer();
            poll(&mut sender);
            sender.audit().expect("counts add up");
            now = sender.deadline();
            fired += 1;
            assert!(fired < 5);
        }
        assert_eq!((path(&mut sender, 0).state, path(&mut sender, 0).window.cwnd), (CaState::Loss, 1));
        assert_eq!((path(&mut sender, 1).state, path(&mut sender, 1).window.cwnd), (CaState::Open, 10));
    }

    #[test]
    fn without_sack_or_with_ecn_one_path_is_left() {
        for (sack, ecn, several) in [(true, false, true), (false, false, false), (true, true, false)] {
            let config = Config::default();
            let mut sender = Sender::new(&config, find("reno").expect("a rule").rule(1));
            sender.add_path(&config, find("reno").expect("a rule").rule(1));
            sender.negotiate(LEN as u32, sack, ecn);
            assert_eq!(sender.has_paths(), several, "SACK {sack}, ECN {ecn}");
        }
    }
}
