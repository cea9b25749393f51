//! Every setting of a stack reaches the endpoint: for each there is a run that it changes, in a way
//! that can be foretold.

mod plans;

use std::collections::BTreeSet;

use daybreak_engine::Records;
use daybreak_engine::replay::{Captured, Dialogue, Side, replay};
use daybreak_plan::{Action, Application, Downtime, Mark, Marker, Plan, ShownAs, Stack, Step, TimelineStep};
use daybreak_tcp::{Flags, Header, Segment, SynOptions};
use daybreak_units::{Duration, Instant};
use plans::captured::{Head, captured};
use plans::{MS, US, column, day_and_night};
use serde_json::{Value, json};

const SYN: u8 = 0x02;
const PUSH: u8 = 0x08;
const SYN_ACK: u8 = 0x12;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

/// One setting, two values of it, and what they change.
struct Case {
    setting: &'static str,
    values: [Value; 2],
    plan: Plan,
    /// What differs, and why.
    why: &'static str,
    /// Of the runs with the first and the second value.
    holds: fn(&Seen, &Seen) -> bool,
}

/// A run as its user sees it.
struct Seen {
    records: Records,
    packets: Vec<Head>,
}

impl Seen {
    fn of(plan: &Plan) -> Self {
        let (records, packets) = captured(plan, &[0, 7]);
        Self { records, packets }
    }
    fn column(&self, table: &str, name: &str) -> Vec<u64> {
        column(&self.records, table, name)
    }
    /// Of the first flow.
    fn flow(&self, name: &str) -> u64 {
        self.column("flows", name)[0]
    }
    fn fct_ns(&self) -> u64 {
        self.flow("fct_ns")
    }
    fn round_trips(&self) -> u64 {
        self.fct_ns() / (LONG * 1_000)
    }
    /// Segments sent for the first time.
    fn first_sent(&self) -> u64 {
        self.flow("segments") - self.flow("retransmits")
    }
    /// Packets that the receiver has sent.
    fn acks(&self) -> u64 {
        self.column("links", "packets")[7]
    }
    fn largest(&self, table: &str, name: &str) -> u64 {
        self.column(table, name).into_iter().max().unwrap_or(0)
    }
    /// Flags of the first segments of the client and of the server.
    fn handshake(&self) -> (u8, u8) {
        let first = |interface| self.packets.iter().find(|packet| packet.interface == interface).unwrap().flags;
        (first(0), first(1))
    }
    /// Packets of the sender that follow the one before without a gap: 9038 bytes take 7.23 us.
    fn back_to_back(&self) -> usize {
        let times: Vec<u64> =
            self.packets.iter().filter(|packet| packet.interface == 0).map(|packet| packet.time_ns).collect();
        times.windows(2).filter(|pair| pair[1] - pair[0] < 8_000).count()
    }
    fn pushes(&self) -> usize {
        self.packets.iter().filter(|packet| packet.interface == 0 && packet.flags & PUSH != 0).count()
    }
    /// First slow-start threshold of the second flow.
    fn inherited_ssthresh(&self) -> u64 {
        let row = self.column("window", "flow").iter().position(|&flow| flow == 1).unwrap();
        self.column("window", "ssthresh")[row]
    }
}

#[test]
fn each_setting_changes_what_it_is_for() {
    for Case { setting, values, plan, why, holds } in cases() {
        let [first, second] = values.each_ref().map(|value| Seen::of(&with(plan.clone(), setting, value.clone())));
        assert!(holds(&first, &second), "{setting} of {} and {}: {why}", values[0], values[1]);
    }
}

#[test]
fn every_setting_has_a_case() {
    let fields = serde_json::to_value(&day_and_night(Downtime::Drop).stacks[0]).unwrap();
    let mut settings: BTreeSet<String> = fields.as_object().unwrap().keys().cloned().collect();
    settings.remove("name");
    let mut tested: BTreeSet<String> = cases().iter().map(|case| case.setting.to_owned()).collect();
    // No bulk transfer is idle: see `a_window_decays_while_the_flow_is_idle`.
    tested.insert("tcp_slow_start_after_idle".to_owned());
    assert_eq!(settings, tested);
}

/// The receiver shuts its window for two seconds, then opens it for five segments, then wide: of the window of 160
/// segments the initial one is left (RFC 5681, section 4.1), or all.
#[test]
fn a_window_decays_while_the_flow_is_idle() {
    const MSS: u64 = 8_960;
    let at = |ms: u64| Instant::ZERO + Duration::from_ms(ms);
    let ack = |ms, segments: u64, window| Captured {
        at: at(ms),
        segment: Segment::from(Header {
            seq: 1,
            ack: 1 + segments * MSS,
            window,
            flags: Flags::ACK,
            ..Header::default()
        }),
    };
    let mut opening = ack(0, 0, 0);
    opening.segment = Segment::from(Header { flags: Flags::SYN, ..Header::default() });
    let mut answer = ack(20, 0, 65_535);
    answer.segment.seq = 0;
    answer.segment.flags = Flags(SYN_ACK);
    answer.segment.syn =
        SynOptions { mss: MSS as u16, window_scale_plus_one: 10, sack_permitted: true, timestamps: false };
    let wide = 10_000_000;
    let slow_start = [ack(21, 0, wide), ack(40, 10, wide), ack(60, 30, wide), ack(80, 70, wide)];
    let shut = [ack(100, 150, 0), ack(2_100, 150, 5 * MSS as u32), ack(2_120, 155, wide), ack(2_121, 155, wide)];
    // The replay ends with what was captured last. A window update asks for nothing.
    let last = [ack(2_130, 155, 2 * wide)];
    let received = [answer].into_iter().chain(slow_start).chain(shut).chain(last).collect();
    let dialogue = Dialogue { sent: vec![opening], received };
    let plan = with(transfer(2_000 * MSS, LONG), "tcp_timestamps", json!(false));
    let segments = |enabled: bool| {
        let plan = with(plan.clone(), "tcp_slow_start_after_idle", json!(enabled));
        let found = replay(&plan, 0, Side::Client, &dialogue).unwrap();
        found.sent.iter().filter(|sent| sent.segment.len > 0).count()
    };
    assert_eq!((segments(true), segments(false)), (155 + 10, 155 + 160));
}

/// A NIC lets two segments wait, and an ACK arrives. What is built before it echoes an older timestamp: also the segment that
/// a departure of the same nanosecond lets go, where that comes first (Linux 7.3.4).
#[test]
fn a_departure_comes_before_an_ack_of_the_same_nanosecond_where_the_profile_says_so() {
    let syn = |flags, at_us: u64, ts_val| Captured {
        at: Instant::ZERO + Duration::from_us(at_us),
        segment: Segment::from(Header {
            ack: u64::from(flags == SYN_ACK),
            window: 65_535,
            flags: Flags(flags),
            ts_val,
            syn: SynOptions { mss: 8_960, window_scale_plus_one: 8, sack_permitted: true, timestamps: true },
            ..Header::default()
        }),
    };
    let ack = |at, ts_val| Captured {
        at,
        segment: Segment::from(Header {
            seq: 1,
            ack: 1,
            window: 1 << 20,
            flags: Flags::ACK,
            ts_val,
            ..Header::default()
        }),
    };
    let echoes = |linux: &str, extra: &[Captured]| {
        let plan = with(transfer(200 * MSS, LONG), "tcp_limit_output_bytes", json!(20_000));
        let plan = with(plan, "linux", json!(linux));
        let end = ack(Instant::ZERO + Duration::from_ms(21), 300);
        let received = [syn(SYN_ACK, 20_000, 100)].iter().chain(extra).chain([&end]).copied().collect();
        let dialogue = Dialogue { sent: vec![syn(SYN, 0, 1)], received };
        let found = replay(&plan, 0, Side::Client, &dialogue).unwrap();
        let data = found.sent.iter().filter(|sent| sent.segment.len > 0 && sent.segment.ts_ecr < 300);
        data.map(|sent| sent.segment.ts_ecr).collect::<Vec<_>>()
    };
    let older = |linux: &str, at_ns: u64| {
        let at = Instant::ZERO + Duration::from_ns(at_ns);
        echoes(linux, &[ack(at, 200)]).iter().filter(|&&echo| echo == 100).count()
    };
    // The first nanosecond at which the ACK comes after the seventh segment.
    let first = |linux: &str| {
        let (mut low, mut high) = (20_000_000, 20_200_000);
        while low < high {
            let middle = (low + high) / 2;
            if older(linux, middle) >= 7 { high = middle } else { low = middle + 1 }
        }
        low
    };
    assert_eq!([first("6.1"), first("6.12")], [first("7.3") + 1; 2]);
}

/// Who asks for ECN, and who grants it (RFC 3168, section 6.1.1).
#[test]
fn ecn_is_negotiated_as_both_stacks_say() {
    let handshake = |client: u32, server: u32| {
        let mut plan = transfer(10 * MSS, SHORT);
        plan.stacks.push(Stack { name: "server".to_owned(), tcp_ecn: server, ..plan.stacks[0].clone() });
        plan.stacks[0].tcp_ecn = client;
        plan.flows[0].dst_stack = 1;
        Seen::of(&plan).handshake()
    };
    let asks = |server| handshake(1, server);
    assert_eq!(
        [asks(0), asks(1), asks(2)],
        [SYN_ACK, SYN_ACK | ECE, SYN_ACK | ECE].map(|answer| (SYN | ECE | CWR, answer))
    );
    for server in 0..3 {
        assert_eq!([handshake(0, server), handshake(2, server)], [(SYN, SYN_ACK); 2]);
    }
}

const MSS: u64 = 8_948;
/// Round-trip times in microseconds.
const SHORT: u64 = 1_000;
const LONG: u64 = 20_000;

/// One flow of `bytes` over 10 Gbit/s, with this round-trip time and the stack of the benchmarks.
fn transfer(bytes: u64, rtt_us: u64) -> Plan {
    let mut plan = day_and_night(Downtime::Drop);
    plan.timelines.clear();
    plan.links[2].delay_ps += (rtt_us - 40) * US;
    plan.flows[0].application = Application::Bulk { bytes: Some(bytes) };
    recorded(plan)
}

fn recorded(mut plan: Plan) -> Plan {
    plan.end_ps = 20_000 * MS;
    plan.records.window_ps = Some(0);
    plan.records.queue_ps = Some(MS);
    plan.records.queues = vec![0];
    plan
}

/// The data packets that reach the switch between these times meet a night.
fn with_night(mut plan: Plan, from_us: u64, to_us: u64, downtime: Downtime) -> Plan {
    let step = |offset_us: u64, action: Action| TimelineStep { offset_ps: offset_us * US, actions: vec![action] };
    plan.timelines = day_and_night(downtime).timelines;
    plan.timelines[0].period_ps = 100_000 * MS;
    plan.timelines[0].steps = vec![
        step(from_us, Action::Darken { route_switch: 0, downtime }),
        step(to_us, Action::SetRoute { route_switch: 0, alternative: 0 }),
    ];
    plan
}

/// A flow that changes between a path and one that is shorter by the time of 29 packets: these overtake.
fn reordered() -> Plan {
    let mut plan = day_and_night(Downtime::MakeBeforeBreak);
    plan.links[2].delay_ps += 200 * US;
    plan.timelines[0].start_ps = 400 * US;
    recorded(plan)
}

/// A flow that loses one packet of a hundred.
fn lossy() -> Plan {
    losing(10_000_000)
}

/// A flow that loses `loss_ppb` packets of a billion: of 2000, with 3 % some two are retransmissions.
fn losing(loss_ppb: u32) -> Plan {
    let mut plan = transfer(2_000 * MSS, SHORT);
    plan.links[2].loss_ppb = loss_ppb;
    plan
}

/// Two flows between the same hosts, the second after the first, which loses packets in its own host's queue.
fn one_after_the_other() -> Plan {
    let mut plan = transfer(2_000 * MSS, SHORT);
    let mut second = plan.flows[0].clone();
    second.name = "second".to_owned();
    second.start_ps = 1_000 * MS;
    plan.flows.push(second);
    plan
}

/// Flights of three segments, of which the receiver acknowledges the third late.
fn flights_of_three() -> Plan {
    let plan = with(transfer(60 * MSS, 300_000), "cwnd_clamp", json!(3));
    let plan = with(with(plan, "initial_window", json!(3)), "delayed_ack_max_ps", json!(200 * MS));
    with(plan, "tcp_rmem", json!([4_096, 131_072, 131_072]))
}

fn with(mut plan: Plan, setting: &str, value: Value) -> Plan {
    let mut fields = serde_json::to_value(&plan.stacks[0]).unwrap();
    assert!(fields.get(setting).is_some(), "a stack has no setting {setting}");
    fields[setting] = value;
    plan.stacks[0] = serde_json::from_value(fields).unwrap();
    plan
}

/// Slow start, and nothing is lost: 100 segments take 7 + 17 + 34 + 42, four round trips, and the handshake one. The first
/// window of a receiver is 65535 bytes.
fn slow_start() -> Plan {
    transfer(100 * MSS, LONG)
}

/// Every ACK is marked on its way back.
fn marked_circuit(mut plan: Plan) -> Plan {
    plan.marks = vec![Mark { name: "circuit".to_owned(), shown_as: ShownAs::Ece }];
    plan.markers = vec![Marker { name: "circuit".to_owned(), node: 1, mark: 0, on: true }];
    let path = &mut plan.paths[plan.flows[0].ack_path as usize];
    let access = path.iter().position(|&step| step == Step::Queue(1)).expect("ACKs leave by the sender's access link");
    path.insert(access, Step::Marker(0));
    plan
}

/// A receiver whose buffer grows with the flow.
fn growing_buffer(bytes: u64) -> Plan {
    let plan = with(transfer(bytes, LONG), "tcp_moderate_rcvbuf", json!(true));
    with(plan, "tcp_rmem", json!([4_096, 131_072, 4_000_000]))
}

fn cases() -> Vec<Case> {
    let case = |setting, values, plan, why, holds| Case { setting, values, plan, why, holds };
    vec![
        case(
            "mtu",
            [json!(9_000), json!(1_500)],
            transfer(1_000_000, 40),
            "a segment carries 8948 or 1448 bytes",
            |a, b| (a.first_sent(), b.first_sent()) == (112, 691),
        ),
        case(
            "initial_window",
            [json!(10), json!(2)],
            transfer(6 * MSS, LONG),
            "2 + 4 segments take a round trip more than 6",
            |a, b| (a.round_trips(), b.round_trips()) == (2, 3),
        ),
        case(
            "cwnd_clamp",
            [json!(null), json!(20)],
            slow_start(),
            "7 + 17 + 20 + 20 + 20 + 16 segments in place of 7 + 17 + 34 + 42",
            |a, b| (a.round_trips(), b.round_trips()) == (5, 7) && b.largest("window", "cwnd") == 20,
        ),
        case(
            "hz",
            [json!(1_000), json!(100)],
            with_night(transfer(10 * MSS, SHORT), 1_500, 50_000, Downtime::Drop),
            "timers wait for a tick, and for one more of 10 ms in place of 1 ms",
            |a, b| b.fct_ns() > a.fct_ns() + 9_000_000,
        ),
        case(
            "timer_dilation",
            [json!(1), json!(20)],
            with(with_night(transfer(10 * MSS, SHORT), 1_500, 5_000, Downtime::Drop), "tcp_early_retrans", json!(0)),
            "the timeout of 200 ms comes after 10 ms of the network's time, and so do the ticks that it is rounded to",
            |a, b| a.flow("rtos") == 1 && (189..196).contains(&((a.fct_ns() - b.fct_ns()) / 1_000_000)),
        ),
        case(
            "tdtcp",
            [json!(false), json!(true)],
            marked_circuit(slow_start()),
            "the first ACK tells of the circuit, whose window starts anew: 7 + 10 + 20 + 40 + 23 segments in place of \
             7 + 17 + 34 + 42",
            |a, b| (a.round_trips(), b.round_trips()) == (5, 6),
        ),
        case(
            "legacy",
            [json!([]), json!(["no_undo"])],
            reordered(),
            "reductions that packets out of order have caused are taken back, or not",
            |a, b| a.flow("spurious") > 0 && b.flow("spurious") == 0,
        ),
        case(
            "rto_min_ps",
            [json!(200 * MS), json!(80 * MS)],
            with_night(transfer(10 * MSS, SHORT), 1_500, 50_000, Downtime::Drop),
            "the timeout comes 120 ms earlier",
            |a, b| a.flow("rtos") == 1 && a.fct_ns() - b.fct_ns() == 120_000_000,
        ),
        case(
            "delayed_ack_min_ps",
            [json!(40 * MS), json!(10 * MS)],
            flights_of_three(),
            "the third segment of a flight is acknowledged earlier",
            |a, b| a.fct_ns() > b.fct_ns() + 30_000_000,
        ),
        case(
            "delayed_ack_max_ps",
            [json!(200 * MS), json!(40 * MS)],
            flights_of_three(),
            "the delay does not double from 40 ms on",
            |a, b| a.fct_ns() > b.fct_ns() + 40_000_000,
        ),
        case(
            "tcp_rmem",
            [json!([4_096, 131_072, 2_000_000]), json!([4_096, 2_000_000, 2_000_000])],
            slow_start(),
            "half of the default buffer is window: 7 segments a round trip, or all that slow start sends",
            |a, b| (a.round_trips(), b.round_trips()) == (18, 5),
        ),
        case(
            "tcp_rmem",
            [json!([4_096, 131_072, 131_072]), json!([4_096, 131_072, 2_000_000])],
            with(slow_start(), "tcp_moderate_rcvbuf", json!(true)),
            "the window grows up to the maximum",
            |a, b| (a.round_trips(), b.round_trips()) == (18, 6),
        ),
        case(
            "receive_buffers",
            [
                json!({ "linear_bytes": 4_096, "page_bytes": 4_096 }),
                json!({ "linear_bytes": 256, "page_bytes": 2_048 }),
            ],
            with(growing_buffer(2_000 * MSS), "mtu", json!(2_000)),
            "1948 bytes are less than half of a buffer of 4096, so that the window grows less, and nearly all of a page",
            |a, b| a.round_trips() > b.round_trips(),
        ),
        case(
            "tcp_wmem",
            [json!([4_096, 40_000, 2_000_000]), json!([4_096, 2_000_000, 2_000_000])],
            slow_start(),
            "what is written at the start is pushed every half of the first window, 4 segments; a part of it or all",
            |a, b| a.pushes() < 20 && b.pushes() == 25,
        ),
        case(
            "tcp_wmem",
            [json!([4_096, 131_072, 131_072]), json!([4_096, 131_072, 2_000_000])],
            slow_start(),
            "the send buffer does not grow",
            |a, b| a.round_trips() > b.round_trips(),
        ),
        case(
            "tcp_moderate_rcvbuf",
            [json!(false), json!(true)],
            with(slow_start(), "tcp_rmem", json!([4_096, 131_072, 2_000_000])),
            "the window stays at 7 segments, or grows",
            |a, b| (a.round_trips(), b.round_trips()) == (18, 6),
        ),
        case(
            "tcp_adv_win_scale",
            [json!(1), json!(-2)],
            with(slow_start(), "tcp_rmem", json!([4_096, 131_072, 131_072])),
            "half of the buffer is window, or a quarter: 7 or 3 segments a round trip",
            |a, b| a.round_trips() < b.round_trips(),
        ),
        case(
            "linux",
            [json!("6.1"), json!("6.12")],
            with(slow_start(), "tcp_rmem", json!([4_096, 131_072, 131_072])),
            "half of the buffer is window, or what is payload of it: 7 or 9 segments a round trip",
            |a, b| a.round_trips() > b.round_trips(),
        ),
        case(
            "tcp_window_scaling",
            [json!(true), json!(false)],
            slow_start(),
            "no window of more than 65535 bytes can be told: 7 segments a round trip",
            |a, b| (a.round_trips(), b.round_trips()) == (5, 18),
        ),
        case(
            "tcp_timestamps",
            [json!(true), json!(false)],
            transfer(10 * 8_960, LONG),
            "without the option, 12 bytes more fit into each of ten segments",
            |a, b| (a.first_sent(), b.first_sent()) == (11, 10),
        ),
        case(
            "tcp_sack",
            [json!(true), json!(false)],
            transfer(2_000 * MSS, SHORT),
            "without SACK each of the lost segments takes a round trip of its own",
            |a, b| a.flow("retransmits") > 5 && b.fct_ns() > a.fct_ns() + 5 * SHORT * 1_000,
        ),
        case(
            "tcp_dsack",
            [json!(true), json!(false)],
            with(reordered(), "tcp_timestamps", json!(false)),
            "only DSACK tells that retransmissions were needless",
            |a, b| a.flow("spurious") > 0 && b.flow("spurious") == 0,
        ),
        case(
            "tcp_frto",
            [json!(2), json!(0)],
            with(
                with_night(transfer(1_000 * MSS, SHORT), 3_000, 400_000, Downtime::Hold),
                "tcp_timestamps",
                json!(false),
            ),
            "F-RTO finds that the packets were only late and sends no more of them again",
            |a, b| {
                (a.flow("rtos"), a.flow("retransmits")) == (1, 1) && b.flow("rtos") == 1 && b.flow("retransmits") > 100
            },
        ),
        case(
            "tcp_early_retrans",
            [json!(3), json!(0)],
            with_night(slow_start(), 79_000, 81_000, Downtime::Drop),
            "a probe finds that the last flight is lost, or a timeout",
            |a, b| (a.flow("tlps"), a.flow("rtos")) == (1, 0) && (b.flow("tlps"), b.flow("rtos")) == (0, 1),
        ),
        case(
            "tcp_recovery",
            [json!(1), json!(0)],
            losing(30_000_000),
            "without RACK a retransmission that is lost costs a timeout",
            |a, b| a.flow("rtos") == 0 && b.flow("rtos") > 0,
        ),
        case(
            "tcp_reordering",
            [json!(3), json!(40)],
            with(reordered(), "tcp_recovery", json!(0)),
            "29 packets that overtake are taken for a loss, or not",
            |a, b| a.flow("fast_recoveries") > 0 && b.flow("fast_recoveries") == 0,
        ),
        case(
            "tcp_max_reordering",
            [json!(300), json!(3)],
            with(reordered(), "tcp_recovery", json!(0)),
            "the sender does not learn how far packets overtake",
            |a, b| a.flow("fast_recoveries") < b.flow("fast_recoveries"),
        ),
        case("tcp_ecn", [json!(0), json!(1)], transfer(10 * MSS, SHORT), "the handshake asks for ECN", |a, b| {
            (a.handshake(), b.handshake()) == ((SYN, SYN_ACK), (SYN | ECE | CWR, SYN_ACK | ECE))
        }),
        case(
            "tcp_comp_sack_delay_ns",
            [json!(1_000_000), json!(0)],
            lossy(),
            "ACKs above a hole wait less for others",
            |a, b| a.acks() < b.acks(),
        ),
        case(
            "tcp_comp_sack_slack_ns",
            [json!(100_000), json!(0)],
            lossy(),
            "ACKs above a hole wait less for others",
            |a, b| a.acks() < b.acks(),
        ),
        case("tcp_comp_sack_nr", [json!(44), json!(0)], lossy(), "ACKs above a hole do not wait", |a, b| {
            a.acks() < b.acks()
        }),
        case(
            "tso_max_bytes",
            [json!(0), json!(65_536)],
            with(slow_start(), "max_pacing_rate_bps", json!(1_000_000_000)),
            "paced segments leave one by one, or in bursts of up to seven",
            |a, b| a.back_to_back() < 20 && b.back_to_back() == 58,
        ),
        case(
            "tcp_limit_output_bytes",
            [json!(null), json!(100_000)],
            transfer(2_000 * MSS, SHORT),
            "no more than that waits in the host, and a segment",
            |a, b| a.largest("queues", "max_packets") > 90 && b.largest("queues", "max_packets") <= 12,
        ),
        case(
            "tcp_no_metrics_save",
            [json!(true), json!(false)],
            with(one_after_the_other(), "tcp_no_ssthresh_metrics_save", json!(false)),
            "the second flow starts with a threshold",
            |a, b| a.inherited_ssthresh() == u64::from(u32::MAX) && b.inherited_ssthresh() < 1_000,
        ),
        case(
            "tcp_no_ssthresh_metrics_save",
            [json!(true), json!(false)],
            with(one_after_the_other(), "tcp_no_metrics_save", json!(false)),
            "the second flow starts with a threshold",
            |a, b| a.inherited_ssthresh() == u64::from(u32::MAX) && b.inherited_ssthresh() < 1_000,
        ),
        case(
            "max_pacing_rate_bps",
            [json!(null), json!(100_000_000)],
            transfer(100 * MSS, SHORT),
            "8948 bytes of payload in 9000, at 100 Mbit/s, less the first burst",
            |a, b| a.fct_ns() < 10_000_000 && (60_000_000..73_000_000).contains(&b.fct_ns()),
        ),
    ]
}
