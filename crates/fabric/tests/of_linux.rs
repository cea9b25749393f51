//! Disciplines send, mark and drop the packets that Linux 6.1.192 does, at the same times.

mod rig;

use std::collections::BTreeMap;
use std::fmt::Write;

use daybreak_fabric::queue::Limits;
use daybreak_fabric::{Ecn, LinkConfig, Step};
use daybreak_units::parameters::Value;
use daybreak_units::{Duration, Instant, Rate};
use rig::{Rig, link, with_discipline};

/// What `tools/disciplines-of-linux` draws.
const PACKETS: u64 = 4_000;
const NS_PER_BYTE: u64 = 800;
const FLOWS: u64 = 12;
/// A line of its files is about this number of packets more.
const EVERY: usize = 200;

/// The drawing of the tool.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u64::from((self.0 >> 33) as u32) % bound
    }
}

/// What becomes of a packet, by the letter of the tool, and when in ns.
type Fate = (char, u64);

/// The fates of all packets of a load, in the order in which they came.
fn run(discipline: &str, load: u64, limit: u64, parameters: &[(&str, Value)]) -> Vec<Fate> {
    let slow = LinkConfig { rate: Rate::from_bps(10_000_000), ..link(1, 0) };
    let limits = Limits { packets: (limit < PACKETS).then_some(limit), bytes: None };
    let mut rig = Rig::new(&[slow], &[with_discipline(discipline, parameters, limits, &[0])]);
    let path = rig.path(&[Step::Queue(0)]);
    let mut draws = Draws(load + 1);
    let (mut arrival, mut phase_end, mut percent) = (1_000_000, 0, 0);
    let mut lengths = Vec::new();
    for number in 0..PACKETS {
        let bytes = if number == 0 || draws.below(10) < 7 { 1_500 } else { 64 + draws.below(1_437) };
        rig.ecn = if draws.below(2) == 1 { Ecn::Ect0 } else { Ecn::NotEct };
        rig.endpoint = if draws.below(2) == 1 { 0 } else { draws.below(FLOWS) as u32 };
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
    let mut fates = BTreeMap::new();
    for &(at, _, _, number) in &rig.dropped {
        fates.insert(number, ('D', ns(at)));
    }
    // A packet arrives when the link has sent it.
    for sent in &rig.deliveries {
        let letter = if sent.ecn == Ecn::Ce { 'M' } else { 'S' };
        fates.insert(sent.number, (letter, ns(sent.at) - lengths[sent.number as usize] * NS_PER_BYTE));
    }
    assert_eq!(fates.len() as u64, PACKETS);
    fates.into_values().collect()
}

/// The lines of the tool.
fn digest(fates: &[Fate]) -> String {
    let (mut lines, mut digest) = (String::new(), 0xcbf2_9ce4_8422_2325_u64);
    let (mut marks, mut drops) = (0, 0);
    for (number, &(letter, at)) in fates.iter().enumerate() {
        marks += u32::from(letter == 'M');
        drops += u32::from(letter == 'D');
        for word in [letter as u64, at] {
            digest = (digest ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        }
        if (number + 1) % EVERY == 0 {
            writeln!(lines, "{number} {marks} {drops} {digest:016x}").unwrap();
        }
    }
    lines
}

/// A parameter of the tool's name: a time ends with its unit.
fn parameter(name: &str, value: u64) -> (&str, Value) {
    match name {
        "ecn" => (name, Value::Switch(value == 1)),
        "flows" => (name, Value::Count(value)),
        "quantum" => (name, Value::Bytes(value)),
        _ => (name.strip_suffix("_us").expect("a time"), Value::Ps(value * 1_000_000)),
    }
}

/// Runs the loads of a file of the tool. To see where a load differs, print the fates on both sides: here, and
/// `make.py SOURCE --print DISCIPLINE LOAD`.
fn compare(discipline: &str, of_linux: &str) {
    let mut loads = 0;
    for of_load in of_linux.split("load ").skip(1) {
        let (head, lines) = of_load.split_once('\n').expect("a line of the load");
        let words: Vec<&str> = head.split(' ').collect();
        let number = |word: &str| word.parse::<u64>().expect("a number");
        let (load, limit) = (number(words[0]), number(words[2]));
        let parameters: Vec<(&str, Value)> =
            words[3..].chunks(2).map(|pair| parameter(pair[0], number(pair[1]))).collect();
        let ours = digest(&run(discipline, load, limit, &parameters));
        assert_eq!(ours, lines, "{discipline}, load {load}: digests of the fates of its packets");
        loads += 1;
    }
    assert_eq!(loads, 10);
}

#[test]
fn codel_refuses_what_linux_6_1_refuses() {
    compare("codel", include_str!("of_linux/codel-6.1.192.txt"));
}

#[test]
fn fq_codel_sends_in_the_order_of_linux_6_1_and_refuses_what_it_refuses() {
    compare("fq_codel", include_str!("of_linux/fq_codel-6.1.192.txt"));
}

#[test]
fn pie_refuses_what_linux_6_1_refuses() {
    compare("pie", include_str!("of_linux/pie-6.1.192.txt"));
}
