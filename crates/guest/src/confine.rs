//! The system calls that isolate a program: private mounts, an unprivileged user, limits, a reproducible address space.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::error::GuestError;

/// Limit on the size of a file that a program writes, including its standard output.
pub const MOST_FILE_BYTES: u64 = 64 << 20;
/// Timers of an ordinary program may be late by this much.
const TIMER_SLACK_NS: libc::c_ulong = 50_000;
/// Capabilities of a program, from linux/capability.h: read and run what the machine's user may, bind ports below 1024,
/// send pings.
const CAPABILITIES: [u32; 4] = [1, 2, 10, 13];
const LAST_CAPABILITY: u32 = 40;

/// Makes later mounts, host names and System V objects private to this process and its children.
pub fn apart() -> Result<(), GuestError> {
    let spaces = libc::CLONE_NEWNS | libc::CLONE_NEWUTS | libc::CLONE_NEWIPC;
    // SAFETY: no pointers.
    if unsafe { libc::unshare(spaces) } == 0 { Ok(()) } else { Err(GuestError::last("make namespaces of a program")) }
}

/// Makes orphaned descendants children of this process.
pub fn adopt_orphans() {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// Names the host of this process.
pub fn name_host(name: &str) -> Result<(), GuestError> {
    // SAFETY: the pointer and the length are those of a string.
    let answer = unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) };
    if answer == 0 { Ok(()) } else { Err(GuestError::last(format!("name a host {name}"))) }
}

/// Mounts a file or folder read-only over another one, or over itself.
pub fn show(file: &str, place: &str) -> Result<(), GuestError> {
    mount(Some(file), place, None, libc::MS_BIND, "")?;
    mount(None, place, None, libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY, "")
}

/// Mounts an empty file system in memory.
pub fn memory(place: &str, options: &str) -> Result<(), GuestError> {
    mount(Some("tmpfs"), place, Some("tmpfs"), libc::MS_NOSUID, options)
}

fn mount(from: Option<&str>, to: &str, kind: Option<&str>, flags: u64, options: &str) -> Result<(), GuestError> {
    let [source, target, kind, data] = [from.unwrap_or("none"), to, kind.unwrap_or(""), options].map(text);
    // SAFETY: all are strings with their final zero.
    let answer =
        unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags as _, data.as_ptr().cast()) };
    if answer == 0 { Ok(()) } else { Err(GuestError::last(format!("mount on {to}"))) }
}

/// Makes a character device.
pub fn device(path: &str, major: u32, minor: u32) -> Result<(), GuestError> {
    let name = text(path);
    // SAFETY: the path is a string with its final zero.
    let answer = unsafe {
        let made = libc::mknod(name.as_ptr(), libc::S_IFCHR | 0o666, libc::makedev(major, minor));
        if made == 0 { libc::chmod(name.as_ptr(), 0o666) } else { made }
    };
    if answer == 0 { Ok(()) } else { Err(GuestError::last(format!("make {path}"))) }
}

/// Whether nothing more can be written to the file system of a folder.
pub fn is_full(folder: &Path) -> bool {
    let Some(name) = folder.to_str().map(text) else { return false };
    // SAFETY: the path is a string with its final zero, and the struct lives through the call.
    unsafe {
        let mut room: libc::statvfs = std::mem::zeroed();
        libc::statvfs(name.as_ptr(), &mut room) == 0 && room.f_bavail == 0
    }
}

/// Lets a command run as `user`, in a session of its own, with everything above.
pub fn confine(command: &mut Command, user: u32) {
    // SAFETY: system calls alone, which are safe between fork and exec.
    unsafe { command.pre_exec(move || become_user(user)) };
}

fn become_user(user: u32) -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        process: i32,
    }
    const VERSION: u32 = 0x2008_0522;
    const INHERITABLE: usize = 2;
    let done = |answer: i64| if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    let limit = |what, most| {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the struct lives through the call.
        done(i64::from(unsafe { libc::setrlimit(what, &limit) }))
    };
    limit(libc::RLIMIT_FSIZE, MOST_FILE_BYTES)?;
    limit(libc::RLIMIT_CORE, 0)?;
    limit(libc::RLIMIT_NOFILE, 1 << 16)?;
    let kept = CAPABILITIES.iter().fold(0u64, |set, capability| set | 1 << capability);
    let header = Header { version: VERSION, process: 0 };
    let mut sets = [[0u32; 3]; 2];
    for (half, set) in sets.iter_mut().enumerate() {
        let part = (kept >> (32 * half)) as u32;
        *set = [part, part, 0];
        set[INHERITABLE] = part;
    }
    // SAFETY: the structs live through the calls, and have the layout of linux/capability.h.
    unsafe {
        done(i64::from(libc::setsid()))?;
        done(i64::from(libc::personality(libc::ADDR_NO_RANDOMIZE as _)))?;
        libc::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK_NS);
        for capability in (0..=LAST_CAPABILITY).filter(|&capability| kept & 1 << capability == 0) {
            done(i64::from(libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(capability))))?;
        }
        done(i64::from(libc::prctl(libc::PR_SET_KEEPCAPS, 1 as libc::c_ulong)))?;
        done(i64::from(libc::setgroups(0, std::ptr::null())))?;
        done(i64::from(libc::setresgid(user, user, user)))?;
        done(i64::from(libc::setresuid(user, user, user)))?;
        done(libc::syscall(libc::SYS_capset, &header, &sets))?;
        for capability in CAPABILITIES {
            let (raise, none) = (libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong, 0 as libc::c_ulong);
            done(i64::from(libc::prctl(libc::PR_CAP_AMBIENT, raise, libc::c_ulong::from(capability), none, none)))?;
        }
        let (on, none) = (1 as libc::c_ulong, 0 as libc::c_ulong);
        done(i64::from(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, none, none, none)))
    }
}

/// How a process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With an exit code.
    Code(u32),
    /// By a signal.
    Signal(u32),
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit code {code}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
        }
    }
}

/// The result of [`reap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReapResult {
    /// A child has ended.
    Child(u32, Ending),
    /// There are children, and none has ended.
    Waiting,
    /// There is no child.
    NoChild,
}

/// Reaps a child that has ended; with `waits` it blocks until one does.
pub fn reap(waits: bool) -> ReapResult {
    let mut status = 0;
    loop {
        // SAFETY: the number lives through the call.
        let child = unsafe { libc::waitpid(-1, &mut status, if waits { 0 } else { libc::WNOHANG }) };
        let ending = match status {
            status if libc::WIFEXITED(status) => Ending::Code(libc::WEXITSTATUS(status) as u32),
            status => Ending::Signal(libc::WTERMSIG(status) as u32),
        };
        match child {
            0 => return ReapResult::Waiting,
            1.. => return ReapResult::Child(child as u32, ending),
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return ReapResult::NoChild,
        }
    }
}

/// Sends a signal to a process or, with a negative number, to its group. One that is gone is no error.
pub fn signal(process: i32, signal: i32) {
    // SAFETY: no pointers.
    unsafe { libc::kill(process, signal) };
}

fn text(string: &str) -> CString {
    // Callers pass no zero byte; an empty text makes the call fail.
    CString::new(string).unwrap_or_default()
}
