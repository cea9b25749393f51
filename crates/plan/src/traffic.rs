//! What hosts send.

use serde::{Deserialize, Serialize};

/// What a flow's application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Application {
    /// Transfers data in one direction, over TCP.
    Bulk {
        /// Payload; null for a transfer without end.
        bytes: Option<u64>,
    },
}

impl Application {
    /// Payload that it has transferred when it is complete; `None` if it never is.
    pub fn limited_bytes(&self) -> Option<u64> {
        match *self {
            Self::Bulk { bytes } => bytes,
        }
    }
}

/// One TCP connection from `src` to `dst` and what is done with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique name.
    pub name: String,
    /// Group that figures and metrics add up.
    pub group: u32,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Stack of the sender.
    pub src_stack: u32,
    /// Stack of the receiver.
    pub dst_stack: u32,
    /// Congestion control of the sender.
    pub rule: u32,
    /// What is sent.
    pub application: Application,
    /// When the sender opens the connection.
    pub start_ps: u64,
    /// Path from the sender's NIC queue to the receiver.
    pub data_path: u32,
    /// Path from the receiver's NIC queue to the sender.
    pub ack_path: u32,
}
