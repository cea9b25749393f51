use std::mem::offset_of;

use super::*;
use crate::config::BufferLimits;
use crate::receiver::Receiver;

#[test]
fn what_a_segment_in_order_touches_is_two_cache_lines_of_the_receiver() {
    assert_eq!(offset_of!(Receiver, window) + offset_of!(ReceiveWindow, rcv_rtt_us8), 128);
}

pub(super) fn established(config: &Config) -> ReceiveWindow {
    let mut window = ReceiveWindow::new(config);
    window.negotiate(true, true, true);
    window.established(Instant::ZERO, 1);
    window
}

fn offer(window: &mut ReceiveWindow, rcv_nxt: u64, memory: u64, rcv_mss: u32) {
    let (candidate, _) = window.candidate(memory, rcv_mss);
    window.offer(rcv_nxt, candidate);
}

#[test]
fn the_first_offers_are_those_that_linux_is_known_for() {
    // tcp_rmem 131072 gives 65536 bytes of window; 44 * 1460 = 64240 in a SYN and, with
    // timestamps agreed, 45 * 1448 = 65160 in a SYN-ACK. 6 MiB need a shift of 22 - 15 = 7.
    let mut window = ReceiveWindow::new(&Config::default());
    assert_eq!((window.initial_offer(), window.scale()), (64_240, 7));
    window.negotiate(true, true, true);
    assert_eq!((window.initial_offer(), window.scale()), (65_160, 7));
    // 65536 - 1448 in reserve: the 64088 of `ss -i`.
    window.established(Instant::ZERO, 1);
    assert_eq!(window.rcv_ssthresh, 64_088);
    assert_eq!(window.space, 14_480);
}

#[test]
fn without_a_scale_the_offer_is_whole_segments() {
    let mut window = ReceiveWindow::new(&Config::default());
    window.negotiate(true, false, true);
    window.established(Instant::ZERO, 1);
    offer(&mut window, 1, 0, 1448);
    // 64088 is less than one segment below the 65160 of the SYN-ACK, which may not shrink.
    assert_eq!(window.offered(), 65_160);
    offer(&mut window, 1 + 65_160, 0, 1448);
    // All of it used: 44 segments fit into 64088.
    assert_eq!(window.offered(), 63_712);
}

#[test]
fn a_window_may_be_its_bound_rounded_up() {
    let mut window = established(&Config::default());
    assert_eq!((window.rcv_ssthresh, window.scale), (64_088, 7));
    window.window_clamp = 100_000;
    assert!(window.may_become(64_088u64.next_multiple_of(128)) && !window.may_become(64_088 + 128));
    window.window_clamp = 60_000;
    assert!(window.may_become(60_000) && !window.may_become(60_001));
}

#[test]
fn the_right_edge_never_moves_back() {
    let mut window = established(&Config::default());
    offer(&mut window, 1, 0, 1448);
    let edge = window.rcv_wup + window.rcv_wnd;
    offer(&mut window, 1_001, 60_000, 1448);
    assert!(window.rcv_wup + window.rcv_wnd >= edge);
    assert!(window.rcv_wup + window.rcv_wnd < edge + 128);
}

#[test]
fn a_crowded_buffer_offers_nothing_rather_than_a_sliver() {
    let mut window = established(&Config::default());
    // Free: half of 131072 - 123000 = 4036, below 65536 / 16 = 4096.
    offer(&mut window, 64_089, 123_000, 1448);
    // The edge of the SYN-ACK, 1 + 65160, still stands; the rest is rounded up to 128.
    assert_eq!(window.rcv_wnd, (65_161u64 - 64_089).next_multiple_of(128));
    offer(&mut window, 65_300, 123_000, 1448);
    assert_eq!(window.rcv_wnd, 0);
}

/// Linux 6.1 has a lock for a size that the application has set, and `tcp_rmem` for all others.
#[test]
fn an_overflowing_buffer_grows_to_what_it_holds_within_its_limits() {
    let config = Config { rmem: BufferLimits { max: 200_000, ..Config::default().rmem }, ..Config::default() };
    let mut window = established(&config);
    assert!(!window.overflows(131_072), "it is full, no more");
    for (held, becomes, offer) in [(131_073, 131_073, 64_088), (200_001, 200_000, 2_896), (200_002, 200_000, 2_896)] {
        assert!(window.overflows(held));
        window.make_room(held);
        assert_eq!((window.rcvbuf, window.rcv_ssthresh), (becomes, offer));
    }
    let mut set = ReceiveWindow::new(&config);
    set.lock(8_192, true);
    set.make_room(20_000);
    assert_eq!(set.rcvbuf, 16_384);
}

#[test]
fn no_set_buffer_is_smaller_than_a_packet_of_2_kib() {
    // socket(7): SO_RCVBUF is doubled, and at least 2304 with an sk_buff of 256 bytes (SOCK_MIN_RCVBUF).
    for (set, buffer) in [(1, 2_304), (1_151, 2_304), (1_152, 2_304), (1_153, 2_306)] {
        let mut window = ReceiveWindow::new(&Config::default());
        window.lock(set, true);
        assert_eq!(window.rcvbuf, buffer, "SO_RCVBUF {set}");
    }
}

#[test]
fn the_offer_grows_by_two_segments_for_each_that_arrives() {
    let mut window = established(&Config::default());
    window.resize(501_312);
    window.window_clamp = 250_656;
    assert!(window.grow(1_448, |_| 2_304, 2_304, 1_448));
    assert_eq!(window.rcv_ssthresh, 64_088 + 2 * 1_448);
    // Ever more, up to what the buffer offers beside the segment itself: (501312 - 2304) / 2.
    while window.grow(1_448, |_| 2_304, 2_304, 1_448) {}
    assert_eq!(window.rcv_ssthresh, 249_504);
}

#[test]
fn segments_that_are_mostly_overhead_grow_it_only_while_it_is_small() {
    let mut window = established(&Config::default());
    window.resize(6_291_456);
    window.window_clamp = 3_145_728;
    // 200 bytes cost 1480 and take 740 of window. Half of that, 370, does not fit 200 bytes; a
    // quarter, 185, does, and is allowed up to a quarter of the largest window: 786432.
    assert!(window.grow(200, |_| 1_480, 1_480, 536));
    assert_eq!(window.rcv_ssthresh, 64_088 + 2 * 536);
    while window.grow(200, |_| 1_480, 1_480, 536) {}
    assert!(window.rcv_ssthresh > 786_432 && window.rcv_ssthresh <= 786_432 + 2 * 536);
}

#[test]
fn a_handshake_that_is_reset_leaves_no_options() {
    // A header with timestamps makes segments of 1,448 bytes of what were 1,460.
    let fresh = ReceiveWindow::new(&Config::default());
    let mut window = fresh.clone();
    window.negotiate(true, true, false);
    window.rcv_wup = 1;
    let seen = |window: &ReceiveWindow| (window.advmss, format!("{:?}", window.buffers), window.rcv_wup);
    assert_ne!(seen(&window).1, seen(&fresh).1);
    window.forget_syn(true);
    assert_eq!(seen(&window), seen(&fresh));
}

#[test]
fn one_segment_stays_in_reserve_but_two_may_be_offered() {
    // tcp_init_buffer_space() with segments of 1,448 bytes: the bound of the window for a buffer that offers so much.
    for (whole, clamp, becomes) in [
        (65_536, 100_000, 64_088),
        (65_536, 64_089, 64_088),
        (65_536, 64_088, 64_088),
        (65_536, 10_000, 10_000),
        (3_000, 3_000, 2_896),
        (2_896, 2_896, 2_896),
        (2_000, 2_000, 2_000),
    ] {
        let mut window = ReceiveWindow::new(&Config::default());
        window.negotiate(true, true, true);
        assert!(!window.is_established());
        (window.whole, window.window_clamp) = (whole, clamp);
        window.established(Instant::ZERO, 1);
        assert!(window.is_established());
        assert_eq!((window.window_clamp, window.rcv_ssthresh), (becomes, becomes.min(65_160)), "{clamp} of {whole}");
    }
}

#[test]
fn the_window_is_full_where_the_last_offer_ends() {
    let mut window = established(&Config::default());
    (window.rcv_wup, window.rcv_wnd) = (10, 5);
    for (rcv_nxt, is_full, remains) in [(10, false, 5), (14, false, 1), (15, true, 0), (16, true, 0)] {
        assert_eq!((window.is_full_at(rcv_nxt), window.room(rcv_nxt)), (is_full, remains), "{rcv_nxt}");
    }
    window.profile.no_receive_window = true;
    assert_eq!(window.room(14), u64::MAX - 14, "anything is taken");
}

/// A window of which the buffer offers half, 65,536 bytes.
fn plain(scale: u8) -> ReceiveWindow {
    let mut window = established(&Config::default());
    assert_eq!((window.rcvbuf, window.whole), (131_072, 65_536));
    (window.scale, window.window_clamp, window.rcv_ssthresh) = (scale, 65_536, 60_000);
    window
}

#[test]
fn a_buffer_is_crowded_below_half_and_a_sliver_is_below_a_sixteenth_or_a_segment() {
    for (free, mss, candidate) in [
        (32_768, 1_448, (32_768, false)),
        (32_767, 1_448, (32_767 / 128 * 128, true)),
        (4_096, 1_448, (4_096, true)),
        (4_095, 1_448, (0, true)),
        (4_224, 4_224, (4_224, true)),
        (4_224, 4_225, (0, true)),
    ] {
        assert_eq!(plain(7).candidate(131_072 - 2 * free, mss), candidate, "{free} bytes free");
    }
}

#[test]
fn without_a_scale_an_offer_stays_within_a_segment_of_what_is_free() {
    // __tcp_select_window(): the offer that was made, the room that there is, and what is offered now.
    let segments = [(3_000, 4_000, 4_000), (3_001, 4_000, 3_001), (4_500, 4_500, 4_500), (4_501, 4_500, 4_000)];
    for (kept, free, offer) in segments {
        let mut window = plain(0);
        (window.rcv_wnd, window.rcv_ssthresh) = (kept, free);
        assert_eq!(window.candidate(0, 1_000).0, offer, "{kept} of {free}");
    }
    // A segment is all that there is room for: half of it is enough to offer more.
    for (clamp, kept, free, offer) in [
        (1_000, 300, 900, 900),
        (1_000, 399, 900, 900),
        (1_000, 400, 900, 400),
        (1_000, 450, 900, 450),
        (1_900, 901, 1_900, 901),
    ] {
        let mut window = plain(0);
        (window.window_clamp, window.rcv_wnd, window.rcv_ssthresh) = (clamp, kept, free);
        assert_eq!(window.candidate(0, 1_000).0, offer, "{kept} of {free} and {clamp}");
    }
}

#[test]
fn short_segments_that_fit_grow_it_by_two_full_ones() {
    let mut window = established(&Config::default());
    window.resize(501_312);
    window.window_clamp = 250_656;
    assert!(window.grow(1_000, |_| 2_000, 2_000, 1_000));
    assert_eq!(window.rcv_ssthresh, 64_088 + 2 * 1_448);
}

#[test]
fn the_more_a_segment_costs_the_smaller_is_the_window_that_it_grows() {
    // 1,480 bytes take 740 of window. Of the largest window, 3 MiB, 370 bytes grow a half, 185 a quarter, 92 an eighth.
    for (len, most) in [(370, 1_572_864), (185, 786_432), (92, 393_216)] {
        for (ssthresh, grows) in [(most, true), (most + 1, false)] {
            let mut window = established(&Config::default());
            window.resize(6_291_456);
            (window.window_clamp, window.rcv_ssthresh) = (3_145_728, ssthresh);
            assert_eq!(window.grow(len, |_| 1_480, 1_480, 536), grows, "{len} bytes at {ssthresh}");
        }
    }
}

#[test]
fn the_offer_grows_by_two_segments_of_the_length_that_has_come_if_that_is_more() {
    // tcp_grow_window(): max(incr, 2 * len), where the peer's segments were taken for shorter ones.
    for (len, rcv_mss, grown) in [(370, 536, 1_072), (370, 370, 740), (370, 100, 740)] {
        let mut window = established(&Config::default());
        window.resize(6_291_456);
        window.window_clamp = 3_145_728;
        assert!(window.grow(len, |_| 1_480, 1_480, rcv_mss));
        assert_eq!(window.rcv_ssthresh, 64_088 + grown);
    }
}
