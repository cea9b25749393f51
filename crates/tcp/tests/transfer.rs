//! Whole transfers between two connections over simple networks.

mod network;

use daybreak_tcp::config::Config;
use daybreak_units::{Duration, Rate};
use network::{Network, World};

fn world(variant: &str, network: Network) -> World {
    World::new(Config::default(), Config::default(), variant, network, 1)
}

#[test]
fn a_clean_path_carries_the_line_rate() {
    let mut world = world("cubic", Network { rate: Rate::from_bps(1_000_000_000), ..Network::default() });
    let bytes = 50_000_000;
    assert!(world.transfer(bytes, Duration::from_secs(10)));
    assert_eq!(world.ends[1].delivered_bytes(), bytes);
    let goodput = bytes as f64 * 8.0 / world.now.as_secs_f64();
    assert!(goodput > 0.92e9, "{goodput} bit/s");
    let counters = world.ends[0].counters();
    assert_eq!((counters.retransmits, counters.rtos), (0, 0), "{counters:?}");
}

#[test]
fn one_loss_is_one_fast_recovery() {
    let network = Network { drop_nth: &[200], ..Network::default() };
    let mut world = world("reno", network);
    assert!(world.transfer(2_000_000, Duration::from_secs(10)));
    let counters = world.ends[0].counters();
    assert_eq!((counters.retransmits, counters.fast_recoveries, counters.rtos), (1, 1, 0), "{counters:?}");
    assert_eq!(world.ends[1].delivered_bytes(), 2_000_000);
}

#[test]
fn closing_ends_both_ends() {
    let mut world = world("reno", Network::default());
    world.ends[0].open(world.now);
    world.ends[0].write(world.now, 100_000);
    world.ends[0].close(world.now);
    world.flush(0);
    while world.ends[1].delivered_bytes() < 100_000 {
        assert!(world.step());
    }
    world.ends[1].close(world.now);
    world.flush(1);
    while world.step() {}
    assert!(world.ends[0].is_closed() && world.ends[1].is_closed());
}

/// With TSO segments leave in bursts that an ACK clock of 10 Gbit/s would space out.
#[test]
fn segmentation_offload_sends_bursts() {
    let longest_burst = |tso_max_bytes| {
        let client = Config { tso_max_bytes, ..Config::default() };
        let network = Network { rate: Rate::from_bps(10_000_000_000), ..Network::default() };
        let mut world = World::new(client, Config::default(), "reno", network, 1);
        assert!(world.transfer(20_000_000, Duration::from_secs(10)));
        assert_eq!(world.ends[1].delivered_bytes(), 20_000_000);
        assert_eq!(world.ends[0].counters().retransmits, 0);
        world.longest_burst
    };
    let (alone, together) = (longest_burst(0), longest_burst(65_536));
    assert!(together >= 40 && together > 2 * alone, "{together} segments at once, {alone} without TSO");
}
