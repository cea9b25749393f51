//! System calls as functions that return errors. The only place with `unsafe` besides [`crate::skb`] and
//! [`crate::confine`].
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

use crate::error::GuestError;

/// A file descriptor that is closed when it goes.
pub type Fd = std::os::fd::OwnedFd;

type Outcome<T> = Result<T, GuestError>;

/// Opens a socket in the network namespace of the calling thread.
pub fn socket(family: i32, kind: i32, protocol: i32, what: &str) -> Outcome<Fd> {
    // SAFETY: no pointers; the descriptor is new and ours.
    unsafe {
        match libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) {
            -1 => Err(GuestError::last(what)),
            fd => Ok(Fd::from_raw_fd(fd)),
        }
    }
}

/// Sends a whole message.
pub fn send(fd: RawFd, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of a slice.
    let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), 0) };
    if sent == bytes.len() as isize { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Receives one message.
pub fn receive(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of a slice.
    let length = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    usize::try_from(length).map_err(|_| io::Error::last_os_error())
}

/// Reads and forgets everything until the connection ends, closes it, and ends the calling thread.
///
/// The thread gives up its thread-local storage first: to switch to a thread that has some costs the host seven
/// system calls, and a receiver is switched to for every packet. So nothing of the library may run any more.
pub fn receive_all_and_exit(connection: Fd) -> ! {
    const ARCH_SET_FS: u64 = 0x1002;
    const MOST: u64 = 1 << 30;
    let fd = std::os::fd::IntoRawFd::into_raw_fd(connection) as u64;
    // SAFETY: system calls only, with no memory: TCP counts the bytes of a read with MSG_TRUNC and writes none.
    // The thread does not return to code that could use its storage, and its stack is never used again.
    unsafe {
        std::arch::asm!(
            "mov rbx, rax",
            "mov eax, {arch_prctl}",
            "mov edi, {set_fs}",
            "xor esi, esi",
            "syscall",
            "2:",
            "mov eax, {recvfrom}",
            "mov rdi, rbx",
            "xor esi, esi",
            "mov edx, {most}",
            "mov r10d, {flags}",
            "xor r8d, r8d",
            "xor r9d, r9d",
            "syscall",
            "test rax, rax",
            "jg 2b",
            "mov eax, {close}",
            "mov rdi, rbx",
            "syscall",
            "mov eax, {exit}",
            "xor edi, edi",
            "syscall",
            "ud2",
            arch_prctl = const libc::SYS_arch_prctl,
            set_fs = const ARCH_SET_FS,
            recvfrom = const libc::SYS_recvfrom,
            most = const MOST,
            flags = const libc::MSG_TRUNC | libc::MSG_WAITALL,
            close = const libc::SYS_close,
            exit = const libc::SYS_exit,
            in("rax") fd,
            options(noreturn),
        )
    }
}

/// Limit of one call, from Linux's limit on vectors.
const MOST_A_CALL: u64 = (ZEROS * VECTORS) as u64;
const ZEROS: usize = 1 << 20;
const VECTORS: usize = 1024;

/// Zeros to send: one block of memory, which a call sends repeatedly.
pub struct Zeros {
    block: Box<[u8]>,
}

impl Default for Zeros {
    /// Every page of the block is there, so that sending takes no page fault.
    fn default() -> Self {
        Self { block: (0..ZEROS).map(|_| std::hint::black_box(0)).collect() }
    }
}

impl Zeros {
    /// Sends `bytes` zeros and waits while the socket's buffer is full. Each call but the last sets MSG_MORE, so that
    /// no segment is cut short at its end.
    pub fn send(&self, socket: RawFd, bytes: u64) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let now = left.min(MOST_A_CALL);
            let flags = libc::MSG_NOSIGNAL | if left > now { libc::MSG_MORE } else { 0 };
            left -= self.send_some(socket, now as usize, flags)?;
        }
        Ok(())
    }

    fn send_some(&self, socket: RawFd, bytes: usize, flags: i32) -> io::Result<u64> {
        let base = self.block.as_ptr().cast_mut().cast();
        let whole = libc::iovec { iov_base: base, iov_len: ZEROS };
        let mut vectors = vec![whole; bytes.div_ceil(ZEROS)];
        if let Some(last) = vectors.last_mut() {
            last.iov_len = bytes - (bytes - 1) / ZEROS * ZEROS;
        }
        // SAFETY: all-zero is a valid msghdr; the vectors and the block that they name live through the call, which
        // only reads them.
        let length = unsafe {
            let mut message: libc::msghdr = zeroed();
            message.msg_iov = vectors.as_mut_ptr();
            message.msg_iovlen = vectors.len();
            libc::sendmsg(socket, &message, flags)
        };
        u64::try_from(length).map_err(|_| io::Error::last_os_error())
    }
}

/// Sets an option of a socket to any plain value.
pub fn set_option<T: Copy>(fd: RawFd, level: i32, name: i32, value: &T, what: &str) -> Outcome<()> {
    set_option_bytes(fd, level, name, (value as *const T).cast(), size_of::<T>(), what)
}

/// Sets an option of a socket to a string.
pub fn set_option_str(fd: RawFd, level: i32, name: i32, value: &str, what: &str) -> Outcome<()> {
    set_option_bytes(fd, level, name, value.as_ptr(), value.len(), what)
}

fn set_option_bytes(fd: RawFd, level: i32, name: i32, value: *const u8, length: usize, what: &str) -> Outcome<()> {
    // SAFETY: the callers pass the pointer and the size of one value.
    let answer = unsafe { libc::setsockopt(fd, level, name, value.cast(), length as libc::socklen_t) };
    if answer == 0 { Ok(()) } else { Err(GuestError::last(what)) }
}

/// Reads an option of a socket; returns how many bytes the kernel wrote.
pub fn option(fd: RawFd, level: i32, name: i32, buffer: &mut [u8], what: &str) -> Outcome<usize> {
    let mut length = buffer.len() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of a slice.
    let answer = unsafe { libc::getsockopt(fd, level, name, buffer.as_mut_ptr().cast(), &mut length) };
    if answer == 0 { Ok(length as usize) } else { Err(GuestError::last(what)) }
}

/// Memory that the send queue of a socket takes, and how much it may take.
pub fn send_memory(fd: RawFd) -> Outcome<[u32; 2]> {
    /// Of `SO_MEMINFO`: `SK_MEMINFO_WMEM_QUEUED` and `SK_MEMINFO_SNDBUF`.
    const VALUES: [usize; 2] = [5, 3];
    let mut buffer = [0; 36];
    option(fd, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut buffer, "ask a socket for its memory")?;
    Ok(VALUES.map(|at| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| buffer[4 * at + byte]))))
}

/// An IPv4 address and a port, in host order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Address.
    pub ip: u32,
    /// Port.
    pub port: u16,
}

impl Address {
    fn raw(self) -> libc::sockaddr_in {
        // SAFETY: all zeros is a valid value of the struct.
        let mut raw: libc::sockaddr_in = unsafe { zeroed() };
        raw.sin_family = libc::AF_INET as u16;
        raw.sin_port = self.port.to_be();
        raw.sin_addr.s_addr = self.ip.to_be();
        raw
    }
}

/// Binds a socket to an address.
pub fn bind(fd: RawFd, address: Address, what: &str) -> Outcome<()> {
    bind_any(fd, &address.raw(), what)
}

/// Binds a socket to an address of any family.
fn bind_any<T>(fd: RawFd, address: &T, what: &str) -> Outcome<()> {
    // SAFETY: the pointer and the size are those of one value.
    let answer = unsafe { libc::bind(fd, (address as *const T).cast(), size_of::<T>() as libc::socklen_t) };
    if answer == 0 { Ok(()) } else { Err(GuestError::last(what)) }
}

/// Lets a socket listen.
pub fn listen(fd: RawFd, what: &str) -> Outcome<()> {
    // SAFETY: no pointers.
    if unsafe { libc::listen(fd, 8) } == 0 { Ok(()) } else { Err(GuestError::last(what)) }
}

/// Connects a socket of TCP, and waits until that is done, or one of UDP, to which this gives an address.
pub fn connect(fd: RawFd, address: Address) -> io::Result<()> {
    let raw = address.raw();
    // SAFETY: the pointer and the size are those of one value.
    let answer = unsafe { libc::connect(fd, (&raw as *const libc::sockaddr_in).cast(), size_of_val(&raw) as u32) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Closes the sending direction.
pub fn no_more_data(fd: RawFd) -> io::Result<()> {
    // SAFETY: no pointers.
    if unsafe { libc::shutdown(fd, libc::SHUT_WR) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits for a connection.
pub fn accept(fd: RawFd) -> io::Result<Fd> {
    // SAFETY: the peer's address is not asked for; the descriptor is new and ours.
    unsafe {
        match libc::accept4(fd, std::ptr::null_mut(), std::ptr::null_mut(), libc::SOCK_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(Fd::from_raw_fd(fd)),
        }
    }
}

/// Writes a sysctl, given by its path, in the calling thread's namespace.
pub fn set_sysctl(name: &str, value: &str) -> Outcome<()> {
    let path = format!("/proc/sys/{name}");
    std::fs::write(&path, value).map_err(|error| GuestError::io(format!("set {name} to {value}"), error))
}

/// Whether the kernel has IPv6.
pub fn has_ipv6() -> bool {
    std::path::Path::new("/proc/sys/net/ipv6").is_dir()
}

/// Whether the kernel has killed a process since it had no more memory, by its log.
pub fn ran_out_of_memory() -> bool {
    const READ_ALL: libc::c_int = 3;
    const SENTENCE: &[u8] = b"Out of memory: Killed process";
    let mut log = vec![0_u8; 1 << 18];
    // SAFETY: the buffer has that many bytes, and lives through the call.
    let bytes = unsafe { libc::klogctl(READ_ALL, log.as_mut_ptr().cast(), log.len() as libc::c_int) };
    log.truncate(bytes.max(0) as usize);
    log.windows(SENTENCE.len()).any(|text| text == SENTENCE)
}

/// The kernel's memory in MiB.
pub fn memory_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = |line: &str| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse().ok();
    text.lines().find_map(kib).unwrap_or(0_u64) >> 10
}

/// Sets a flag or a number of a network device through ethtool's ioctl.
pub fn ethtool(fd: RawFd, device: &str, command: u32, value: u32) -> Outcome<()> {
    const SIOCETHTOOL: libc::c_ulong = 0x8946;
    let mut argument = [command, value];
    // SAFETY: all zeros is a valid value of the struct; the name fits, and the argument lives through the call.
    let answer = unsafe {
        let mut request: libc::ifreq = zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(device.bytes().take(15)) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = argument.as_mut_ptr().cast();
        libc::ioctl(fd, SIOCETHTOOL as _, &request)
    };
    if answer == 0 { Ok(()) } else { Err(GuestError::last(format!("ethtool command {command:#x} on {device}"))) }
}

/// A request of a device's own, with its argument.
pub fn control<T>(fd: RawFd, request: u32, argument: &mut T) -> io::Result<()> {
    // SAFETY: the request's number holds the argument's size, and the argument lives through the call.
    let answer = unsafe { libc::ioctl(fd, request as _, argument as *mut T) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Gives the calling thread a network namespace of its own, which the descriptor keeps.
pub fn new_network() -> Outcome<Fd> {
    // SAFETY: no pointers.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(GuestError::last("make a network namespace"));
    }
    this_network()
}

/// The network namespace of the calling thread.
pub fn this_network() -> Outcome<Fd> {
    let path = "/proc/thread-self/ns/net";
    std::fs::File::open(path).map(Fd::from).map_err(|error| GuestError::io(path, error))
}

/// Moves the calling thread to a network namespace.
pub fn enter_network(namespace: &Fd) -> Outcome<()> {
    // SAFETY: no pointers.
    let answer = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
    if answer == 0 { Ok(()) } else { Err(GuestError::last("enter a network namespace")) }
}

/// The index of a network device of the calling thread's namespace.
pub fn device_index(device: &str) -> Outcome<u32> {
    let name = text(device)?;
    // SAFETY: the name is a string with its final zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(GuestError::last(format!("find the device {device}"))),
        index => Ok(index),
    }
}

/// Mounts a file system.
pub fn mount(source: &str, target: &str, kind: &str, options: &str) -> Outcome<()> {
    let [from, to, fs, data] = [text(source)?, text(target)?, text(kind)?, text(options)?];
    // SAFETY: all are strings with their final zero.
    let answer = unsafe { libc::mount(from.as_ptr(), to.as_ptr(), fs.as_ptr(), 0, data.as_ptr().cast()) };
    if answer == 0 { Ok(()) } else { Err(GuestError::last(format!("mount {kind} on {target}"))) }
}

/// Writes everything to disk and ends the guest.
pub fn power_off() -> ! {
    // SAFETY: no pointers. As PID 1 this does not return; otherwise the process ends.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
        libc::_exit(1)
    }
}

/// Lets this process have as many descriptors as Linux allows by default: a host's namespace and sockets take some.
pub fn many_files() -> Outcome<()> {
    const MOST: libc::rlim_t = 1 << 20;
    let limit = libc::rlimit { rlim_cur: MOST, rlim_max: MOST };
    // SAFETY: the struct lives through the call.
    let answer = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    if answer == 0 { Ok(()) } else { Err(GuestError::last(format!("allow {MOST} open files"))) }
}

/// Timers of the calling thread fire when they are due, not up to 50 us later.
pub fn exact_timers() {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// A clock in nanoseconds.
pub fn clock_ns(clock: libc::clockid_t) -> u64 {
    // SAFETY: the struct lives through the call.
    unsafe {
        let mut time: libc::timespec = zeroed();
        libc::clock_gettime(clock, &mut time);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

/// The resolution of a clock in nanoseconds.
pub fn clock_resolution_ns(clock: libc::clockid_t) -> u64 {
    // SAFETY: the struct lives through the call.
    unsafe {
        let mut time: libc::timespec = zeroed();
        libc::clock_getres(clock, &mut time);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

/// Sleeps until the monotonic clock shows `ns`.
pub fn sleep_until(ns: u64) {
    let time = timespec(ns);
    // SAFETY: the struct lives through the call.
    unsafe {
        while libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &time, std::ptr::null_mut())
            == libc::EINTR
        {}
    }
}

/// A timer that can be waited for together with other descriptors. The time limit of poll itself is not
/// exact: the kernel may be late by a thousandth of it.
#[derive(Debug)]
pub struct Timer(Fd);

impl Timer {
    /// A timer on the monotonic clock.
    pub fn new() -> Outcome<Self> {
        // SAFETY: no pointers; the descriptor is new and ours.
        unsafe {
            match libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) {
                -1 => Err(GuestError::last("make a timer")),
                fd => Ok(Self(Fd::from_raw_fd(fd))),
            }
        }
    }

    /// Waits until `readable` can be read, `writable` can be written or the clock shows `ns`.
    pub fn wait_for(&self, readable: RawFd, writable: Option<RawFd>, ns: u64) -> Outcome<()> {
        let timer = self.0.as_raw_fd();
        let time = libc::itimerspec { it_interval: timespec(0), it_value: timespec(ns) };
        // A descriptor of -1 is passed over.
        let mut all = [
            libc::pollfd { fd: timer, events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: readable, events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: writable.unwrap_or(-1), events: libc::POLLOUT, revents: 0 },
        ];
        // SAFETY: the structs live through the calls.
        let answer = unsafe {
            libc::timerfd_settime(timer, libc::TFD_TIMER_ABSTIME, &time, std::ptr::null_mut());
            libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, -1)
        };
        if answer >= 0 { Ok(()) } else { Err(GuestError::last("wait for packets")) }
    }
}

/// True if one of the `events` of poll, an error or the end has come.
pub fn is_ready(fd: RawFd, events: i16) -> bool {
    let mut wanted = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: the struct lives through the call.
    unsafe { libc::poll(&mut wanted, 1, 0) > 0 }
}

/// Sends as much as the socket takes; returns the number of bytes.
pub fn send_some(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of a slice.
    let length = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
    usize::try_from(length).map_err(|_| io::Error::last_os_error())
}

/// Reads `bytes` and discards them, however long they take to arrive.
pub fn read_exactly(fd: RawFd, bytes: u64) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        match read_some(fd, left)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => left -= read,
        }
    }
    Ok(())
}

/// Reads and discards everything until the peer has closed.
pub fn read_to_end(fd: RawFd) -> io::Result<()> {
    while read_some(fd, u64::MAX)? > 0 {}
    Ok(())
}

/// Waits for `most` bytes or the end of the stream; returns the bytes read, 0 at the end.
fn read_some(fd: RawFd, most: u64) -> io::Result<u64> {
    const MOST: u64 = 1 << 30;
    let most = most.min(MOST) as usize;
    // SAFETY: TCP counts the bytes of a read with MSG_TRUNC and writes none.
    let length = unsafe { libc::recv(fd, std::ptr::null_mut(), most, libc::MSG_TRUNC | libc::MSG_WAITALL) };
    u64::try_from(length).map_err(|_| io::Error::last_os_error())
}

/// Reads and discards what has arrived; returns its bytes.
pub fn discard(fd: RawFd, most: usize) -> io::Result<usize> {
    const MOST: usize = 1 << 30;
    let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    // SAFETY: TCP counts the bytes of a read with MSG_TRUNC and writes none.
    let length = unsafe { libc::recv(fd, std::ptr::null_mut(), most.min(MOST), flags) };
    usize::try_from(length).map_err(|_| io::Error::last_os_error())
}

/// Lets calls on a descriptor return at once.
pub fn do_not_block(fd: RawFd) -> io::Result<()> {
    // SAFETY: no pointers.
    if unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Binds a packet socket to a device and an Ethernet protocol.
pub fn bind_to_device(fd: RawFd, device: u32, protocol: u16) -> Outcome<()> {
    // SAFETY: all zeros is a valid value of the struct.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = device as i32;
    bind_any(fd, &address, "bind a packet socket to its device")
}

/// Lets a command end with the thread that starts it.
pub fn die_with_parent(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: prctl is safe between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
}

/// Lets a command place its memory where it always does.
pub fn fix_addresses(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: personality is safe between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::personality(libc::ADDR_NO_RANDOMIZE as _) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
}

/// Kills all processes of a group.
pub fn kill_group(group: u32) {
    // SAFETY: no pointers. A group that is gone already is no error.
    unsafe { libc::kill(-(group as i32), libc::SIGKILL) };
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}

fn text(string: &str) -> Outcome<CString> {
    CString::new(string).map_err(|error| GuestError::io(format!("\"{string}\" as a path or name"), error.into()))
}
