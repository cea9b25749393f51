//! Downtime policies.

/// What happens to packets while a route or a gate is dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Downtime {
    /// Packets that arrive in the night are lost; a queue that no gate serves any more is emptied.
    Drop,
    /// Packets wait: arrivals are held, a queue whose gate closes keeps its packets.
    Hold,
    /// Arrivals wait, but what was queued before the night is still sent.
    Drain,
    /// The old path continues to serve through the night; nothing waits. A gate closes only when
    /// another gate of the same queue opens.
    MakeBeforeBreak,
}
