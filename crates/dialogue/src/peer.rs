//! The other end of the connection: makes complete segments from the lines with `<`.

use daybreak_tcp::config::Config;
use daybreak_tcp::{Flags, Header, Segment, SynOptions};
use daybreak_units::Instant;

use crate::pattern::Pattern;
use crate::script::Script;

/// A well-behaved peer, which fills in what a line leaves out.
#[derive(Clone, Debug)]
pub struct Peer {
    config: Config,
    /// Both SYNs carried timestamps.
    peer_timestamps: bool,
    own_timestamps: bool,
    /// Timestamp and window that the next segment carries unless its line says otherwise.
    last_ts_val: u32,
    window: u32,
    scale: u8,
}

impl Peer {
    /// The peer of a script before its first segment.
    pub fn new(script: &Script) -> Self {
        Self {
            config: script.config.clone(),
            peer_timestamps: false,
            own_timestamps: false,
            last_ts_val: 0,
            window: script.peer_window,
            scale: 0,
        }
    }

    /// Notes a segment that has left the stack.
    pub fn on_segment(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            self.own_timestamps = segment.syn.timestamps;
        }
        self.last_ts_val = segment.ts_val;
    }

    /// The segment of a line; the error is a window that cannot be encoded.
    pub fn segment(&mut self, pattern: &Pattern, now: Instant) -> Result<Segment, String> {
        let mut segment = Segment::from(Header {
            seq: pattern.seq,
            ack: pattern.ack.unwrap_or_default(),
            len: pattern.len,
            flags: pattern.flags,
            ecn: pattern.ecn.unwrap_or_default(),
            ..Header::default()
        });
        if let Some(options) = pattern.syn {
            self.peer_timestamps = options.timestamps;
            self.scale = options.window_scale.unwrap_or_default();
            segment.syn = SynOptions {
                mss: options.mss,
                window_scale_plus_one: options.window_scale.map_or(0, |scale| scale + 1),
                sack_permitted: options.sack_permitted,
                timestamps: options.timestamps,
            };
        }
        let is_syn = pattern.flags.contains(Flags::SYN);
        if is_syn {
            segment.window = pattern.window.unwrap_or(65_535);
        } else {
            self.window = pattern.window.unwrap_or(self.window);
            if !self.window.is_multiple_of(1 << self.scale) {
                return Err(format!("win {} is not a multiple of 2^{}", self.window, self.scale));
            }
            let widest = 65_535 << self.scale;
            if pattern.window.is_some_and(|window| window > widest) {
                return Err(format!("win {} does not fit into 16 bits, shifted by {}", self.window, self.scale));
            }
            self.window = self.window.min(widest);
            segment.window = self.window;
        }
        if self.peer_timestamps && (self.own_timestamps || is_syn) && !pattern.without_timestamp {
            segment.ts_val = self.config.timestamp(pattern.ts_val.unwrap_or(now));
            let echo = pattern.ts_ecr.map_or(self.last_ts_val, |at| self.config.timestamp(at));
            segment.ts_ecr = if segment.flags.contains(Flags::ACK) { echo } else { 0 };
        }
        segment.sack_count = pattern.sacks.len() as u8;
        segment.sack[..pattern.sacks.len()].copy_from_slice(&pattern.sacks);
        Ok(segment)
    }
}
