//! `daybreak-guest` is the init of the guest. Outside it has two commands: `check PLAN` says whether a plan can
//! run, `host KERNEL MEMORY` boots a guest in the current directory and ends it with whoever holds its input.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::ExitCode;

use daybreak_guest::error::GuestError;
use daybreak_guest::{
    baseline, dialogues, host,
    layout::Layout,
    results::{self, Totals},
    run, system,
};
use daybreak_trace::Table;

/// Where the host's result directory is mounted.
const RESULTS: &str = "/tmp/results";

/// A file of this name asks for the kernel alone, without the switch.
const BASELINE: &str = "baseline";

/// A directory of this name holds dialogues to play, and their verdicts go to the file of the next name.
const DIALOGUES: &str = "dialogues";
const VERDICTS: &str = "verdicts";

fn main() -> ExitCode {
    if std::process::id() == 1 {
        as_init();
    }
    outside()
}

#[expect(clippy::disallowed_methods, clippy::disallowed_macros, reason = "the program's edge: arguments and messages")]
fn outside() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    let outcome = match words[..] {
        ["check", plan] => run::load(Path::new(plan)).and_then(|plan| Layout::of(&plan)).map(|_| ExitCode::SUCCESS),
        ["host", kernel, memory] => host::boot(kernel, memory).map(ExitCode::from),
        _ => {
            eprintln!("usage: daybreak-guest check PLAN | daybreak-guest host KERNEL MEMORY");
            return ExitCode::from(2);
        }
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

#[expect(clippy::disallowed_macros, reason = "the console is how the host hears of progress")]
fn as_init() -> ! {
    let outcome = prepare().and_then(|()| {
        let texts = Path::new(RESULTS).join(DIALOGUES);
        if texts.exists() {
            let verdicts = dialogues::run(&texts, |now_ns, done| println!("@ {now_ns} 0 {done}"))?;
            let path = Path::new(RESULTS).join(VERDICTS);
            let written = std::fs::write(&path, serde_json::Value::from(verdicts).to_string());
            written.map_err(|error| GuestError::io(path.display().to_string(), error))?;
            println!(".");
            system::power_off();
        }
        let plan = run::load(&Path::new(RESULTS).join("plan.json"))?;
        if Path::new(RESULTS).join(BASELINE).exists() {
            println!("= {}", baseline::run(&plan)?);
            return Ok(Default::default());
        }
        run::run(&plan, &Path::new(RESULTS).join("capture.pcapng"), |now, packets, complete| {
            println!("@ {} {packets} {complete}", now.as_ns())
        })
    });
    match outcome.and_then(|(tables, totals)| keep(&tables, totals)) {
        Ok(()) => println!("."),
        Err(error) => println!("! {error}"),
    }
    system::power_off()
}

/// Writes the tables where the host finds them.
fn keep(tables: &[Table], totals: Totals) -> Result<(), GuestError> {
    let path = Path::new(RESULTS).join("tables");
    let written = File::create(&path).and_then(|file| {
        let mut output = BufWriter::with_capacity(1 << 20, file);
        results::write(&mut output, tables, totals)?;
        output.get_ref().sync_all()
    });
    written.map_err(|error| GuestError::io(path.display().to_string(), error))
}

/// Mounts what the run needs: the host's file system is the root, read-only, and the directory in which
/// the kernel was started is where results go. It is not named on the kernel's command line, since the
/// kernel mixes that into its random numbers.
fn prepare() -> Result<(), GuestError> {
    const STARTED_IN: &str = "/proc/self/cwd";
    system::mount("tmpfs", "/tmp", "tmpfs", "")?;
    std::fs::create_dir(RESULTS).map_err(|error| GuestError::io(RESULTS, error))?;
    system::mount("none", RESULTS, "hostfs", STARTED_IN)?;
    system::mount("proc", "/proc", "proc", "")?;
    system::mount("sysfs", "/sys", "sysfs", "")
}
