//! This machine, as a sweep needs it.

use super::environment;
use crate::commands::board::setting::setting;
use crate::context::Context;
use crate::failure::Failure;
use crate::platform::Platform;
use crate::source::{self, Found};
use crate::{confine, machine, native, progress, toolchain};
use assay_front::Compiler;
use assay_sweep::World;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::Arc;

/// The surroundings of a sweep on this machine.
pub(crate) fn world<'a>(listener: &'a Listener<'_>) -> World<'a> {
    World {
        workspace: source::workspace(),
        clang,
        cpu: native::settings,
        cache: toolchain::cache_folder,
        read: confine::read_to_string,
        environment: environment::here,
        setting,
        now: machine::now,
        is_mac: Platform::here().is_mac(),
        listener,
    }
}

fn clang() -> Result<(Arc<dyn Compiler>, assay_msl::Compiler), Failure> {
    let found = toolchain::find()?;
    Ok((Arc::new(Found(found.clone())), found))
}

/// Remarks and progress of a sweep on standard error.
pub(crate) struct Listener<'a> {
    context: &'a Context,
    bar: ProgressBar,
    /// Says the name of each kernel where there is no bar.
    names: bool,
}

impl<'a> Listener<'a> {
    /// Remarks alone.
    pub(crate) fn quiet(context: &'a Context) -> Self {
        Self {
            context,
            bar: ProgressBar::hidden(),
            names: false,
        }
    }

    /// Remarks and the names of kernels.
    pub(super) fn names(context: &'a Context) -> Self {
        let mut listener = Self::quiet(context);
        listener.names = context.progress;
        listener
    }

    /// A bar in the words of a template.
    pub(crate) fn bar(context: &'a Context, template: &str) -> Self {
        let mut listener = Self::quiet(context);
        if context.progress {
            let style = ProgressStyle::with_template(template);
            listener.bar = ProgressBar::new(0)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        }
        listener
    }
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl assay_sweep::Listener for Listener<'_> {
    fn note(&self, text: &str) {
        self.bar.suspend(|| self.context.note(text));
    }

    fn kernel(&self, name: &str, done: usize, total: usize) {
        if self.names {
            self.context.note(&format!("{name} …"));
        }
        self.bar.set_message(name.to_owned());
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
        progress::count(&format!("kernels, {name} now"), done as u64, total as u64);
    }
}
