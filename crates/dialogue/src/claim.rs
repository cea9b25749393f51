//! What a line claims about a value: that it equals another, or is greater or less.

use std::fmt;

/// A relation between two values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relation {
    /// Equal.
    #[default]
    Is,
    /// Not equal.
    IsNot,
    /// Less.
    Below,
    /// Not more.
    AtMost,
    /// More.
    Above,
    /// Not less.
    AtLeast,
}

impl Relation {
    /// The relations with their signs.
    pub const SIGNS: [(Self, &str); 6] = [
        (Self::Is, "="),
        (Self::IsNot, "!="),
        (Self::Below, "<"),
        (Self::AtMost, "<="),
        (Self::Above, ">"),
        (Self::AtLeast, ">="),
    ];

    /// The relation of this sign.
    pub fn of(sign: &str) -> Option<Self> {
        Self::SIGNS.iter().find(|(_, known)| *known == sign).map(|(relation, _)| *relation)
    }

    /// Whether it is an order, which needs numbers.
    pub fn is_order(self) -> bool {
        !matches!(self, Self::Is | Self::IsNot)
    }

    /// Whether it holds between `left` and `right`.
    pub fn holds<T: Ord>(self, left: T, right: T) -> bool {
        match self {
            Self::Is => left == right,
            Self::IsNot => left != right,
            Self::Below => left < right,
            Self::AtMost => left <= right,
            Self::Above => left > right,
            Self::AtLeast => left >= right,
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = Self::SIGNS.iter().find(|(relation, _)| relation == self).map(|(_, sign)| *sign);
        write!(f, "{}", sign.unwrap_or_default())
    }
}

/// The value that a stack has to report under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The name.
    pub name: String,
    /// The relation of the reported value to `value`.
    pub relation: Relation,
    /// The expected value, in the notation of reports.
    pub value: String,
}

impl Claim {
    /// Whether the reported value satisfies the claim; an order needs numbers.
    pub fn holds(&self, reported: &str) -> Result<bool, String> {
        if !self.relation.is_order() {
            return Ok(self.relation.holds(reported, self.value.as_str()));
        }
        match (number(reported), number(&self.value)) {
            (Some(reported), Some(value)) => Ok(self.relation.holds(reported, value)),
            _ => Err(format!("{} is {reported}, which is neither more nor less than {}", self.name, self.value)),
        }
    }
}

/// A number in the notation of reports: plain, in microseconds, or infinite.
pub(crate) fn number(word: &str) -> Option<u64> {
    match word {
        "infinite" => Some(u64::MAX),
        _ => word.strip_suffix("us").unwrap_or(word).parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_hold_or_not() {
        let holds = |sign: &str, reported: &str, value: &str| {
            let relation = Relation::of(sign).expect("a sign");
            Claim { name: "it".into(), relation, value: value.into() }.holds(reported)
        };
        assert_eq!(
            [holds("<", "9", "10"), holds("<", "10", "10"), holds("<=", "10", "10")].map(Result::unwrap),
            [true, false, true]
        );
        assert_eq!([holds(">", "10us", "9us"), holds(">=", "9us", "10us")].map(Result::unwrap), [true, false]);
        assert_eq!([holds(">", "infinite", "10"), holds("!=", "Open", "Loss")].map(Result::unwrap), [true, true]);
        assert_eq!(holds("<", "Open", "10").unwrap_err(), "it is Open, which is neither more nor less than 10");
    }
}
