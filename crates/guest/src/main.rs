//! `daybreak-guest` is the init of the guest. Outside, `daybreak-guest check PLAN` says whether a plan can run.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::ExitCode;

use daybreak_guest::error::GuestError;
use daybreak_guest::{
    layout::Layout,
    results::{self, Totals},
    run, system,
};
use daybreak_trace::Table;

/// Where the host's result directory is mounted.
const RESULTS: &str = "/tmp/results";

fn main() -> ExitCode {
    if std::process::id() == 1 {
        as_init();
    }
    outside()
}

#[expect(clippy::disallowed_methods, clippy::disallowed_macros, reason = "the program's edge: arguments and messages")]
fn outside() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, command, path] = &arguments[..] else {
        eprintln!("usage: daybreak-guest check PLAN");
        return ExitCode::from(2);
    };
    let checked = match command.as_str() {
        "check" => run::load(Path::new(path)).and_then(|plan| Layout::of(&plan)),
        other => {
            eprintln!("daybreak-guest: unknown command \"{other}\"; known is check");
            return ExitCode::from(2);
        }
    };
    match checked {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::disallowed_macros, reason = "the console is how the host hears of progress")]
fn as_init() -> ! {
    let outcome = prepare().and_then(|()| {
        let plan = run::load(&Path::new(RESULTS).join("plan.json"))?;
        run::run(&plan, |now, packets, complete| println!("@ {} {packets} {complete}", now.as_ns()))
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

/// Mounts what the run needs: the host's file system is the root, read-only.
#[expect(clippy::disallowed_methods, reason = "the kernel's command line becomes init's environment")]
fn prepare() -> Result<(), GuestError> {
    system::mount("proc", "/proc", "proc", "")?;
    system::mount("sysfs", "/sys", "sysfs", "")?;
    system::mount("tmpfs", "/tmp", "tmpfs", "")?;
    std::fs::create_dir(RESULTS).map_err(|error| GuestError::io(RESULTS, error))?;
    let results = std::env::var("DAYBREAK_RESULTS")
        .map_err(|_| GuestError::Broken("DAYBREAK_RESULTS is not on the kernel's command line".to_owned()))?;
    system::mount("none", RESULTS, "hostfs", &results)
}
