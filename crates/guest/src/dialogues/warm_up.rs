//! Opens and closes one connection to the peer, so that Linux fills its metrics cache from the route.
//!
//! A new connection starts from what the cache holds of its destination. An entry is made when a connection ends, and
//! takes from the route what is locked there: the slow-start threshold, and the largest window.

use std::os::fd::AsRawFd;

use daybreak_tcp::{Flags, Header, Segment, SynOptions};

use super::wire::{PEER, Wire};
use crate::error::GuestError;
use crate::system::{self, Fd};

/// A round trip: without one Linux remembers nothing.
const RTT_NS: u64 = 1_000_000;

/// Connects a socket whose segments go through `packets`, lets the peer close it first, so that no port stays in use,
/// and closes it.
pub fn make(packets: &Fd, socket: Fd) -> Result<(), GuestError> {
    // It says that it has not connected yet.
    let _ = system::connect(socket.as_raw_fd(), PEER);
    let packets = packets.as_raw_fd();
    let mut wire = Wire::default();
    let mut buffer = [0; 2_048];
    let mut expect = |wire: &mut Wire, what: &str| {
        while system::is_ready(packets, libc::POLLIN) {
            let length = system::receive(packets, &mut buffer).map_err(|error| GuestError::io(what, error))?;
            if wire.read(&buffer[..length], 1).is_some() {
                return Ok(());
            }
        }
        Err(GuestError::Broken(format!("the kernel has not sent {what}")))
    };
    let say =
        |frame: Vec<u8>| system::send(packets, &frame).map_err(|error| GuestError::io("send to the stack", error));
    let syn = SynOptions { mss: 1_460, ..SynOptions::default() };
    let ack = Segment::from(Header { seq: 1, ack: 1, window: 65_535, flags: Flags::ACK, ..Header::default() });
    let both = |flag: Flags| Flags::ACK.with(flag);

    expect(&mut wire, "a SYN")?;
    system::sleep_until(system::clock_ns(libc::CLOCK_MONOTONIC) + RTT_NS);
    say(wire.write(&Segment::from(Header { seq: 0, flags: both(Flags::SYN), syn, ..*ack })))?;
    expect(&mut wire, "the ACK of a SYN")?;
    say(wire.write(&Segment::from(Header { flags: both(Flags::FIN), ..*ack })))?;
    drop(socket);
    // The peer's FIN may have been acknowledged on its own, before our FIN.
    expect(&mut wire, "a FIN")?;
    say(wire.write(&Segment::from(Header { seq: 2, ack: 2, ..*ack })))?;
    while system::is_ready(packets, libc::POLLIN) {
        expect(&mut wire, "the rest")?;
    }
    Ok(())
}
