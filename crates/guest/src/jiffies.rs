//! Where the kernel's tick stands. The timer wheel rounds an expiry up to slots that are counted from jiffy
//! zero, so a run that is to have the model's times must begin where the model's clock begins: at a jiffy that
//! starts a slot of every level that its timers may reach.

use crate::error::GuestError;
use crate::system;

/// Slots of the level that holds timers of up to 32 s are 512 jiffies, of the next 4,096.
const ALIGNMENT: u64 = 4_096;
/// For how many jiffies the clock and their count must agree.
const WATCHED: u64 = 4;
const TIMER_LIST: &str = "/proc/timer_list";

/// When, on the monotonic clock, the first jiffy at least `settle_ns` from now starts whose number is a multiple
/// of the alignment.
pub fn next_aligned(settle_ns: u64) -> Result<u64, GuestError> {
    let jiffy_ns = system::clock_resolution_ns(libc::CLOCK_MONOTONIC_COARSE);
    let mut start_ns = (system::clock_ns(libc::CLOCK_MONOTONIC) + settle_ns + jiffy_ns).next_multiple_of(jiffy_ns);
    let mut jiffies = count_at(start_ns)?;
    loop {
        // Linux 6.1 counts a jiffy too many while it boots, and puts that right when the processor has first been idle.
        start_ns += WATCHED * jiffy_ns;
        let before = std::mem::replace(&mut jiffies, count_at(start_ns)?);
        if jiffies - before == WATCHED {
            break;
        }
    }
    // Never this jiffy, of which a moment has passed.
    Ok(start_ns + ((jiffies + 1).next_multiple_of(ALIGNMENT) - jiffies) * jiffy_ns)
}

/// The number of the jiffy that starts at `start_ns`, which has to be a tick, so that the count is up to date.
fn count_at(start_ns: u64) -> Result<u64, GuestError> {
    system::sleep_until(start_ns);
    let text = std::fs::read_to_string(TIMER_LIST).map_err(|error| GuestError::io(TIMER_LIST, error))?;
    parse(&text).ok_or_else(|| GuestError::Broken(format!("{TIMER_LIST} does not show the jiffies")))
}

fn parse(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("jiffies: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_count_is_found() {
        let text = "now at 5 nsecs\n  .idle_jiffies   : 7\n  .nr_events : 1\njiffies: 4294668296\n";
        assert_eq!(parse(text), Some(4_294_668_296));
        assert_eq!(parse("now at 5 nsecs\n"), None);
    }
}
