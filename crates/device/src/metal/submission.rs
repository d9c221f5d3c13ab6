//! A command buffer on its way: what it said when it was done, and what that means.

use super::driver::{Completed, Driver, Failure, FailureKind};
use crate::error::{Error, Fault, FaultKind};
use crate::time::{Finished, Origin, Time};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// A committed command buffer.
#[derive(Debug)]
pub(super) struct Submission {
    completion: Receiver<Completed>,
    /// What came, once it has.
    outcome: Option<Completed>,
    /// The kernels, in order.
    names: Vec<String>,
}

impl Submission {
    /// Commits commands; the GPU's answer comes through a channel, whichever thread brings it.
    pub(super) fn commit<D: Driver>(driver: &D, commands: D::Commands, names: Vec<String>) -> Self {
        let (sender, completion) = channel();
        driver.commit(
            commands,
            // Nobody listens any more when the device is gone.
            Box::new(move |completed| drop(sender.send(completed))),
        );
        Self {
            completion,
            outcome: None,
            names,
        }
    }

    /// Waits until the GPU has answered, whatever it says.
    pub(super) fn settle(&mut self, timeout: Duration) -> Result<(), Error> {
        if self.outcome.is_some() {
            return Ok(());
        }
        match self.completion.recv_timeout(timeout) {
            Ok(completed) => self.outcome = Some(completed),
            Err(RecvTimeoutError::Timeout) => return Err(self.time_out(timeout)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::NoDevice(
                    "Metal dropped a command buffer without completing it".to_owned(),
                ));
            }
        }
        Ok(())
    }

    /// Waits, and says how long it took or what went wrong.
    pub(super) fn result(mut self, timeout: Duration) -> Result<Finished, Error> {
        self.settle(timeout)?;
        let Some(completed) = self.outcome.take() else {
            return Err(self.time_out(timeout));
        };
        if let Some(failure) = completed.failure {
            return Err(self.failed(failure, timeout));
        }
        let (start, end) = completed.times;
        let length = Duration::try_from_secs_f64(end - start)
            .ok()
            .filter(|_| start > 0.0 || self.names.is_empty())
            .ok_or_else(|| {
                self.fault(
                    FaultKind::Other,
                    format!("Metal gave no GPU times ({start} to {end})"),
                )
            })?;
        let measured = |length| Time {
            length,
            origin: Origin::Measured,
        };
        Ok(Finished {
            total: measured(length),
            dispatches: completed.dispatches.into_iter().map(measured).collect(),
        })
    }

    fn failed(&self, failure: Failure, timeout: Duration) -> Error {
        let Failure { kind, message } = failure;
        let kind = match kind {
            FailureKind::TimeOut => return self.time_out(timeout),
            FailureKind::OutOfMemory => return Error::GpuMemory(message),
            FailureKind::NotPermitted => {
                return Error::NoDevice(format!(
                    "the system does not let this process use the GPU now: {message}"
                ));
            }
            FailureKind::DeviceRemoved => {
                return Error::NoDevice(format!("the GPU is gone: {message}"));
            }
            FailureKind::PageFault => FaultKind::OutOfBounds,
            FailureKind::StackOverflow | FailureKind::Other => FaultKind::Other,
        };
        self.fault(kind, message)
    }

    /// Metal does not say which dispatch failed; with one there is no doubt.
    fn fault(&self, kind: FaultKind, what: String) -> Error {
        Box::new(Fault {
            dispatch: 0,
            function: self.names.join(", "),
            kind,
            what,
            place: None,
            thread: None,
        })
        .into()
    }

    fn time_out(&self, after: Duration) -> Error {
        Error::TimeOut {
            dispatch: 0,
            function: self.names.join(", "),
            after,
        }
    }
}
