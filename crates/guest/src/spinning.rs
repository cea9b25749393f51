//! Outside the guest: finds the program that keeps its time from passing.
//!
//! Virtual time stands still while a program runs, so one that never waits ends the run. The guest cannot see it, since
//! it gets no turn; the machine can. Every process of the guest is a process there, with the program's memory, in which
//! the name stands that its supervisor has put into the environment. One that was started without this environment is
//! known by its file.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// The variable with the name of a program in words.
pub const NAME: &str = "DAYBREAK_PROGRAM";
/// Real time in which processes are compared.
const LOOK: Duration = Duration::from_millis(500);
/// Memory that is looked at, from the highest on: the environment lies at the end of the stack.
const MOST_REGIONS: usize = 256;
const MOST_BYTES: u64 = 1 << 18;

/// Describes the program in the process group of a guest's kernel that used most processor time in a while.
#[expect(clippy::disallowed_methods, reason = "outside of the guest real time passes")]
pub fn busiest(group: u32) -> Option<String> {
    let before = times(group);
    std::thread::sleep(LOOK);
    let mut grown: Vec<(u64, u32)> = times(group)
        .into_iter()
        .filter(|&(process, _)| process != group)
        .map(|(process, now)| {
            let then = before.iter().find(|(other, _)| *other == process).map_or(0, |&(_, then)| then);
            (now - then.min(now), process)
        })
        .collect();
    grown.sort_unstable();
    grown.into_iter().rev().find_map(|(_, process)| name_of(process))
}

/// Processor time of each process in a group, in ticks.
fn times(group: u32) -> Vec<(u32, u64)> {
    let of = |entry: fs::DirEntry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // Behind the name, which may have any character, comes the state as field 3.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        (field(5)? == u64::from(group)).then_some(())?;
        Some((process, field(14)? + field(15)?))
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(of).collect()
}

/// The name in the memory of a process.
fn name_of(process: u32) -> Option<String> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let memory = File::open(format!("/proc/{process}/mem")).ok()?;
    let regions = maps.lines().rev().filter(|line| line.split(' ').nth(1).is_some_and(|mode| mode.starts_with("rw")));
    // Its memory has the stack of the guest's kernel as well, which ends in the same way.
    let kernel = fs::read_link(format!("/proc/{process}/exe")).ok()?;
    let mut file = None;
    let name = regions.take(MOST_REGIONS).find_map(|line| {
        let (start, end) = line.split(' ').next()?.split_once('-')?;
        let [start, end] = [start, end].map(|number| u64::from_str_radix(number, 16).ok());
        let (start, end) = (start?, end?);
        let from = start.max(end.saturating_sub(MOST_BYTES));
        let mut bytes = vec![0; (end - from) as usize];
        memory.read_exact_at(&mut bytes, from).ok()?;
        file = file.take().or_else(|| file_in(&bytes).filter(|name| Path::new(name) != kernel));
        name_in(&bytes)
    });
    name.or_else(|| Some(format!("a program ({})", file?)))
}

/// The file that was started, whose name is the last word of a stack, before eight zero bytes.
fn file_in(bytes: &[u8]) -> Option<String> {
    let word = bytes.strip_suffix(&[0; 8])?.strip_suffix(&[0])?.rsplit(|&byte| byte == 0).next()?;
    let name = std::str::from_utf8(word).ok()?;
    (!name.is_empty() && !name.contains(char::is_control)).then(|| name.to_owned())
}

/// The value of the variable in an environment somewhere in some bytes.
fn name_in(bytes: &[u8]) -> Option<String> {
    let mut variables = bytes.split(|&byte| byte == 0);
    let value = variables.find_map(|variable| variable.strip_prefix(NAME.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(value).replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_that_of_the_variable() {
        let memory = b"\0\0HOME=/\0DAYBREAK_PROGRAMS=no\0DAYBREAK_PROGRAM=the client\nof it\0PATH=/bin\0";
        assert_eq!(name_in(memory).as_deref(), Some("the client of it"));
        assert_eq!(name_in(b"DAYBREAK=1"), None);
    }

    #[test]
    fn a_stack_ends_with_the_name_of_the_file() {
        let stack = b"\x01\0sh\0-c\0HOME=/\0/bin/sh\0\0\0\0\0\0\0\0\0";
        assert_eq!(file_in(stack).as_deref(), Some("/bin/sh"));
        assert_eq!(file_in(b"/bin/sh\0"), None);
        assert_eq!(file_in(&[0; 64]), None);
    }
}
