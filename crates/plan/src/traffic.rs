//! Traffic: flows and their applications.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A flow's application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Application {
    /// Transfers data in one direction, over TCP.
    Bulk {
        /// Payload; null for an unlimited transfer.
        bytes: Option<u64>,
    },
    /// Requests from the sender and responses from the receiver over TCP: successive exchanges on one connection, which
    /// the sender closes at the end.
    RequestResponse {
        /// The exchanges, in order.
        exchanges: Vec<ExchangeRun>,
    },
    /// Sends datagrams of one size at even intervals, over UDP.
    ConstantRate {
        /// Rate of the payload.
        rate_bps: u64,
        /// Payload of each datagram.
        payload_bytes: u32,
        /// Time at which the source stops; null for the end of the run.
        stop_ps: Option<u64>,
    },
    /// Runs programs of the machine at one or both hosts; kernel engine only. Their connections are discovered by their
    /// packets, and take the flow's paths.
    Program {
        /// At `src`, from the flow's start on.
        client: Option<Command>,
        /// At `dst`, started before the run begins, and terminated when all clients of the run have ended.
        server: Option<Command>,
    },
}

/// A program with its arguments and environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The program, as a path or the name of one in the standard folders, and its arguments.
    pub arguments: Vec<String>,
    /// Time of SIGTERM; null for a program that ends by itself, or with the run.
    pub stop_ps: Option<u64>,
    /// Working directory: its private folder, or an absolute path of the machine.
    pub folder: String,
    /// Variables of its environment besides the standard ones.
    pub environment: BTreeMap<String, String>,
    /// Files of its private folder: the content of each in Base64 (RFC 4648).
    pub files: BTreeMap<String, String>,
}

/// A run of identical exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExchangeRun {
    /// Their number.
    pub count: u32,
    /// Payload of each request.
    pub request_bytes: u64,
    /// Payload of each response.
    pub response_bytes: u64,
    /// Time from the end of the previous response to each request; the first request of the flow does not wait.
    pub think_ps: u64,
}

impl Application {
    /// Total payload of requests and responses when it is complete; `None` if it never is.
    pub fn limited_bytes(&self) -> Option<u64> {
        match self {
            Self::Bulk { bytes } => *bytes,
            Self::RequestResponse { exchanges } => {
                let of_run = |run: &ExchangeRun| u64::from(run.count) * (run.request_bytes + run.response_bytes);
                Some(exchanges.iter().map(of_run).sum())
            }
            Self::ConstantRate { .. } | Self::Program { .. } => None,
        }
    }

    /// Whether the source and the destination write into a TCP stream. What programs do is not known.
    pub fn writers(&self) -> [bool; 2] {
        match self {
            Self::Bulk { .. } => [true, false],
            Self::RequestResponse { .. } => [true, true],
            Self::ConstantRate { .. } | Self::Program { .. } => [false, false],
        }
    }

    /// Whether the window of the source, or of the destination, is that of the flow: it sends more.
    pub fn windows(&self) -> [bool; 2] {
        match self {
            Self::Bulk { .. } => [true, false],
            Self::RequestResponse { .. } => [false, true],
            Self::ConstantRate { .. } | Self::Program { .. } => [false, false],
        }
    }

    /// Payload of the source with whose acknowledgement the flow is complete; `None` if that is not what completes it.
    pub fn acknowledged_bytes(&self) -> Option<u64> {
        if let Self::Bulk { bytes } = self { *bytes } else { None }
    }

    /// Its requests and responses, in order.
    pub fn exchanges(&self) -> Option<&[ExchangeRun]> {
        if let Self::RequestResponse { exchanges } = self { Some(exchanges) } else { None }
    }

    /// Its programs, the client's first.
    pub fn commands(&self) -> [Option<&Command>; 2] {
        match self {
            Self::Program { client, server } => [client.as_ref(), server.as_ref()],
            _ => [None, None],
        }
    }

    /// Whether its packets are UDP.
    pub fn is_udp(&self) -> bool {
        match self {
            Self::Bulk { .. } | Self::RequestResponse { .. } | Self::Program { .. } => false,
            Self::ConstantRate { .. } => true,
        }
    }
}

/// An application at `src` with its peer at `dst`, and the transport between them: one TCP connection, or datagrams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique name.
    pub name: String,
    /// Group in which figures and metrics aggregate it.
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
    /// Its application.
    pub application: Application,
    /// When the sender opens the connection, or sends its first datagram.
    pub start_ps: u64,
    /// Path from the sender's NIC queue to the receiver.
    pub data_path: u32,
    /// Path from the receiver's NIC queue to the sender.
    pub ack_path: u32,
}
