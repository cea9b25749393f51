//! The list of congestion rules. A new rule is one file, which declares its name and parameters, and one line here.

use super::{
    Entry, bbr, bic, cdg, compound, cubic, dctcp, highspeed, htcp, hybla, illinois, lp, nv, reno, retcp, scalable,
    vegas, veno, westwood, yeah,
};

/// Every rule, by name.
pub const REGISTRY: &[Entry] = &[
    reno::ENTRY,
    cubic::ENTRY,
    westwood::ENTRY,
    scalable::ENTRY,
    highspeed::ENTRY,
    bic::ENTRY,
    htcp::ENTRY,
    hybla::ENTRY,
    veno::ENTRY,
    vegas::ENTRY,
    illinois::ENTRY,
    yeah::ENTRY,
    lp::ENTRY,
    cdg::ENTRY,
    nv::ENTRY,
    compound::ENTRY,
    dctcp::ENTRY,
    retcp::ENTRY,
    bbr::ENTRY,
];

/// A name that is not registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown TCP variant \"{name}\"; known are {}", known())]
pub struct UnknownVariant {
    /// The unknown name.
    pub name: String,
}

fn known() -> String {
    REGISTRY.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
}

/// Looks a rule up by its name.
pub fn find(name: &str) -> Result<&'static Entry, UnknownVariant> {
    REGISTRY.iter().find(|entry| entry.name == name).ok_or_else(|| UnknownVariant { name: name.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybreak_units::parameters::{Kind, Parameter, Value};

    #[test]
    fn every_rule_has_a_default_for_each_parameter() {
        for entry in REGISTRY {
            entry.rule(1);
            assert!(entry.parameters.iter().all(|parameter| !parameter.summary.is_empty()), "{}", entry.name);
        }
    }

    /// Another value than the default one.
    fn another(parameter: &Parameter) -> Value {
        let default = parameter.default.expect("every parameter has one");
        match (parameter.kind, default) {
            (Kind::Switch, Value::Switch(on)) => Value::Switch(!on),
            (Kind::Number { least, most }, Value::Number(value)) => {
                Value::Number(if value > least { (value + least) / 2.0 } else { (value + most) / 2.0 })
            }
            (Kind::Count { most, .. }, Value::Count(value)) => {
                Value::Count(if value < most { value + 1 } else { value - 1 })
            }
            (Kind::Packets { .. }, Value::Packets(value)) => Value::Packets(value + 1),
            (Kind::Time { .. }, Value::Ps(value)) => Value::Ps(value + 1_000_000_000),
            other => panic!("{}: {other:?}", parameter.name),
        }
    }

    #[test]
    fn every_parameter_reaches_its_rule() {
        for entry in REGISTRY {
            let rule = |given: &[(&str, Value)]| {
                let settings = entry.settings(given.iter().copied()).expect("these are declared");
                format!("{:?}", (entry.new)(&settings, 1))
            };
            for parameter in entry.parameters {
                let name = parameter.name;
                assert_eq!(rule(&[(name, parameter.default.expect("a default"))]), rule(&[]), "{} {name}", entry.name);
                assert_ne!(rule(&[(name, another(parameter))]), rule(&[]), "{} {name}", entry.name);
            }
        }
    }

    #[test]
    fn rules_that_draw_can_be_told_what_to_draw() {
        for entry in REGISTRY {
            let rule = &mut entry.rule(1).control;
            assert_eq!(rule.draws().is_some(), ["cdg", "nv", "bbr"].contains(&entry.name), "{}", entry.name);
            assert!(!rule.marks_app_limited(), "{} probes for no RTT yet", entry.name);
        }
    }
}
