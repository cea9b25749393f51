//! Checks TCP stacks.

use super::{Check, LONGEST_PS, bounded_time, ensure, positive_time, unique_names};
use crate::{Plan, Stack};

pub(super) fn check(plan: &Plan) -> Check {
    unique_names("stacks", plan.stacks.iter().map(|stack| &stack.name))?;
    plan.stacks.iter().enumerate().try_for_each(|(i, stack)| check_stack(&format!("stacks[{i}]"), stack))
}

fn check_stack(field: &str, stack: &Stack) -> Check {
    let at = |name: &str| format!("{field}.{name}");
    ensure((576..=65_535).contains(&stack.mtu), &at("mtu"), stack.mtu, || {
        "an MTU is between 576 and 65535 bytes".into()
    })?;
    ensure(stack.initial_window >= 1, &at("initial_window"), stack.initial_window, || {
        "the initial window is at least 1 segment".into()
    })?;
    if let Some(clamp) = stack.cwnd_clamp {
        ensure(clamp >= 2, &at("cwnd_clamp"), clamp, || "the window must be able to reach 2 segments".into())?;
    }
    ensure((1..=1_000).contains(&stack.timer_dilation), &at("timer_dilation"), stack.timer_dilation, || {
        "a host's clock runs 1 to 1000 times as fast as the network's time".into()
    })?;
    ensure((24..=10_000).contains(&stack.hz), &at("hz"), stack.hz, || "ticks are 24 to 10000 a second".into())?;
    positive_time(&at("rto_min_ps"), stack.rto_min_ps)?;
    positive_time(&at("delayed_ack_min_ps"), stack.delayed_ack_min_ps)?;
    bounded_time(&at("delayed_ack_max_ps"), stack.delayed_ack_max_ps)?;
    ensure(
        stack.delayed_ack_max_ps >= stack.delayed_ack_min_ps,
        &at("delayed_ack_max_ps"),
        stack.delayed_ack_max_ps,
        || format!("it is shorter than delayed_ack_min_ps, {}", stack.delayed_ack_min_ps),
    )?;
    for (name, [min, default, max]) in [("tcp_rmem", stack.tcp_rmem), ("tcp_wmem", stack.tcp_wmem)] {
        ensure(0 < min && min <= default && default <= max, &at(name), format!("[{min}, {default}, {max}]"), || {
            "it must be minimum, default, maximum, each at least the one before and not 0".into()
        })?;
        ensure(max <= u64::from(u32::MAX), &at(name), max, || "a socket buffer is below 4 GiB".into())?;
    }
    ensure((-31..=31).contains(&stack.tcp_adv_win_scale), &at("tcp_adv_win_scale"), stack.tcp_adv_win_scale, || {
        "Linux accepts -31 to 31".into()
    })?;
    let buffers = stack.receive_buffers;
    ensure(buffers.linear_bytes <= 131_072, &at("receive_buffers.linear_bytes"), buffers.linear_bytes, || {
        "one buffer has at most 131072 bytes".into()
    })?;
    ensure((256..=4_096).contains(&buffers.page_bytes), &at("receive_buffers.page_bytes"), buffers.page_bytes, || {
        "a page has 256 to 4096 bytes".into()
    })?;
    ensure(
        stack.mtu < buffers.linear_bytes.saturating_sub(30) || stack.mtu.div_ceil(buffers.page_bytes) <= 17,
        &at("receive_buffers.page_bytes"),
        buffers.page_bytes,
        || format!("a packet of {} bytes would be in more than 17 pages, the most that Linux takes", stack.mtu),
    )?;
    ensure(stack.tcp_ecn <= 2, &at("tcp_ecn"), stack.tcp_ecn, || "it is 0 (off), 1 (on) or 2 (passive)".into())?;
    if stack.tdtcp {
        ensure(stack.tcp_sack, &at("tdtcp"), true, || "it needs tcp_sack".into())?;
        ensure(stack.tcp_ecn != 1, &at("tdtcp"), true, || {
            "the flag that selects the path is ECN's echo, and tcp_ecn is 1".into()
        })?;
    }
    ensure([0, 2].contains(&stack.tcp_frto), &at("tcp_frto"), stack.tcp_frto, || "it is 0 or 2".into())?;
    ensure([0, 3].contains(&stack.tcp_early_retrans), &at("tcp_early_retrans"), stack.tcp_early_retrans, || {
        "it is 0 or 3".into()
    })?;
    ensure(stack.tcp_reordering >= 1, &at("tcp_reordering"), stack.tcp_reordering, || "it is at least 1".into())?;
    ensure(
        stack.tcp_max_reordering >= stack.tcp_reordering,
        &at("tcp_max_reordering"),
        stack.tcp_max_reordering,
        || format!("it is below tcp_reordering, {}", stack.tcp_reordering),
    )?;
    for (name, ns) in [
        ("tcp_comp_sack_delay_ns", stack.tcp_comp_sack_delay_ns),
        ("tcp_comp_sack_slack_ns", stack.tcp_comp_sack_slack_ns),
    ] {
        ensure(ns <= LONGEST_PS / 1_000, &at(name), ns, || format!("it must be at most {LONGEST_PS} ps"))?;
    }
    if let Some(rate) = stack.max_pacing_rate_bps {
        ensure(rate > 0, &at("max_pacing_rate_bps"), rate, || "nothing would ever be sent".into())?;
    }
    Ok(())
}
