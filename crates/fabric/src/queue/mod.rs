//! Queues: where packets wait for a link. Waiting and limits are common to all; a discipline, one file each, decides
//! which packets that would fit are marked or dropped early: when they arrive, or when a link takes them. It may also
//! store the packets itself, and choose which leaves next.

mod codel;
mod drop_tail;
mod ecn_threshold;
mod fq_codel;
mod pie;
mod red;
mod waiting;

use std::fmt;

use daybreak_units::parameters::{Parameter, ParameterError, Settings, Value};
use daybreak_units::{Duration, Instant, Rate, Stream};

use crate::PacketId;

pub(crate) use waiting::{Lane, Lanes, NOT_PLAIN, Queue};

/// Limits of a queue; `None` means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Limit in packets.
    pub packets: Option<u64>,
    /// Limit in bytes (IP length).
    pub bytes: Option<u64>,
}

/// [`Limits`] in the form used for comparisons.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    packets: u32,
    bytes: u64,
}

impl Default for Capacity {
    fn default() -> Self {
        Limits::default().into()
    }
}

impl From<Limits> for Capacity {
    fn from(limits: Limits) -> Self {
        let packets = limits.packets.unwrap_or(u64::from(u32::MAX));
        Self { packets: u32::try_from(packets).unwrap_or(u32::MAX), bytes: limits.bytes.unwrap_or(u64::MAX) }
    }
}

impl Capacity {
    /// Whether a packet of `bytes` fits.
    #[inline(always)]
    pub(crate) fn admits(&self, occupancy: Occupancy, bytes: u32) -> bool {
        occupancy.packets < self.packets && occupancy.bytes + u64::from(bytes) <= self.bytes
    }

    /// Whether the occupancy is within the limits.
    pub(crate) fn holds(&self, occupancy: Occupancy) -> bool {
        occupancy.packets <= self.packets && occupancy.bytes <= self.bytes
    }

    /// Number of packets of at most `largest_packet` bytes that certainly fit, even if nothing leaves.
    pub(crate) fn room(&self, occupancy: Occupancy, largest_packet: u32) -> u32 {
        let packets = self.packets.saturating_sub(occupancy.packets);
        let bytes = self.bytes.saturating_sub(occupancy.bytes);
        u64::from(packets).min(bytes / u64::from(largest_packet.max(1))) as u32
    }
}

/// The occupancy that a packet meets on arrival; the packet itself is not counted yet, nor is one that a link
/// is sending.
#[derive(Clone, Copy, Debug, Default)]
pub struct Occupancy {
    /// Packets that wait.
    pub packets: u32,
    /// Bytes that wait.
    pub bytes: u64,
}

/// A packet that arrives at a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub now: Instant,
    /// The occupancy that it meets.
    pub occupancy: Occupancy,
    /// Its IP length.
    pub bytes: u32,
    /// It may be marked instead of dropped (RFC 3168).
    pub is_ect: bool,
    /// The limit leaves room for it. If not, it is lost whatever the verdict.
    pub fits: bool,
    /// Its flow and direction.
    pub flow: u32,
}

/// A packet in a queue whose discipline stores the packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub id: PacketId,
    /// Number in the order of arrival.
    pub number: u64,
    /// Its flow and direction.
    pub flow: u32,
    /// Its IP length.
    pub bytes: u32,
    /// It may be marked instead of dropped (RFC 3168).
    pub is_ect: bool,
    /// When it arrived.
    pub came: Instant,
}

/// A packet that a link takes out of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub now: Instant,
    /// How long it has waited.
    pub waited: Duration,
    /// Its IP length.
    pub bytes: u32,
    /// Bytes that wait behind it.
    pub behind: u64,
    /// It may be marked instead of dropped (RFC 3168).
    pub is_ect: bool,
}

/// The decision about a packet that fits, or that a link takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It waits at the end of the queue, or is sent.
    Accept,
    /// As [`Verdict::Accept`], and it is marked (CE). Only for ECN-capable packets.
    Mark,
    /// It is lost. Only returned by a discipline that sees every arrival, or departure.
    Drop,
}

/// Arguments for the constructor of a discipline.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub settings: &'a Settings,
    /// Rate of the first link that serves the queue.
    pub rate: Rate,
    /// Bytes that this link adds to each packet.
    pub framing_bytes: u32,
    /// The discipline's random stream.
    pub stream: Stream,
}

/// A queue discipline: marks or drops packets before the queue is full.
trait Discipline: Sized {
    /// Its name in scenarios.
    const NAME: &'static str;
    /// A one-line description.
    const SUMMARY: &'static str;
    /// Its parameters.
    const PARAMETERS: &'static [Parameter];
    /// It must see packets that find a link idle and do not wait, and be notified when the queue becomes empty.
    const SEES_EVERY_ARRIVAL: bool;
    /// It decides about every packet that a link takes, also one that has not waited. Arrival times of packets are
    /// stored for it.
    const SEES_DEPARTURES: bool = false;
    /// It stores the waiting packets, and chooses which leaves next. A full queue accepts an arriving packet, and the
    /// discipline chooses which ones are lost.
    const KEEPS_PACKETS: bool = false;
    /// Its verdicts depend only on the occupancy and its settings, it accepts whatever fits, and [`Discipline::room`]
    /// is exact: so it need not decide about packets that are certain to be accepted unmarked, or that do not fit, and
    /// can decide on arrival at a link whose departures are computed in advance (`analytic`).
    const SETTLES_ON_ARRIVAL: bool;
    /// It may mark packets.
    const MARKS: bool;

    /// Checks settings that are individually in range for contradictions.
    fn check(_settings: &Settings) -> Result<(), String> {
        Ok(())
    }
    fn new(setup: &Setup) -> Self;
    /// The settings have changed.
    fn configure(&mut self, settings: &Settings);
    /// Decides about a packet.
    fn arrival(&mut self, arrival: &Arrival) -> Verdict;
    /// Decides about a packet that a link takes, unless it came back. After a drop the link takes the next one at once.
    fn departure(&mut self, _leaving: &Leaving) -> Verdict {
        Verdict::Accept
    }
    /// Stores a packet. This and the following methods are only called if it stores packets.
    fn keep(&mut self, kept: Kept) {
        unreachable!("{} keeps no packets, not even {kept:?}", Self::NAME)
    }
    /// The packet that a link takes next among those with numbers below `before`, and the verdict.
    fn next(&mut self, _now: Instant, _before: u64) -> Option<(Kept, Verdict)> {
        None
    }
    /// Number of stored packets with numbers below `number`.
    fn kept_before(&self, _number: u64) -> u32 {
        0
    }
    /// The queue exceeds its limits: removes at least one packet, which is lost, but at most `most`.
    fn evict(&mut self, _most: u32, _lost: &mut Vec<Kept>) {}
    /// Removes all packets.
    fn empty(&mut self, _lost: &mut Vec<Kept>) {}
    /// The last packet that waited has left.
    fn emptied(&mut self, _now: Instant) {}
    /// The first link that serves the queue has another rate from now on.
    fn rate_changed(&mut self, _rate: Rate) {}
    /// Number of packets of at most `largest_packet` bytes that are certain to be accepted unmarked from this occupancy
    /// on, even if nothing leaves.
    fn room(&self, _occupancy: Occupancy, _capacity: &Capacity, _largest_packet: u32) -> u32 {
        0
    }
}

/// A queue discipline in the [`REGISTRY`].
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name in scenarios.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Whether it may set CE.
    pub marks: bool,
    pub(crate) settles_on_arrival: bool,
    check: fn(&Settings) -> Result<(), String>,
    new: fn(&Setup) -> Kind,
}

impl Entry {
    /// The settings of a queue that specifies some of the parameters.
    ///
    /// # Errors
    /// If a name is unknown, a value does not fit or is missing, or values contradict each other.
    pub fn settings<'a>(&self, given: impl IntoIterator<Item = (&'a str, Value)>) -> Result<Settings, SettingsError> {
        let settings = Settings::new(self.parameters, given)?;
        (self.check)(&settings).map_err(SettingsError::Together)?;
        Ok(settings)
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Why settings of a discipline are rejected.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingsError {
    /// One parameter.
    Parameter(ParameterError),
    /// Several that contradict each other.
    Together(String),
}

impl From<ParameterError> for SettingsError {
    fn from(error: ParameterError) -> Self {
        Self::Parameter(error)
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(error) => error.fmt(f),
            Self::Together(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for SettingsError {}

/// Looks a discipline up by its name.
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}

/// Builds the enum of all disciplines from the registry, so that the choice costs no indirect call.
macro_rules! registry {
    ($($module:ident::$kind:ident;)*) => {
        /// Every discipline.
        pub const REGISTRY: &[Entry] = &[$(Entry {
            name: <$module::$kind as Discipline>::NAME,
            summary: <$module::$kind as Discipline>::SUMMARY,
            parameters: <$module::$kind as Discipline>::PARAMETERS,
            marks: <$module::$kind as Discipline>::MARKS,
            settles_on_arrival: <$module::$kind as Discipline>::SETTLES_ON_ARRIVAL,
            check: <$module::$kind as Discipline>::check,
            new: |setup| Kind::$kind($module::$kind::new(setup)),
        }),*];

        /// The discipline of one queue, with its settings and state.
        #[derive(Debug)]
        pub(crate) enum Kind { $($kind($module::$kind)),* }

        impl Kind {
            pub(crate) fn sees_every_arrival(&self) -> bool {
                match self { $(Self::$kind(_) => <$module::$kind as Discipline>::SEES_EVERY_ARRIVAL),* }
            }
            pub(crate) fn sees_departures(&self) -> bool {
                match self { $(Self::$kind(_) => <$module::$kind as Discipline>::SEES_DEPARTURES),* }
            }
            pub(crate) fn keeps_packets(&self) -> bool {
                match self { $(Self::$kind(_) => <$module::$kind as Discipline>::KEEPS_PACKETS),* }
            }
            #[inline(always)]
            pub(crate) fn marks(&self) -> bool {
                match self { $(Self::$kind(_) => <$module::$kind as Discipline>::MARKS),* }
            }
            pub(crate) fn configure(&mut self, settings: &Settings) {
                match self { $(Self::$kind(kind) => kind.configure(settings)),* }
            }
            #[inline(always)]
            pub(crate) fn arrival(&mut self, arrival: &Arrival) -> Verdict {
                match self { $(Self::$kind(kind) => kind.arrival(arrival)),* }
            }
            pub(crate) fn departure(&mut self, leaving: &Leaving) -> Verdict {
                match self { $(Self::$kind(kind) => kind.departure(leaving)),* }
            }
            pub(crate) fn keep(&mut self, kept: Kept) {
                match self { $(Self::$kind(kind) => kind.keep(kept)),* }
            }
            pub(crate) fn next(&mut self, now: Instant, before: u64) -> Option<(Kept, Verdict)> {
                match self { $(Self::$kind(kind) => kind.next(now, before)),* }
            }
            pub(crate) fn kept_before(&self, number: u64) -> u32 {
                match self { $(Self::$kind(kind) => kind.kept_before(number)),* }
            }
            pub(crate) fn evict(&mut self, most: u32, lost: &mut Vec<Kept>) {
                match self { $(Self::$kind(kind) => kind.evict(most, lost)),* }
            }
            pub(crate) fn empty(&mut self, lost: &mut Vec<Kept>) {
                match self { $(Self::$kind(kind) => kind.empty(lost)),* }
            }
            pub(crate) fn emptied(&mut self, now: Instant) {
                match self { $(Self::$kind(kind) => kind.emptied(now)),* }
            }
            pub(crate) fn rate_changed(&mut self, rate: Rate) {
                match self { $(Self::$kind(kind) => kind.rate_changed(rate)),* }
            }
            pub(crate) fn room(&self, occupancy: Occupancy, capacity: &Capacity, largest_packet: u32) -> u32 {
                match self { $(Self::$kind(kind) => kind.room(occupancy, capacity, largest_packet)),* }
            }
        }
    };
}

// A new discipline is one file and one line here.
registry! {
    drop_tail::DropTail;
    ecn_threshold::EcnThreshold;
    red::Red;
    codel::CoDel;
    fq_codel::FqCoDel;
    pie::Pie;
}

impl Kind {
    pub(crate) fn new(entry: &Entry, setup: &Setup) -> Self {
        (entry.new)(setup)
    }
}

impl Default for Kind {
    fn default() -> Self {
        Self::DropTail(drop_tail::DropTail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_limit_is_one() {
        let capacity = Capacity::from(Limits { packets: Some(3), bytes: Some(4_000) });
        let fits = |packets, bytes, size| capacity.admits(Occupancy { packets, bytes }, size);
        assert!(fits(2, 2_500, 1_500));
        assert!(!fits(2, 2_501, 1_500));
        assert!(!fits(3, 100, 40));
    }

    #[test]
    fn room_is_for_the_largest_packets() {
        let capacity = Capacity::from(Limits { packets: Some(3), bytes: Some(4_000) });
        let room = |packets, bytes| capacity.room(Occupancy { packets, bytes }, 1_500);
        assert_eq!((room(0, 0), room(1, 1_000), room(1, 1_001), room(3, 0), room(4, 9_000)), (2, 2, 1, 0, 0));
        assert_eq!(Capacity::from(Limits::default()).room(Occupancy { packets: 9, bytes: 9 }, 0), u32::MAX - 9);
    }
}
