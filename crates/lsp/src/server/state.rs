//! What the threads of the server share.

use super::errand::Errand;
use super::settings::Settings;
use super::uri;
use crate::{Analysis, Edited, Encoding, Pages, Problem, Text, diagnostics};
use lsp_server::{Message, Notification, Request, RequestId};
use lsp_types::{PublishDiagnosticsParams, Range, Uri};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What the client can do that not every client can.
#[derive(Clone, Copy, Debug, Default)]
pub struct Client {
    pub utf8: bool,
    pub refreshes_hints: bool,
    pub refreshes_lenses: bool,
    pub has_configuration: bool,
    pub creates_files: bool,
}

/// Lines that a screen shows at most.
const TALLEST_SCREEN: u32 = 500;

/// A document that is open in the editor.
#[derive(Debug)]
pub struct Document {
    pub uri: Uri,
    pub path: PathBuf,
    pub version: i32,
    pub text: Text,
    /// When it may be looked at.
    pub due: Instant,
    /// The version that was looked at, with the settings of now.
    pub analysed: Option<i32>,
    pub analysis: Analysis,
    /// What a run with checks found.
    pub checked: Vec<Problem>,
    /// Kernels came on the screen that were not looked at.
    pub more: bool,
    /// The lines the editor showed last.
    pub visible: Option<Range>,
}

/// Everything that changes.
#[derive(Debug, Default)]
pub struct State {
    pub documents: BTreeMap<String, Document>,
    pub settings: Settings,
    pub errands: VecDeque<(RequestId, Errand)>,
    /// The errand that is being done.
    pub running: Option<RequestId>,
    /// Until then documents wait for settings that were asked for: with others they would be looked at twice.
    pub settings_due: Option<Instant>,
    /// Counts changes of settings, so that what was made with older ones is known.
    pub generation: u64,
    pub closing: bool,
    next_request: i32,
}

/// The shared state and the way to the client.
#[derive(Debug)]
pub struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    sender: Box<dyn Outgoing>,
    pub client: Client,
    pub pages: Pages,
}

/// Where messages to the client go.
pub trait Outgoing: Send + Sync + std::fmt::Debug {
    fn send(&self, message: Message);
}

impl Shared {
    pub fn new(sender: Box<dyn Outgoing>, client: Client, pages: Pages) -> Arc<Shared> {
        Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            sender,
            client,
            pages,
        })
    }

    pub fn encoding(&self) -> Encoding {
        if self.client.utf8 {
            Encoding::Utf8
        } else {
            Encoding::Utf16
        }
    }

    /// The state, for a moment.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the other threads.
    pub fn wake(&self) {
        self.changed.notify_all();
    }

    /// Waits for a change, at most so long.
    pub fn wait<'s>(
        &'s self,
        state: MutexGuard<'s, State>,
        most: Option<Duration>,
    ) -> MutexGuard<'s, State> {
        match most {
            Some(most) => match self.changed.wait_timeout(state, most) {
                Ok((state, _)) => state,
                Err(error) => error.into_inner().0,
            },
            None => self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner),
        }
    }

    pub fn send(&self, message: Message) {
        self.sender.send(message);
    }

    pub fn notify(&self, method: &str, parameters: impl Serialize) {
        let notification = Notification::new(method.to_owned(), parameters);
        self.send(Message::Notification(notification));
    }

    /// Asks the client something whose answer only matters where the server looks for it.
    pub fn request(&self, method: &str, parameters: impl Serialize) {
        let id = {
            let mut state = self.lock();
            state.next_request += 1;
            state.next_request
        };
        let id = RequestId::from(format!("{method}#{id}"));
        self.send(Message::Request(Request::new(
            id,
            method.to_owned(),
            parameters,
        )));
    }

    /// Shows a message to the user: kind 1 is an error, 2 a warning, 3 a remark.
    pub fn show(&self, kind: u8, message: &str) {
        let parameters = serde_json::json!({ "type": kind, "message": message });
        self.notify("window/showMessage", parameters);
    }

    /// Sends the diagnostics of a document, as it is now.
    pub fn publish(&self, uri: &str) {
        let parameters = {
            let state = self.lock();
            let Some(document) = state.documents.get(uri) else {
                return;
            };
            document.diagnostics(&self.pages, self.encoding())
        };
        self.notify("textDocument/publishDiagnostics", parameters);
    }

    /// Asks the client to ask for hints and lenses again.
    pub fn refresh(&self) {
        if self.client.refreshes_hints {
            self.request("workspace/inlayHint/refresh", serde_json::Value::Null);
        }
        if self.client.refreshes_lenses {
            self.request("workspace/codeLens/refresh", serde_json::Value::Null);
        }
    }
}

impl Document {
    pub fn new(uri: Uri, version: i32, text: String) -> Document {
        Document {
            path: uri::path(&uri),
            uri,
            version,
            text: Text::new(text),
            due: Instant::now(),
            analysed: None,
            analysis: Analysis::default(),
            checked: Vec::new(),
            more: false,
            visible: None,
        }
    }

    /// Remembers which lines are on the screen. Returns true if kernels there were not looked at.
    pub fn show(&mut self, range: Range) -> bool {
        self.visible = Some(range);
        let analysis = &self.analysis;
        let missing = analysis.declarations.iter().any(|one| {
            (range.start.line..=range.end.line).contains(&one.line)
                && analysis.left.contains(&one.name)
        });
        // Some editors ask for the whole document: that is no screen.
        let screen = range.end.line.saturating_sub(range.start.line) <= TALLEST_SCREEN;
        self.more |= missing && screen && self.analysed == Some(self.version);
        self.more
    }

    fn diagnostics(&self, pages: &Pages, encoding: Encoding) -> PublishDiagnosticsParams {
        let mut all = diagnostics(&self.text, &self.analysis, &self.uri, pages, encoding);
        let checked = Analysis {
            problems: self.checked.clone(),
            ..Analysis::default()
        };
        all.extend(diagnostics(
            &self.text, &checked, &self.uri, pages, encoding,
        ));
        PublishDiagnosticsParams::new(self.uri.clone(), all, Some(self.version))
    }

    /// Follows a change of lines.
    pub fn shift(&mut self, edited: Edited) {
        self.analysis.shift(edited);
        let mut checked = Analysis {
            problems: std::mem::take(&mut self.checked),
            ..Analysis::default()
        };
        checked.shift(edited);
        self.checked = checked.problems;
    }
}
