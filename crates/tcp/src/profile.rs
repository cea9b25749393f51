//! What differs between the stacks that are modelled.
//!
//! The rest of the crate is Linux 6.1.192. Another stack is that with some of the behaviours below, which are all that the
//! code reads: it never looks which stack it is. A behaviour that another version brings is a field of [`Profile`], a line
//! of [`BEHAVIOURS`], a dialogue that shows it, and the place in its mechanism that looks at the field.
//!
//! [`Profile::of_linux`] has what a later Linux does otherwise; behaviours of older stacks are switched on one by one.

/// The versions of Linux that are modelled whole, as scenarios and dialogues name them; the first one is the usual one.
pub const LINUX: [&str; 3] = ["6.1", "6.12", "7.3"];

/// ns-2.35, whose sender is in these points the one of Linux 2.6.22 (the preset `ns2-2009` of a scenario).
const NS2: &str = "ns2-2009";
/// Linux 4.15, and later versions up to the one that each behaviour names.
const LINUX_4_15: &str = "linux-4.15";
/// Linux 2.6, with what ns-2.35 has of it.
const LINUX_2_6: &str = "linux-2.6";
/// Linux 6.12.117.
const LINUX_6_12: &str = "linux-6.12";
/// Linux 7.3.4, which has all of that as well.
const LINUX_7_3: &str = "linux-7.3";

/// What this stack does otherwise than Linux 6.1.192, each behaviour a switch of its own that is off there. [`BEHAVIOURS`]
/// lists which stacks behave so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Forward acknowledgement (Mathis and Mahdavi, SIGCOMM 1996; `tcp_fack` up to Linux 4.14): with SACK and without
    /// RACK, whatever is not SACKed and lies more than `reordering` segments below the highest SACKed one is lost, and a
    /// retransmission when what was sent after it is SACKed, by order.
    pub fack: bool,
    /// No proportional rate reduction: the window is the threshold at once (RFC 6675, section 5), and a segment leaves
    /// for every other ACK while more than that is in flight.
    pub window_at_once: bool,
    /// No reduction is ever taken back.
    pub no_undo: bool,
    /// The receiver acknowledges every segment at once (the route attribute `quickack`).
    pub ack_every_packet: bool,
    /// A SACK block is the whole range that the segment is in, and not what of it was reported lately.
    pub whole_ranges: bool,
    /// Every ACK starts the retransmission timer anew, duplicates as well.
    pub rto_restart: bool,
    /// What has been SACKed is forgotten when fast recovery ends.
    pub forget_sacks: bool,
    /// BIC, Scalable, Veno and YeAH count ACKs in congestion avoidance, not the segments that they acknowledge (Linux up
    /// to 5.6), so that they grow half as fast when every other segment is acknowledged.
    pub count_acks: bool,
    /// DCTCP's threshold after a loss or a timeout is the one after a mark (Linux up to 5.0, maintained versions until
    /// April 2019).
    pub loss_as_mark: bool,
    /// BBR's window is not enlarged by what is acknowledged in bunches (Linux up to 5.0).
    pub no_ack_aggregation: bool,
    /// BBR's window is two segments larger in all phases of PROBE_BW, and not in the one that probes alone (Linux 4.18 to
    /// 5.4; maintained versions from August 2018 to January 2020).
    pub wide_probes: bool,
    /// Segments are paced by a timer from one to the next, which has no credit for a late one; BBR paces at the bandwidth
    /// that it has measured, not 1 % below, and takes what is in flight as it is (Linux up to 4.19).
    pub timer_pacing: bool,
    /// CUBIC measures delays in eighths of a millisecond, and HyStart's trains in whole ones (Linux up to 5.5); a round of
    /// HyStart ends only where the window is the limit (up to 5.15).
    pub ms_delays: bool,
    /// Segmentation bursts are a millisecond of the pacing rate, and no longer on short paths (Linux up to 5.17).
    pub no_rtt_bursts: bool,
    /// A burst may wait where the last segment left in the same tick, and not where that was less than a millisecond ago
    /// (Linux up to 4.20).
    pub tick_bursts: bool,
    /// RACK waits for at least a millisecond, and no less after duplicate ACKs or in recovery; what the count of SACKed
    /// segments finds (RFC 6675) is lost as well; a timeout spares nothing (Linux up to 4.17).
    pub early_rack: bool,
    /// Proportional rate reduction as in Linux 4.15 and 5.10: below the threshold it sends one segment more than was
    /// delivered only when a retransmission is acknowledged and none was lost, and otherwise no more than was delivered.
    pub prr_by_retransmission: bool,
    /// The tail loss probe and the reordering timer wait two ticks beyond what was measured, and not 2 ms (Linux up to
    /// 6.5, maintained versions until October 2023), so that they wait longer where ticks are long.
    pub two_tick_slack: bool,
    /// The receiver looks at no timestamp before it takes a segment (RFC 7323, section 5, is left out).
    pub no_paws: bool,
    /// In fast recovery the window is half the threshold (`tcp_reno_min_cwnd` of Linux 2.6), with `window_at_once`, and
    /// afterwards the threshold, but no more than three segments beyond what is in flight.
    pub half_threshold: bool,
    /// Congestion control gets no RTT that only the echo of a timestamp gives, as where all that an ACK covers was sent
    /// twice (the estimator of the timer does).
    pub no_echo_samples: bool,
    /// There is no receive window: the sender looks at none, and the receiver takes what lies beyond the one that it offers.
    pub no_receive_window: bool,
    /// The part of the receive buffer that is window is measured: what payload was of the memory of a segment that showed
    /// another size of full segments than those before. `tcp_adv_win_scale` counts for nothing.
    pub measured_share: bool,
    /// What has arrived and is not read is taken off what was read, when the receive buffer is sized for a round trip.
    pub unread_apart: bool,
    /// The first window may be larger than its field can hold.
    pub wide_first_window: bool,
    /// The receiver takes no RTT from an echo that is less than a tick of the timestamps' clock old (it is a tick in 6.1).
    pub whole_tick_rtts: bool,
    /// Segments ahead of a hole show the size of full segments as well.
    pub sizes_above_holes: bool,
    /// No ACK is delayed for longer than a tick less than the least retransmission timeout, nor a longer time learnt than
    /// the longest delay.
    pub shorter_delays: bool,
    /// An ACK of the same sequence number as the last one may close the peer's window, and one that was overtaken counts
    /// for 1.2 timeouts.
    pub same_segment_closes: bool,
    /// What comes in order makes an overflowing receive buffer grow as well, or is acknowledged at once where that may not
    /// grow. A FIN alone is taken though the window is closed.
    pub answers_when_full: bool,
    /// Of an overflowing receive buffer only what lies beyond the segment that arrives is dropped.
    pub prunes_beyond: bool,
    /// The first four waits of a SYN are as long as one (`tcp_syn_linear_timeouts`).
    pub linear_syn_timeouts: bool,
    /// A FIN waits for room in the congestion window.
    pub fin_waits: bool,
    /// A segment that was built smaller than it may be is filled from the next one before it leaves.
    pub filled_segments: bool,
    /// Small buffers of frames and of segments that are sent are all of one size, 256 bytes of room.
    pub small_heads: bool,
    /// The receive buffer is sized for twice what was read in a round trip, twice what that is more than before, and what
    /// lies ahead of a hole; where the RTT is less than 1 ms (`tcp_rcvbuf_low_rtt`), in place of the second for the part
    /// of the first that it is of 1 ms.
    pub room_by_rtt: bool,
    /// Segments ahead of a hole make the receive buffer grow as well.
    pub room_for_holes: bool,
    /// The receiver takes no RTT that is longer than what it has measured while something waits to be read.
    pub rtt_when_read: bool,
    /// SACKs are held back for 33 % of the RTT (`tcp_comp_sack_rtt_percent`), not for a twentieth.
    pub longer_compression: bool,
    /// RACK finds losses whatever `tcp_recovery` is.
    pub always_rack: bool,
    /// An application may ask for a receive buffer of 4 MB (`net.core.rmem_max`), for which the window scale is chosen.
    pub larger_scale: bool,
    /// What was never sent is not acknowledged without an answer (RFC 5961, section 5.2).
    pub answers_unsent: bool,
    /// The acknowledgement that ends a handshake has to echo the timestamp of a SYN-ACK.
    pub checked_echo: bool,
    /// A SYN-ACK that follows one which a timeout has sent again grants no ECN.
    pub withheld_ece: bool,
    /// `tcp_limit_output_bytes` is a limit of paced senders as well.
    pub limited_pacing: bool,
    /// An acknowledgement that was overtaken by data is dropped without an answer where its timestamp is old.
    pub silent_old_acks: bool,
    /// Where a segment leaves the NIC in the nanosecond in which another arrives, what it lets go is built first. Only replays
    /// of captures heed it.
    pub departures_first: bool,
}

/// One behaviour of [`Profile`].
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// As plans and dialogues have it.
    pub name: &'static str,
    /// The stacks that behave so.
    pub stacks: &'static [&'static str],
    /// Files of `tests/dialogues` that show it, and fail without it. Those without one are shown by the unit tests of the
    /// congestion rules and of PRR.
    pub dialogues: &'static [&'static str],
    switch: fn(&mut Profile) -> &mut bool,
}

/// All of them.
pub const BEHAVIOURS: &[Behaviour] = &[
    Behaviour {
        name: "fack",
        stacks: &[NS2],
        dialogues: &["fack_marking", "fack_lost_retransmission", "fack_new_data_overtakes", "fack_reach"],
        switch: |profile| &mut profile.fack,
    },
    Behaviour {
        name: "window_at_once",
        stacks: &[NS2],
        dialogues: &["window_at_once"],
        switch: |profile| &mut profile.window_at_once,
    },
    Behaviour { name: "no_undo", stacks: &[NS2], dialogues: &["no_undo"], switch: |profile| &mut profile.no_undo },
    Behaviour {
        name: "ack_every_packet",
        stacks: &[NS2],
        dialogues: &["ack_every_packet"],
        switch: |profile| &mut profile.ack_every_packet,
    },
    Behaviour {
        name: "whole_ranges",
        stacks: &[NS2],
        dialogues: &["whole_ranges"],
        switch: |profile| &mut profile.whole_ranges,
    },
    Behaviour {
        name: "rto_restart",
        stacks: &[NS2],
        dialogues: &["rto_restart"],
        switch: |profile| &mut profile.rto_restart,
    },
    Behaviour {
        name: "forget_sacks",
        stacks: &[NS2],
        dialogues: &["forget_sacks"],
        switch: |profile| &mut profile.forget_sacks,
    },
    Behaviour { name: "count_acks", stacks: &[LINUX_4_15], dialogues: &[], switch: |profile| &mut profile.count_acks },
    Behaviour {
        name: "loss_as_mark",
        stacks: &[LINUX_4_15],
        dialogues: &[],
        switch: |profile| &mut profile.loss_as_mark,
    },
    Behaviour {
        name: "no_ack_aggregation",
        stacks: &[LINUX_4_15],
        dialogues: &[],
        switch: |profile| &mut profile.no_ack_aggregation,
    },
    Behaviour {
        name: "wide_probes",
        stacks: &[LINUX_4_15],
        dialogues: &[],
        switch: |profile| &mut profile.wide_probes,
    },
    Behaviour {
        name: "timer_pacing",
        stacks: &[LINUX_4_15],
        dialogues: &[],
        switch: |profile| &mut profile.timer_pacing,
    },
    Behaviour { name: "ms_delays", stacks: &[LINUX_4_15], dialogues: &[], switch: |profile| &mut profile.ms_delays },
    Behaviour {
        name: "no_rtt_bursts",
        stacks: &[LINUX_4_15],
        dialogues: &[],
        switch: |profile| &mut profile.no_rtt_bursts,
    },
    Behaviour {
        name: "tick_bursts",
        stacks: &[LINUX_4_15],
        dialogues: &[],
        switch: |profile| &mut profile.tick_bursts,
    },
    Behaviour {
        name: "early_rack",
        stacks: &[LINUX_4_15],
        dialogues: &["early_rack"],
        switch: |profile| &mut profile.early_rack,
    },
    Behaviour {
        name: "prr_by_retransmission",
        stacks: &[LINUX_4_15],
        dialogues: &[],
        switch: |profile| &mut profile.prr_by_retransmission,
    },
    Behaviour {
        name: "two_tick_slack",
        stacks: &[LINUX_4_15],
        dialogues: &["two_tick_slack", "two_tick_slack_probe"],
        switch: |profile| &mut profile.two_tick_slack,
    },
    Behaviour { name: "no_paws", stacks: &[NS2], dialogues: &["no_paws"], switch: |profile| &mut profile.no_paws },
    Behaviour {
        name: "half_threshold",
        stacks: &[LINUX_2_6],
        dialogues: &["half_threshold"],
        switch: |profile| &mut profile.half_threshold,
    },
    Behaviour {
        name: "no_echo_samples",
        stacks: &[NS2],
        dialogues: &["no_echo_samples"],
        switch: |profile| &mut profile.no_echo_samples,
    },
    Behaviour {
        name: "no_receive_window",
        stacks: &[NS2],
        dialogues: &["no_receive_window", "no_receive_window_at_receiver"],
        switch: |profile| &mut profile.no_receive_window,
    },
    Behaviour {
        name: "measured_share",
        stacks: &[LINUX_6_12, LINUX_7_3],
        dialogues: &["share_of_payload"],
        switch: |profile| &mut profile.measured_share,
    },
    Behaviour {
        name: "unread_apart",
        stacks: &[LINUX_6_12, LINUX_7_3],
        dialogues: &[],
        switch: |profile| &mut profile.unread_apart,
    },
    Behaviour {
        name: "wide_first_window",
        stacks: &[LINUX_6_12, LINUX_7_3],
        dialogues: &["first_window_wide"],
        switch: |profile| &mut profile.wide_first_window,
    },
    Behaviour {
        name: "whole_tick_rtts",
        stacks: &[LINUX_6_12, LINUX_7_3],
        dialogues: &[],
        switch: |profile| &mut profile.whole_tick_rtts,
    },
    Behaviour {
        name: "sizes_above_holes",
        stacks: &[LINUX_6_12, LINUX_7_3],
        dialogues: &["share_above_a_hole"],
        switch: |profile| &mut profile.sizes_above_holes,
    },
    Behaviour {
        name: "shorter_delays",
        stacks: &[LINUX_6_12, LINUX_7_3],
        dialogues: &["delayed_ack_limit"],
        switch: |profile| &mut profile.shorter_delays,
    },
    Behaviour {
        name: "same_segment_closes",
        stacks: &[LINUX_6_12, LINUX_7_3],
        dialogues: &["window_closes_while_quiet"],
        switch: |profile| &mut profile.same_segment_closes,
    },
    Behaviour {
        name: "answers_when_full",
        stacks: &[LINUX_6_12, LINUX_7_3],
        dialogues: &["fin_when_full", "overflow_closes"],
        switch: |profile| &mut profile.answers_when_full,
    },
    Behaviour {
        name: "prunes_beyond",
        stacks: &[LINUX_6_12, LINUX_7_3],
        dialogues: &["overflow_beyond"],
        switch: |profile| &mut profile.prunes_beyond,
    },
    Behaviour {
        name: "linear_syn_timeouts",
        stacks: &[LINUX_6_12, LINUX_7_3],
        dialogues: &["syn_linear"],
        switch: |profile| &mut profile.linear_syn_timeouts,
    },
    Behaviour {
        name: "fin_waits",
        stacks: &[LINUX_6_12, LINUX_7_3],
        dialogues: &["fin_waits"],
        switch: |profile| &mut profile.fin_waits,
    },
    Behaviour {
        name: "filled_segments",
        stacks: &[LINUX_6_12, LINUX_7_3],
        dialogues: &["segments_filled", "segments_filled_by_a_window"],
        switch: |profile| &mut profile.filled_segments,
    },
    Behaviour {
        name: "small_heads",
        stacks: &[LINUX_6_12, LINUX_7_3],
        dialogues: &["send_buffer_small_heads"],
        switch: |profile| &mut profile.small_heads,
    },
    Behaviour {
        name: "room_by_rtt",
        stacks: &[LINUX_7_3],
        dialogues: &["room_for_growth", "room_for_growth_nearby"],
        switch: |profile| &mut profile.room_by_rtt,
    },
    Behaviour {
        name: "room_for_holes",
        stacks: &[LINUX_7_3],
        dialogues: &["room_for_holes", "room_after_accept"],
        switch: |profile| &mut profile.room_for_holes,
    },
    Behaviour {
        name: "rtt_when_read",
        stacks: &[LINUX_7_3],
        dialogues: &[],
        switch: |profile| &mut profile.rtt_when_read,
    },
    Behaviour {
        name: "longer_compression",
        stacks: &[LINUX_7_3],
        dialogues: &["sack_compression_longer"],
        switch: |profile| &mut profile.longer_compression,
    },
    Behaviour {
        name: "always_rack",
        stacks: &[LINUX_7_3],
        dialogues: &["rack_always"],
        switch: |profile| &mut profile.always_rack,
    },
    Behaviour {
        name: "larger_scale",
        stacks: &[LINUX_7_3],
        dialogues: &["window_scale_larger"],
        switch: |profile| &mut profile.larger_scale,
    },
    Behaviour {
        name: "answers_unsent",
        stacks: &[LINUX_7_3],
        dialogues: &["ack_of_unsent_answered"],
        switch: |profile| &mut profile.answers_unsent,
    },
    Behaviour {
        name: "checked_echo",
        stacks: &[LINUX_7_3],
        dialogues: &["handshake_echo_checked"],
        switch: |profile| &mut profile.checked_echo,
    },
    Behaviour {
        name: "withheld_ece",
        stacks: &[LINUX_7_3],
        dialogues: &["syn_ack_without_ece"],
        switch: |profile| &mut profile.withheld_ece,
    },
    Behaviour {
        name: "limited_pacing",
        stacks: &[LINUX_7_3],
        dialogues: &["small_queues_paced"],
        switch: |profile| &mut profile.limited_pacing,
    },
    Behaviour {
        name: "silent_old_acks",
        stacks: &[LINUX_7_3],
        dialogues: &["old_ack_in_silence"],
        switch: |profile| &mut profile.silent_old_acks,
    },
    Behaviour {
        name: "departures_first",
        stacks: &[LINUX_7_3],
        dialogues: &[],
        switch: |profile| &mut profile.departures_first,
    },
];

impl Profile {
    /// Linux of this version; `None` where it is not in [`LINUX`].
    pub fn of_linux(version: &str) -> Option<Self> {
        let mut profile = Self::default();
        profile.add_linux(version)?;
        Some(profile)
    }

    /// Switches on what Linux of this version does otherwise; `None` where it is not in [`LINUX`].
    pub fn add_linux(&mut self, version: &str) -> Option<()> {
        LINUX.contains(&version).then(|| {
            for behaviour in BEHAVIOURS {
                if behaviour.stacks.iter().any(|stack| stack.strip_prefix("linux-") == Some(version)) {
                    behaviour.set(self, true);
                }
            }
        })
    }

    /// Switches the behaviour with this name on; `None` when there is none.
    pub fn switch_on(&mut self, name: &str) -> Option<()> {
        let behaviour = BEHAVIOURS.iter().find(|behaviour| behaviour.name == name)?;
        behaviour.set(self, true);
        Some(())
    }
}

impl Behaviour {
    /// Switches it on or off.
    pub fn set(&self, profile: &mut Profile, is_on: bool) {
        *(self.switch)(profile) = is_on;
    }
}
