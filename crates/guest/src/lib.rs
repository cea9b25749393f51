//! A run on real Linux: one User-Mode Linux whose clock is virtual, with the plan's hosts in it.
//!
//! Two programs share this library. The init of the guest (`daybreak-guest`) makes the hosts out of network
//! namespaces, starts the flows and samples their sockets. The switch (`daybreak-guest-switch`) is loaded by the kernel
//! itself, whose process is an ordinary one of the user's: it drives the same fabric as the simulator between the
//! hosts' NICs, and fills the same tables.
//!
//! **What is real:** TCP, the sockets, the qdisc of the NIC, timers. **What is the fabric's:** every link
//! and queue behind the NICs, timelines, losses. **What is missing:** segmentation offload, and the cost of processing:
//! the guest's computer is infinitely fast.

pub mod baseline;
pub mod capture;
pub mod confine;
pub mod counters;
pub mod device;
pub mod dialogues;
pub mod discover;
pub mod error;
pub mod events;
pub mod flows;
pub mod follow;
pub mod headers;
pub mod host;
pub mod hosts;
pub mod interface;
pub mod jiffies;
pub mod layout;
pub mod lookahead;
pub mod marks;
pub mod modules;
pub mod netlink;
pub mod output;
pub mod programs;
pub mod report;
pub mod results;
pub mod run;
pub mod session;
pub mod skb;
pub mod sockets;
pub mod spinning;
pub mod supervise;
pub mod switch;
pub mod system;
pub mod tcp_info;
pub mod track;
