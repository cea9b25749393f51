//! What differs between the stacks that are modelled.
//!
//! The rest of the crate is Linux 6.1.192. Another stack is that with some of the behaviours below, which are all that the
//! code asks for: it never asks which stack it is. A behaviour that another version brings is a field of [`Legacy`], a line
//! of [`BEHAVIOURS`], a dialogue that shows it, and the place in its mechanism that looks at the field.

/// ns-2.35, whose sender is in these points the one of Linux 2.6.22 (the preset `ns2-2009` of a scenario).
const NS2: &str = "ns2-2009";
/// Linux 4.15 to 5.4.
const LINUX_4_15: &str = "linux-4.15";
/// Linux 2.6, with what ns-2.35 has of it.
const LINUX_2_6: &str = "linux-2.6";

/// What this stack does as older ones did, each behaviour a switch of its own that is off in Linux 6.1.192. [`BEHAVIOURS`]
/// lists which stacks behave so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Legacy {
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
}

/// One behaviour of [`Legacy`].
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// As plans and dialogues have it.
    pub name: &'static str,
    /// The stacks that behave so.
    pub stacks: &'static [&'static str],
    /// Files of `tests/dialogues` that show it, and fail without it. Those without one are shown by the unit tests of the
    /// congestion rules and of PRR.
    pub dialogues: &'static [&'static str],
    switch: fn(&mut Legacy) -> &mut bool,
}

/// All of them.
pub const BEHAVIOURS: &[Behaviour] = &[
    Behaviour {
        name: "fack",
        stacks: &[NS2],
        dialogues: &["fack_marking", "fack_lost_retransmission", "fack_new_data_overtakes", "fack_reach"],
        switch: |legacy| &mut legacy.fack,
    },
    Behaviour {
        name: "window_at_once",
        stacks: &[NS2],
        dialogues: &["window_at_once"],
        switch: |legacy| &mut legacy.window_at_once,
    },
    Behaviour { name: "no_undo", stacks: &[NS2], dialogues: &["no_undo"], switch: |legacy| &mut legacy.no_undo },
    Behaviour {
        name: "ack_every_packet",
        stacks: &[NS2],
        dialogues: &["ack_every_packet"],
        switch: |legacy| &mut legacy.ack_every_packet,
    },
    Behaviour {
        name: "whole_ranges",
        stacks: &[NS2],
        dialogues: &["whole_ranges"],
        switch: |legacy| &mut legacy.whole_ranges,
    },
    Behaviour {
        name: "rto_restart",
        stacks: &[NS2],
        dialogues: &["rto_restart"],
        switch: |legacy| &mut legacy.rto_restart,
    },
    Behaviour {
        name: "forget_sacks",
        stacks: &[NS2],
        dialogues: &["forget_sacks"],
        switch: |legacy| &mut legacy.forget_sacks,
    },
    Behaviour { name: "count_acks", stacks: &[LINUX_4_15], dialogues: &[], switch: |legacy| &mut legacy.count_acks },
    Behaviour {
        name: "prr_by_retransmission",
        stacks: &[LINUX_4_15],
        dialogues: &[],
        switch: |legacy| &mut legacy.prr_by_retransmission,
    },
    Behaviour {
        name: "two_tick_slack",
        stacks: &[LINUX_4_15],
        dialogues: &["two_tick_slack", "two_tick_slack_probe"],
        switch: |legacy| &mut legacy.two_tick_slack,
    },
    Behaviour { name: "no_paws", stacks: &[NS2], dialogues: &["no_paws"], switch: |legacy| &mut legacy.no_paws },
    Behaviour {
        name: "half_threshold",
        stacks: &[LINUX_2_6],
        dialogues: &["half_threshold"],
        switch: |legacy| &mut legacy.half_threshold,
    },
    Behaviour {
        name: "no_echo_samples",
        stacks: &[NS2],
        dialogues: &["no_echo_samples"],
        switch: |legacy| &mut legacy.no_echo_samples,
    },
];

impl Legacy {
    /// Switches the behaviour with this name on; `None` when there is none.
    pub fn switch_on(&mut self, name: &str) -> Option<()> {
        let behaviour = BEHAVIOURS.iter().find(|behaviour| behaviour.name == name)?;
        *(behaviour.switch)(self) = true;
        Some(())
    }
}
