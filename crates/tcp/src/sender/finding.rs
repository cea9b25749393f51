//! What one ACK was found to do, gathered while it is processed.

use crate::sender::measure::rate_sample::Building;

/// What an ACK was found to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckFlags(u32);

impl AckFlags {
    /// It moves `snd_una`.
    pub const UNA_ADVANCED: Self = Self(1);
    /// The segment carries data.
    pub const DATA: Self = Self(2);
    /// It updates the peer's window.
    pub const WIN_UPDATE: Self = Self(4);
    /// It acknowledges data cumulatively.
    pub const DATA_ACKED: Self = Self(8);
    /// Of this, something that was sent more than once.
    pub const RETRANS_DATA_ACKED: Self = Self(16);
    /// It SACKs something new.
    pub const DATA_SACKED: Self = Self(32);
    /// It echoes congestion.
    pub const ECE: Self = Self(64);
    /// A retransmission was found to be lost.
    pub const LOST_RETRANS: Self = Self(128);
    /// It delivers something below `high_seq` that was sent once.
    pub const ORIG_SACK_ACKED: Self = Self(256);
    /// It reports a duplicate that may be believed.
    pub const DSACKING: Self = Self(512);
    /// It reports the tail loss probe as a duplicate.
    pub const DSACK_TLP: Self = Self(1024);
    /// The probe or retransmission timer starts anew.
    pub const SET_TIMER: Self = Self(2048);
    /// The first outstanding segment is SACKed: the peer may be reneging.
    pub const SACK_RENEGING: Self = Self(4096);
    /// Probably held back by the receiver's timer.
    pub const MAYBE_DELAYED: Self = Self(8192);

    /// A path has found losses before the state machine runs.
    pub const OVERDUE: Self = Self(16384);

    /// Not a duplicate ACK.
    pub const NOT_DUP: Self = Self(Self::DATA.0 | Self::WIN_UPDATE.0 | Self::DATA_ACKED.0);
    /// Needs the congestion state machine.
    pub const ALERT: Self = Self(Self::DATA_SACKED.0 | Self::ECE.0 | Self::DSACKING.0 | Self::OVERDUE.0);

    #[inline]
    pub fn any(self, bits: Self) -> bool {
        self.0 & bits.0 != 0
    }
    #[inline]
    pub fn set(&mut self, bits: Self) {
        self.0 |= bits.0;
    }
    #[inline]
    pub fn unset(&mut self, bits: Self) {
        self.0 &= !bits.0;
    }
}

impl std::ops::BitOr for AckFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What is gathered while one ACK is processed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub flags: AckFlags,
    pub prior_una: u64,
    /// It carries the ECE flag, whether ECN was negotiated or not.
    pub has_ece: bool,
    /// It acknowledges and carries nothing else: header prediction took it (Linux's receive fast path), also a duplicate.
    pub is_predicted: bool,
    /// Lowest segment that this ACK SACKs after data above it.
    pub sack_reord: u64,
    /// Send times of the first and the last segment that it SACKs, if they were sent once.
    pub first_sacked_us: Option<u64>,
    pub last_sacked_us: u64,
    pub rate: Building,
}
