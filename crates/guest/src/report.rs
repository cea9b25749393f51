//! Reports of the init program to the switch: sampled windows, and at the end the state of sockets and counters. 64-bit
//! little-endian numbers: first the kind, then rows of a fixed length.

use daybreak_trace::{ProgramRow, WindowRow};

use crate::error::GuestError;
use crate::sockets::SocketAddress;

/// One report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Windows of some flows.
    Windows(Vec<WindowRow>),
    /// Sockets of programs.
    Sockets(Vec<SocketRow>),
    /// The final state of some flows.
    Outcomes(Vec<Outcome>),
    /// The client of a flow has ended at this time; without a flow, all programs that the run waits for.
    Ended {
        /// The monotonic clock.
        at_ns: u64,
        /// Which flow.
        flow: Option<u32>,
    },
    /// The run has failed.
    GivenUp,
    /// The outcomes of the programs.
    Programs(Vec<ProgramRow>),
    /// The last report: the tables can be written.
    End,
}

/// The kernel's state of a flow at the end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Which one.
    pub flow: u32,
    /// Segments with payload sent, including retransmissions.
    pub segments: u32,
    /// Retransmitted segments.
    pub retransmits: u32,
    /// Retransmission timeouts.
    pub rtos: u32,
    /// Tail loss probes.
    pub tlps: u32,
    /// Entries into fast recovery.
    pub fast_recoveries: u32,
    /// Reductions that were undone.
    pub spurious: u32,
}

/// A socket of a program, whose flow the switch knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketRow {
    /// Its own address and its peer's.
    pub ends: [SocketAddress; 2],
    /// Its congestion control: see `variant` of table `connections`.
    pub variant: u32,
    /// Payload sent.
    pub sent: u64,
    /// Its window, if it did not open the connection.
    pub window: WindowRow,
    /// Payload outstanding if it did: the SYN counts as acknowledged payload then.
    pub outstanding_of_opener: u64,
}

const WINDOWS: u64 = 1;
const OUTCOMES: u64 = 2;
const END: u64 = 3;
const ENDED: u64 = 4;
const GIVEN_UP: u64 = 5;
const PROGRAMS: u64 = 6;
const SOCKETS: u64 = 7;
/// Stands for no flow.
const NO_FLOW: u64 = u64::MAX;
/// Most rows of one report: the driver takes up to 1 MiB.
pub const MOST_ROWS: usize = 10_000;

impl Report {
    /// Encodes the report.
    pub fn encode(&self) -> Vec<u8> {
        let numbers: Vec<u64> = match self {
            Self::Windows(rows) => std::iter::once(WINDOWS).chain(rows.iter().flat_map(window_numbers)).collect(),
            Self::Sockets(rows) => std::iter::once(SOCKETS).chain(rows.iter().flat_map(socket_numbers)).collect(),
            Self::Outcomes(rows) => std::iter::once(OUTCOMES).chain(rows.iter().flat_map(outcome_numbers)).collect(),
            Self::Ended { at_ns, flow } => vec![ENDED, *at_ns, flow.map_or(NO_FLOW, u64::from)],
            Self::GivenUp => vec![GIVEN_UP],
            Self::Programs(rows) => std::iter::once(PROGRAMS).chain(rows.iter().flat_map(program_numbers)).collect(),
            Self::End => vec![END],
        };
        numbers.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// Decodes a report.
    pub fn decode(bytes: &[u8]) -> Result<Self, GuestError> {
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        let numbers: Vec<u64> = bytes.chunks(8).map(number).collect();
        match numbers.split_first() {
            Some((&WINDOWS, rows)) => Ok(Self::Windows(rows.as_chunks().0.iter().map(window_row).collect())),
            Some((&SOCKETS, rows)) => Ok(Self::Sockets(rows.as_chunks().0.iter().map(socket_row).collect())),
            Some((&OUTCOMES, rows)) => Ok(Self::Outcomes(rows.as_chunks().0.iter().map(outcome).collect())),
            Some((&ENDED, &[at_ns, flow])) => Ok(Self::Ended { at_ns, flow: (flow != NO_FLOW).then_some(flow as u32) }),
            Some((&GIVEN_UP, [])) => Ok(Self::GivenUp),
            Some((&PROGRAMS, rows)) => Ok(Self::Programs(rows.as_chunks().0.iter().map(program_row).collect())),
            Some((&END, [])) => Ok(Self::End),
            _ => Err(GuestError::Broken(format!("a report of {} bytes that is not understood", bytes.len()))),
        }
    }
}

fn window_numbers(row: &WindowRow) -> [u64; 11] {
    let WindowRow {
        flow,
        time_ns,
        cwnd,
        ssthresh,
        in_flight,
        bytes_in_flight: bytes,
        outstanding_bytes: outstanding,
        srtt_ns,
        pacing_bps,
        retransmits,
        state,
    } = *row;
    let [flow, cwnd, ssthresh, in_flight] = [flow, cwnd, ssthresh, in_flight].map(u64::from);
    [flow, time_ns, cwnd, ssthresh, in_flight, bytes, outstanding, srtt_ns, pacing_bps, retransmits, u64::from(state)]
}

fn window_row(numbers: &[u64; 11]) -> WindowRow {
    let [flow, time_ns, cwnd, ssthresh, in_flight, bytes, outstanding, srtt_ns, pacing_bps, retransmits, state] =
        *numbers;
    let [flow, cwnd, ssthresh, in_flight] = [flow, cwnd, ssthresh, in_flight].map(|number| number as u32);
    WindowRow {
        flow,
        time_ns,
        cwnd,
        ssthresh,
        in_flight,
        bytes_in_flight: bytes,
        outstanding_bytes: outstanding,
        srtt_ns,
        pacing_bps,
        retransmits,
        state: state as u8,
    }
}

fn socket_numbers(row: &SocketRow) -> [u64; 16] {
    let SocketRow { ends, variant, sent, window, outstanding_of_opener } = row;
    let [own, other] = ends.map(|(address, port)| u64::from(address) << 16 | u64::from(port));
    let mut numbers = [own, other, u64::from(*variant), *sent, *outstanding_of_opener, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    numbers[5..].copy_from_slice(&window_numbers(window));
    numbers
}

fn socket_row(numbers: &[u64; 16]) -> SocketRow {
    let (&[own, other, variant, sent, outstanding_of_opener], window) =
        numbers.split_first_chunk().expect("there are 16");
    let ends = [own, other].map(|end| ((end >> 16) as u32, end as u16));
    let window = window_row(window.try_into().expect("eleven are left"));
    SocketRow { ends, variant: variant as u32, sent, window, outstanding_of_opener }
}

fn outcome_numbers(row: &Outcome) -> [u64; 7] {
    let Outcome { flow, segments, retransmits, rtos, tlps, fast_recoveries, spurious } = *row;
    [flow, segments, retransmits, rtos, tlps, fast_recoveries, spurious].map(u64::from)
}

fn outcome(numbers: &[u64; 7]) -> Outcome {
    let [flow, segments, retransmits, rtos, tlps, fast_recoveries, spurious] = numbers.map(|number| number as u32);
    Outcome { flow, segments, retransmits, rtos, tlps, fast_recoveries, spurious }
}

fn program_numbers(row: &ProgramRow) -> [u64; 8] {
    let ProgramRow { flow, end, start_ns, end_ns, exit_code, signal, stdout_bytes, stderr_bytes } = *row;
    let [flow, exit_code, signal] = [flow, exit_code, signal].map(u64::from);
    [flow, u64::from(end), start_ns, end_ns, exit_code, signal, stdout_bytes, stderr_bytes]
}

fn program_row(numbers: &[u64; 8]) -> ProgramRow {
    let [flow, end, start_ns, end_ns, exit_code, signal, stdout_bytes, stderr_bytes] = *numbers;
    let [flow, exit_code, signal] = [flow, exit_code, signal].map(|number| number as u32);
    ProgramRow { flow, end: end as u8, start_ns, end_ns, exit_code, signal, stdout_bytes, stderr_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_come_back_as_they_were() {
        let row = WindowRow {
            flow: 1,
            time_ns: 2 << 40,
            cwnd: 3,
            ssthresh: u32::MAX,
            in_flight: 5,
            bytes_in_flight: 6,
            outstanding_bytes: 8,
            srtt_ns: 7,
            pacing_bps: u64::MAX,
            retransmits: 9,
            state: 4,
        };
        let outcome =
            Outcome { flow: 7, segments: 1, retransmits: 2, rtos: 3, tlps: 4, fast_recoveries: 5, spurious: 6 };
        let program = ProgramRow {
            flow: 1,
            end: 1,
            start_ns: 2,
            end_ns: u64::MAX,
            exit_code: 3,
            signal: u32::MAX,
            stdout_bytes: 4,
            stderr_bytes: 5,
        };
        let socket = SocketRow {
            ends: [(0x0a00_0001, 5201), (0x0a00_0002, 65_535)],
            variant: 3,
            sent: 1 << 40,
            window: row,
            outstanding_of_opener: 7,
        };
        for report in [
            Report::Windows(vec![row; 3]),
            Report::Sockets(vec![socket; 2]),
            Report::Outcomes(vec![outcome; 2]),
            Report::Ended { at_ns: 1 << 40, flow: Some(7) },
            Report::Ended { at_ns: 8, flow: None },
            Report::GivenUp,
            Report::Programs(vec![program; 2]),
            Report::End,
        ] {
            assert_eq!(Report::decode(&report.encode()).unwrap(), report);
        }
        assert!(Report::decode(&[9; 16]).is_err());
    }
}
