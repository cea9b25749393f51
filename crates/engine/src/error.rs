//! What can go wrong, one sentence each.

use daybreak_plan::PlanError;

/// Why a plan is refused or a run fails.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No run can be made of the plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The text is not a plan.
    #[error("the plan does not parse: {0}")]
    Parse(#[from] serde_json::Error),
    /// The plan wants a capture, but the caller gave no place for it.
    #[error("records.capture_links names {links} links, but no output for the capture was given")]
    NoCaptureOutput {
        /// Links that the plan wants captured.
        links: usize,
    },
    /// The capture could not be written.
    #[error("the packet capture could not be written: {0}")]
    Capture(#[source] std::io::Error),
    /// Packets were forged or forgotten: a fault of the engine.
    #[error(
        "packets are not conserved on {place}: {sent} sent, but {delivered} delivered + {lost} lost \
         + {in_flight} in flight"
    )]
    NotConserved {
        /// Flow or link.
        place: String,
        /// Packets sent.
        sent: u64,
        /// Packets delivered.
        delivered: u64,
        /// Packets lost.
        lost: u64,
        /// Packets still on their way.
        in_flight: u64,
    },
}
