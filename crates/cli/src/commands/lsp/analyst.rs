//! The thread that looks at documents.
//!
//! It takes the newest version of a document that has been left alone for a moment, compiles it, and looks at one kernel after
//! the other, those on the screen first. A newer version ends the work on an older one at the next step; what is known so far
//! is shown as it comes.

use super::analyse::Snapshot;
use assay_front::{Kernel, Library};
use assay_lsp::server::{Shared, State};
use assay_lsp::{Analysis, KernelReport, declarations};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often what is known so far is shown.
const BETWEEN_SHOWS: Duration = Duration::from_millis(500);

/// Looks at documents until the server ends.
pub(super) fn work(shared: &Arc<Shared>) {
    while let Some(task) = next(shared) {
        let looked = catch_unwind(AssertUnwindSafe(|| look(shared, &task)));
        if looked.is_err() {
            shared.show(
                1,
                &format!(
                    "assay failed on {}: please report it",
                    task.snapshot.path.display()
                ),
            );
        }
    }
}

/// A version of a document to look at.
struct Task {
    uri: String,
    version: i32,
    generation: u64,
    /// The version was looked at; kernels that came on the screen since were not.
    only_more: bool,
    snapshot: Snapshot,
}

impl Task {
    /// Returns true if the document and the settings are those of the task.
    fn is_current(&self, state: &State) -> bool {
        let version = state
            .documents
            .get(&self.uri)
            .map(|document| document.version);
        !state.closing && version == Some(self.version) && state.generation == self.generation
    }
}

/// Waits for a document that is due.
fn next(shared: &Shared) -> Option<Task> {
    let mut state = shared.lock();
    loop {
        if state.closing {
            return None;
        }
        let now = Instant::now();
        let waiting = state
            .documents
            .values()
            .filter(|document| document.more || document.analysed != Some(document.version));
        let Some(first) = waiting.min_by_key(|document| document.due) else {
            state = shared.wait(state, None);
            continue;
        };
        let due = state
            .settings_due
            .map_or(first.due, |due| due.max(first.due));
        if due > now {
            let rest = due - now;
            state = shared.wait(state, Some(rest));
            continue;
        }
        let uri = first.uri.as_str().to_owned();
        let task = Task {
            only_more: first.analysed == Some(first.version),
            version: first.version,
            generation: state.generation,
            snapshot: Snapshot {
                path: first.path.clone(),
                text: first.text.as_str().to_owned(),
                settings: state.settings.clone(),
            },
            uri,
        };
        if let Some(document) = state.documents.get_mut(&task.uri) {
            document.analysed = Some(task.version);
            document.more = false;
        }
        return Some(task);
    }
}

fn look(shared: &Shared, task: &Task) {
    let compiled = task.snapshot.compile();
    let mut analysis = Analysis {
        version: task.version,
        declarations: declarations(&task.snapshot.text),
        ..Analysis::default()
    };
    let library = match compiled {
        Ok(library) => library,
        Err(problems) => {
            analysis.problems = problems;
            if store(shared, task, |document| {
                // What was known about kernels stays as far as it still fits.
                let before = std::mem::take(document);
                document.kernels = before.kernels;
                document.launched = before.launched;
                document.version = analysis.version;
                document.problems = analysis.problems;
                document.declarations = analysis.declarations;
            }) {
                shared.publish(&task.uri);
                shared.refresh();
            }
            return;
        }
    };
    let (order, left) = order(shared, task, &library, &analysis);
    let names = |kernels: &[&Kernel]| kernels.iter().map(|kernel| kernel.name.clone()).collect();
    analysis.waiting = names(&order);
    analysis.left = names(&left);
    let has_launch = |kernel: &&Kernel| task.snapshot.has_launch(&kernel.name);
    let launched = library.kernels().iter().filter(has_launch);
    analysis.launched = launched.map(|kernel| kernel.name.clone()).collect();
    let started = store(shared, task, |known| {
        // Until a kernel is looked at again, what was known about it stands.
        analysis.kernels = std::mem::take(&mut known.kernels);
        let names = &analysis.waiting;
        analysis
            .kernels
            .retain(|kernel| names.contains(&kernel.name));
        *known = analysis;
    });
    if !started {
        return;
    }
    shared.publish(&task.uri);
    let mut shown = Instant::now();
    for kernel in order {
        let report = report(&task.snapshot, kernel);
        let stored = store(shared, task, |known| {
            known.waiting.retain(|name| *name != report.name);
            known.kernels.retain(|known| known.name != report.name);
            known.kernels.push(report);
        });
        if !stored {
            return;
        }
        if shown.elapsed() > BETWEEN_SHOWS {
            shared.publish(&task.uri);
            shared.refresh();
            shown = Instant::now();
        }
    }
    shared.publish(&task.uri);
    shared.refresh();
}

/// A kernel's report; a fault of ours costs this kernel only.
fn report(snapshot: &Snapshot, kernel: &Kernel) -> KernelReport {
    let made = catch_unwind(AssertUnwindSafe(|| snapshot.kernel(kernel)));
    made.unwrap_or_else(|_| {
        KernelReport::refused(&kernel.name, "assay failed on it: please report it")
    })
}

/// The kernels to look at, those on the screen first, then in order, as many as the settings allow; and the rest.
fn order<'l>(
    shared: &Shared,
    task: &Task,
    library: &'l Library,
    analysis: &Analysis,
) -> (Vec<&'l Kernel>, Vec<&'l Kernel>) {
    let state = shared.lock();
    let document = state.documents.get(&task.uri);
    let visible = document.and_then(|document| document.visible);
    let known = |kernel: &&Kernel| {
        task.only_more
            && document.is_some_and(|document| document.analysis.kernel(&kernel.name).is_some())
    };
    let kernels = library.kernels().iter().filter(|kernel| !known(kernel));
    let mut kernels: Vec<&Kernel> = kernels.collect();
    kernels.sort_by_cached_key(|kernel| {
        let line = analysis.declaration(&kernel.name).map(|one| one.line);
        let distance = match (visible, line) {
            (Some(range), Some(line)) if line < range.start.line => range.start.line - line,
            (Some(range), Some(line)) => line.saturating_sub(range.end.line),
            (None, Some(line)) => line,
            (_, None) => u32::MAX,
        };
        (distance, line)
    });
    let left = kernels.split_off(state.settings.most_kernels.min(kernels.len()));
    (kernels, left)
}

/// Changes what is known about a document, if the task is still about its newest version.
fn store(shared: &Shared, task: &Task, change: impl FnOnce(&mut Analysis)) -> bool {
    let mut state = shared.lock();
    if !task.is_current(&state) {
        return false;
    }
    if let Some(document) = state.documents.get_mut(&task.uri) {
        change(&mut document.analysis);
    }
    true
}
