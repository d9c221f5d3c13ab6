//! What all encoders have: a command buffer, a label, debug groups, an end.

use crate::command::{Command, Origin};
use crate::queue::{COMMAND_BUFFER, CommandBuffer};
use crate::report::wrong_use;
use crate::resource::lock;
use assay_foundation::string::{string, text};
use assay_objc::{Id, Strong};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// An encoder's connection to its command buffer.
#[derive(Debug, Default)]
pub(crate) struct Session {
    commands: Strong,
    ended: AtomicBool,
    label: Mutex<Strong>,
    groups: Mutex<Vec<String>>,
    /// Fences that the encoder has updated.
    updated: Mutex<Vec<usize>>,
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.commands.is_nil() && !self.ended.load(Relaxed) {
            wrong_use("an encoder was released without endEncoding");
            self.close();
        }
    }
}

impl Session {
    /// # Safety
    /// The command buffer must be alive.
    pub(crate) unsafe fn new(commands: Id, is_concurrent: bool) -> Self {
        let mut session = Self::default();
        // SAFETY: the caller's promise.
        session.commands = unsafe { Strong::retain(commands) };
        if let Some(buffer) = session.buffer() {
            buffer.open_encoder();
            buffer.add(Command::Begin(is_concurrent));
        }
        session
    }

    fn buffer(&self) -> Option<&CommandBuffer> {
        // SAFETY: the reference keeps it.
        unsafe { COMMAND_BUFFER.state::<CommandBuffer>(self.commands.id()) }
    }

    fn close(&self) {
        if let Some(buffer) = self.buffer() {
            buffer.encoder_ended();
        }
    }

    /// `endEncoding`.
    pub(crate) fn end(&self) {
        if self.ended.swap(true, Relaxed) {
            wrong_use("endEncoding of an encoder that was ended");
            return;
        }
        let open = lock(&self.groups).len();
        if open > 0 {
            wrong_use(&format!(
                "endEncoding with {open} debug groups that were not popped"
            ));
        }
        self.close();
    }

    /// Adds a command, unless the encoder was ended.
    pub(crate) fn add(&self, command: Command) {
        if self.ended.load(Relaxed) {
            let what = command.name();
            wrong_use(&format!(
                "{what} was encoded after endEncoding; it does not run"
            ));
        } else if let Some(buffer) = self.buffer() {
            buffer.add(command);
        }
    }

    /// Who encodes what comes now.
    pub(crate) fn origin(&self, kernel: &str, extent: String) -> Arc<Origin> {
        let name = |label: &Mutex<Strong>| {
            // SAFETY: a label is a string or nil.
            unsafe { text(lock(label).id()) }.to_owned()
        };
        let of_buffer = self
            .buffer()
            .map_or(String::new(), |buffer| name(&buffer.label));
        let mut labels = vec![of_buffer, name(&self.label)];
        labels.extend(lock(&self.groups).iter().cloned());
        Origin::new(kernel, extent, labels)
    }

    pub(crate) fn label(&self) -> Strong {
        lock(&self.label).clone()
    }

    /// # Safety
    /// The label must be a string or nil.
    pub(crate) unsafe fn set_label(&self, label: Id) {
        // SAFETY: the caller's promise.
        *lock(&self.label) = string(unsafe { text(label) });
    }

    pub(crate) fn push_group(&self, name: &str) {
        lock(&self.groups).push(name.to_owned());
    }

    pub(crate) fn pop_group(&self) {
        if lock(&self.groups).pop().is_none() {
            wrong_use("popDebugGroup of an encoder without a pushDebugGroup:");
        }
    }

    /// # Safety
    /// The fence must be alive, or nil.
    pub(crate) unsafe fn update_fence(&self, fence: Id) {
        if fence.is_null() {
            return wrong_use("updateFence: the fence is nil");
        }
        lock(&self.updated).push(fence as usize);
        // SAFETY: the caller's promise.
        self.add(Command::UpdateFence(unsafe { Strong::retain(fence) }));
    }

    /// # Safety
    /// As for [`Session::update_fence`].
    pub(crate) unsafe fn wait_for_fence(&self, fence: Id) {
        if fence.is_null() {
            return wrong_use("waitForFence: the fence is nil");
        }
        if lock(&self.updated).contains(&(fence as usize)) {
            wrong_use(
                "waitForFence: the encoder itself has updated this fence before; wait first, then update",
            );
        }
        // SAFETY: the caller's promise.
        self.add(Command::WaitForFence(unsafe { Strong::retain(fence) }));
    }
}
