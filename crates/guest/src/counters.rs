//! The kernel's counters of a namespace's connections (`/proc/net/netstat`). Every sender that shares a NIC has a
//! namespace of its own, so these count one flow, unless flows share cached metrics. Programs share that of their host:
//! there the driver (`kernel-image/driver/counts.c`) counts for each connection.

use std::ops::AddAssign;

use crate::error::GuestError;
use crate::system::{self, Fd};

/// A sender's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Retransmission timeouts.
    pub rtos: u32,
    /// Tail loss probes.
    pub tlps: u32,
    /// Entries into fast recovery.
    pub fast_recoveries: u32,
    /// Reductions that were undone.
    pub spurious: u32,
}

/// The kernel's counters that add up to each of ours. (`TCPSackFailures` and the like count timeouts by the state that
/// they end, in addition to this one.)
const RTOS: [&str; 1] = ["TCPTimeouts"];
const TLPS: [&str; 1] = ["TCPLossProbes"];
const FAST_RECOVERIES: [&str; 2] = ["TCPSackRecovery", "TCPRenoRecovery"];
const SPURIOUS: [&str; 4] = ["TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"];

impl AddAssign for Counters {
    fn add_assign(&mut self, added: Self) {
        self.rtos += added.rtos;
        self.tlps += added.tlps;
        self.fast_recoveries += added.fast_recoveries;
        self.spurious += added.spurious;
    }
}

impl Counters {
    /// The counters of a namespace, in which the calling thread remains.
    pub fn of(namespace: &Fd) -> Result<Self, GuestError> {
        system::enter_network(namespace)?;
        let path = "/proc/net/netstat";
        let text = std::fs::read_to_string(path).map_err(|error| GuestError::io(path, error))?;
        Self::parse(&text).map_err(|name| GuestError::Broken(format!("{path} has no counter {name}")))
    }

    /// Reads pairs of lines: names, then numbers. The error is the name that is missing.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("TcpExt:")).collect();
        let words = |line: usize| lines.get(line).into_iter().flat_map(|line| line.split_whitespace().skip(1));
        let counts: Vec<(&str, u32)> =
            words(0).zip(words(1)).filter_map(|(name, count)| Some((name, count.parse().ok()?))).collect();
        let sum = |names: &[&'static str]| {
            let count = |&name| counts.iter().find(|(known, _)| *known == name).map(|(_, count)| *count).ok_or(name);
            names.iter().map(count).sum::<Result<u32, _>>()
        };
        Ok(Self {
            rtos: sum(&RTOS)?,
            tlps: sum(&TLPS)?,
            fast_recoveries: sum(&FAST_RECOVERIES)?,
            spurious: sum(&SPURIOUS)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name_and_added() {
        let names: Vec<&str> = RTOS.into_iter().chain(SPURIOUS).chain(FAST_RECOVERIES).chain(TLPS).collect();
        let numbers: Vec<String> = (1..=names.len()).map(|number| number.to_string()).collect();
        let text = format!("TcpExt: {}\nTcpExt: {}\nIpExt: InOctets\nIpExt: 9\n", names.join(" "), numbers.join(" "));
        let counters = Counters::parse(&text).unwrap();
        assert_eq!(counters, Counters { rtos: 1, spurious: 2 + 3 + 4 + 5, fast_recoveries: 6 + 7, tlps: 8 });
        assert_eq!(Counters::parse(&text.replace("TCPPartialUndo", "Other")), Err("TCPPartialUndo"));
    }
}
