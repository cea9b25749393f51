//! The cost of the kernel alone: the first flow of a plan between two hosts on one cable, with `netem` as the whole
//! network. The cost of the switch is compared with its real time.

use daybreak_plan::Plan;

use crate::error::GuestError;
use crate::flows::Flows;
use crate::hosts;
use crate::layout::Layout;
use crate::system;
use crate::tcp_info::TcpInfo;

/// Virtual time between two checks of the flow.
const LOOK_NS: u64 = 20_000_000;

/// Runs the first flow to its end; returns the packets that both ends sent.
pub fn run(plan: &Plan) -> Result<u64, GuestError> {
    let plan = Plan { flows: plan.flows.iter().take(1).cloned().collect(), ..plan.clone() };
    let layout = Layout::of(&plan)?;
    let hosts = hosts::make_pair(&plan, &layout)?;
    let zero_ns = (system::clock_ns(libc::CLOCK_MONOTONIC) + 1).next_multiple_of(1_000_000_000);
    let flows = Flows::start(&plan, &layout, &hosts, zero_ns)?;
    system::exact_timers();
    let mut now_ns = zero_ns + plan.flows[0].start_ps / 1_000;
    loop {
        now_ns += LOOK_NS;
        system::sleep_until(now_ns);
        let Some(client) = flows.client(0) else {
            return Err(GuestError::Broken("the flow has no socket".to_owned()));
        };
        let info = TcpInfo::of(client)?;
        if plan.flows[0].application.limited_bytes().is_some_and(|bytes| info.bytes_acked > bytes) {
            return Ok(u64::from(info.segs_out) + u64::from(info.segs_in));
        }
        if let Some(trouble) = flows.trouble() {
            return Err(GuestError::Broken(trouble));
        }
        if now_ns > zero_ns + plan.end_ps / 1_000 {
            return Err(GuestError::Broken("the flow does not end".to_owned()));
        }
    }
}
