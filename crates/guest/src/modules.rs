//! Parameters of congestion controls in Linux: module parameters, shared by the whole kernel.

use daybreak_plan::{Plan, Value};

use crate::error::GuestError;

/// The representation of a module's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Representation {
    /// 0 or 1.
    Switch,
    /// The number itself.
    Whole,
    /// In 1/1024.
    Fraction,
    /// In milliseconds.
    Milliseconds,
}

use Representation::{Fraction, Milliseconds, Switch, Whole};

/// Parameters of modules that take effect whenever they are written, by the name of the rule. Others are read when the
/// module is loaded (from cubic's `beta` its slope in the TCP-friendly region is computed then), or are not there.
const KNOWN: [(&str, &[(&str, Representation)]); 7] = [
    ("cubic", &[("hystart", Switch), ("fast_convergence", Switch), ("tcp_friendliness", Switch)]),
    (
        "bic",
        &[
            ("fast_convergence", Switch),
            ("max_increment", Whole),
            ("low_window", Whole),
            ("beta", Fraction),
            ("smooth_part", Whole),
            ("initial_ssthresh", Whole),
        ],
    ),
    ("htcp", &[("use_rtt_scaling", Switch), ("use_bandwidth_switch", Switch)]),
    ("hybla", &[("rtt0", Milliseconds)]),
    ("vegas", &[("alpha", Whole), ("beta", Whole), ("gamma", Whole)]),
    (
        "cdg",
        &[
            ("backoff_beta", Fraction),
            ("backoff_factor", Whole),
            ("hystart_detect", Whole),
            ("use_ineff", Whole),
            ("use_shadow", Switch),
            ("use_tolerance", Switch),
        ],
    ),
    ("nv", &[("nv_pad", Whole), ("nv_reset_period", Whole), ("nv_min_cwnd", Whole)]),
];

/// One parameter of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleParameter {
    module: String,
    name: String,
    value: String,
}

/// The parameters that a plan gives, or why they cannot be set.
pub fn parameters(plan: &Plan) -> Result<Vec<ModuleParameter>, GuestError> {
    let mut all = Vec::new();
    for rule in &plan.rules {
        let refuse = |name: &str, problem: String| {
            let field = format!("{name} of variant \"{}\"", rule.name);
            let value = rule.parameters.get(name).map_or("missing".to_owned(), Value::to_string);
            Err(GuestError::Unsupported { field, value, problem })
        };
        let known = KNOWN.iter().find(|(name, _)| *name == rule.name).map_or(&[][..], |(_, parameters)| parameters);
        for (name, &value) in &rule.parameters {
            let Some((_, kept)) = known.iter().find(|(parameter, _)| parameter == name) else {
                return refuse(name, format!("Linux has no such parameter of {} to set; leave it out", rule.name));
            };
            let Some(value) = kept.written(value) else {
                return refuse(name, "Linux has it in whole milliseconds".to_owned());
            };
            if plan.rules.iter().any(|other| other.name == rule.name && other != rule) {
                let problem = format!("Linux has one for all flows, and some are of {} with others", rule.name);
                return refuse(name, problem);
            }
            let (module, name) = (format!("tcp_{}", rule.name), name.clone());
            all.push(ModuleParameter { module, name, value });
        }
    }
    Ok(all)
}

impl Representation {
    /// A value in the module's representation; `None` if it has none.
    fn written(self, value: Value) -> Option<String> {
        match (self, value) {
            (Switch, Value::Switch(on)) => Some(u8::from(on).to_string()),
            (Whole, Value::Count(count)) => Some(count.to_string()),
            (Fraction, Value::Number(part)) => Some((part * 1024.0).round().to_string()),
            (Milliseconds, Value::Ps(ps)) => ps.is_multiple_of(1_000_000_000).then(|| (ps / 1_000_000_000).to_string()),
            _ => None,
        }
    }
}

impl ModuleParameter {
    /// Sets it in this kernel.
    pub fn set(&self) -> Result<(), GuestError> {
        let path = format!("/sys/module/{}/parameters/{}", self.module, self.name);
        std::fs::write(&path, &self.value).map_err(|error| GuestError::io(format!("write {path}"), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybreak_plan::Choice;

    fn with(parameters: &[(&str, Value)]) -> Plan {
        let mut plan = crate::layout::tests::plan();
        plan.rules = vec![Choice::plain("cubic")];
        plan.rules[0].parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        plan
    }

    #[test]
    fn parameters_are_written_as_their_modules_have_them() {
        let written = |rule: &str, name: &str, value| {
            let mut plan = with(&[(name, value)]);
            plan.rules[0].name = rule.to_owned();
            parameters(&plan).map(|all| all[0].value.clone()).map_err(|error| error.to_string())
        };
        assert_eq!(written("bic", "beta", Value::Number(0.8)).unwrap(), "819");
        assert_eq!(written("vegas", "alpha", Value::Count(20)).unwrap(), "20");
        assert_eq!(written("hybla", "rtt0", Value::Ps(30_000_000_000)).unwrap(), "30");
        assert!(written("hybla", "rtt0", Value::Ps(30_500_000_000)).unwrap_err().ends_with("whole milliseconds"));
        // Its module makes it read-only.
        assert!(written("illinois", "theta", Value::Count(5)).unwrap_err().contains("no such parameter of illinois"));
    }

    #[test]
    fn switches_of_cubic_are_set_and_other_parameters_refused() {
        let hystart = ("hystart", Value::Switch(false));
        let module = "tcp_cubic".to_owned();
        let expected = ModuleParameter { module, name: "hystart".to_owned(), value: "0".to_owned() };
        let mut plan = with(&[hystart]);
        assert_eq!(parameters(&plan).unwrap(), [expected]);
        plan.rules.push(Choice::plain("reno"));
        assert!(parameters(&plan).is_ok());
        plan.rules.push(Choice::plain("cubic"));
        let refusal = parameters(&plan).unwrap_err().to_string();
        assert!(refusal.ends_with(
            "hystart of variant \"cubic\" is false: Linux has one for all flows, and some are of cubic with others"
        ));
        let refusal = parameters(&with(&[("beta", Value::Number(0.8)), hystart])).unwrap_err().to_string();
        assert!(
            refusal.ends_with(
                "beta of variant \"cubic\" is 0.8: Linux has no such parameter of cubic to set; leave it out"
            )
        );
    }
}
