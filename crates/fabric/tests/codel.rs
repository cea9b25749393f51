//! CoDel drops and marks the packets that Linux 6.1.192 does, at the same times.

mod rig;

use daybreak_fabric::queue::Limits;
use daybreak_fabric::{Ecn, LinkConfig, Step};
use daybreak_units::parameters::Value;
use daybreak_units::{Duration, Instant, Rate};
use rig::{DropReason, Rig, link, with_discipline};

/// Made by `tools/codel-of-linux`.
const OF_LINUX: &str = include_str!("codel/linux-6.1.192.txt");
const PACKETS: u64 = 4_000;
const NS_PER_BYTE: u64 = 800;

/// The drawing of the tool.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u64::from((self.0 >> 33) as u32) % bound
    }
}

/// A packet that is dropped or marked: its letter in the file, its number, and when in nanoseconds.
type Refusal = (char, u64, u64);

/// Drops and marks of a load, and when the link has sent the last packet.
fn run(load: u64, target_us: u64, interval_us: u64, ecn: bool) -> (Vec<Refusal>, u64) {
    let slow = LinkConfig { rate: Rate::from_bps(10_000_000), ..link(1, 0) };
    let us = |us| Value::Ps(us * 1_000_000);
    let parameters = [("target", us(target_us)), ("interval", us(interval_us)), ("ecn", Value::Switch(ecn))];
    let mut rig = Rig::new(&[slow], &[with_discipline("codel", &parameters, Limits::default(), &[0])]);
    let path = rig.path(&[Step::Queue(0)]);
    let mut draws = Draws(load + 1);
    let (mut arrival, mut phase_end, mut percent) = (1_000_000, 0, 0);
    let mut lengths = Vec::new();
    for number in 0..PACKETS {
        let bytes = if number == 0 || draws.below(10) < 7 { 1_500 } else { 64 + draws.below(1_437) };
        rig.ecn = if draws.below(2) == 1 { Ecn::Ect0 } else { Ecn::NotEct };
        lengths.push(bytes);
        rig.send(Instant::ZERO + Duration::from_ns(arrival), path, bytes as u32);
        if arrival >= phase_end {
            percent = 30 + draws.below(221);
            phase_end = arrival + 20_000_000 + draws.below(580) * 1_000_000;
        }
        arrival += bytes * NS_PER_BYTE * (50 + draws.below(101)) / percent;
    }
    rig.run_to_end();
    let ns = |at: Instant| (at - Instant::ZERO).as_ps() / 1_000;
    let dropped = rig.dropped.iter().map(|&(at, reason, ..)| (at, reason)).zip(rig.dropped.iter().map(|drop| drop.3));
    let mut refusals: Vec<Refusal> = dropped
        .map(|((at, reason), number)| {
            assert_eq!(reason, DropReason::EarlyDrop);
            ('D', number, ns(at))
        })
        .collect();
    // A packet is marked when the link takes it, and arrives when the link has sent it.
    let marked = rig.deliveries.iter().filter(|delivery| delivery.ecn == Ecn::Ce);
    refusals.extend(marked.map(|one| ('M', one.number, ns(one.at) - lengths[one.number as usize] * NS_PER_BYTE)));
    refusals.sort_by_key(|&(_, number, _)| number);
    (refusals, rig.deliveries.last().map_or(0, |last| ns(last.at)))
}

#[test]
fn it_refuses_what_linux_6_1_refuses() {
    let mut lines = OF_LINUX.lines().peekable();
    let (mut loads, mut compared) = (0, 0);
    while let Some(line) = lines.next() {
        let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [load, target_us, interval_us, ecn] = numbers[..] else { panic!("{line}") };
        let mut of_linux: Vec<Refusal> = Vec::new();
        let last = loop {
            let words: Vec<&str> = lines.next().expect("an end").split(' ').collect();
            match words[..] {
                ["end", at] => break at.parse().unwrap(),
                [what, number, at] => {
                    of_linux.push((what.chars().next().unwrap(), number.parse().unwrap(), at.parse().unwrap()));
                }
                _ => panic!("{words:?}"),
            }
        };
        let (ours, end) = run(load, target_us, interval_us, ecn == 1);
        assert_eq!((ours.as_slice(), end), (of_linux.as_slice(), last), "load {load}");
        loads += 1;
        compared += of_linux.len();
    }
    assert_eq!((loads, compared > 500), (10, true), "{compared} refusals");
}
