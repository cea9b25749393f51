//! Whatever a network is made of and whatever is done to it, no packet is forged or forgotten, and observing it changes
//! nothing.

mod rig;

use std::iter::repeat_with;

use daybreak_fabric::control::Action;
use daybreak_fabric::{Config, Ecn};
use daybreak_units::Duration;
use proptest::prelude::*;
use rig::drawn::Network;
use rig::{Rig, us};

/// What is done in a run: after a pause in nanoseconds a packet is sent, or an action applied.
enum Call {
    Send { path: u32, bytes: u32, ecn: Ecn },
    Apply(Action),
}

type Outcome = (Vec<rig::Delivery>, Vec<rig::Drop>, Vec<(u64, u64, u64, u64)>, Vec<daybreak_fabric::QueueTotals>);

fn run(config: &Config, observed: bool, calls: &[(u64, Call)], daylight: &[Action]) -> Outcome {
    let mut config = config.clone();
    config.queues.iter_mut().for_each(|queue| queue.observed = observed);
    let mut rig = Rig::of(config);
    let actions: Vec<Action> = calls
        .iter()
        .filter_map(|(_, call)| match call {
            Call::Apply(action) => Some(action.clone()),
            Call::Send { .. } => None,
        })
        .chain(daylight.iter().cloned())
        .collect();
    rig.declare(&actions);
    let mut now = us(0);
    for (gap, call) in calls {
        now += Duration::from_ns(*gap);
        match call {
            Call::Send { path, bytes, ecn } => {
                rig.ecn = *ecn;
                rig.send(now, *path, *bytes);
            }
            Call::Apply(action) => rig.apply(now, action),
        }
        rig.check_conservation();
    }
    for action in daylight {
        rig.apply(now, action);
    }
    // Returned packets go round until they fit: that ends, since nothing more is sent. All of it takes 15 ms at 1
    // Gbit/s.
    let end = now + Duration::from_us(100_000);
    rig.run_until(end);
    rig.check_conservation();
    let links = rig.fabric().link_totals(end).map(|link| (link.packets, link.bytes, link.lost, link.arrived)).collect();
    let totals: Vec<_> = rig.fabric().queue_totals().collect();
    assert_eq!(rig.fabric().census(end).alive, 0, "a packet is stuck");
    (rig.deliveries, rig.dropped, links, totals)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn packets_are_conserved_and_observing_changes_nothing(seed in any::<u64>(), busy in 1u64..40) {
        let mut network = Network::drawn(seed);
        let entrances = network.entrances();
        // Some runs only shake the network, some only load it.
        let rarely = 2 + network.below(30);
        let calls: Vec<(u64, Call)> = repeat_with(|| {
            let gap = network.below(3_000 / busy + 1);
            if network.chance(rarely) {
                return (gap, Call::Apply(network.action()));
            }
            let path = entrances[network.below(entrances.len() as u64) as usize];
            let bytes = 40 + network.below(8_960) as u32;
            (gap, Call::Send { path, bytes, ecn: Ecn::from_bits(network.below(3) as u8) })
        }).take(200).collect();
        let daylight = network.daylight();
        let observed = run(&network.config, true, &calls, &daylight);
        let unobserved = run(&network.config, false, &calls, &daylight);
        prop_assert_eq!(&observed, &unobserved);
        // Fewer declared changes, so more is served analytically.
        let sends: Vec<(u64, Call)> = calls.into_iter().filter(|(_, call)| matches!(call, Call::Send { .. })).collect();
        prop_assert_eq!(run(&network.config, true, &sends, &[]), run(&network.config, false, &sends, &[]));
    }
}
