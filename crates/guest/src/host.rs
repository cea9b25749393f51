//! Outside the guest: boots a kernel in the current directory, and ensures that nothing outlives the run.
//!
//! The parent process holds the other end of this one's standard input. When that closes, for whatever reason, the
//! kernel and its processes are killed, and everything in the directory is removed except the console's log.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::GuestError;
use crate::supervise::FOLDERS;
use crate::{spinning, system};

/// The console's log, all that remains of an aborted run.
const LOG: &str = "console.log";

/// The switch, which the kernel loads into its own process; it lies beside this program.
const SWITCH: &str = "libdaybreak_switch.so";
/// The environment variable that names it.
const SWITCH_VARIABLE: &str = "DAYBREAK_SWITCH";

/// What programs want and the flows of a plan do without: random numbers before any time has passed, which else the
/// kernel waits for; and a clock that shows a date of these years (in nanoseconds; the last of two words counts).
const FOR_PROGRAMS: [&str; 2] = ["random.trust_cpu=1", "time-travel-start=1700000000000000000"];

/// Boots `kernel` with `memory` (as in `mem=`) and waits for its end; returns 0 if it powered off.
pub fn boot(kernel: &str, memory: &str) -> Result<u8, GuestError> {
    let failed = |error| GuestError::io(format!("boot {kernel}"), error);
    let log = File::create(LOG).map_err(failed)?;
    let switch = std::env::current_exe().map_err(failed)?.with_file_name(SWITCH);
    if !switch.is_file() {
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(GuestError::io(format!("load the switch {}", switch.display()), missing));
    }
    let (console, end) = UnixStream::pair().map_err(failed)?;
    let mut command = Command::new(kernel);
    // Identical for every run: the kernel mixes its command line into its random numbers.
    command
        .arg(format!("mem={memory}"))
        .args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "init=/proc/self/cwd/daybreak-guest"])
        .args(["time-travel=inf-cpu", "time-travel-start=1700000000"])
        .args(["con=null", "con0=null,fd:1", "quiet", "uml_dir=./", "umid=uml"])
        .env(SWITCH_VARIABLE, switch)
        .stdin(Stdio::null())
        .stdout(OwnedFd::from(end))
        .stderr(log.try_clone().map_err(failed)?)
        .process_group(0);
    if Path::new(FOLDERS).exists() {
        command.args(FOR_PROGRAMS);
    }
    system::die_with_parent(&mut command);
    // The size of its memory follows its addresses.
    system::fix_addresses(&mut command);
    let mut child = command.spawn().map_err(failed)?;
    // The kernel has the only copy of its end now: when it closes that, the console ends.
    drop(command);
    let lines = std::thread::Builder::new().spawn(move || forward(console)).map_err(failed)?;
    let group = child.id();
    let given_up = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&given_up);
    let watch = std::thread::Builder::new().spawn(move || {
        let mut input = std::io::stdin();
        // Any byte requests the name of the program that keeps the guest's time from passing.
        while matches!(input.read(&mut [0; 64]), Ok(1..)) {
            let name = spinning::busiest(group).unwrap_or_default();
            let _ = writeln!(std::io::stdout(), "? {name}");
        }
        noted.store(true, Ordering::SeqCst);
        system::kill_group(group);
    });
    watch.map_err(failed)?;
    let status = child.wait().map_err(failed)?;
    system::kill_group(group);
    // It has no panic of its own, and what it had read is written.
    let _ = lines.join();
    if given_up.load(Ordering::SeqCst) {
        clear();
    }
    Ok(status.code().map_or(128 | status.signal().unwrap_or(0) as u8, |code| code as u8))
}

/// Passes on what the kernel writes to its console. A pipe to the parent would do, but each time a pipe is read its writer
/// gets a SIGIO: an interrupt of the guest at a moment that no seed decides, which the kernel mixes into its random numbers.
/// A socket sends none while it has room.
fn forward(mut console: UnixStream) {
    // Without a reader the run is about to be given up.
    let _ = std::io::copy(&mut console, &mut std::io::stdout());
}

/// Removes everything in the current directory but the log.
fn clear() {
    for entry in std::fs::read_dir(".").into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name() == LOG {
            continue;
        }
        // What cannot be removed now is removed when the next run starts.
        let _ = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
    }
}
