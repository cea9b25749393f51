//! TCP's behaviour as dialogues: text files of segments, times and expected answers. See README.md.

use std::path::{Path, PathBuf};

use daybreak_dialogue::{Model, Script};
use daybreak_tcp::config::Profile;
use daybreak_tcp::profile::{BEHAVIOURS, LINUX};

/// One test for each file of this directory. What is not of one version of Linux alone is played with the model of each.
macro_rules! dialogues {
    ($($name:ident,)*) => {
        const LISTED: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { check(stringify!($name)); })*
    };
}

dialogues! {
    ack_every_packet,
    ack_of_unsent,
    ack_of_unsent_answered,
    ack_of_unsent_closing,
    ack_off,
    ack_off_syn_received,
    ack_too_old,
    ack_too_old_opener,
    ack_within_a_lost_segment,
    ack_within_a_segment,
    acked_of_the_listener,
    after_the_fin,
    application_limited,
    application_limited_decay,
    application_limited_decay_initial_window,
    application_limited_slow_start,
    bbr_application_limited,
    bbr_idle_past_min_rtt,
    bbr_pacing_limit,
    bbr_phase,
    bbr_restart_in_probe_rtt,
    blocks_forgotten,
    close_active,
    close_alone,
    close_passive,
    close_rides,
    closed_answers,
    closed_passive_answers,
    cork,
    cwnd_clamp,
    dctcp_alpha,
    dctcp_echo,
    dctcp_echo_on_data,
    dctcp_handshake,
    dctcp_idle_acks,
    dctcp_loss,
    dctcp_loss_after_echo,
    dctcp_passive,
    dctcp_passive_not_asked,
    dctcp_syn_again,
    dctcp_timeout,
    dctcp_without_ecn,
    delayed_ack,
    delayed_ack_backoff,
    delayed_ack_backoff_limit,
    delayed_ack_interactive,
    delayed_ack_limit,
    delayed_ack_timer_is_near,
    dsack,
    dsack_above_a_closed_hole,
    dsack_behind_forgotten_blocks,
    dsack_beyond_the_window,
    dsack_forgotten,
    dsack_merges,
    dsack_missed,
    dsack_of_a_sacked_segment,
    dsack_of_an_earlier_recovery,
    dsack_of_more,
    dsack_of_outstanding,
    dsack_of_two,
    dsack_over_two_segments,
    dsack_splits_behind,
    dsack_splits_within,
    dsack_surplus,
    dsack_within_a_known_block,
    dsack_within_a_merged_block,
    early_rack,
    echo_of_an_ack,
    ecn_bare_fin,
    ecn_capable_syn,
    ecn_echo,
    ecn_half_asked,
    ecn_off,
    ecn_off_opener,
    ecn_on,
    ecn_passive,
    ecn_passive_opener,
    ecn_reflected,
    ecn_refused,
    ecn_sender,
    ecn_syn_again,
    fack_lost_retransmission,
    fack_marking,
    fack_new_data_overtakes,
    fack_reach,
    fin_again_closing,
    fin_alone_beyond_the_window,
    fin_at_zero_window,
    fin_below_held_data,
    fin_beyond_the_window,
    fin_beyond_the_window_probe,
    fin_forgets_dsack,
    fin_out_of_order_closing,
    fin_out_of_order_timewait_sack,
    fin_overtaken,
    fin_takes_room,
    fin_then_data,
    fin_then_overlap,
    fin_then_overlap_last_ack,
    fin_wait_not_measured,
    fin_waits,
    fin_waits_for_a_probe,
    fin_when_full,
    first_pacing_rate,
    first_pacing_rate_lp,
    first_pacing_rate_passive,
    first_pacing_rate_syn_again,
    first_pacing_rate_threshold,
    first_window,
    first_window_wide,
    forget_sacks,
    frto_forgets_timeouts,
    frto_genuine,
    frto_not_in_recovery,
    frto_recurring,
    frto_spurious,
    frto_then_write,
    full_segments_after_sacks,
    half_threshold,
    half_window,
    handshake_active,
    handshake_bare_peer,
    handshake_echo,
    handshake_echo_checked,
    handshake_not_measured,
    handshake_passive,
    handshake_without_delay,
    header_prediction_with_memory,
    header_prediction_without_memory,
    hystart_burst_room,
    idle_restart,
    idle_restart_threshold,
    listener_answers,
    mss_least,
    newreno_without_sack,
    no_echo_samples,
    no_paws,
    no_probe_without_sack,
    no_rack_loss_by_count,
    no_rack_partial_ack,
    no_receive_window,
    no_receive_window_at_receiver,
    no_undo,
    nodelay,
    old_ack_in_silence,
    overflow_beyond,
    overflow_closes,
    overflow_copied,
    overflow_dropped,
    overflow_pruned,
    overflow_unread,
    paced_probe,
    pacing,
    pacing_credit_after_ack,
    paws_and_window_checks,
    persist,
    prr_below_ssthresh,
    prr_new_loss,
    push_filled,
    push_on_fin,
    push_on_fin_with_data,
    push_waits_for_room,
    quick_ack_crowded,
    quick_ack_jumbo,
    quick_ack_refused,
    rack_always,
    rack_lost_retransmission,
    rack_no_threshold,
    rack_reordering,
    rack_static_window,
    rack_timer,
    rack_timer_slow_ticks,
    rack_window_adapts,
    rack_window_limit,
    rack_window_once_a_round,
    rack_window_persists,
    ranges_and_orders,
    reader_falls_behind,
    receive_autotuning,
    receive_buffer_overflow,
    receive_buffer_set,
    receive_buffer_set_opener,
    receiver_limited,
    recovery_undone_threshold,
    reneging,
    reneging_disproved,
    reneging_long_path,
    reneging_with_a_loss,
    reneging_without_progress,
    reordered_ack,
    reset_outside,
    reset_with_data,
    reset_with_data_out,
    rest_and_outstanding,
    retcp_circuit,
    retcp_loss,
    room_after_accept,
    room_for_growth,
    room_for_growth_nearby,
    room_for_holes,
    rto,
    rto_after_ecn_echo,
    rto_again_after_progress,
    rto_before_pacing,
    rto_restart,
    rto_undone_by_timestamp,
    rto_undone_threshold,
    sack_blocks,
    sack_blocks_split,
    sack_blocks_take_room,
    sack_compression,
    sack_compression_delayed_ack,
    sack_compression_fraction,
    sack_compression_longer,
    sack_of_joined_part,
    sack_recovery,
    sack_without_timestamps,
    segmentation_bursts,
    segments_filled,
    segments_filled_by_a_window,
    segments_stay_as_built,
    send_buffer,
    send_buffer_above_a_hole,
    send_buffer_filled_while_writing,
    send_buffer_merging,
    send_buffer_merging_last,
    send_buffer_merging_order,
    send_buffer_merging_split,
    send_buffer_merging_within,
    send_buffer_set,
    send_buffer_small_heads,
    send_buffer_small_window,
    send_buffer_whole_segments,
    share_above_a_hole,
    share_of_payload,
    shrunk_window_closed,
    shrunk_window_probe,
    shrunk_window_recovery,
    shrunk_window_timeout,
    slow_start,
    small_queues,
    small_queues_paced,
    small_segments_joined,
    small_segments_joined_fin,
    small_segments_joined_recovery,
    small_segments_joined_without_sack,
    syn_ack_again,
    syn_ack_again_once,
    syn_ack_again_unmeasured,
    syn_ack_counted,
    syn_again,
    syn_again_granted_ecn,
    syn_again_unmeasured,
    syn_again_without_sack,
    syn_counted,
    syn_doubling,
    syn_in_established,
    syn_ack_without_ece,
    syn_linear,
    syn_needlessly_again,
    syn_received_again,
    syn_received_again_asked,
    syn_received_limit_ends,
    syn_received_old,
    syn_received_other_syn,
    syn_received_outside,
    syn_received_reset,
    syn_received_reset_within,
    syn_refused,
    syn_sent_answers,
    tail_loss_probe_cwr,
    tail_loss_probe_needless,
    tail_loss_probe_new_data,
    tail_loss_probe_repairs,
    tail_loss_probe_slow_ticks,
    tail_loss_probe_without_dsack,
    time_wait_acks,
    time_wait_answers,
    time_wait_end,
    time_wait_old,
    time_wait_restarts,
    time_wait_succeeded,
    time_wait_succeeded_by_time,
    time_wait_syn,
    timeout_after_undo,
    timeouts_end_with_a_sample,
    timer_leaves_validation,
    timer_wheel,
    timer_wheel_backoff,
    timestamps_echo,
    two_tick_slack,
    two_tick_slack_probe,
    undo_by_dsack,
    undo_counts_the_probe,
    undo_of_a_recovery_at_once,
    unread_behind_a_hole,
    unused_window_before_burst,
    unused_window_before_long_write,
    westwood_data_segments,
    whole_ranges,
    window_after_the_fin,
    window_at_once,
    window_at_once_above,
    window_closes_while_quiet,
    window_of_each_segment,
    window_probe_of_a_part,
    window_probe_then_small_rest,
    window_scale_larger,
    window_scale_least,
    window_scaling_absent,
    window_shrinks_while_quiet,
    window_update_after_read,
    window_update_without_scale,
    without_sack_no_dsack,
    without_sack_reordering,
    without_sack_surplus,
    without_timestamp,
    without_timestamp_ack,
    zero_window,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dialogues")
}

fn check(name: &str) {
    let text = std::fs::read_to_string(directory().join(name).with_extension("dialogue")).expect("the file is there");
    let script = Script::parse(&text).unwrap_or_else(|error| panic!("{name}.dialogue, {error}"));
    let of: Vec<&str> = script.linux.iter().map(String::as_str).collect();
    let versions = if of.is_empty() { LINUX.to_vec() } else { of };
    for version in versions {
        // A later version has all behaviours of the first one that is named.
        if let Err(error) = play_with(&script, |profile| profile.add_linux(version).expect("it is modelled")) {
            panic!("{name}.dialogue, Linux {version}, {error}");
        }
    }
}

fn play(text: &str) -> Result<(), String> {
    play_with(&Script::parse(text).map_err(|error| error.to_string())?, |_| ())
}

fn play_with(script: &Script, change: impl FnOnce(&mut Profile)) -> Result<(), String> {
    let mut script = script.clone();
    change(&mut script.config.profile);
    let mut model = Model::new(&script).map_err(|error| error.to_string())?;
    daybreak_dialogue::play(&script, &mut model).map_err(|error| error.to_string())
}

#[test]
fn every_dialogue_is_listed() {
    let entries = std::fs::read_dir(directory()).expect("the directory is there");
    let mut found: Vec<String> = entries
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "dialogue"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    found.sort();
    let mut listed: Vec<&str> = LISTED.to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed);
}

#[test]
fn the_dialogues_of_other_stacks_fail_without_their_behaviour() {
    let mut passing = Vec::new();
    for behaviour in BEHAVIOURS {
        for name in behaviour.dialogues {
            let file = directory().join(name).with_extension("dialogue");
            let text = std::fs::read_to_string(file).expect("the file is there");
            let script = Script::parse(&text).expect("it is a dialogue");
            let with = |is_on| {
                let mut profile = script.config.profile;
                behaviour.set(&mut profile, is_on);
                profile
            };
            assert_eq!(script.config.profile, with(true), "{name}.dialogue switches {} on", behaviour.name);
            if play_with(&script, |profile| *profile = with(false)).is_ok() {
                passing.push((name, behaviour.name));
            }
        }
    }
    assert!(passing.is_empty(), "dialogues that do not show what they are named for: {passing:?}");
}

#[test]
fn a_dialogue_that_expects_something_else_fails() {
    let opening = "0 accept rtt 10ms\n20ms < . 1:1449 ack 1\n";
    let error = |rest: &str| play(&format!("{opening}{rest}")).expect_err("the dialogue is wrong");
    assert_eq!(
        error("20ms > . 1 ack 1449 win 64000"),
        "line 3: expected . 1:1 ack 1449 win 64000, got . 1:1 ack 1449 win 64128 ts 21 21 at 20 ms: win differs"
    );
    assert_eq!(
        error("21ms > . 1 ack 1449"),
        "line 3: . 1:1 ack 1449 win 64128 ts 21 21 left at 20 ms, expected at 21 ms within 0 ps"
    );
    assert_eq!(
        error("20ms > . 1 ack 1449\n+0 > . 1 ack 1449"),
        "line 4: expected . 1:1 ack 1449 at 20 ms, nothing came by 20 ms"
    );
    assert_eq!(
        error("25ms < . 1449:2897 ack 1"),
        "line 3: before this step, nothing expected at 20 ms: . 1:1 ack 1449 win 64128 ts 21 21"
    );
    assert_eq!(error("20ms > . 1 ack 1449\n+0 expect delivered 1449"), "line 4: delivered is 1448, expected 1449");
    assert_eq!(error("20ms > . 1 ack 1449\n+0 expect mood good"), "line 4: the stack does not report \"mood\"");
    assert!(error("").starts_with("before the end of the dialogue, nothing expected at 20 ms"));
}
