//! Applications on a stream as sequences of socket calls.

use daybreak_plan::{Application, ExchangeRun};
use daybreak_units::Duration;

/// A blocking call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Writes this number of bytes; `u64::MAX` for an unlimited stream.
    Write(u64),
    /// Reads this number of bytes.
    Read(u64),
    /// Reads until the peer has closed.
    ReadToEnd,
    /// Sleeps.
    Sleep(Duration),
    /// Closes the sending side. The peer may still write.
    Close,
}

/// The calls of one end of a flow after `connect` or `accept`. Empty for an application without a stream.
#[derive(Clone, Debug)]
pub struct Calls {
    application: Application,
    client: bool,
    /// Number of calls made, within the current exchange if there are exchanges.
    step: u32,
    /// Position among the runs of exchanges, and within that run.
    run: usize,
    exchange: u32,
}

impl Calls {
    /// The calls of the client or the server of a flow.
    pub fn new(application: &Application, client: bool) -> Self {
        Self { application: application.clone(), client, step: 0, run: 0, exchange: 0 }
    }

    /// A bulk transfer: the client writes and closes, the server reads to the end and closes.
    fn bulk(&mut self, bytes: Option<u64>) -> Option<Call> {
        self.step += 1;
        match (self.client, self.step) {
            (true, 1) => Some(Call::Write(bytes.unwrap_or(u64::MAX))),
            (true, 2) => bytes.map(|_| Call::Close),
            (false, 1) => Some(Call::ReadToEnd),
            (false, 2) => Some(Call::Close),
            _ => None,
        }
    }

    /// The next call of the current exchange: think, send, receive; or receive, send. `None` after the last.
    fn exchange(&mut self) -> Option<Call> {
        const SILENT: Duration = Duration::from_ps(0);
        let Application::RequestResponse { exchanges } = &self.application else { return None };
        loop {
            let &ExchangeRun { count, request_bytes, response_bytes, think_ps } = exchanges.get(self.run)?;
            if self.exchange == count {
                (self.run, self.exchange) = (self.run + 1, 0);
                continue;
            }
            self.step += 1;
            let is_first = self.run == 0 && self.exchange == 0;
            let think = if is_first { SILENT } else { Duration::from_ps(think_ps) };
            match (self.client, self.step) {
                (true, 1) if think > SILENT => return Some(Call::Sleep(think)),
                (true, 2) => return Some(Call::Write(request_bytes)),
                (true, 3) => return Some(Call::Read(response_bytes)),
                (false, 1) => return Some(Call::Read(request_bytes)),
                (false, 2) => return Some(Call::Write(response_bytes)),
                (true, 1) => {}
                _ => (self.step, self.exchange) = (0, self.exchange + 1),
            }
        }
    }

    /// After the last exchange the client closes, and the server closes when it has seen that.
    fn end(&mut self) -> Option<Call> {
        self.step += 1;
        match (self.client, self.step) {
            (true, 1) => Some(Call::Close),
            (false, 1) => Some(Call::ReadToEnd),
            (false, 2) => Some(Call::Close),
            _ => None,
        }
    }
}

impl Iterator for Calls {
    type Item = Call;

    fn next(&mut self) -> Option<Call> {
        match self.application {
            Application::Bulk { bytes } => self.bulk(bytes),
            Application::RequestResponse { .. } => self.exchange().or_else(|| self.end()),
            Application::ConstantRate { .. } | Application::Program { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Call::{Close, Read, ReadToEnd, Sleep, Write};
    use super::*;

    fn calls(application: &Application, client: bool) -> Vec<Call> {
        Calls::new(application, client).take(20).collect()
    }

    #[test]
    fn a_bulk_transfer_is_written_and_read_to_its_end() {
        let bulk = Application::Bulk { bytes: Some(5) };
        assert_eq!(calls(&bulk, true), [Write(5), Close]);
        assert_eq!(calls(&bulk, false), [ReadToEnd, Close]);
        assert_eq!(calls(&Application::Bulk { bytes: None }, true), [Write(u64::MAX)]);
    }

    #[test]
    fn exchanges_follow_each_other_and_the_client_closes() {
        let run = |count, request_bytes, response_bytes, think_ps| ExchangeRun {
            count,
            request_bytes,
            response_bytes,
            think_ps,
        };
        let exchanges = vec![run(2, 10, 100, 7), run(1, 20, 200, 0)];
        let application = Application::RequestResponse { exchanges };
        let pause = Sleep(Duration::from_ps(7));
        let client = [Write(10), Read(100), pause, Write(10), Read(100), Write(20), Read(200), Close];
        assert_eq!(calls(&application, true), client, "no pause before the first request");
        let server = [Read(10), Write(100), Read(10), Write(100), Read(20), Write(200), ReadToEnd, Close];
        assert_eq!(calls(&application, false), server);
    }

    #[test]
    fn datagrams_have_no_stream() {
        let application = Application::ConstantRate { rate_bps: 1, payload_bytes: 100, stop_ps: None };
        assert_eq!(calls(&application, true), []);
    }
}
