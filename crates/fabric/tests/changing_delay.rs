//! Links whose delay changes, against a reference that is as simple as can be, and against links whose delay does not.

mod rig;

use std::iter::repeat_with;

use daybreak_fabric::control::Action;
use daybreak_fabric::queue::Limits;
use daybreak_fabric::{Config, Ecn, LinkConfig, Step};
use daybreak_units::{Duration, Instant};
use proptest::prelude::*;
use rig::drawn::Network;
use rig::{Delivery, Drop, Rig, link, queue, us};

/// At 8 Gbit/s a byte takes a nanosecond.
const PS_PER_BYTE: u64 = 1_000;

/// What happens to a link: at a time in picoseconds a packet comes, or the delay changes.
#[derive(Clone, Copy, Debug)]
enum Call {
    Send { bytes: u32 },
    SetDelay { delay_ps: u64 },
}

/// When each packet arrives at the end of an idle link with an unlimited queue: sent one after the other, each with the
/// delay that was set last when it has left, and each behind the one before.
fn reference(delay_ps: u64, calls: &[(u64, Call)]) -> Vec<u64> {
    let (mut busy_until, mut latest) = (0, 0);
    let mut arrivals = Vec::new();
    for &(at, call) in calls {
        let Call::Send { bytes } = call else { continue };
        busy_until = at.max(busy_until) + u64::from(bytes) * PS_PER_BYTE;
        let mut delay = delay_ps;
        for &(at, call) in calls {
            if let Call::SetDelay { delay_ps } = call
                && at <= busy_until
            {
                delay = delay_ps;
            }
        }
        latest = (busy_until + delay).max(latest + 1);
        arrivals.push(latest);
    }
    arrivals
}

fn fabric(delay_ps: u64, calls: &[(u64, Call)]) -> Vec<(Instant, u64)> {
    let slow = LinkConfig { delay: Duration::from_ps(delay_ps), ..link(8, 0) };
    let mut rig = Rig::new(&[slow], &[queue(Limits::default(), &[0])]);
    rig.path(&[Step::Queue(0)]);
    rig.declare(&[Action::SetDelay { link: 0, delay_ps: 0 }]);
    for &(at, call) in calls {
        let at = Instant::from_ps(at);
        match call {
            Call::Send { bytes } => rig.send(at, 0, bytes),
            Call::SetDelay { delay_ps } => rig.apply_first(at, &Action::SetDelay { link: 0, delay_ps }),
        }
        rig.check_conservation();
    }
    rig.run_to_end();
    rig.check_conservation();
    rig.delivered.clone()
}

/// Times are multiples of 50 ns and sizes of 50 bytes, so that a delay often changes just when a packet leaves or
/// comes.
fn calls() -> impl Strategy<Value = Vec<(u64, Call)>> {
    let send = (1u32..20).prop_map(|sizes| Call::Send { bytes: 50 * sizes });
    let set = (0u64..60).prop_map(|delays| Call::SetDelay { delay_ps: 37_013 * delays });
    let call = prop_oneof![3 => send, 1 => set];
    prop::collection::vec((0u64..6, call), 1..80).prop_map(|drawn| {
        let mut now = 50_000;
        let mut calls: Vec<(u64, Call)> = drawn
            .into_iter()
            .map(|(gap, call)| {
                now += gap * 50_000;
                (now, call)
            })
            .collect();
        // What changes the network comes before the packets of its time.
        calls.sort_by_key(|&(at, call)| (at, matches!(call, Call::Send { .. })));
        calls
    })
}

type Outcome = (Vec<Delivery>, Vec<Drop>);

/// A run of a drawn network, in which every third call sets the delay and the loss of a link to what they are.
fn drawn(config: &Config, calls: &[(u64, u32, u32)], sets: bool) -> Outcome {
    let mut rig = Rig::of(config.clone());
    let as_it_is: Vec<[Action; 2]> = (0..)
        .zip(&config.links)
        .map(|(link, of)| {
            let delay_ps = of.delay.as_ps();
            [Action::SetDelay { link, delay_ps }, Action::SetLoss { link, loss_ppb: of.loss_ppb }]
        })
        .collect();
    if sets {
        as_it_is.iter().for_each(|actions| rig.declare(actions));
    }
    let mut now = us(0);
    for (number, &(gap, path, bytes)) in calls.iter().enumerate() {
        now += Duration::from_ns(gap);
        rig.ecn = Ecn::Ect0;
        rig.send(now, path, bytes);
        if sets && number % 3 == 0 {
            as_it_is[number % as_it_is.len()].iter().for_each(|action| rig.apply(now, action));
        }
        rig.check_conservation();
    }
    rig.run_until(now + Duration::from_us(100_000));
    assert_eq!(rig.fabric().census(now + Duration::from_us(100_000)).alive, 0, "a packet is stuck");
    (rig.deliveries, rig.dropped)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn packets_arrive_when_the_reference_says(delay_ps in 0u64..2_000_000, calls in calls()) {
        let expected = reference(delay_ps, &calls);
        let found = fabric(delay_ps, &calls);
        let numbered: Vec<(Instant, u64)> =
            expected.into_iter().zip(0..).map(|(at, number)| (Instant::from_ps(at), number)).collect();
        prop_assert_eq!(found, numbered);
    }

    /// With forks, shared links, jitter and loss: that a link may change, and that it is set to what it is, changes
    /// nothing.
    #[test]
    fn a_link_that_is_set_to_what_it_is_carries_packets_as_before(seed in any::<u64>(), busy in 1u64..40) {
        let mut network = Network::drawn(seed);
        let entrances = network.entrances();
        let calls: Vec<(u64, u32, u32)> = repeat_with(|| {
            let gap = network.below(3_000 / busy + 1);
            let path = entrances[network.below(entrances.len() as u64) as usize];
            (gap, path, 40 + network.below(8_960) as u32)
        }).take(150).collect();
        prop_assert_eq!(drawn(&network.config, &calls, true), drawn(&network.config, &calls, false));
    }
}
