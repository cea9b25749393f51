//! Parameters: what users can set of a congestion rule or a queue discipline, and the values they set.
//!
//! Each rule or discipline declares its parameters in one list of [`Parameter`]s. The names that a scenario may use,
//! their units and ranges, the reference pages, and [`Settings`], the values of one use, all follow from that list.

use std::fmt;

use crate::Duration;

/// A declared parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its kind and range.
    pub kind: Kind,
    /// Its default value; `None` if a value is required.
    pub default: Option<Value>,
    /// A one-line description.
    pub summary: &'static str,
}

/// Kind of a parameter; ranges include their ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// On or off.
    Switch,
    /// A number without a unit.
    Number {
        /// Least value.
        least: f64,
        /// Greatest value.
        most: f64,
    },
    /// A whole number without a unit.
    Count {
        /// Least value.
        least: u64,
        /// Greatest value.
        most: u64,
    },
    /// A number of packets.
    Packets {
        /// Least value.
        least: u64,
        /// Greatest value.
        most: u64,
    },
    /// A number of bytes.
    Bytes {
        /// Least value.
        least: u64,
        /// Greatest value.
        most: u64,
    },
    /// A time.
    Time {
        /// Least value in picoseconds.
        least: u64,
        /// Greatest value in picoseconds.
        most: u64,
    },
    /// A rate.
    Rate {
        /// Least value in bit/s.
        least: u64,
        /// Greatest value in bit/s.
        most: u64,
    },
    /// The length of a queue, in either packets or bytes.
    Length {
        /// Least value.
        least: u64,
        /// Greatest value.
        most: u64,
    },
}

/// A value with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "unit", content = "value", rename_all = "snake_case", deny_unknown_fields)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Value {
    /// On or off.
    Switch(bool),
    /// A number without a unit.
    Number(f64),
    /// A whole number without a unit.
    Count(u64),
    /// Packets.
    Packets(u64),
    /// Bytes.
    Bytes(u64),
    /// A time in picoseconds.
    Ps(u64),
    /// A rate in bit/s.
    Bps(u64),
}

/// A value that cannot be set.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterError {
    /// There is no such parameter.
    Unknown {
        /// The name that was given.
        name: String,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// The value has another unit, or is out of range.
    Misfit {
        /// The parameter.
        name: &'static str,
        /// The value that was given.
        value: Value,
        /// The expected kind and range.
        expected: Kind,
    },
    /// A required value is missing.
    Missing {
        /// The parameter.
        name: &'static str,
        /// The expected kind and range.
        expected: Kind,
    },
}

/// The value of every declared parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    values: Vec<(Parameter, Value)>,
}

impl Parameter {
    /// A switch.
    pub const fn switch(name: &'static str, default: bool, summary: &'static str) -> Self {
        Self { name, kind: Kind::Switch, default: Some(Value::Switch(default)), summary }
    }

    /// A whole number without a unit, from `least` to `most`.
    pub const fn count(name: &'static str, default: u64, (least, most): (u64, u64), summary: &'static str) -> Self {
        Self { name, kind: Kind::Count { least, most }, default: Some(Value::Count(default)), summary }
    }

    /// A time in picoseconds, from `least` to `most`.
    pub const fn time(name: &'static str, default: u64, (least, most): (u64, u64), summary: &'static str) -> Self {
        Self { name, kind: Kind::Time { least, most }, default: Some(Value::Ps(default)), summary }
    }

    /// A number without a unit, from `least` to `most`.
    pub const fn number(name: &'static str, default: f64, (least, most): (f64, f64), summary: &'static str) -> Self {
        Self { name, kind: Kind::Number { least, most }, default: Some(Value::Number(default)), summary }
    }

    /// Whether `value` is of this kind and in the range.
    fn admits(&self, value: Value) -> bool {
        match (self.kind, value) {
            (Kind::Switch, Value::Switch(_)) => true,
            (Kind::Number { least, most }, Value::Number(value)) => least <= value && value <= most,
            (Kind::Count { least, most }, Value::Count(value))
            | (Kind::Packets { least, most }, Value::Packets(value))
            | (Kind::Bytes { least, most }, Value::Bytes(value))
            | (Kind::Time { least, most }, Value::Ps(value))
            | (Kind::Rate { least, most }, Value::Bps(value))
            | (Kind::Length { least, most }, Value::Packets(value) | Value::Bytes(value)) => {
                (least..=most).contains(&value)
            }
            _ => false,
        }
    }
}

impl Settings {
    /// The settings of one use: the `given` values, and defaults for the rest.
    ///
    /// # Errors
    /// If a name is unknown, a value does not fit, or a required one is missing.
    pub fn new<'a>(
        declared: &[Parameter],
        given: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Self, ParameterError> {
        let mut values: Vec<Option<Value>> = declared.iter().map(|parameter| parameter.default).collect();
        for (name, value) in given {
            let index = find(declared.iter(), name)?;
            values[index] = Some(fitting(&declared[index], value)?);
        }
        let settled = declared.iter().zip(values).map(|(&parameter, value)| {
            let missing = ParameterError::Missing { name: parameter.name, expected: parameter.kind };
            Ok((parameter, value.ok_or(missing)?))
        });
        Ok(Self { values: settled.collect::<Result<_, _>>()? })
    }

    /// Changes one value.
    ///
    /// # Errors
    /// If the name is unknown or the value does not fit; nothing is changed then.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), ParameterError> {
        let index = find(self.values.iter().map(|(parameter, _)| parameter), name)?;
        let (parameter, current) = &mut self.values[index];
        *current = fitting(parameter, value)?;
        Ok(())
    }

    /// The value of a declared parameter.
    ///
    /// # Panics
    /// If it is not declared.
    pub fn value(&self, name: &str) -> Value {
        let found = self.values.iter().find(|(parameter, _)| parameter.name == name);
        found.unwrap_or_else(|| panic!("the parameter \"{name}\" is used, but not declared")).1
    }

    /// A switch.
    ///
    /// # Panics
    /// If no switch of this name is declared; the same holds for the other kinds.
    pub fn switch(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Switch(value) => value,
            other => misused(name, other),
        }
    }

    /// A number without a unit.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Number(value) => value,
            other => misused(name, other),
        }
    }

    /// A whole number of packets, bytes or bits per second, or without a unit.
    pub fn whole(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Count(value) | Value::Packets(value) | Value::Bytes(value) | Value::Bps(value) => value,
            other => misused(name, other),
        }
    }

    /// A time.
    pub fn time(&self, name: &str) -> Duration {
        match self.value(name) {
            Value::Ps(value) => Duration::from_ps(value),
            other => misused(name, other),
        }
    }
}

fn find<'a>(declared: impl Iterator<Item = &'a Parameter> + Clone, name: &str) -> Result<usize, ParameterError> {
    declared.clone().position(|parameter| parameter.name == name).ok_or_else(|| ParameterError::Unknown {
        name: name.to_owned(),
        known: declared.map(|parameter| parameter.name).collect(),
    })
}

fn fitting(parameter: &Parameter, value: Value) -> Result<Value, ParameterError> {
    if parameter.admits(value) {
        return Ok(value);
    }
    Err(ParameterError::Misfit { name: parameter.name, value, expected: parameter.kind })
}

fn misused(name: &str, value: Value) -> ! {
    panic!("the parameter \"{name}\" is {value} and is read as something else")
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Count(value) => write!(f, "{value}"),
            Self::Packets(value) => write!(f, "{value} packets"),
            Self::Bytes(value) => write!(f, "{value} bytes"),
            Self::Ps(value) => write!(f, "{value} ps"),
            Self::Bps(value) => write!(f, "{value} bit/s"),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch => write!(f, "true or false"),
            Self::Number { least, most } => write!(f, "a number from {least} to {most}"),
            Self::Count { least, most } => write!(f, "a whole number from {least} to {most}"),
            Self::Packets { least, most } => write!(f, "packets, from {least} to {most}"),
            Self::Bytes { least, most } => write!(f, "bytes, from {least} to {most}"),
            Self::Time { least, most } => write!(f, "a time from {least} to {most} ps"),
            Self::Rate { least, most } => write!(f, "a rate from {least} to {most} bit/s"),
            Self::Length { least, most } => write!(f, "packets or bytes, from {least} to {most}"),
        }
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, known } if known.is_empty() => {
                write!(f, "there is no parameter \"{name}\": it has none")
            }
            Self::Unknown { name, known } => {
                write!(f, "there is no parameter \"{name}\"; known are {}", known.join(", "))
            }
            Self::Misfit { name, value, expected } => {
                write!(f, "parameter \"{name}\" is {value}: expected {expected}")
            }
            Self::Missing { name, expected } => write!(f, "parameter \"{name}\" is missing: expected {expected}"),
        }
    }
}

impl std::error::Error for ParameterError {}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: &[Parameter] = &[
        Parameter::switch("fast", true, "Be fast."),
        Parameter::number("beta", 0.7, (0.1, 0.9), "What is left."),
        Parameter {
            name: "threshold",
            kind: Kind::Length { least: 1, most: 100 },
            default: None,
            summary: "Where marking begins.",
        },
    ];

    fn made(given: &[(&str, Value)]) -> Result<Settings, String> {
        Settings::new(DECLARED, given.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let settings = made(&[("threshold", Value::Bytes(20)), ("beta", Value::Number(0.9))]).unwrap();
        assert!(settings.switch("fast"));
        assert_eq!(settings.number("beta"), 0.9);
        assert_eq!(settings.value("threshold"), Value::Bytes(20));
    }

    #[test]
    fn what_cannot_be_set_is_refused_in_one_sentence() {
        let refused = |given: &[(&str, Value)]| made(given).unwrap_err();
        let threshold = ("threshold", Value::Packets(1));
        assert_eq!(
            refused(&[threshold, ("bet", Value::Number(0.5))]),
            "there is no parameter \"bet\"; known are fast, beta, threshold"
        );
        assert_eq!(
            refused(&[threshold, ("beta", Value::Number(0.95))]),
            "parameter \"beta\" is 0.95: expected a number from 0.1 to 0.9"
        );
        assert_eq!(
            refused(&[("threshold", Value::Packets(101))]),
            "parameter \"threshold\" is 101 packets: expected packets or bytes, from 1 to 100"
        );
        assert_eq!(refused(&[threshold, ("fast", Value::Count(1))]), "parameter \"fast\" is 1: expected true or false");
        assert_eq!(refused(&[]), "parameter \"threshold\" is missing: expected packets or bytes, from 1 to 100");
        assert!(refused(&[threshold, ("beta", Value::Number(f64::NAN))]).contains("NaN"));
        let none = Settings::new(&[], [("beta", Value::Number(0.5))]).unwrap_err();
        assert_eq!(none.to_string(), "there is no parameter \"beta\": it has none");
    }

    #[test]
    fn a_value_can_be_changed_within_its_range() {
        let mut settings = made(&[("threshold", Value::Packets(5))]).unwrap();
        settings.set("threshold", Value::Packets(31)).unwrap();
        assert_eq!(settings.whole("threshold"), 31);
        assert!(settings.set("threshold", Value::Packets(0)).is_err());
        assert_eq!(settings.whole("threshold"), 31);
    }

    #[test]
    #[should_panic(expected = "is read as something else")]
    fn a_value_is_read_as_what_it_is() {
        made(&[("threshold", Value::Packets(5))]).unwrap().number("threshold");
    }
}
