//! A command buffer on its way: what it said when it was done, and what that means.

use super::driver::{Completed, Driver};
use super::failure::{Failure, FailureKind};
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
    /// Copies before and after it, which belong to it.
    pub(super) around: Vec<Submission>,
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
            around: Vec::new(),
        }
    }

    /// Waits until the GPU has answered, whatever it says.
    pub(super) fn settle(&mut self, timeout: Duration) -> Result<(), Error> {
        self.around
            .iter_mut()
            .try_for_each(|copy| copy.settle(timeout))?;
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
            return Err(self.failed(failure));
        }
        for copy in std::mem::take(&mut self.around) {
            copy.result(timeout)?;
        }
        let measured = |length| Time {
            length,
            origin: Origin::Measured,
        };
        Ok(Finished {
            total: length(completed.times).map(measured),
            dispatches: completed.dispatches.into_iter().map(measured).collect(),
        })
    }

    fn failed(&self, failure: Failure) -> Error {
        let Failure { kind, message } = failure;
        let no_device = |why: &str| Error::NoDevice(format!("{why}: {message}"));
        let stopped = |why: &str| self.fault(FaultKind::TimeOut, format!("{why}: {message}"));
        match kind {
            FailureKind::OutOfMemory => Error::GpuMemory(message),
            FailureKind::NotPermitted => {
                no_device("the system does not let this process use the GPU now")
            }
            FailureKind::DeviceRemoved => no_device("the GPU is gone"),
            FailureKind::Ignored => no_device(
                "the system takes no more GPU work of this process because of its earlier errors; start it again",
            ),
            FailureKind::InnocentVictim => no_device(
                "the GPU was reset because of another program's error, and this work was dropped; run it again",
            ),
            FailureKind::TimeOut => {
                stopped("the system stopped it because it kept the GPU too long")
            }
            FailureKind::Hang => stopped("the GPU made no progress and was reset"),
            FailureKind::ImpactingInteractivity => stopped(
                "the system stopped it to keep the screen responsive; dispatch less at once",
            ),
            FailureKind::PageFault => self.fault(FaultKind::OutOfBounds, message),
            FailureKind::StackOverflow | FailureKind::InvalidResource | FailureKind::Other => {
                self.fault(FaultKind::Other, message)
            }
        }
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

/// How long the GPU worked, by `GPUStartTime` and `GPUEndTime`. A virtual GPU gives zeros: its results count, its time is
/// not known.
fn length((start, end): (f64, f64)) -> Option<Duration> {
    (start > 0.0)
        .then(|| Duration::try_from_secs_f64(end - start).ok())
        .flatten()
        .filter(|length| !length.is_zero())
}
