//! The errors, one sentence each.

/// Why the guest does not run a plan, or could not finish it.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The plan asks for something that real hosts in this engine cannot do.
    #[error("the kernel engine cannot run this: {field} is {value}: {problem}")]
    Unsupported {
        /// Path of the field, as in `stacks[1].rto_min_ps`.
        field: String,
        /// The value it has.
        value: String,
        /// What is missing.
        problem: String,
    },
    /// The text is not a plan.
    #[error("the plan does not parse: {0}")]
    Parse(#[from] serde_json::Error),
    /// No run can be made of the plan.
    #[error(transparent)]
    Plan(#[from] daybreak_plan::PlanError),
    /// The kernel refused a system call.
    #[error("{what}: {source}")]
    System {
        /// What was tried, with the name of the thing it was tried on.
        what: String,
        /// The kernel's answer.
        #[source]
        source: std::io::Error,
    },
    /// The kernel refused a request of rtnetlink.
    #[error("rtnetlink refused to {what}: {source}")]
    Netlink {
        /// What was asked for.
        what: String,
        /// The kernel's answer.
        #[source]
        source: std::io::Error,
    },
    /// The switch failed, and says why.
    #[error("{0}")]
    Switch(String),
    /// A program of the plan failed; the sentence names it.
    #[error("{0}")]
    Program(String),
    /// A packet belongs to no flow, or was forged or lost track of: a fault of the engine.
    #[error("the engine is broken: {0}")]
    Broken(String),
}

impl GuestError {
    /// An error of the last system call.
    pub fn last(what: impl Into<String>) -> Self {
        Self::System { what: what.into(), source: std::io::Error::last_os_error() }
    }

    /// An error of a file operation.
    pub fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        Self::System { what: what.into(), source }
    }
}
