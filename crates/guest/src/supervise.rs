//! Supervises one program of a run: isolates it, starts it, waits for its end, and stores what it wrote.
//!
//! **What it sees:** the machine's files, which it cannot change; a private folder, where it starts; the network of its
//! host; the names of the other hosts in /etc/hosts; clocks and random numbers of the guest. **What it does not see:**
//! another network, a terminal, the machine's processes.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use daybreak_plan::{Command, Plan};
use daybreak_trace::{NEVER_NS, NO_STATUS, ProgramRow};

use crate::confine::{self, Ending, MOST_FILE_BYTES, ReapResult};
use crate::discover;
use crate::error::GuestError;
use crate::layout::{End, Layout, runs_programs};
use crate::output::{HOME, Output, copy};
use crate::{spinning, system};

/// The folders of the programs in the directory in which the kernel was started: `0-client/in`, `0-client/out` ...
pub const FOLDERS: &str = "programs";
/// The file with the exit code or signal of a program, beside these.
const ENDING: &str = "ending";
/// What is wrong where the machine takes no more.
const NOT_KEPT: &str = "what it wrote could not be kept";
/// Limit on what a program writes to its private folder and to /tmp, in MiB.
const MOST_MIB: u32 = 256;
/// Folders of the machine's programs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Virtual time that a program has to end after SIGTERM, and that its processes have after its end.
const LINGER: Duration = Duration::from_secs(1);
/// Longest command quoted in an error.
const LONGEST_COMMAND: usize = 80;
const PREFIX: &str = "!";

/// An order to a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All clients have ended: the program is to end.
    End,
    /// The run is over: the program is to end, and counts as not having ended during the run.
    Over,
}

impl Order {
    /// Its encoding.
    pub fn byte(self) -> u8 {
        match self {
            Self::End => b'e',
            Self::Over => b'o',
        }
    }
}

/// The outcome of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its row of the table, without flow and end.
    Row(ProgramRow),
    /// Why it has failed.
    Failed(String),
}

impl Outcome {
    /// Its encoding as a line.
    fn line(&self) -> String {
        match self {
            Self::Failed(sentence) => format!("{PREFIX}{}", sentence.replace('\n', " ")),
            Self::Row(row) => {
                let ProgramRow { start_ns, end_ns, exit_code, signal, stdout_bytes, stderr_bytes, .. } = row;
                format!("{start_ns} {end_ns} {exit_code} {signal} {stdout_bytes} {stderr_bytes}")
            }
        }
    }

    /// Decodes that line.
    pub fn parse(line: &str) -> Self {
        let line = line.trim_end();
        if let Some(sentence) = line.strip_prefix(PREFIX) {
            return Self::Failed(sentence.to_owned());
        }
        let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [start_ns, end_ns, exit_code, signal, stdout_bytes, stderr_bytes] = numbers[..] else {
            return Self::Failed(format!("a program's supervisor ended with the words \"{line}\""));
        };
        let (exit_code, signal) = (exit_code as u32, signal as u32);
        Self::Row(ProgramRow {
            start_ns,
            end_ns,
            exit_code,
            signal,
            stdout_bytes,
            stderr_bytes,
            ..ProgramRow::default()
        })
    }
}

/// The name of a program's folder.
fn folder(flow: usize, is_server: bool) -> String {
    format!("{flow}-{}", side(is_server))
}

fn side(is_server: bool) -> &'static str {
    if is_server { "server" } else { "client" }
}

/// The beginning of a command, for messages.
fn short(command: &str) -> String {
    match command.char_indices().nth(LONGEST_COMMAND) {
        None => command.to_owned(),
        Some(_) => command.chars().take(LONGEST_COMMAND - 3).chain("...".chars()).collect(),
    }
}

/// The file of a program: one without a folder is in those of the machine's programs, whatever its environment says.
fn file_of(program: &str) -> PathBuf {
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|data| data.is_file() && PermissionsExt::mode(&data.permissions()) & 0o111 != 0)
    };
    let mut places = PATH.split(':').map(|folder| Path::new(folder).join(program)).filter(is_program);
    if program.contains('/') { program.into() } else { places.next().unwrap_or_else(|| program.into()) }
}

/// Runs one program of the plan to its end, and reports its outcome. The calling process is in the host's network.
pub fn supervise(plan: &Plan, index: usize, is_server: bool, zero_ns: u64, started_in: &Path) -> Outcome {
    let flow = &plan.flows[index];
    let Some(command) = flow.application.commands()[usize::from(is_server)] else {
        return Outcome::Failed(format!("flow \"{}\" has no {}", flow.name, side(is_server)));
    };
    let name = format!("the {} of flow \"{}\" ({})", side(is_server), flow.name, short(&command.arguments.join(" ")));
    let supervised = || -> Result<Outcome, GuestError> {
        confine::adopt_orphans();
        let results = started_in.join(FOLDERS).join(folder(index, is_server));
        let results = File::open(&results).map_err(|error| GuestError::io(results.display().to_string(), error))?;
        let place = PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&results)));
        let user = discover::user(index as u32, is_server);
        let node = &plan.nodes[if is_server { flow.dst } else { flow.src } as usize];
        let output = world(plan, &node.name, user, &place)?;
        let folder = Path::new(HOME).join(&command.folder);
        if folder.starts_with(HOME) {
            fs::create_dir_all(&folder)
                .and_then(|()| give(Path::new(HOME), user))
                .map_err(|error| GuestError::io(format!("make its folder {}", folder.display()), error))?;
        }
        let start_ns = if is_server { 0 } else { flow.start_ps.div_ceil(1_000) };
        let supervisor = Supervisor { name: &name, command, user, zero_ns, place: &place, output };
        let waiting = Stopping::new(zero_ns, start_ns, command.stop_ps)?;
        if !is_server {
            system::exact_timers();
            system::sleep_until(zero_ns + start_ns);
        }
        let outcome = supervisor.run(start_ns, &waiting)?;
        Ok(match (outcome, supervisor.output.keep(&place, command)) {
            (Outcome::Row(_), Err(error)) => Outcome::Failed(format!("{name} ran, and {NOT_KEPT}: {error}")),
            (outcome, _) => outcome,
        })
    };
    supervised().unwrap_or_else(|error| Outcome::Failed(format!("{name} cannot be run: {error}")))
}

/// Makes the environment of a program; its standard output and error are files that it cannot name.
fn world(plan: &Plan, host: &str, user: u32, place: &Path) -> Result<Output, GuestError> {
    let failed = |error| GuestError::io("make a program's surroundings", error);
    confine::apart()?;
    confine::name_host(host)?;
    let passwords = fs::read_to_string("/etc/passwd").unwrap_or_default();
    confine::memory("/tmp", "size=192m,mode=1777")?;
    let texts = [
        ("hosts", hosts(plan)?),
        ("passwd", format!("{passwords}program:x:{user}:{user}::{HOME}:/bin/sh\n")),
        ("resolv.conf", String::new()),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n".into()),
    ];
    for (name, text) in texts {
        let file = format!("/tmp/{name}");
        fs::write(&file, text).map_err(failed)?;
        if Path::new("/etc").join(name).exists() {
            confine::show(&file, &format!("/etc/{name}"))?;
        }
    }
    let output =
        ["/tmp/stdout", "/tmp/stderr"].map(|path| File::options().append(true).read(true).create_new(true).open(path));
    let [stdout, stderr] = output;
    let output = Output { stdout: stdout.map_err(failed)?, stderr: stderr.map_err(failed)? };
    confine::memory("/tmp", &format!("size={MOST_MIB}m,mode=1777"))?;
    fs::create_dir(HOME).map_err(failed)?;
    copy(&place.join("in"), Path::new(HOME)).map_err(failed)?;
    give(Path::new(HOME), user).map_err(failed)?;
    devices()?;
    confine::show("/sys", "/sys")?;
    confine::show("/proc/sys", "/proc/sys")?;
    Ok(output)
}

/// The names of all hosts with programs.
fn hosts(plan: &Plan) -> Result<String, GuestError> {
    let layout = Layout::of(plan)?;
    let mut text = String::from("127.0.0.1 localhost\n");
    let mut named = std::collections::BTreeSet::new();
    for (flow, &(src, dst)) in plan.flows.iter().zip(&layout.flows).filter(|(flow, _)| runs_programs(flow)) {
        for (node, end) in [(flow.src, src), (flow.dst, dst)].into_iter().filter(|(node, _)| named.insert(*node)) {
            let [a, b, c, d] = End::ip(end).to_be_bytes();
            text += &format!("{a}.{b}.{c}.{d} {}\n", plan.nodes[node as usize].name);
        }
    }
    Ok(text)
}

/// Makes the devices that every Linux has, and no others.
fn devices() -> Result<(), GuestError> {
    let failed = |error| GuestError::io("make a program's devices", error);
    confine::memory("/dev", "size=64m,mode=755")?;
    for (name, major, minor) in
        [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)]
    {
        confine::device(&format!("/dev/{name}"), major, minor)?;
    }
    for (name, target) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        std::os::unix::fs::symlink(format!("/proc/self/fd{target}"), format!("/dev/{name}")).map_err(failed)?;
    }
    fs::create_dir("/dev/shm").map_err(failed)?;
    fs::set_permissions("/dev/shm", PermissionsExt::from_mode(0o1777)).map_err(failed)
}

/// Makes a user the owner of a folder and of all in it.
fn give(path: &Path, user: u32) -> io::Result<()> {
    std::os::unix::fs::chown(path, Some(user), Some(user))?;
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), user)?;
        }
    }
    Ok(())
}

/// The state of a program's termination, shared by the threads that may end it.
#[derive(Default)]
struct State {
    process: Option<u32>,
    /// The first reason to end it.
    asked: Option<Reason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Order(Order),
    /// Its stop time has come.
    Stop,
}

/// Waits for reasons to end the program.
struct Stopping(Arc<Mutex<State>>);

impl Stopping {
    fn new(zero_ns: u64, start_ns: u64, stop_ps: Option<u64>) -> Result<Self, GuestError> {
        let failed = |error| GuestError::io("start a supervisor's thread", error);
        let state: Arc<Mutex<State>> = Arc::default();
        let of_orders = Arc::clone(&state);
        let listen = move || {
            let mut order = [0];
            let known = match io::stdin().read(&mut order) {
                Ok(1) if order[0] == Order::End.byte() => Order::End,
                _ => Order::Over,
            };
            end(&of_orders, Reason::Order(known));
        };
        std::thread::Builder::new().spawn(listen).map_err(failed)?;
        if let Some(stop_ps) = stop_ps {
            let of_time = Arc::clone(&state);
            let stop = move || {
                system::exact_timers();
                system::sleep_until(zero_ns + (stop_ps / 1_000).max(start_ns));
                end(&of_time, Reason::Stop);
            };
            std::thread::Builder::new().spawn(stop).map_err(failed)?;
        }
        Ok(Self(state))
    }

    fn asked(&self) -> Option<Reason> {
        self.0.lock().ok().and_then(|state| state.asked)
    }
}

/// Sends SIGTERM to a program, and kills it if it does not end.
fn end(state: &Mutex<State>, reason: Reason) {
    let process = match state.lock() {
        Ok(mut state) => {
            state.asked.get_or_insert(reason);
            state.process
        }
        Err(_) => None,
    };
    let Some(process) = process else {
        // It has not begun, and will not.
        say(&Outcome::Row(ProgramRow {
            start_ns: NEVER_NS,
            end_ns: NEVER_NS,
            exit_code: NO_STATUS,
            signal: NO_STATUS,
            ..ProgramRow::default()
        }));
        std::process::exit(0);
    };
    confine::signal(-(process as i32), libc::SIGTERM);
    wait(LINGER);
    confine::signal(-(process as i32), libc::SIGKILL);
}

/// Lets virtual time pass.
fn wait(time: Duration) {
    system::sleep_until(system::clock_ns(libc::CLOCK_MONOTONIC) + time.as_nanos() as u64);
}

/// Reports the outcome of the program to the init program.
pub fn say(outcome: &Outcome) {
    // If the other end is closed the run has failed already.
    let _ = writeln!(io::stdout(), "{}", outcome.line());
}

struct Supervisor<'a> {
    /// The program's name in messages.
    name: &'a str,
    command: &'a Command,
    user: u32,
    zero_ns: u64,
    /// Its folder on the machine.
    place: &'a Path,
    output: Output,
}

impl Supervisor<'_> {
    fn run(&self, start_ns: u64, stopping: &Stopping) -> Result<Outcome, GuestError> {
        let failed = |error| GuestError::io("start it", error);
        let process = {
            let Ok(mut state) = stopping.0.lock() else {
                return Err(GuestError::Broken("a thread of a supervisor panicked".into()));
            };
            let mut process = self.process()?;
            let child = process.spawn().map_err(failed)?;
            state.process = Some(child.id());
            child.id()
        };
        let mut ending = None;
        while ending.is_none() {
            match confine::reap(true) {
                ReapResult::Child(child, how) if child == process => ending = Some(how),
                ReapResult::Child(..) => {}
                ReapResult::Waiting | ReapResult::NoChild => {
                    return Err(GuestError::Broken("a program is gone without an end".into()));
                }
            }
        }
        let now_ns = system::clock_ns(libc::CLOCK_MONOTONIC).saturating_sub(self.zero_ns);
        let left = self.left_behind();
        let ending = ending.unwrap_or(Ending::Code(0));
        let asked = stopping.asked();
        let is_over = asked == Some(Reason::Order(Order::Over));
        if !is_over {
            let kept = fs::write(self.place.join(ENDING), format!("{ending}\n"));
            kept.map_err(|error| GuestError::io("keep its exit code", error))?;
        }
        if asked.is_none()
            && let Some(problem) = self.problem(ending, &left)
        {
            let at = now_ns as f64 / 1e9;
            let has_refused = matches!(ending, Ending::Code(1..));
            let mut said = why(self.output.last_line(), has_refused, system::has_ipv6());
            if system::ran_out_of_memory() {
                said += &format!(" (the guest ran out of memory, of which it has {} MiB)", system::memory_mib());
            }
            return Ok(Outcome::Failed(format!("{} {problem} at {at:.6} s: {said}", self.name)));
        }
        let [stdout_bytes, stderr_bytes] = self.output.sizes();
        let (exit_code, signal) = match ending {
            Ending::Code(code) => (code, NO_STATUS),
            Ending::Signal(signal) => (NO_STATUS, signal),
        };
        let row = ProgramRow {
            start_ns,
            end_ns: now_ns,
            exit_code,
            signal,
            stdout_bytes,
            stderr_bytes,
            ..ProgramRow::default()
        };
        let of_run = ProgramRow { end_ns: NEVER_NS, exit_code: NO_STATUS, signal: NO_STATUS, ..row };
        Ok(Outcome::Row(if is_over { of_run } else { row }))
    }

    /// The program, ready to be started.
    fn process(&self) -> Result<Process, GuestError> {
        let failed = |error| GuestError::io("start it", error);
        let [program, arguments @ ..] = &self.command.arguments[..] else {
            return Err(GuestError::Broken("a command without a program".into()));
        };
        let [stdout, stderr] = [&self.output.stdout, &self.output.stderr].map(File::try_clone);
        let mut process = Process::new(file_of(program));
        process
            .arg0(program)
            .args(arguments)
            .env_clear()
            .envs([("PATH", PATH), ("HOME", HOME), ("USER", "program"), ("LANG", "C.UTF-8"), ("TZ", "UTC")])
            // OpenSSL mixes the processor's cycle counter and its random numbers into its own: bits 4 and 62 of the
            // capabilities that it looks for.
            .env("OPENSSL_ia32cap", "~0x4000000000000010")
            .envs(&self.command.environment)
            .env(spinning::NAME, self.name)
            .current_dir(Path::new(HOME).join(&self.command.folder))
            .stdin(Stdio::null())
            .stdout(stdout.map_err(failed)?)
            .stderr(stderr.map_err(failed)?);
        confine::confine(&mut process, self.user);
        Ok(process)
    }

    /// Waits for the processes that the program left behind, then kills them; returns the names of those killed.
    fn left_behind(&self) -> Vec<String> {
        const LOOK: Duration = Duration::from_millis(10);
        let mut left = LINGER;
        loop {
            match confine::reap(false) {
                ReapResult::NoChild => return Vec::new(),
                ReapResult::Child(..) => {}
                ReapResult::Waiting if left.is_zero() => break,
                ReapResult::Waiting => {
                    wait(LOOK);
                    left = left.saturating_sub(LOOK);
                }
            }
        }
        let mut names = Vec::new();
        loop {
            for (process, name) in children() {
                names.push(name);
                confine::signal(process, libc::SIGKILL);
            }
            if confine::reap(true) == ReapResult::NoChild {
                return names;
            }
        }
    }

    /// The problem with the end of a program that ended by itself.
    fn problem(&self, ending: Ending, left: &[String]) -> Option<String> {
        const SIGXFSZ: u32 = libc::SIGXFSZ as u32;
        let most = MOST_FILE_BYTES >> 20;
        let too_long = |what| format!("wrote more than {most} MiB to its standard {what} and was ended");
        for (bytes, what) in self.output.sizes().into_iter().zip(["output", "error"]) {
            if bytes >= MOST_FILE_BYTES {
                return Some(too_long(what));
            }
        }
        // A shell ends with 128 and the signal that has ended its command.
        if [Ending::Signal(SIGXFSZ), Ending::Code(128 + SIGXFSZ)].contains(&ending) {
            return Some(format!("wrote a file of more than {most} MiB and was ended"));
        }
        if ending != Ending::Code(0) && confine::is_full(Path::new(HOME)) {
            return Some(format!("filled its private folder, which has {MOST_MIB} MiB, and ended"));
        }
        match ending {
            Ending::Code(0) => left.first().map(|name| {
                format!("ended and left a process behind ({name}), so it should be run in the foreground; it ended")
            }),
            Ending::Code(_) => Some(format!("ended with {ending}")),
            Ending::Signal(_) => Some(format!("was ended by {ending}")),
        }
    }
}

/// Why a program has failed: the last line that it wrote, and what it may have missed if it has refused to work.
fn why(last_line: Option<String>, has_refused: bool, has_ipv6: bool) -> String {
    const NO_FAMILY: &str = "Address family not supported by protocol";
    match last_line {
        None if has_refused => "it wrote nothing, and has neither a terminal nor input".to_owned(),
        None => "it wrote nothing".to_owned(),
        Some(line) if line.contains(NO_FAMILY) && !has_ipv6 => {
            let how = "daybreak kernel build --config FILE, where FILE has CONFIG_IPV6=y";
            format!("{line} (its kernel is built without IPv6; with it: {how})")
        }
        Some(line) => line,
    }
}

/// Processes whose parent is this one, with their names.
fn children() -> Vec<(i32, String)> {
    let me = std::process::id().to_string();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let child = |stat: String| {
        // "7 (name) S 1 ...": the name may have any character.
        let (number, rest) = stat.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let parent = rest.split(' ').nth(1)?;
        (parent == me).then(|| Some((number.parse().ok()?, name.to_owned())))?
    };
    processes.filter_map(|entry| child(fs::read_to_string(entry.path().join("stat")).ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_lines_that_come_back() {
        let row = ProgramRow {
            start_ns: 1,
            end_ns: NEVER_NS,
            exit_code: 3,
            signal: NO_STATUS,
            stdout_bytes: 5,
            ..ProgramRow::default()
        };
        for outcome in [Outcome::Row(row), Outcome::Failed("it ended\tat 3 s: no".into())] {
            assert_eq!(Outcome::parse(&(outcome.line() + "\n")), outcome);
        }
        assert!(matches!(Outcome::parse(""), Outcome::Failed(_)));
    }

    #[test]
    fn a_long_command_is_cut() {
        assert_eq!(short("sleep 1"), "sleep 1");
        assert_eq!(short(&"ü".repeat(80)), "ü".repeat(80));
        assert_eq!(short(&"ü".repeat(81)), "ü".repeat(77) + "...");
    }

    #[test]
    fn a_failure_says_what_the_program_wrote_or_what_it_missed() {
        assert_eq!(why(Some("no such luck".into()), true, false), "no such luck");
        assert!(why(None, true, true).ends_with("neither a terminal nor input"));
        assert_eq!(why(None, false, true), "it wrote nothing");
        let refused = || Some("socket: Address family not supported by protocol".to_owned());
        assert!(why(refused(), true, false).contains("CONFIG_IPV6=y"));
        assert_eq!(why(refused(), true, true), refused().unwrap());
    }
}
