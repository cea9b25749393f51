//! Properties of a connection over any network: the stream arrives whole and in order, the sender
//! comes to an end, and what it believes to be in flight adds up at every step.

mod network;

use daybreak_tcp::config::{Config, EcnMode};
use daybreak_units::{Duration, Rate};
use network::{Network, World};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn fixed(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() }
}

fn networks() -> impl Strategy<Value = Network> {
    (
        prop::sample::select(vec![10_000_000u64, 100_000_000, 1_000_000_000, 10_000_000_000]),
        prop::sample::select(vec![5u64, 50, 1_000, 20_000]),
        prop::sample::select(vec![8usize, 40, 400, 10_000]),
        prop::sample::select(vec![0u64, 1, 10, 50, 150]),
        prop::sample::select(vec![0u64, 5, 100]),
        prop::sample::select(vec![0u64, 10, 300]),
        prop::sample::select(vec![10u64, 500, 30_000, 400_000]),
    )
        .prop_map(|(bps, delay_us, queue, loss, duplication, late, jitter_us)| Network {
            rate: Rate::from_bps(bps),
            delay: Duration::from_us(delay_us),
            queue,
            loss,
            duplication,
            late,
            jitter: Duration::from_us(jitter_us),
            drop_nth: &[],
        })
}

fn configs() -> impl Strategy<Value = Config> {
    (any::<[bool; 8]>(), prop::sample::select(vec![576u32, 1500, 9000]), 0..3u8).prop_map(|(on, mtu, ecn)| Config {
        mtu,
        timestamps: on[0] || on[1],
        sack: on[2] || on[3],
        dsack: on[3] || on[4],
        rack: on[4] || on[5],
        frto: on[5],
        tail_loss_probe: on[6] || on[7],
        limit_output_bytes: (on[0] || on[7]).then_some(262_144),
        tso_max_bytes: if on[1] { 65_536 } else { 0 },
        ecn: [EcnMode::Off, EcnMode::On, EcnMode::Passive][usize::from(ecn)],
        ..Config::default()
    })
}

proptest! {
    #![proptest_config(fixed(1_000))]

    #[test]
    fn the_stream_arrives_whole_and_the_sender_ends(
        network in networks(),
        client in configs(),
        server in configs(),
        variant in prop::sample::select(vec!["reno", "cubic", "westwood", "bbr"]),
        bytes in prop::sample::select(vec![1u64, 999, 20_000, 300_000, 1_000_000]),
        back in prop::sample::select(vec![0u64, 5_000]),
        seed in 0u64..1_000_000,
    ) {
        let mut world = World::new(client, server, variant, network, seed);
        world.ends[1].write(world.now, back);
        let done = world.transfer(bytes, Duration::from_secs(100_000));
        let state = format!(
            "{:?} {:?} cwnd {} in flight {} {:?}, acknowledged {} of {bytes}, at {}",
            world.ends[0].state(), world.ends[0].ca_state(), world.ends[0].cwnd(), world.ends[0].in_flight(),
            world.ends[0].outstanding(), world.ends[0].acked_bytes(), world.now,
        );
        prop_assert!(done, "not finished: {state}, {:?}", world.ends[0].counters());
        prop_assert_eq!(world.ends[1].delivered_bytes(), bytes);
        world.ends[0].close(world.now);
        world.ends[1].close(world.now);
        world.flush(0);
        world.flush(1);
        let before = world.steps;
        while world.step() {
            prop_assert!(world.steps - before < 20_000, "it does not end: {:?} {:?}", world.ends[0].state(), world.ends[1].state());
        }
        prop_assert_eq!(world.ends[0].delivered_bytes(), back);
        prop_assert!(world.ends[0].is_closed(), "{:?}", world.ends[0].state());
        prop_assert!(world.ends[1].is_closed(), "{:?}", world.ends[1].state());
        prop_assert_eq!(world.ends[0].outstanding(), [0, 0, 0, 0]);
    }
}
