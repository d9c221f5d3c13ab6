//! The thread that does what the user asks for: runs with checks, and rewritings.
//!
//! An errand is a request of the editor that may take seconds. Each is a command line that runs in this process on the text as
//! it is in the editor. A request that the editor cancels is not begun, or told to stop.

use crate::api;
use assay_engine::Place;
use assay_lsp::server::{Errand, Settings, Shared, uri};
use assay_lsp::{Problem, ProblemNote, Target, Text, declarations, new_file, rewrite_action};
use lsp_server::{ErrorCode, Message, RequestId, Response};
use lsp_types::{
    CodeAction, CodeActionDisabled, CodeActionOrCommand, Diagnostic, DiagnosticSeverity, Position,
    Range, TextEdit, Uri, WorkspaceEdit,
};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How long a run may take.
const LONGEST_RUN: Duration = Duration::from_secs(60);

/// Does errands until the server ends.
pub(super) fn work(shared: &Arc<Shared>) {
    while let Some((id, errand)) = next(shared) {
        api::request_stop(false);
        let done = catch_unwind(AssertUnwindSafe(|| done(shared, &errand)));
        shared.lock().running = None;
        let response = match done {
            Ok(Ok(result)) => Response::new_ok(id, result),
            Ok(Err(why)) => Response::new_err(id, ErrorCode::RequestFailed as i32, why),
            Err(_) => Response::new_err(
                id,
                ErrorCode::InternalError as i32,
                "assay failed: please report it".to_owned(),
            ),
        };
        shared.send(Message::Response(response));
    }
}

fn next(shared: &Shared) -> Option<(RequestId, Errand)> {
    let mut state = shared.lock();
    loop {
        if state.closing {
            return None;
        }
        if let Some((id, errand)) = state.errands.pop_front() {
            state.running = Some(id.clone());
            return Some((id, errand));
        }
        state = shared.wait(state, None);
    }
}

/// Takes a request back: one that has not begun is answered, one that has is told to stop.
pub(super) fn cancel(shared: &Shared, id: &RequestId) {
    let waiting = {
        let mut state = shared.lock();
        if state.running.as_ref() == Some(id) {
            api::request_stop(true);
        }
        let before = state.errands.len();
        state.errands.retain(|(waiting, _)| waiting != id);
        before != state.errands.len()
    };
    if waiting {
        let code = ErrorCode::RequestCanceled as i32;
        let response = Response::new_err(id.clone(), code, "cancelled".to_owned());
        shared.send(Message::Response(response));
    }
}

fn done(shared: &Shared, errand: &Errand) -> Result<Value, String> {
    match errand {
        Errand::Choices {
            uri,
            target,
            diagnostics,
        } => choices(shared, uri, target, diagnostics),
        Errand::Rewrite {
            uri,
            kernel,
            step,
            action,
        } => rewrite(shared, uri, kernel, step, action),
        Errand::Check { uri, kernel } => check(shared, uri, kernel),
    }
}

/// A document as it is now.
struct Now {
    path: PathBuf,
    text: String,
    version: i32,
    settings: Settings,
}

impl Now {
    fn of(shared: &Shared, uri: &Uri) -> Result<Now, String> {
        let state = shared.lock();
        let document = state.documents.get(uri.as_str());
        let document = document.ok_or_else(|| format!("{} is not open", uri.as_str()))?;
        Ok(Now {
            path: document.path.clone(),
            text: document.text.as_str().to_owned(),
            version: document.version,
            settings: state.settings.clone(),
        })
    }

    /// Runs a command on a kernel of the document, and returns its document.
    fn call(&self, command: &str, kernel: &str, flags: &[&str]) -> Result<Value, String> {
        let mut line: Vec<OsString> = [command, "--format=json"].map(Into::into).to_vec();
        line.push(format!("--function={kernel}").into());
        line.extend(flags.iter().map(Into::into));
        line.extend(self.settings.source_flags().into_iter().map(Into::into));
        // The settings' launch stands in for a comment that is not there.
        let comment = assay_launch::Written::in_comments(&self.text, kernel);
        if matches!(comment, Ok(None))
            && let Some(flags) = self.settings.launch_flags(kernel)
        {
            line.extend(flags.split_whitespace().map(Into::into));
        }
        line.push(self.path.clone().into());
        let input = (self.path.clone(), self.text.clone().into_bytes().into());
        let answer = api::call(&line, vec![input]);
        if let Some(error) = answer.error {
            let error: Value = serde_json::from_str(&error).unwrap_or_default();
            let part = |name: &str| {
                error
                    .pointer(&format!("/error/{name}"))
                    .and_then(Value::as_str)
            };
            let mut message = part("message").unwrap_or("it failed").to_owned();
            if let Some(advice) = part("advice") {
                message = format!("{message}; {advice}");
            }
            return Err(message);
        }
        serde_json::from_slice(&answer.output).map_err(|error| error.to_string())
    }
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Every step that applies as an action, those that answer a finding here first.
fn choices(
    shared: &Shared,
    uri: &Uri,
    target: &Target,
    diagnostics: &[Diagnostic],
) -> Result<Value, String> {
    let now = Now::of(shared, uri)?;
    // What cannot be rewritten has no actions; that is no error to be shown.
    let Ok(document) = now.call("rewrite", &target.kernel, &["--list"]) else {
        return Ok(json!([]));
    };
    let mut choices: Vec<&Value> = list(&document, "choices").iter().collect();
    choices.sort_by_key(|choice| !target.preferred.contains(&word(choice, "recipe")));
    let actions = choices.iter().flat_map(|choice| {
        let recipe = word(choice, "recipe");
        let class = word(choice, "class").chars().next().unwrap_or('R');
        let steps = list(choice, "steps").iter().filter_map(Value::as_str);
        let actions =
            steps.map(move |step| rewrite_action(uri, target, (recipe, step, class), diagnostics));
        actions.map(CodeActionOrCommand::CodeAction)
    });
    Ok(json!(actions.collect::<Vec<_>>()))
}

/// The rewritten kernel in a new file beside the old one; a client that cannot create files gets it in place.
fn rewrite(
    shared: &Shared,
    uri: &Uri,
    kernel: &str,
    step: &str,
    action: &CodeAction,
) -> Result<Value, String> {
    let now = Now::of(shared, uri)?;
    let recipe = format!("--recipe={step}");
    let document = now.call("rewrite", kernel, &["--no-predict", &recipe])?;
    let source = word(&document, "source").to_owned();
    let mut action = action.clone();
    if shared.client.creates_files {
        let stem = now
            .path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let step: String = step.chars().map(plain).collect();
        let name = format!("{}.{kernel}.{step}.metal", stem.unwrap_or_default());
        let new = uri::of(&now.path.with_file_name(name)).ok_or("no URI for the new file")?;
        action.edit = Some(new_file(new, source));
    } else if declarations(&now.text).len() == 1 {
        let whole = Text::new(now.text);
        let end = whole.line_end(whole.line_count() - 1, shared.encoding());
        let edit = TextEdit::new(Range::new(Position::new(0, 0), end), source);
        #[allow(clippy::mutable_key_type, reason = "the protocol's own type")]
        let changes = [(uri.clone(), vec![edit])].into();
        action.edit = Some(WorkspaceEdit::new(changes));
    } else {
        action.disabled = Some(CodeActionDisabled {
            reason: "this editor cannot create files, and the source has other kernels".to_owned(),
        });
    }
    Ok(json!(action))
}

/// Runs a kernel with checks, and shows what was found.
fn check(shared: &Shared, uri: &Uri, kernel: &str) -> Result<Value, String> {
    let now = Now::of(shared, uri)?;
    let (finished, watch) = mpsc::channel::<()>();
    let watcher = std::thread::spawn(move || {
        if watch.recv_timeout(LONGEST_RUN) == Err(RecvTimeoutError::Timeout) {
            api::request_stop(true);
        }
    });
    let report = now.call("run", kernel, &["--check"]);
    drop(finished);
    let _ = watcher.join();
    let report = report.inspect_err(|why| shared.show(1, &format!("{kernel}: {why}")))?;
    let found = list(&report, "checked");
    let problems: Vec<Problem> = found.iter().map(|finding| problem(finding, &now)).collect();
    {
        let mut state = shared.lock();
        if let Some(document) = state.documents.get_mut(uri.as_str())
            && document.version == now.version
        {
            document.checked = problems;
        }
    }
    shared.publish(uri.as_str());
    let sizes = report.get("sizes").filter(|sizes| sizes.is_object());
    let sizes = sizes.map_or(String::new(), |sizes| format!(" at {sizes}"));
    match found.len() {
        0 => shared.show(
            3,
            &format!("{kernel}: check found nothing with these inputs{sizes}"),
        ),
        count => shared.show(2, &format!("{kernel}: check found {count}{sizes}")),
    }
    Ok(report)
}

/// A fault at its place.
fn problem(finding: &Value, now: &Now) -> Problem {
    let text = word(finding, "place");
    let place = place(text);
    let here = |place: &(&str, u32, Option<usize>)| now.path.to_str() == Some(place.0);
    let other = finding.get("other").map(|other| word(other, "place"));
    let other = other.and_then(self::place).filter(here);
    // The message repeats kernel and place.
    let message = word(finding, "message");
    let repeated = format!("{text}: ");
    let message = message
        .split_once(&repeated)
        .map_or(message, |parts| parts.1);
    Problem {
        severity: match word(finding, "severity") {
            "error" => DiagnosticSeverity::ERROR,
            _ => DiagnosticSeverity::WARNING,
        },
        line: place.filter(here).map(|(_, line, _)| line),
        byte: place.filter(here).and_then(|(_, _, byte)| byte),
        elsewhere: place
            .filter(|place| !here(place))
            .map(|(file, line, _)| (file.to_owned(), line)),
        source: "assay check",
        code: Some(word(finding, "kind").to_owned()),
        notes: other
            .map(|(_, line, _)| ProblemNote {
                message: "the other access".to_owned(),
                line: Some(line),
            })
            .into_iter()
            .collect(),
        ..Problem::anywhere(message.to_owned())
    }
}

/// File, line and byte, both from 0.
fn place(text: &str) -> Option<(&str, u32, Option<usize>)> {
    let Place { file, line, column } = Place::parse(text)?;
    Some((file, line.checked_sub(1)?, (column as usize).checked_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn places_with_and_without_a_column() {
        assert_eq!(place("/a/k.metal:6"), Some(("/a/k.metal", 5, None)));
        assert_eq!(place("/a/k.metal:6:3"), Some(("/a/k.metal", 5, Some(2))));
        assert_eq!(place("k.metal"), None);
        assert_eq!(place("k.metal:0"), None);
    }
}
