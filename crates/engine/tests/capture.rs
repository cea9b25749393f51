//! Stock tshark reads a capture without a complaint.

mod plans;

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use daybreak_plan::{Application, Downtime, Plan};
use plans::{captured, column, day_and_night};

/// Runs the plan with the first and the last link of the data path captured, and the first of the
/// ACK path; returns the segments that the sender sent and the capture.
fn capture(plan: &Plan, snaplen: u32) -> (u64, Vec<u8>) {
    let (records, bytes) = captured::capture(plan, &[0, 6, 7], snaplen);
    (column(&records, "flows", "segments")[0], bytes)
}

/// A new file's name. The tests of a program run side by side, and some make captures that are alike.
fn new_file() -> PathBuf {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("daybreak-{}-{number}.pcapng", std::process::id()))
}

/// These fields of every packet as tshark sees them, or `None` where there is no tshark.
fn fields(capture: &[u8], names: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut arguments = vec!["-T", "fields"];
    for name in names {
        arguments.extend(["-e", name]);
    }
    let file = new_file();
    std::fs::write(&file, capture).unwrap();
    let checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"];
    let output = Command::new("tshark").arg("-r").arg(&file).args(checks).args(&arguments).output();
    let _ = std::fs::remove_file(&file);
    match output {
        Ok(output) => {
            let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
            let complaints: Vec<&str> = complaints.lines().filter(|line| !line.contains("as user")).collect();
            assert!(output.status.success() && complaints.is_empty(), "tshark says: {complaints:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            // There is no other way for a test to say that it was skipped.
            #[allow(clippy::disallowed_macros)]
            {
                eprintln!("skipped: tshark is not installed");
            }
            None
        }
        Err(error) => panic!("tshark does not start: {error}"),
    }
}

#[test]
fn tshark_reads_whole_packets() {
    let mut plan = day_and_night(Downtime::Drop);
    plan.stacks[0].mtu = 1_500;
    plan.flows[0].application = Application::Bulk { bytes: Some(1_000_001) };
    let (segments, bytes) = capture(&plan, 65_535);
    let Some(packets) = fields(
        &bytes,
        &[
            "frame.interface_name",
            "ip.checksum.status",
            "tcp.checksum.status",
            "_ws.malformed",
            "_ws.short",
            "tcp.len",
            "tcp.flags.fin",
            "tcp.analysis.ack_lost_segment",
            "tcp.options.sack.count",
            "tcp.options.mss_val",
            "tcp.options.wscale.shift",
            "tcp.options.sack_perm",
        ],
    ) else {
        return;
    };
    for packet in &packets {
        assert_eq!(packet[1..5], ["1", "1", "", ""], "checksums and shape of {packet:?}");
    }
    let sent: Vec<_> = packets.iter().filter(|packet| packet[0] == "left access out").collect();
    let data = sent.iter().filter(|packet| packet[5] != "0" || packet[6] == "1");
    assert_eq!(data.count() as u64, segments, "segments on the sender's own link");
    assert!(sent.iter().all(|packet| packet[7].is_empty()), "an ACK covers what was not captured");
    assert!(packets.iter().any(|packet| !packet[8].is_empty()), "losses in the night are reported by SACK");
    let syns: Vec<_> = packets.iter().filter(|packet| !packet[9].is_empty()).collect();
    assert!(
        syns.len() >= 3
            && syns.iter().all(|packet| packet[9] == "1460" && packet[10..].iter().all(|option| !option.is_empty()))
    );
}

#[test]
fn tshark_reads_truncated_packets() {
    let (_, bytes) = capture(&day_and_night(Downtime::Hold), 100);
    let names = ["frame.len", "frame.cap_len", "_ws.malformed", "ip.checksum.status"];
    let Some(packets) = fields(&bytes, &names) else { return };
    let whole = |packet: &&Vec<String>| packet[0] == "9014";
    assert!(packets.iter().filter(whole).count() > 400);
    assert!(packets.iter().filter(whole).all(|packet| packet[1..] == ["100", "", "1"]), "{packets:?}");
}

/// Times are those of the simulation to the nanosecond, and each link is an interface.
#[test]
fn packets_carry_their_time_and_their_link() {
    let (_, bytes) = capture(&day_and_night(Downtime::Hold), 100);
    let Some(packets) = fields(&bytes, &["frame.time_epoch", "frame.interface_name"]) else { return };
    // Two links of 2 and 16 us lie before the last one, which takes 2 us.
    let expected =
        [["0.000010000", "left access out"], ["0.000028156", "right access out"], ["0.000030235", "right access back"]];
    assert_eq!(packets[..3], expected);
}

/// Linux draws the start of a connection's timestamps, and each end has its own.
#[test]
fn timestamps_start_where_the_seed_says() {
    let starts = |seed: u64| {
        let mut plan = day_and_night(Downtime::Hold);
        plan.seed = seed;
        let (_, bytes) = capture(&plan, 100);
        let packets = fields(&bytes, &["tcp.flags.syn", "tcp.options.timestamp.tsval"])?;
        let values = packets.iter().filter(|packet| packet[0] == "1" || packet[0] == "True");
        let mut values: Vec<String> = values.map(|packet| packet[1].clone()).collect();
        values.dedup();
        Some(values)
    };
    let Some(first) = starts(1) else { return };
    assert_eq!((first.len(), first[0] == first[1]), (2, false), "a SYN and a SYN-ACK: {first:?}");
    assert_eq!(starts(1), Some(first.clone()));
    let second = starts(2).unwrap();
    assert!(second.iter().all(|value| !first.contains(value)), "{first:?} and {second:?}");
}
