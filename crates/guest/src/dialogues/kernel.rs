//! The kernel as the host of a dialogue: a socket, an application that writes and reads, a packet socket.
//!
//! A system call that fails costs the guest 1 us of its time, so no call but connect is tried before poll reports that
//! it will succeed.

use std::os::fd::{AsRawFd, RawFd};

use daybreak_dialogue::{Answer, Host, Reading, Script, SocketOption, What};
use daybreak_tcp::Segment;
use daybreak_tcp::config::Config;
use daybreak_units::{Duration, Instant};

use super::observe;
use super::stage::Stage;
use super::wire::{PEER, Wire};
use crate::error::GuestError;
use crate::jiffies;
use crate::system::{self, Fd, Timer};

/// The application's data; one system call writes at most all of it.
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];
const LONGEST: usize = 1 << 16;

/// A kernel, ready at the start of a dialogue.
pub struct Kernel {
    stage: Stage,
    config: Config,
    wire: Wire,
    timer: Timer,
    /// Prepared before the start; the application connects with it, or it is listening.
    socket: Fd,
    listens: bool,
    connection: Option<Fd>,
    /// The dialogue's start on the monotonic clock.
    zero_ns: u64,
    /// Bytes that the application still wants to write; then it may close.
    unwritten: u64,
    written: u64,
    closes: bool,
    /// Whether the application reads everything at once.
    reads: bool,
    /// Bytes that the application has read.
    delivered: u64,
    buffer: Vec<u8>,
}

impl Kernel {
    /// Makes everything and sleeps until the dialogue starts.
    pub fn new(script: &Script) -> Result<Self, GuestError> {
        let stage = Stage::new(script)?;
        let socket = stage.socket(script)?;
        let listens = !script.steps.iter().any(|step| matches!(step.what, What::Open));
        if listens {
            system::listen(socket.as_raw_fd(), "listen")?;
        }
        let timer = Timer::new()?;
        system::exact_timers();
        let zero_ns = jiffies::next_aligned(0)?;
        system::sleep_until(zero_ns);
        Ok(Self {
            stage,
            config: script.config.clone(),
            wire: Wire::default(),
            timer,
            socket,
            listens,
            connection: None,
            zero_ns,
            unwritten: 0,
            written: 0,
            closes: false,
            reads: true,
            delivered: 0,
            buffer: vec![0; LONGEST],
        })
    }

    /// The connection's socket.
    fn fd(&self) -> RawFd {
        self.connection.as_ref().unwrap_or(&self.socket).as_raw_fd()
    }

    fn now(&self) -> Instant {
        Instant::ZERO + Duration::from_ns(system::clock_ns(libc::CLOCK_MONOTONIC).saturating_sub(self.zero_ns))
    }

    fn ns(&self, at: Instant) -> u64 {
        self.zero_ns + at.as_ps().div_ceil(1_000)
    }

    /// The next frame that has already left.
    fn frame(&mut self) -> Result<Option<Segment>, String> {
        let packets = self.stage.packets.as_raw_fd();
        while system::is_ready(packets, libc::POLLIN) {
            let length = system::receive(packets, &mut self.buffer).map_err(said("receive a packet"))?;
            let stamp = self.config.timestamp(self.now());
            if let Some(segment) = self.wire.read(&self.buffer[..length], stamp) {
                return Ok(Some(segment));
            }
        }
        Ok(None)
    }

    /// Writes as much as the socket takes now.
    fn push(&mut self) -> Result<(), String> {
        while self.unwritten > 0 && system::is_ready(self.fd(), libc::POLLOUT) {
            self.send()?;
        }
        if self.unwritten == 0 && std::mem::take(&mut self.closes) {
            system::no_more_data(self.fd()).map_err(said("close"))?;
        }
        Ok(())
    }

    /// One system call of what is to be written.
    fn send(&mut self) -> Result<(), String> {
        let chunk = usize::try_from(self.unwritten).unwrap_or(ZEROS.len()).min(ZEROS.len());
        let sent = system::send_some(self.fd(), &ZEROS[..chunk]).map_err(said("write"))?;
        self.written += sent as u64;
        if self.unwritten < u64::MAX {
            self.unwritten -= sent as u64;
        }
        Ok(())
    }

    /// The send buffer has any room: a call that begins now takes something. Poll says so only while a third is free.
    fn has_room(&self) -> Result<bool, String> {
        let [used, size] = system::send_memory(self.fd()).map_err(|error| error.to_string())?;
        Ok(used < size)
    }

    /// Takes the connection if there is one: the first, or one that succeeds another in TIME-WAIT.
    fn take_connection(&mut self) -> Result<(), String> {
        if !self.listens || !system::is_ready(self.socket.as_raw_fd(), libc::POLLIN) {
            return Ok(());
        }
        let connection = system::accept(self.socket.as_raw_fd()).map_err(said("accept"))?;
        system::do_not_block(connection.as_raw_fd()).map_err(said("accept"))?;
        self.connection = Some(connection);
        (self.written, self.delivered) = (0, 0);
        Ok(())
    }

    /// Reads up to `bytes` of what has arrived.
    fn take_bytes(&mut self, bytes: u64) -> Result<(), String> {
        self.take_connection()?;
        if self.listens && self.connection.is_none() {
            return Ok(());
        }
        let mut left = bytes;
        while left > 0 && system::is_ready(self.fd(), libc::POLLIN) {
            match system::discard(self.fd(), usize::try_from(left).unwrap_or(usize::MAX)) {
                // The peer has closed, or the connection was reset: the segments show which.
                Ok(0) | Err(_) => break,
                Ok(length) => {
                    self.delivered += length as u64;
                    left -= length as u64;
                }
            }
        }
        Ok(())
    }
}

fn said(what: &'static str) -> impl Fn(std::io::Error) -> String {
    move |error| format!("cannot {what}: {error}")
}

impl Host for Kernel {
    /// The guest's clock moves a nanosecond with every look at it, and a microsecond while connect says that it
    /// has not connected yet.
    const GRAIN: Duration = Duration::from_us(2);

    fn next_segment(&mut self, until: Instant) -> Result<Option<(Instant, Segment)>, String> {
        loop {
            let now = self.now();
            if let Some(segment) = self.frame()? {
                return Ok(Some((now, segment)));
            }
            if self.unwritten > 0 && system::is_ready(self.fd(), libc::POLLOUT) {
                self.push()?;
                continue;
            }
            if now >= until {
                return Ok(None);
            }
            let writes = (self.unwritten > 0).then(|| self.fd());
            let wait = self.timer.wait_for(self.stage.packets.as_raw_fd(), writes, self.ns(until));
            wait.map_err(|error| error.to_string())?;
        }
    }

    fn open(&mut self, _now: Instant) -> Result<(), String> {
        match system::connect(self.socket.as_raw_fd(), PEER) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(said("connect")(error)),
            _ => Ok(()),
        }
    }

    fn write(&mut self, _now: Instant, bytes: u64) -> Result<(), String> {
        let waits = self.unwritten > 0;
        self.unwritten = self.unwritten.saturating_add(bytes);
        // Once something is written the connection is there, and poll need not be asked about that.
        if !waits && self.unwritten > 0 && self.written > 0 && self.has_room()? {
            self.send()?;
        }
        self.push()
    }

    fn close(&mut self, _now: Instant) -> Result<(), String> {
        self.closes = true;
        self.push()
    }

    fn on_segment(&mut self, _now: Instant, segment: &Segment) -> Result<(), String> {
        let frame = self.wire.write(segment);
        system::send(self.stage.packets.as_raw_fd(), &frame).map_err(said("send the peer's segment"))?;
        if self.reads { self.take_bytes(u64::MAX) } else { self.take_connection() }
    }

    fn read(&mut self, _now: Instant, reading: Reading) -> Result<(), String> {
        self.reads = reading == Reading::All;
        match reading {
            Reading::All => self.take_bytes(u64::MAX),
            Reading::Nothing => Ok(()),
            Reading::Bytes(bytes) => self.take_bytes(bytes),
        }
    }

    fn set(&mut self, _now: Instant, option: SocketOption) -> Result<(), String> {
        let (level, name, value) = match option {
            SocketOption::NoDelay(is_on) => (libc::IPPROTO_TCP, libc::TCP_NODELAY, i32::from(is_on)),
            SocketOption::Cork(is_on) => (libc::IPPROTO_TCP, libc::TCP_CORK, i32::from(is_on)),
            SocketOption::ReceiveBuffer(bytes) => (libc::SOL_SOCKET, libc::SO_RCVBUF, bytes as i32),
            SocketOption::SendBuffer(bytes) => (libc::SOL_SOCKET, libc::SO_SNDBUF, bytes as i32),
        };
        system::set_option(self.fd(), level, name, &value, "set an option of the socket")
            .map_err(|error| error.to_string())
    }

    fn observe(&mut self, name: &str) -> Result<Answer, String> {
        if name == "delivered" {
            return Ok(Answer::Is(self.delivered.to_string()));
        }
        observe::of(self.fd(), name, self.written, !self.listens).map_err(|error| error.to_string())
    }
}
