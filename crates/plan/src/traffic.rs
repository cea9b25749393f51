//! What hosts send.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a flow's application does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Application {
    /// Transfers data in one direction, over TCP.
    Bulk {
        /// Payload; null for a transfer without end.
        bytes: Option<u64>,
    },
    /// The sender asks and the receiver answers, over TCP: several exchanges in a row on one connection, which the
    /// sender closes at the end.
    RequestResponse {
        /// The exchanges in their order.
        exchanges: Vec<ExchangeRun>,
    },
    /// Sends datagrams of one size at even intervals, over UDP.
    ConstantRate {
        /// Rate of the payload.
        rate_bps: u64,
        /// Payload of each datagram.
        payload_bytes: u32,
        /// From then on nothing is sent; null for a source that goes on to the end of the run.
        stop_ps: Option<u64>,
    },
    /// Runs programs of the machine at one or both hosts, on the kernel engine alone. The connections that they make
    /// are found by their packets, and take the flow's paths.
    Program {
        /// At `src`, from the flow's start on.
        client: Option<Command>,
        /// At `dst`, from before the run's first instant on; it is ended when all clients of the run have ended.
        server: Option<Command>,
    },
}

/// A program with its arguments and surroundings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The program, as a path or the name of one in the standard folders, and its arguments.
    pub arguments: Vec<String>,
    /// When it is asked to end; null for a program that ends by itself, or with the run.
    pub stop_ps: Option<u64>,
    /// Where it is started: in its private folder, or at an absolute path of the machine.
    pub folder: String,
    /// What its environment has besides the usual.
    pub environment: BTreeMap<String, String>,
    /// Files of its private folder: the content of each in Base64 (RFC 4648).
    pub files: BTreeMap<String, String>,
}

/// Exchanges in a row that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExchangeRun {
    /// How many there are.
    pub count: u32,
    /// Payload of each request.
    pub request_bytes: u64,
    /// Payload of each response.
    pub response_bytes: u64,
    /// Time from the end of the response before to each request; the first request of the flow does not wait.
    pub think_ps: u64,
}

impl Application {
    /// Payload that it has transferred when it is complete, requests and responses together; `None` if it never is.
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

    /// Its programs, the client's first.
    pub fn commands(&self) -> [Option<&Command>; 2] {
        match self {
            Self::Program { client, server } => [client.as_ref(), server.as_ref()],
            _ => [None, None],
        }
    }

    /// Whether its packets are UDP's.
    pub fn is_udp(&self) -> bool {
        match self {
            Self::Bulk { .. } | Self::RequestResponse { .. } | Self::Program { .. } => false,
            Self::ConstantRate { .. } => true,
        }
    }
}

/// An application at `src` and its peer at `dst`, and what carries their data: one TCP connection, or datagrams.
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
    /// What it does.
    pub application: Application,
    /// When the sender opens the connection, or sends its first datagram.
    pub start_ps: u64,
    /// Path from the sender's NIC queue to the receiver.
    pub data_path: u32,
    /// Path from the receiver's NIC queue to the sender.
    pub ack_path: u32,
}
