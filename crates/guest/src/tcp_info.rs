//! Reads TCP_INFO of a socket, in the layout of `struct tcp_info` of Linux 6.1's user API.

use std::os::fd::RawFd;

use daybreak_trace::WindowRow;
use daybreak_units::Instant;

use crate::error::GuestError;
use crate::system;

/// A sender's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// State of the connection; 1 is ESTABLISHED.
    pub state: u8,
    /// Congestion state, Open to Loss.
    pub ca_state: u8,
    /// Options in use: 1 timestamps, 2 SACK, 4 window scaling, 8 ECN.
    pub options: u8,
    /// Largest payload of a segment.
    pub snd_mss: u32,
    /// Segments sent and not acknowledged.
    pub unacked: u32,
    /// Of these: reported by SACK.
    pub sacked: u32,
    /// Of these: marked as lost.
    pub lost: u32,
    /// Of these: retransmitted.
    pub retrans: u32,
    /// Smoothed round-trip time in microseconds.
    pub rtt_us: u32,
    /// Slow-start threshold in segments.
    pub ssthresh: u32,
    /// Window in segments.
    pub cwnd: u32,
    /// Segments retransmitted in total.
    pub total_retrans: u32,
    /// Pacing rate in bytes per second; all ones for no pacing.
    pub pacing_rate: u64,
    /// Segments sent.
    pub segs_out: u32,
    /// Segments received.
    pub segs_in: u32,
    /// Segments with payload sent, including retransmissions.
    pub data_segs_out: u32,
    /// Payload sent, including retransmissions.
    pub bytes_sent: u64,
    /// Payload retransmitted.
    pub bytes_retrans: u64,
    /// Payload acknowledged.
    pub bytes_acked: u64,
}

/// Length of the struct in Linux 6.1; a shorter one lacks fields that are read here.
const LENGTH: usize = 232;
const TCP_INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

impl TcpInfo {
    /// Reads the state of a socket.
    pub fn of(socket: RawFd) -> Result<Self, GuestError> {
        let mut bytes = [0; 512];
        let length = system::option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes, "read TCP_INFO")?;
        Self::parse(&bytes[..length])
            .ok_or_else(|| GuestError::Broken(format!("TCP_INFO has {length} bytes, not at least {LENGTH}")))
    }

    /// Reads the kernel's struct; `None` where it is shorter than the one of Linux 6.1.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < LENGTH {
            return None;
        }
        let u32_at = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u64_at = |at: usize| {
            let mut value = [0; 8];
            value.copy_from_slice(&bytes[at..at + 8]);
            u64::from_ne_bytes(value)
        };
        Some(Self {
            state: bytes[0],
            ca_state: bytes[1],
            options: bytes[5],
            snd_mss: u32_at(16),
            unacked: u32_at(24),
            sacked: u32_at(28),
            lost: u32_at(32),
            retrans: u32_at(36),
            rtt_us: u32_at(68),
            ssthresh: u32_at(76),
            cwnd: u32_at(80),
            total_retrans: u32_at(100),
            pacing_rate: u64_at(104),
            bytes_acked: u64_at(120),
            segs_out: u32_at(136),
            segs_in: u32_at(140),
            data_segs_out: u32_at(156),
            bytes_sent: u64_at(200),
            bytes_retrans: u64_at(208),
        })
    }

    /// Whether the connection is between handshake and close.
    pub fn is_open(&self) -> bool {
        const ESTABLISHED: u8 = 1;
        const FIN_WAIT1: u8 = 4;
        [ESTABLISHED, FIN_WAIT1].contains(&self.state)
    }

    /// Payload sent and not acknowledged. Linux counts the SYN of the end that opened the connection as acknowledged
    /// payload.
    pub fn outstanding_bytes(&self, is_opener: bool) -> u64 {
        let acked = self.bytes_acked.saturating_sub(u64::from(is_opener));
        (self.bytes_sent - self.bytes_retrans).saturating_sub(acked)
    }

    /// The row of table `window`. The end that opened the connection counts the acknowledgement of its SYN as a byte.
    pub fn window_row(&self, flow: u32, now: Instant, is_opener: bool) -> WindowRow {
        let in_flight = (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost);
        WindowRow {
            flow,
            time_ns: now.as_ns(),
            cwnd: self.cwnd,
            ssthresh: if self.ssthresh >= TCP_INFINITE_SSTHRESH { u32::MAX } else { self.ssthresh },
            in_flight,
            bytes_in_flight: u64::from(in_flight) * u64::from(self.snd_mss),
            outstanding_bytes: self.outstanding_bytes(is_opener),
            srtt_ns: u64::from(self.rtt_us) * 1_000,
            pacing_bps: if self.pacing_rate == u64::MAX { 0 } else { self.pacing_rate.saturating_mul(8) },
            retransmits: u64::from(self.total_retrans),
            state: self.ca_state,
        }
    }
}
