//! Properties of a connection over any network: the stream arrives whole and in order, the sender
//! comes to an end, and what it believes to be in flight adds up at every step.

mod network;

use daybreak_tcp::config::{Config, EcnMode};
use daybreak_tcp::{Flags, Header, SackBlock, Segment};
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
        // The FIN is left if the ACKs of it were lost, and it was sent again after the peer's TIME-WAIT.
        let left = world.ends[0].outstanding();
        prop_assert!(left == [0; 4] || (left == [1, 0, 1, 1] && world.ends[0].counters().rtos > 0), "{left:?}");
    }
}

proptest! {
    #![proptest_config(fixed(600))]

    /// With two paths under one connection.
    #[test]
    fn the_stream_arrives_whole_over_two_paths(
        network in networks(),
        client in configs(),
        server in configs(),
        variant in prop::sample::select(vec!["reno", "cubic", "vegas", "bbr"]),
        bytes in prop::sample::select(vec![1u64, 20_000, 300_000, 1_000_000]),
        turn_us in prop::sample::select(vec![30u64, 400, 7_000, 90_000]),
        seed in 0u64..1_000_000,
    ) {
        let client = Config { sack: true, ecn: EcnMode::Off, ..client };
        let server = Config { sack: true, ..server };
        let mut world = World::new(client.clone(), server, variant, network, seed);
        world.take_turns(&client, variant, Duration::from_us(turn_us));
        let done = world.transfer(bytes, Duration::from_secs(100_000));
        prop_assert!(done, "not finished: {:?} in flight {:?}, acknowledged {} of {bytes}, at {}, {:?}",
            world.ends[0].ca_state(), world.ends[0].outstanding(), world.ends[0].acked_bytes(), world.now,
            world.ends[0].counters());
        prop_assert_eq!(world.ends[1].delivered_bytes(), bytes);
        prop_assert_eq!(world.ends[0].outstanding(), [0, 0, 0, 0]);
    }
}

/// An ACK as a broken or hostile peer might send it.
fn forged() -> impl Strategy<Value = (u64, u64, u32, u32, Vec<(u64, u64)>, bool)> {
    let edge = prop_oneof![0u64..60_000, (0u64..42).prop_map(|n| 1 + n * 1448)];
    let block = (edge.clone(), edge.clone());
    (0u64..2_000, edge, 0u32..200_000, 0u32..3, prop::collection::vec(block, 0..4), any::<bool>())
}

proptest! {
    #![proptest_config(fixed(2_000))]

    /// Whatever a peer acknowledges, the counts add up and the sender goes on.
    #[test]
    fn forged_acknowledgements_do_no_harm(
        acks in prop::collection::vec(forged(), 1..60),
        config in configs(),
        variant in prop::sample::select(vec!["reno", "cubic", "bbr"]),
        has_paths in any::<bool>(),
    ) {
        let mut world = World::new(config.clone(), Config::default(), variant, Network::default(), 1);
        if has_paths {
            world.take_turns(&config, variant, Duration::from_ms(1));
        }
        world.ends[0].open(world.now);
        world.ends[0].write(world.now, u64::MAX);
        world.flush(0);
        while !world.ends[0].is_established() {
            prop_assert!(world.step());
        }
        for (after_us, ack, window, data, blocks, ece) in acks {
            let now = world.now + Duration::from_us(after_us * 100);
            if world.ends[0].poll_timeout() <= now {
                world.ends[0].on_timeout(now);
            }
            let mut segment = Segment::from(Header { seq: 1, ack, window, len: data, flags: Flags::ACK, ..Header::default() });
            if ece {
                segment.flags = segment.flags.with(Flags::ECE);
            }
            for (n, (start, end)) in blocks.iter().enumerate() {
                segment.sack[n] = SackBlock { start: *start, end: *end };
                segment.sack_count = n as u8 + 1;
            }
            world.now = now;
            world.ends[0].on_segment(now, &segment);
            world.flush(0);
        }
    }
}
