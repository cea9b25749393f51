//! The words of a line, read one after the other.

use std::str::FromStr;

use daybreak_units::{Duration, Instant, Rate};

use crate::claim::Relation;

/// Longest time in a dialogue, so that no sum of times overflows.
pub(crate) const LONGEST: Duration = Duration::from_secs(4_000_000);

/// The remaining words of a line.
pub(crate) struct Words<'a> {
    line: &'a str,
    rest: &'a str,
    /// Start of the word that was taken last.
    last: usize,
}

impl<'a> Words<'a> {
    /// The words before a comment.
    pub fn of(line: &'a str) -> Self {
        let content = line.split('#').next().unwrap_or_default();
        Self { line: content, rest: content.trim_start(), last: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Column, from 1, of the word that was taken last.
    pub fn column(&self) -> usize {
        self.line[..self.last].chars().count() + 1
    }

    /// The next word, without taking it.
    pub fn peek(&self) -> Option<&'a str> {
        self.rest.split_whitespace().next()
    }

    pub fn next(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.last = self.line.len() - self.rest.len();
        self.rest = self.rest[word.len()..].trim_start();
        Some(word)
    }

    /// The rest of the line verbatim.
    pub fn all(&mut self) -> &'a str {
        std::mem::take(&mut self.rest).trim_end()
    }

    pub fn take(&mut self, what: &str) -> Result<&'a str, String> {
        self.next().ok_or_else(|| {
            self.last = self.line.trim_end().len();
            format!("{what} is missing at the end of the line")
        })
    }

    /// Takes the next word if it is this one.
    pub fn takes(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(word);
        if is_next {
            self.next();
        }
        is_next
    }

    pub fn number<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        let word = self.take(what)?;
        word.parse().map_err(|_| format!("{what} must be a whole number, not \"{word}\""))
    }

    /// A whole number within a range.
    pub fn within(&mut self, what: &str, least: u64, most: u64) -> Result<u64, String> {
        let number = self.number(what)?;
        if (least..=most).contains(&number) {
            return Ok(number);
        }
        Err(format!("{what} is between {least} and {most}, not {number}"))
    }

    /// [`Words::within`] for a field of 32 bits.
    pub fn within_u32(&mut self, what: &str, least: u32, most: u32) -> Result<u32, String> {
        self.within(what, least.into(), most.into()).map(|number| number as u32)
    }

    pub fn duration(&mut self, what: &str) -> Result<Duration, String> {
        duration(self.take(what)?)
    }

    pub fn instant(&mut self, what: &str) -> Result<Instant, String> {
        self.duration(what).map(|span| Instant::ZERO + span)
    }

    pub fn rate(&mut self, what: &str) -> Result<Rate, String> {
        rate(self.take(what)?)
    }

    pub fn switch(&mut self) -> Result<bool, String> {
        match self.take("on or off")? {
            "on" => Ok(true),
            "off" => Ok(false),
            word => Err(format!("expected on or off, not \"{word}\"")),
        }
    }

    /// `<`, `>=` and so on; `=` when there is none.
    pub fn relation(&mut self) -> Relation {
        let relation = self.peek().and_then(Relation::of);
        if relation.is_some() {
            self.next();
        }
        relation.unwrap_or_default()
    }
}

/// A decimal number with a unit, or 0.
pub(crate) fn duration(word: &str) -> Result<Duration, String> {
    const UNITS: [(&str, u32); 5] = [("ps", 0), ("ns", 3), ("us", 6), ("ms", 9), ("s", 12)];
    let bad = || format!("a time is a number with ps, ns, us, ms or s, not \"{word}\"");
    if word == "0" {
        return Ok(Duration::ZERO);
    }
    let (number, exponent) =
        UNITS.iter().find_map(|(unit, exponent)| Some((word.strip_suffix(unit)?, *exponent))).ok_or_else(bad)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !are_digits(whole) || !are_digits(fraction) || fraction.len() > exponent as usize {
        return Err(bad());
    }
    let digits = format!("{whole}{fraction:0<width$}", width = exponent as usize);
    let span = digits.parse().map(Duration::from_ps).unwrap_or(Duration::from_ps(u64::MAX));
    if span > LONGEST { Err(format!("a time is at most {LONGEST}, not \"{word}\"")) } else { Ok(span) }
}

fn rate(word: &str) -> Result<Rate, String> {
    const UNITS: [(&str, u64); 3] = [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000)];
    let bad = || format!("a rate is a whole number with kbit/s, Mbit/s or Gbit/s, not \"{word}\"");
    let (number, factor) =
        UNITS.iter().find_map(|(unit, factor)| Some((word.strip_suffix(unit)?, *factor))).ok_or_else(bad)?;
    let number: u64 = number.parse().map_err(|_| bad())?;
    // At least a byte a second; at most what a picosecond a byte allows.
    let bps = number.checked_mul(factor).filter(|bps| (8..=8_000_000_000_000).contains(bps));
    bps.map(Rate::from_bps).ok_or_else(|| format!("a rate is between 1 kbit/s and 8000 Gbit/s, not \"{word}\""))
}
