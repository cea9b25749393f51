//! `/dev/daybreak`: the driver of the hosts' NICs, and behind it the switch. The other half of this file is
//! `kernel-image/driver/control.c`.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;

use daybreak_plan::ReceiveBuffers;

use crate::error::GuestError;
use crate::report::Report;
use crate::system;

const PATH: &str = "/dev/daybreak";

// As <asm-generic/ioctl.h> makes them: direction, size of the argument, the letter d, a number.
const OPEN: u32 = 0x6401;
const NIC: u32 = 1 << 30 | (size_of::<NicRequest>() as u32) << 16 | 0x6402;
const START: u32 = 1 << 30 | (size_of::<u64>() as u32) << 16 | 0x6403;
const WAIT: u32 = 3 << 30 | (size_of::<u64>() as u32) << 16 | 0x6404;
const COUNT: u32 = 1 << 30 | (size_of::<CountRequest>() as u32) << 16 | 0x6405;

#[repr(C)]
struct NicRequest {
    index: u32,
    linear_bytes: u32,
    page_bytes: u32,
    name: [u8; 16],
}

#[repr(C)]
struct CountRequest {
    address: u32,
    name: [u8; 16],
}

/// The init program's interface to the switch.
#[derive(Debug)]
pub struct Device(File);

impl Device {
    /// Loads the switch, which reads the plan.
    pub fn open() -> Result<Self, GuestError> {
        let file = File::options().read(true).write(true).open(PATH);
        let device = Self(file.map_err(|error| GuestError::io(PATH, error))?);
        device.ask(OPEN, &mut (), "load the switch")?;
        Ok(device)
    }

    /// Makes the NIC with this index in the layout, in the network namespace of the calling thread.
    pub fn nic(&self, index: u32, name: &str, buffers: ReceiveBuffers) -> Result<(), GuestError> {
        let ReceiveBuffers { linear_bytes, page_bytes } = buffers;
        let mut request = NicRequest { index, linear_bytes, page_bytes, name: c_name(name) };
        self.ask(NIC, &mut request, &format!("make the NIC {index}"))
    }

    /// Counts for each TCP connection of the calling thread's network namespace, which has this address and device, but
    /// no neighbours yet.
    pub fn count(&self, address: u32, name: &str) -> Result<(), GuestError> {
        self.ask(COUNT, &mut CountRequest { address, name: c_name(name) }, "count for each connection")
    }

    /// The plan's clock starts when the monotonic clock shows this.
    pub fn start(&self, mut zero_ns: u64) -> Result<(), GuestError> {
        self.ask(START, &mut zero_ns, "start the switch")
    }

    /// Waits until the run is over, at most until the monotonic clock shows `until_ns`. True if it is over.
    pub fn wait(&self, until_ns: Option<u64>) -> Result<bool, GuestError> {
        let mut at_ns = until_ns.unwrap_or(u64::MAX);
        self.ask(WAIT, &mut at_ns, "wait for the switch")?;
        Ok(at_ns != u64::MAX)
    }

    /// Sends a report to the switch.
    pub fn report(&self, report: &Report) -> Result<(), GuestError> {
        // The driver takes a report completely or not at all.
        (&self.0).write_all(&report.encode()).map_err(|error| self.failure(error, "report to the switch"))
    }

    fn ask<T>(&self, request: u32, argument: &mut T, what: &str) -> Result<(), GuestError> {
        system::control(self.0.as_raw_fd(), request, argument).map_err(|error| self.failure(error, what))
    }

    /// The switch's own error message if there is one, else the kernel's.
    fn failure(&self, error: std::io::Error, what: &str) -> GuestError {
        if error.raw_os_error() != Some(libc::EPROTO) {
            return GuestError::io(what, error);
        }
        let mut text = [0; 1024];
        let length = (&self.0).read(&mut text).unwrap_or(0);
        GuestError::Switch(String::from_utf8_lossy(&text[..length]).into_owned())
    }
}

/// A device's name as the kernel has it: up to 15 bytes and a zero.
fn c_name(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(name.bytes().take(15)) {
        *to = from;
    }
    bytes
}
