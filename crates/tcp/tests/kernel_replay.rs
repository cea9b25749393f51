//! Rules fed with the ACKs that a real Linux 6.1 sender got, against the window that it then had.
//!
//! The logs in `tests/kernel` are of Linux 6.1 in virtual time (HZ 1000): when the sender got each ACK
//! in microseconds, its acknowledgement number, and whether it carried SACK blocks.

use daybreak_tcp::congestion::{AckArrival, CaEvent, Context, Window, find};
use daybreak_units::{Duration, Instant};

/// 1000 segments of 8948 bytes over 1 Gbit/s and 10 ms; the 201st is dropped once. The kernel leaves
/// recovery with `cwnd` and `ssthresh` 13, where Reno's half was 102: the only interval that ended by
/// then is the first 51 ms of slow start.
#[test]
fn westwood_after_one_loss() {
    let log = include_str!("kernel/westwood_one_loss.csv");
    let mut rule = find("westwood").expect("it is registered").rule(1).control;
    let mut window = Window::new(204, 102);
    let ctx = Context { mss: 8_948, jiffy: Duration::from_ms(1), ..Context::default() };
    let mut una = 1;
    for (n, line) in log.lines().skip(1).enumerate() {
        let [us, ack, sack] = line.split(',').map(|field| field.parse().expect("a number")).collect::<Vec<u64>>()[..]
        else {
            panic!("{line} has not three columns")
        };
        let now = Instant::ZERO + Duration::from_us(us);
        if n == 0 {
            rule.init(&mut window, &Context { now, snd_una: ack, ..ctx });
            continue;
        }
        let is_new = ack > una;
        una = una.max(ack);
        rule.on_arrival(
            &mut window,
            &AckArrival {
                now,
                snd_una: una,
                mss: ctx.mss,
                // The path's own RTT, rounded up to 11 jiffies, is the smallest; longer ones do not count.
                rtt: is_new.then_some(Duration::from_us(10_080)),
                is_fast_path: is_new && sack == 0,
                ..AckArrival::default()
            },
        );
    }
    rule.on_event(&mut window, CaEvent::CompleteCwr, &ctx);
    assert_eq!((window.cwnd, window.ssthresh), (13, 13));
}
