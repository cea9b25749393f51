//! An application of the simulator: it makes the calls that need not block.

use daybreak_units::Instant;

use crate::{Call, Calls};

/// One end of a flow, which makes its calls in order.
#[derive(Clone, Debug)]
pub struct Process {
    calls: Calls,
    waits: Waits,
    /// Bytes read and requested so far.
    asked: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    Nothing,
    /// Until all requested bytes have been read.
    Data,
    End,
    Until(Instant),
}

impl Process {
    /// A process that has made none of its calls.
    pub fn new(calls: Calls) -> Self {
        Self { calls, waits: Waits::Nothing, asked: 0 }
    }

    /// The next write or close before the process blocks, if there is one. `delivered` is the number of bytes delivered
    /// in order since the connection began; with `end` the peer has closed after them. Call until it returns `None`.
    pub fn poll(&mut self, now: Instant, delivered: u64, end: bool) -> Option<Call> {
        loop {
            let goes_on = match self.waits {
                Waits::Nothing => true,
                Waits::Data => delivered >= self.asked,
                Waits::End => end,
                Waits::Until(at) => at <= now,
            };
            if !goes_on {
                return None;
            }
            self.waits = Waits::Nothing;
            match self.calls.next()? {
                Call::Read(bytes) => (self.asked, self.waits) = (self.asked + bytes, Waits::Data),
                Call::ReadToEnd => self.waits = Waits::End,
                Call::Sleep(time) => self.waits = Waits::Until(now + time),
                call @ (Call::Write(_) | Call::Close) => return Some(call),
            }
        }
    }

    /// Whether it waits for data, so that [`Process::poll`] must be called when some arrives.
    pub fn waits_for_data(&self) -> bool {
        self.waits == Waits::Data
    }

    /// Latest time of the next call of [`Process::poll`]; [`Instant::NEVER`] if none is needed.
    pub fn poll_timeout(&self) -> Instant {
        match self.waits {
            Waits::Until(at) => at,
            Waits::Nothing | Waits::Data | Waits::End => Instant::NEVER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybreak_plan::{Application, ExchangeRun};

    fn process(client: bool) -> Process {
        let run = ExchangeRun { count: 2, request_bytes: 10, response_bytes: 100, think_ps: 7 };
        Process::new(Calls::new(&Application::RequestResponse { exchanges: vec![run] }, client))
    }

    fn all(process: &mut Process, ps: u64, delivered: u64, end: bool) -> Vec<Call> {
        std::iter::from_fn(|| process.poll(Instant::from_ps(ps), delivered, end)).collect()
    }

    #[test]
    fn a_client_waits_for_the_whole_response_and_thinks() {
        let mut client = process(true);
        assert_eq!(all(&mut client, 0, 0, false), [Call::Write(10)]);
        assert!(client.waits_for_data());
        assert_eq!(all(&mut client, 50, 99, false), []);
        assert_eq!(all(&mut client, 60, 100, false), []);
        assert!(!client.waits_for_data(), "it thinks");
        assert_eq!(client.poll_timeout(), Instant::from_ps(67));
        assert_eq!(all(&mut client, 66, 100, false), []);
        assert_eq!(all(&mut client, 67, 100, false), [Call::Write(10)]);
        assert_eq!(all(&mut client, 90, 200, false), [Call::Close]);
        assert_eq!((client.waits_for_data(), client.poll_timeout()), (false, Instant::NEVER));
    }

    #[test]
    fn a_server_answers_each_request_and_closes_last() {
        let mut server = process(false);
        assert_eq!(all(&mut server, 0, 9, false), []);
        assert_eq!(all(&mut server, 0, 10, false), [Call::Write(100)]);
        assert_eq!(all(&mut server, 0, 20, false), [Call::Write(100)]);
        assert_eq!(all(&mut server, 0, 20, false), []);
        assert_eq!(all(&mut server, 0, 20, true), [Call::Close]);
    }
}
