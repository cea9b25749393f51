//! Checks the selection of records.

use super::{Check, bounded_time, ensure, positive_time, within};
use crate::Plan;

/// Limit on the samples of a run: more rows than any memory holds.
const MOST_SAMPLES: u64 = 1 << 32;

pub(super) fn check(plan: &Plan) -> Check {
    let records = &plan.records;
    let lists = [
        ("tap_links", &records.tap_links, plan.links.len(), "links"),
        ("bin_links", &records.bin_links, plan.links.len(), "links"),
        ("queues", &records.queues, plan.queues.len(), "queues"),
        ("packet_links", &records.packet_links, plan.links.len(), "links"),
        ("capture_links", &records.capture_links, plan.links.len(), "links"),
    ];
    for (name, indices, count, what) in lists {
        let mut is_named = vec![false; count];
        for (i, &index) in indices.iter().enumerate() {
            let field = format!("records.{name}[{i}]");
            within(&field, index, count, what)?;
            let twice = std::mem::replace(&mut is_named[index as usize], true);
            ensure(!twice, &field, index, || "it is named twice".into())?;
        }
    }
    if let Some(flows) = &records.flows {
        for (i, &flow) in flows.iter().enumerate() {
            within(&format!("records.flows[{i}]"), flow, plan.flows.len(), "flows")?;
        }
    }
    if let Some(ps) = records.bin_ps {
        positive_time("records.bin_ps", ps)?;
    }
    if let Some(ps) = records.window_ps {
        bounded_time("records.window_ps", ps)?;
    }
    if let Some(ps) = records.queue_ps {
        positive_time("records.queue_ps", ps)?;
    }
    let flows = records.flows.as_ref().map_or(plan.flows.len(), Vec::len);
    let binned = records.tap_links.len() + records.bin_links.len() + 2 * usize::from(records.bin_delivered);
    for (name, interval, things) in [
        ("records.bin_ps", records.bin_ps, binned),
        ("records.window_ps", records.window_ps, flows),
        ("records.queue_ps", records.queue_ps, records.queues.len()),
    ] {
        // Without an interval every change of a window is a sample.
        let Some(interval @ 1..) = interval else { continue };
        let samples = (plan.end_ps / interval).saturating_mul(things as u64);
        ensure(samples <= MOST_SAMPLES, name, interval, || {
            format!("until end_ps, {}, that would be {samples} samples, and {MOST_SAMPLES} are the most", plan.end_ps)
        })?;
    }
    let bins = !records.tap_links.is_empty() || !records.bin_links.is_empty() || records.bin_delivered;
    ensure(records.bin_ps.is_some() || !bins, "records.bin_ps", "null", || {
        "something is to be binned, so a bin needs a width".into()
    })?;
    ensure(records.queue_ps.is_some() || records.queues.is_empty(), "records.queue_ps", "null", || {
        "queues are to be sampled, so an interval is needed".into()
    })?;
    ensure(records.capture_links.is_empty() || records.capture_snaplen > 0, "records.capture_snaplen", 0, || {
        "a capture must keep at least 1 byte of each packet".into()
    })
}
