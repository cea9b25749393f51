//! Parameters of congestion controls, where Linux offers them: as parameters of a module, one for the whole kernel.

use daybreak_plan::{Plan, Value};

use crate::error::GuestError;

/// Switches of modules that take effect whenever they are written, by the name of the rule. Others are read when the
/// module is loaded (from cubic's `beta` its slope in the TCP-friendly region is computed then), or are not there.
const SWITCHES: [(&str, &[&str]); 1] = [("cubic", &["hystart", "fast_convergence", "tcp_friendliness"])];

/// One parameter of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleParameter {
    module: String,
    name: String,
    value: &'static str,
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
        let known = SWITCHES.iter().find(|(name, _)| *name == rule.name).map_or(&[][..], |(_, switches)| switches);
        for (name, value) in &rule.parameters {
            let &Value::Switch(on) = value else {
                return refuse(name, format!("Linux has no such parameter of {} to set; leave it out", rule.name));
            };
            if !known.contains(&name.as_str()) {
                return refuse(name, format!("Linux has no such parameter of {} to set; leave it out", rule.name));
            }
            if plan.rules.iter().any(|other| other.name == rule.name && other != rule) {
                let problem = format!("Linux has one for all flows, and some are of {} with others", rule.name);
                return refuse(name, problem);
            }
            let (module, name) = (format!("tcp_{}", rule.name), name.clone());
            all.push(ModuleParameter { module, name, value: if on { "1" } else { "0" } });
        }
    }
    Ok(all)
}

impl ModuleParameter {
    /// Sets it in this kernel.
    pub fn set(&self) -> Result<(), GuestError> {
        let path = format!("/sys/module/{}/parameters/{}", self.module, self.name);
        std::fs::write(&path, self.value).map_err(|error| GuestError::io(format!("write {path}"), error))
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
    fn switches_of_cubic_are_set_and_other_parameters_refused() {
        let hystart = ("hystart", Value::Switch(false));
        let module = "tcp_cubic".to_owned();
        let expected = ModuleParameter { module, name: "hystart".to_owned(), value: "0" };
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
