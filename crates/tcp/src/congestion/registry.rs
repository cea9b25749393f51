//! The list of congestion rules. A new rule is one file and one line here.

use super::{
    Bbr, Bic, Cdg, Congestion, Cubic, HTcp, HighSpeed, Hybla, Illinois, Lp, Nv, ReTcp, Reno, Scalable, Vegas, Veno,
    Westwood, Yeah,
};
use crate::slow_start::HyStart;

/// One registered rule.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Name as Linux spells it in `tcp_congestion_control`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Makes a rule for one connection; `seed` feeds the rule's own random stream.
    pub new: fn(seed: u64) -> Box<dyn Congestion>,
}

/// Every rule, by name.
pub const REGISTRY: &[Entry] = &[
    Entry { name: "reno", summary: "Reno (RFC 5681)", new: |_| Box::new(Reno) },
    Entry { name: "cubic", summary: "CUBIC with HyStart (RFC 9438)", new: |_| Box::new(Cubic::<HyStart>::default()) },
    Entry { name: "westwood", summary: "Westwood+ (Grieco and Mascolo, 2004)", new: |_| Box::new(Westwood::default()) },
    Entry { name: "scalable", summary: "Scalable TCP (Kelly, 2003)", new: |_| Box::new(Scalable) },
    Entry { name: "highspeed", summary: "HighSpeed TCP (RFC 3649)", new: |_| Box::new(HighSpeed::default()) },
    Entry { name: "bic", summary: "BIC (Xu, Harfoush and Rhee, 2004)", new: |_| Box::new(Bic::default()) },
    Entry { name: "htcp", summary: "H-TCP (Leith and Shorten, 2004)", new: |_| Box::new(HTcp::default()) },
    Entry { name: "hybla", summary: "Hybla (Caini and Firrincieli, 2004)", new: |_| Box::new(Hybla::default()) },
    Entry { name: "veno", summary: "Veno (Fu and Liew, 2003)", new: |_| Box::new(Veno::default()) },
    Entry { name: "vegas", summary: "Vegas (Brakmo and Peterson, 1995)", new: |_| Box::new(Vegas::default()) },
    Entry {
        name: "illinois",
        summary: "Illinois (Liu, Basar and Srikant, 2008)",
        new: |_| Box::new(Illinois::default()),
    },
    Entry { name: "yeah", summary: "YeAH (Baiocchi et al., 2007)", new: |_| Box::new(Yeah::default()) },
    Entry {
        name: "lp",
        summary: "TCP-LP, low priority (Kuzmanovic and Knightly, 2006)",
        new: |_| Box::new(Lp::default()),
    },
    Entry {
        name: "cdg",
        summary: "CDG, delay gradients (Hayes and Armitage, 2011)",
        new: |seed| Box::new(Cdg::new(seed)),
    },
    Entry { name: "nv", summary: "NV, New Vegas (Brakmo, 2010)", new: |seed| Box::new(Nv::new(seed)) },
    Entry {
        name: "retcp",
        summary: "reTCP, Reno with circuit marks (Mukerjee et al., 2020)",
        new: |_| Box::new(ReTcp::default()),
    },
    Entry { name: "bbr", summary: "BBR version 1 (Cardwell et al., 2017)", new: |seed| Box::new(Bbr::new(seed)) },
];

/// A name that is not registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown TCP variant \"{name}\"; known are {}", known())]
pub struct UnknownVariant {
    /// The name that was asked for.
    pub name: String,
}

fn known() -> String {
    REGISTRY.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
}

/// Looks a rule up by its name.
pub fn find(name: &str) -> Result<&'static Entry, UnknownVariant> {
    REGISTRY.iter().find(|entry| entry.name == name).ok_or_else(|| UnknownVariant { name: name.into() })
}
