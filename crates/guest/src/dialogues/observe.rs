//! Reads TCP_INFO and the counters of the namespace, under the names of `expect`.

use std::os::fd::RawFd;

use daybreak_dialogue::Answer;

use crate::error::GuestError;
use crate::system;

/// Size of `struct tcp_info` in the user API of Linux 6.1, in bytes.
const LENGTH: usize = 232;
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;
const STATES: [&str; 5] = ["Open", "Disorder", "Cwr", "Recovery", "Loss"];

/// Counters of `/proc/net/netstat` that are summed under a name.
const COUNTERS: [(&str, &[&str]); 9] = [
    ("rtos", &["TCPTimeouts"]),
    ("spurious_rtos", &["TCPSpuriousRTOs"]),
    ("tlps", &["TCPLossProbes"]),
    ("tlp_recoveries", &["TCPLossProbeRecovery"]),
    ("fast_recoveries", &["TCPSackRecovery", "TCPRenoRecovery"]),
    ("spurious", &["TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"]),
    ("lost_retransmits", &["TCPLostRetransmit"]),
    ("dsacks", &["TCPDSACKRecvSegs"]),
    ("reordering_seen", &["TCPSACKReorder", "TCPRenoReorder", "TCPTSReorder"]),
];
/// Values that the model counts and a kernel does not.
const WITHHELD: [&str; 4] = ["ecn_reductions", "dup_acks", "reordered", "duplicates"];

/// The value that the socket, or its namespace, reports under `name`. The calling thread must be in the namespace. The
/// application has `written` this number of bytes; with `opened` the socket sent the SYN, otherwise the SYN-ACK.
pub fn of(socket: RawFd, name: &str, written: u64, opened: bool) -> Result<Answer, GuestError> {
    if WITHHELD.contains(&name) {
        return Ok(Answer::Withheld);
    }
    if let Some((_, names)) = COUNTERS.iter().find(|(known, _)| *known == name) {
        let path = "/proc/thread-self/net/netstat";
        let text = std::fs::read_to_string(path).map_err(|error| GuestError::io(path, error))?;
        let sum = sum(&text, names).map_err(|name| GuestError::Broken(format!("{path} has no counter {name}")))?;
        return Ok(Answer::Is(sum.to_string()));
    }
    let mut bytes = [0; 512];
    let length = system::option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes, "read TCP_INFO")?;
    if length < LENGTH {
        return Err(GuestError::Broken(format!("TCP_INFO has {length} bytes, not at least {LENGTH}")));
    }
    Ok(from_info(&bytes, name, written, opened).map_or(Answer::Unknown, Answer::Is))
}

/// Fields of `struct tcp_info` by their offsets.
fn from_info(bytes: &[u8], name: &str, written: u64, opened: bool) -> Option<String> {
    let u32_at = |at: usize| u64::from(u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
    let u64_at = |at: usize| u32_at(at) | u32_at(at + 4) << 32;
    let (unacked, sacked, lost, retrans) = (u32_at(24), u32_at(28), u32_at(32), u32_at(36));
    let number = match name {
        "state" => return STATES.get(usize::from(bytes[1])).map(|&state| state.to_owned()),
        "ssthresh" if u32_at(76) >= INFINITE_SSTHRESH => return Some("infinite".to_owned()),
        "ssthresh" => u32_at(76),
        "srtt" => return Some(format!("{}us", u32_at(68))),
        "rto" => return Some(format!("{}us", u32_at(8))),
        "cwnd" => u32_at(80),
        "in_flight" => (unacked + retrans).saturating_sub(sacked + lost),
        "unacked" => unacked,
        "sacked" => sacked,
        "lost" => lost,
        "retransmitted" => retrans,
        "reordering" => u32_at(88),
        "pacing_rate" if u64_at(104) == u64::MAX => 0,
        "pacing_rate" => u64_at(104) * 8,
        // A SYN counts as a byte, a SYN-ACK does not, and a FIN does.
        "acked" => u64_at(120).saturating_sub(u64::from(opened)).min(written),
        "segments" => u32_at(156),
        "retransmits" => u32_at(100),
        _ => return None,
    };
    Some(number.to_string())
}

/// The error is the name that is missing.
fn sum(text: &str, names: &[&'static str]) -> Result<u64, &'static str> {
    let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
    let (heads, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let pairs: Vec<(&str, &str)> = heads.split_whitespace().zip(values.split_whitespace()).collect();
    let count = |&name: &&'static str| {
        pairs.iter().find(|(known, _)| *known == name).and_then(|(_, value)| value.parse::<u64>().ok()).ok_or(name)
    };
    names.iter().map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_by_name() {
        let text = "TcpExt: A B C\nTcpExt: 1 2 4\nIpExt: A\nIpExt: 9\n";
        assert_eq!(sum(text, &["A", "C"]), Ok(5));
        assert_eq!(sum(text, &["A", "D"]), Err("D"));
    }

    #[test]
    fn fields_are_where_the_user_api_has_them() {
        let mut bytes = [0u8; LENGTH];
        bytes[1] = 3;
        for (at, value) in [(8, 210_000u32), (24, 12), (28, 3), (32, 1), (36, 1), (68, 10_000), (76, 5), (80, 9)] {
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        bytes[104..112].fill(0xff);
        bytes[120] = 11;
        let reported = |name| from_info(&bytes, name, 20, true).unwrap_or_default();
        assert_eq!(
            (reported("state"), reported("cwnd"), reported("in_flight")),
            ("Recovery".into(), "9".into(), "9".into())
        );
        let outstanding = ["unacked", "sacked", "lost", "retransmitted"].map(reported);
        assert_eq!(outstanding, ["12", "3", "1", "1"].map(String::from));
        assert_eq!(
            (reported("rto"), reported("srtt"), reported("ssthresh")),
            ("210000us".into(), "10000us".into(), "5".into())
        );
        assert_eq!((reported("acked"), reported("pacing_rate")), ("10".into(), "0".into()));
        assert_eq!(from_info(&bytes, "acked", 20, false).as_deref(), Some("11"));
        assert_eq!(from_info(&bytes, "acked", 9, false).as_deref(), Some("9"), "the rest is a FIN");
        bytes[76..80].copy_from_slice(&0x7fff_ffffu32.to_ne_bytes());
        assert_eq!(from_info(&bytes, "ssthresh", 5, true).as_deref(), Some("infinite"));
        assert_eq!(from_info(&bytes, "mood", 5, true), None);
    }
}
