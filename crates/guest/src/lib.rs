//! The program that runs inside the real-kernel engine: the only process of a User-Mode Linux whose
//! clock is virtual.
//!
//! It makes the plan's hosts out of network namespaces, lets their real TCP stacks send and receive, and
//! drives the same fabric as the simulator between their NICs. It fills the same tables.
//!
//! **What is real:** TCP, the sockets, the qdisc of the NIC, timers. **What is the fabric's:** every link
//! and queue behind the NICs, timelines, losses. **What is not there:** segmentation offload, and the
//! cost of processing: the guest's computer is infinitely fast.

pub mod baseline;
pub mod capture;
pub mod counters;
pub mod dialogues;
pub mod error;
pub mod events;
pub mod flows;
pub mod headers;
pub mod host;
pub mod hosts;
pub mod layout;
pub mod lookahead;
pub mod netlink;
pub mod results;
pub mod ring;
pub mod run;
pub mod switch;
pub mod system;
pub mod tcp_info;
pub mod track;
