//! `daybreak-guest` is the init of the guest. Outside it has two commands: `check PLAN` says whether a plan can
//! run, `host KERNEL MEMORY` boots a guest in the current directory and ends it when its input closes. In the guest,
//! init starts it again to supervise a program (`program FLOW SIDE ZERO`).

use std::path::Path;
use std::process::ExitCode;

use daybreak_guest::error::GuestError;
use daybreak_guest::{baseline, dialogues, host, layout::Layout, run, session, supervise, system};

/// Where the directory in which the kernel was started is mounted.
const STARTED_IN: &str = "/tmp/run";

/// A file of this name there selects a run of the kernel alone, without the switch.
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
        ["check", plan] => session::load(Path::new(plan)).and_then(|plan| Layout::of(&plan)).map(|_| ExitCode::SUCCESS),
        ["host", kernel, memory] => host::boot(kernel, memory).map(ExitCode::from),
        ["program", flow, side, zero_ns] => program(flow, side, zero_ns).map(|()| ExitCode::SUCCESS),
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

/// Supervises a program in the guest, for init.
fn program(flow: &str, side: &str, zero_ns: &str) -> Result<(), GuestError> {
    let started_in = Path::new(STARTED_IN);
    let plan = session::load(&started_in.join(session::PLAN))?;
    let (Ok(flow), Ok(zero_ns)) = (flow.parse::<usize>(), zero_ns.parse()) else {
        return Err(GuestError::Broken(format!("the program of flow {flow} at {zero_ns}")));
    };
    supervise::say(&supervise::supervise(&plan, flow, side == "server", zero_ns, started_in));
    Ok(())
}

#[expect(clippy::disallowed_macros, reason = "progress is reported on the console")]
fn as_init() -> ! {
    let outcome = prepare().and_then(|()| {
        let texts = Path::new(STARTED_IN).join(DIALOGUES);
        if texts.exists() {
            let verdicts = dialogues::run(&texts, |now_ns, done| println!("@ {now_ns} 0 {done}"))?;
            let path = Path::new(STARTED_IN).join(VERDICTS);
            let written = std::fs::write(&path, serde_json::Value::from(verdicts).to_string());
            written.map_err(|error| GuestError::io(path.display().to_string(), error))?;
            println!(".");
            system::power_off();
        }
        let plan = session::load(&Path::new(STARTED_IN).join(session::PLAN))?;
        if Path::new(STARTED_IN).join(BASELINE).exists() {
            println!("= {}", baseline::run(&plan)?);
            return Ok(());
        }
        run::run(&plan)
    });
    match outcome {
        Ok(()) => println!("."),
        Err(error) => println!("! {error}"),
    }
    system::power_off()
}

/// Mounts what the run needs: the host's file system is the root, read-only. The directory in which the kernel
/// was started is not named on the kernel's command line, since the kernel mixes that into its random numbers.
fn prepare() -> Result<(), GuestError> {
    system::many_files()?;
    system::mount("tmpfs", "/tmp", "tmpfs", "")?;
    std::fs::create_dir(STARTED_IN).map_err(|error| GuestError::io(STARTED_IN, error))?;
    system::mount("none", STARTED_IN, "hostfs", "/proc/self/cwd")?;
    system::mount("proc", "/proc", "proc", "")?;
    system::mount("sysfs", "/sys", "sysfs", "")
}
