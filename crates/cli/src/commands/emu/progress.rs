//! Progress of a run, and stopping it.

use crate::context::Context;
use crate::interrupt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A line on standard error once a run takes long.
pub(super) struct Progress {
    visible: bool,
    start: Instant,
    shown: Mutex<Option<Instant>>,
}

impl Progress {
    pub(super) fn new(context: &Context) -> Progress {
        interrupt::cooperate();
        Progress {
            visible: context.progress,
            start: Instant::now(),
            shown: Mutex::new(None),
        }
    }

    /// Shows how far the run is; says whether to go on.
    pub(super) fn show(&self, done: u64, total: u64) -> bool {
        let due = self.visible && self.start.elapsed() > Duration::from_secs(1);
        if due
            && let Ok(mut shown) = self.shown.try_lock()
            && shown.is_none_or(|last| last.elapsed() > Duration::from_millis(200))
        {
            *shown = Some(Instant::now());
            anstream::eprint!("\r{done} of {total} threadgroups ");
        }
        !interrupt::requested()
    }

    pub(super) fn clear(&self) {
        if let Ok(shown) = self.shown.lock()
            && shown.is_some()
        {
            anstream::eprint!("\r{:40}\r", "");
        }
    }
}
