//! Errors name the line and the word; what a line stands for.

use super::*;
use daybreak_tcp::config::Profile;

fn error(text: &str) -> String {
    Script::parse(text).expect_err("the text is wrong").to_string()
}

#[test]
fn errors_name_the_line_and_the_word() {
    let cases = [
        (
            "0 open\n5ms jump",
            "line 2, column 5: unknown step \"jump\"; known are <, >, open, connect, accept, write, read, set, close, \
             expect",
        ),
        ("5ms open\n1ms close", "line 2, column 1: 1 ms is before the line above, 5 ms"),
        ("0 > . 1", "line 1, column 7: \"ack\" and the flag \".\" go together"),
        ("0 > X 1", "line 1, column 5: unknown flag \"X\" in \"X\"; known are S F R P p . E W"),
        ("0 > Pp. 1 ack 1", "line 1, column 5: \"Pp.\" asks for PSH and forbids it"),
        ("0 < . 1:10/0 ack 1", "line 1, column 7: a sequence range is SEQ, SEQ:END or SEQ:END/PIECE, not \"1:10/0\""),
        ("0 < . 1:70000 ack 1", "line 1, column 7: a segment has at most 65495 bytes, not 69999"),
        ("0 < . 1:70000/1 ack 1", "line 1, column 7: a line stands for at most 10000 segments"),
        ("config speed 3", "line 1, column 8: unknown setting \"speed\""),
        ("config mtu 9", "line 1, column 12: mtu is between 88 and 65535, not 9"),
        ("config jiffy 1s", "line 1, column 14: a jiffy is between 100 us and 42 ms, not 1 s"),
        ("config draws 3 x", "line 1, column 16: a draw must be a whole number, not \"x\""),
        ("0 open\nconfig mtu 9000", "line 2, column 1: \"config\" must stand before the first step"),
        ("0 open now", "line 1, column 8: \"now\" was not expected here"),
        (
            "0~1ms open",
            "line 1, column 7: only an expected segment may have a tolerance or a range of times, not \"open\"",
        ),
        ("3ms..2ms > . 1 ack 1", "line 1, column 1: the range of times ends at 2 ms, before it starts at 3 ms"),
        ("5 open", "line 1, column 1: a time is a number with ps, ns, us, ms or s, not \"5\""),
        ("9999999s open", "line 1, column 1: a time is at most 4000000 s, not \"9999999s\""),
        ("0 write ten", "line 1, column 9: the bytes to write must be a whole number, not \"ten\""),
        ("0 read some", "line 1, column 8: the bytes to read must be a whole number, not \"some\""),
        (
            "0 set mood good",
            "line 1, column 7: unknown socket's option \"mood\"; known are nodelay, cork, rcvbuf, sndbuf",
        ),
        (
            "0 set user_timeout 5",
            "line 1, column 7: Linux 6.1 has the socket's option \"user_timeout\", and the model has not",
        ),
        ("0 set cork perhaps", "line 1, column 12: expected on or off, not \"perhaps\""),
        (
            "0 open\n0 set rcvbuf 9000",
            "line 2, column 14: \"rcvbuf\" can be set before the connection opens and not later",
        ),
        ("0 set rcvbuf 300000", "line 1, column 14: rcvbuf is between 1 and 212992, not 300000"),
        ("0 expect cwnd", "line 1, column 14: the value of cwnd is missing at the end of the line"),
        ("0 expect state < Loss", "line 1, column 18: what state is < must be a number, not \"Loss\""),
        ("0 < . 1 ack 1 win < 9", "line 1, column 21: \"win <\" is for expected segments"),
        (
            "0 < .p 1 ack 1",
            "line 1, column 14: the peer's segment has PSH or has it not: \"p\" is for expected segments",
        ),
        (
            "0 > . 1 ack 1 nots val 3ms",
            "line 1, column 24: a segment without a timestamp has neither \"val\" nor \"ecr\"",
        ),
        ("0 > rest\n0 > . 1 ack 1", "line 2, column 3: no segment can be expected after \"> rest\""),
        ("model only:", "line 1, column 7: \"model only:\" needs a reason"),
        ("# nothing", "a dialogue needs at least one step"),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected, "of {text:?}");
    }
}

#[test]
fn a_dialogue_may_be_of_several_versions_and_has_the_settings_of_the_first() {
    let script = Script::parse("config linux 6.12 7.3\n0 open").expect("valid");
    assert_eq!(script.linux, ["6.12", "7.3"]);
    assert_eq!(Some(script.config.profile), Profile::of_linux("6.12"));
    assert!(Script::parse("0 open").expect("valid").linux.is_empty());
    assert!(
        error("config linux 6.1 6.2\n0 open").contains("unknown version of Linux \"6.2\"; known are 6.1, 6.12, 7.3")
    );
}

#[test]
fn a_time_may_be_a_range() {
    let script = Script::parse("1ms open\n+2ms..+5ms > . 1 ack 1\n+1ms~1us > . 1 ack 1").expect("valid");
    let times = |at: usize| (script.steps[at].at, script.steps[at].early, script.steps[at].late);
    let at = |ms| Instant::ZERO + Duration::from_ms(ms);
    assert_eq!(times(1), (at(6), Duration::from_ms(3), Duration::ZERO));
    // The line after a range counts from its end.
    assert_eq!(times(2), (at(7), Duration::from_us(1), Duration::from_us(1)));
}

#[test]
fn a_line_may_stand_for_several_segments() {
    let script = Script::parse("1.5ms < P. 1:2901/1448 ack 1 sack 5:9 11:12\n+20us~3us > . 1 ack 2901").expect("valid");
    let lens: Vec<u32> = script
        .steps
        .iter()
        .map(|step| match &step.what {
            What::Arrives(pattern) | What::Leaves(pattern) => pattern.len,
            other => panic!("not a segment: {other:?}"),
        })
        .collect();
    assert_eq!(lens, [1448, 1448, 4, 0]);
    assert_eq!(script.steps[0].at, Instant::ZERO + Duration::from_us(1_500));
    assert_eq!(script.steps[3].at, Instant::ZERO + Duration::from_us(1_520));
    assert_eq!(script.steps[3].late, Duration::from_us(3));
}
