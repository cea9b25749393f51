//! `libdaybreak_switch.so`: the switch of a run on real Linux, as the guest's kernel loads it into its own process.
//!
//! Only the boundary: C on one side, [`Session`] on the other. The kernel's half is `kernel-image/driver/switch.h`. The
//! kernel calls from one thread, never during another call, on a stack of the library's own. A panic is reported on the
//! console and ends the kernel.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::io::Write;
use std::slice;

use daybreak_guest::counters::Counters;
use daybreak_guest::session::{Progress, Session};
use daybreak_guest::skb::Skb;
use daybreak_guest::switch::{Order, Origin};

/// Version of this interface, as in `switch.h`.
const ABI: u32 = 3;
/// Calls between two reports of progress.
const REPORT: u64 = 1 << 14;

/// `struct daybreak_packet`.
#[derive(Debug)]
#[repr(C)]
pub struct RawPacket {
    handle: u64,
    headers: *const u8,
    header_bytes: u32,
    length: u32,
    nic: u32,
    checksum_is_partial: u32,
    owner: u32,
    reserved: u32,
}

/// `struct daybreak_counts`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawCounts {
    addresses: [u32; 2],
    ports: [u16; 2],
    rtos: u32,
    tlps: u32,
    fast_recoveries: u32,
    spurious: u32,
}

/// `struct daybreak_orders`.
#[derive(Debug)]
#[repr(C)]
pub struct RawOrders {
    list: *const Order,
    count: u64,
    next_ns: u64,
    over: u64,
}

struct Library {
    session: Option<Session>,
    message: String,
    calls: u64,
}

struct Only(UnsafeCell<Library>);

// SAFETY: one thread of the kernel's process makes all calls, never during another call.
unsafe impl Sync for Only {}

static LIBRARY: Only = Only(UnsafeCell::new(Library { session: None, message: String::new(), calls: 0 }));

/// The library's state, for the duration of one external call.
fn library() -> &'static mut Library {
    // SAFETY: every exported function takes it once, and they do not call each other.
    unsafe { &mut *LIBRARY.0.get() }
}

/// The version of this interface.
#[unsafe(no_mangle)]
pub extern "C" fn daybreak_switch_abi() -> u32 {
    ABI
}

/// Reads the plan. Returns the number of NICs, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn daybreak_switch_open() -> i64 {
    std::panic::set_hook(Box::new(|panic| {
        say(&format!("! the engine is broken: {panic}"));
        std::process::abort()
    }));
    let library = library();
    match Session::open() {
        Ok(session) => library.session.insert(session).nics as i64,
        Err(error) => {
            library.message = error.to_string();
            -1
        }
    }
}

/// The plan's clock starts when the kernel's shows this.
#[unsafe(no_mangle)]
pub extern "C" fn daybreak_switch_start(zero_ns: u64) {
    if let Some(session) = &mut library().session {
        session.start(zero_ns);
    }
}

/// Takes a packet. Returns the time at which the switch has to be called next, or 0 if the packet is lost.
///
/// # Safety
/// `packet` must be valid, with headers of the stated length that stay valid until an order names its handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn daybreak_switch_send(packet: *const RawPacket, now_ns: u64) -> u64 {
    let Some(session) = &mut library().session else { return 0 };
    // SAFETY: see above.
    let (from, skb) = unsafe {
        let RawPacket { handle, headers, header_bytes, length, nic, checksum_is_partial, owner, .. } = *packet;
        let headers = slice::from_raw_parts_mut(headers.cast_mut(), header_bytes as usize);
        (Origin { nic, owner }, Skb::new(handle, headers, length, checksum_is_partial != 0))
    };
    session.send(now_ns, from, skb).unwrap_or(0)
}

/// Adds to the counts of a connection.
///
/// # Safety
/// `counts` must be valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn daybreak_switch_count(counts: *const RawCounts) {
    let Some(session) = &mut library().session else { return };
    // SAFETY: see above.
    let RawCounts { addresses, ports, rtos, tlps, fast_recoveries, spurious } = unsafe { *counts };
    let socket = [(addresses[0], ports[0]), (addresses[1], ports[1])];
    session.count(socket, Counters { rtos, tlps, fast_recoveries, spurious });
}

/// Does what is due.
///
/// # Safety
/// `orders` must be writable; its list must be read before the next call of this function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn daybreak_switch_advance(now_ns: u64, orders: *mut RawOrders) {
    let library = library();
    let Some(session) = &mut library.session else { return };
    let list = session.advance(now_ns);
    let (list, count) = (list.as_ptr(), list.len() as u64);
    let over = u64::from(session.is_over());
    library.calls += 1;
    let is_due = session.take_heartbeat(now_ns);
    if over != 0 || is_due || library.calls.is_multiple_of(REPORT) {
        let Progress { now, packets, complete } = session.progress(now_ns);
        say(&format!("@ {} {packets} {complete}", now.as_ns()));
    }
    // SAFETY: see above.
    unsafe { orders.write(RawOrders { list, count, next_ns: session.next_ns(), over }) };
}

/// Takes a report of the init program. Returns 0, or -1.
///
/// # Safety
/// `report` must point to `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn daybreak_switch_tell(report: *const u8, bytes: u64) -> i64 {
    let library = library();
    let Some(session) = &mut library.session else { return -1 };
    // SAFETY: see above.
    match session.report(unsafe { slice::from_raw_parts(report, bytes as usize) }) {
        Ok(()) => 0,
        Err(error) => {
            library.message = error.to_string();
            -1
        }
    }
}

/// End of the run in nanoseconds of the plan's clock; 0 if it failed before.
#[unsafe(no_mangle)]
pub extern "C" fn daybreak_switch_stopped() -> u64 {
    library().session.as_ref().and_then(Session::stopped).map_or(0, |at| at.as_ns())
}

/// Why the last call failed: copies at most `bytes` of its text and returns their number.
///
/// # Safety
/// `text` must have room for `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn daybreak_switch_message(text: *mut u8, bytes: u64) -> i64 {
    let message = library().message.as_bytes();
    let length = message.len().min(bytes as usize);
    // SAFETY: see above.
    unsafe { text.copy_from_nonoverlapping(message.as_ptr(), length) };
    length as i64
}

/// A line on the console, which is the kernel process's standard output.
fn say(line: &str) {
    // The reader may be gone; the run does not depend on it.
    let _ = std::io::stdout().lock().write_all(format!("{}\n", line.replace('\n', " ")).as_bytes());
}
