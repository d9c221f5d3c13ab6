//! The thread that reads messages: answers what is known, and leaves the rest to the others.

use super::errands;
use super::{analyst, pages};
use crate::failure::{Failure, Kind};
use assay_lsp::server::{Document, Errand, Outgoing, Settings, Shared, State, client};
use assay_lsp::{RUN_WITH_CHECK, action_at, hints, hover, lenses};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOptions, CodeActionParams, CodeActionProviderCapability,
    CodeLensOptions, CodeLensParams, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, ExecuteCommandOptions, ExecuteCommandParams, HoverParams,
    HoverProviderCapability, InlayHintParams, OneOf, PositionEncodingKind, ServerCapabilities,
    TextDocumentSyncCapability, TextDocumentSyncKind, Uri,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Characters of a document that are looked at; a larger one is left alone.
const LARGEST: usize = 16 << 20;

/// How long documents wait for settings that the client was asked for.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Serves an editor until it goes.
pub(super) fn serve() -> Result<(), Failure> {
    let (connection, threads) = Connection::stdio();
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(Kind::Input, format!("no session: {error}"))
            .advice("this command speaks the Language Server Protocol: let an editor start it")
    };
    let (id, parameters) = connection
        .initialize_start()
        .map_err(|error| failed(&error))?;
    let client = client(&parameters);
    let answer = json!({
        "capabilities": capabilities(client.utf8),
        "serverInfo": { "name": "assay", "version": env!("CARGO_PKG_VERSION") },
    });
    connection
        .initialize_finish(id, answer)
        .map_err(|error| failed(&error))?;
    let outgoing = Box::new(Sender(connection.sender.clone()));
    let shared = Shared::new(outgoing, client, pages::write());
    if let Some(options) = parameters.get("initializationOptions") {
        configure(&shared, options);
    }
    ask_for_settings(&shared);
    let workers = [analyst::work, errands::work].map(|work| {
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || work(&shared))
    });
    let result = read(&connection, &shared);
    shared.lock().closing = true;
    crate::api::request_stop(true);
    shared.wake();
    // Whoever compiles is not waited for: the editor is gone.
    drop(workers);
    drop(shared);
    drop(connection);
    drop(threads);
    result
}

#[derive(Debug)]
struct Sender(crossbeam_channel::Sender<Message>);

impl Outgoing for Sender {
    fn send(&self, message: Message) {
        // A client that is gone needs no answer.
        let _ = self.0.send(message);
    }
}

fn capabilities(utf8: bool) -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: utf8.then_some(PositionEncodingKind::UTF8),
        text_document_sync: Some(TextDocumentSyncCapability::Kind(
            TextDocumentSyncKind::INCREMENTAL,
        )),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        code_lens_provider: Some(CodeLensOptions {
            resolve_provider: Some(false),
        }),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::REFACTOR_REWRITE]),
            resolve_provider: Some(true),
            ..CodeActionOptions::default()
        })),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: vec![RUN_WITH_CHECK.to_owned()],
            ..ExecuteCommandOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}

/// Reads messages until the client goes. Between its farewell (`shutdown`) and its going (`exit`) late answers may arrive.
fn read(connection: &Connection, shared: &Shared) -> Result<(), Failure> {
    let mut leaving = false;
    for message in &connection.receiver {
        match message {
            Message::Request(request) if request.method == "shutdown" => {
                leaving = true;
                let farewell = Response::new_ok(request.id, Value::Null);
                shared.send(Message::Response(farewell));
            }
            Message::Request(request) if leaving => {
                let (code, why) = (ErrorCode::InvalidRequest, "the server is about to end");
                let refused = Response::new_err(request.id, code as i32, why.to_owned());
                shared.send(Message::Response(refused));
            }
            Message::Request(request) => answer(shared, request),
            Message::Notification(notification) if notification.method == "exit" => {
                return match leaving {
                    true => Ok(()),
                    false => Err(Failure::new(
                        Kind::Verdict,
                        "the editor left without shutdown",
                    )),
                };
            }
            Message::Notification(notification) => notified(shared, notification),
            Message::Response(response) => answered(shared, &response),
        }
    }
    Ok(())
}

/// Answers a request at once, or leaves it to the thread of errands.
fn answer(shared: &Shared, request: Request) {
    let id = request.id.clone();
    let result = match request.method.as_str() {
        "textDocument/hover" => parsed(request).map(|(_, p)| Reply::Now(hovered(shared, &p))),
        "textDocument/inlayHint" => parsed(request).map(|(_, p)| Reply::Now(hinted(shared, &p))),
        "textDocument/codeLens" => parsed(request).map(|(_, p)| Reply::Now(lensed(shared, &p))),
        "textDocument/codeAction" => parsed(request).map(|(_, p)| actions(shared, p)),
        "codeAction/resolve" => parsed(request).map(|(_, p)| resolve(p)),
        "workspace/executeCommand" => parsed(request).and_then(|(_, p)| execute(p)),
        method => Err((ErrorCode::MethodNotFound, format!("{method} is not known"))),
    };
    match result {
        Ok(Reply::Now(value)) => shared.send(Message::Response(Response::new_ok(id, value))),
        Ok(Reply::Later(errand)) => {
            shared.lock().errands.push_back((id, *errand));
            shared.wake();
        }
        Err((code, why)) => {
            shared.send(Message::Response(Response::new_err(id, code as i32, why)));
        }
    }
}

enum Reply {
    Now(Value),
    Later(Box<Errand>),
}

type Refused = (ErrorCode, String);

fn parsed<P: DeserializeOwned>(request: Request) -> Result<(RequestId, P), Refused> {
    match serde_json::from_value(request.params) {
        Ok(parameters) => Ok((request.id, parameters)),
        Err(error) => Err((ErrorCode::InvalidParams, error.to_string())),
    }
}

/// What a function says about a document; null for one that is not open.
fn about(state: &State, uri: &Uri, say: impl FnOnce(&Document) -> Value) -> Value {
    state.documents.get(uri.as_str()).map_or(Value::Null, say)
}

fn hovered(shared: &Shared, parameters: &HoverParams) -> Value {
    let place = &parameters.text_document_position_params;
    about(&shared.lock(), &place.text_document.uri, |document| {
        let (text, analysis) = (&document.text, &document.analysis);
        json!(hover(
            text,
            analysis,
            place.position,
            &pages::page,
            shared.encoding()
        ))
    })
}

fn hinted(shared: &Shared, parameters: &InlayHintParams) -> Value {
    let mut state = shared.lock();
    let uri = &parameters.text_document.uri;
    let document = state.documents.get_mut(uri.as_str());
    if document.is_some_and(|document| document.show(parameters.range)) {
        shared.wake();
    }
    let shown = state.settings.shown;
    about(&state, uri, |document| {
        let (text, analysis) = (&document.text, &document.analysis);
        let range = parameters.range;
        json!(hints(text, analysis, range, shown, shared.encoding()))
    })
}

fn lensed(shared: &Shared, parameters: &CodeLensParams) -> Value {
    about(&shared.lock(), &parameters.text_document.uri, |document| {
        let (text, analysis) = (&document.text, &document.analysis);
        json!(lenses(text, analysis, &document.uri, shared.encoding()))
    })
}

/// Which recipes apply takes a while; that there is a kernel with a launch is known.
fn actions(shared: &Shared, parameters: CodeActionParams) -> Reply {
    let uri = parameters.text_document.uri;
    let kinds = parameters.context.only.unwrap_or_default();
    let rewrite = CodeActionKind::REFACTOR_REWRITE;
    let wanted = |kind: &CodeActionKind| {
        let prefix = kind.as_str();
        rewrite.as_str() == prefix || rewrite.as_str().starts_with(&format!("{prefix}."))
    };
    if !kinds.is_empty() && !kinds.iter().any(wanted) {
        return Reply::Now(json!([]));
    }
    let state = shared.lock();
    let document = state.documents.get(uri.as_str());
    let target = document.and_then(|document| action_at(&document.analysis, parameters.range));
    match target {
        Some(target) => Reply::Later(Box::new(Errand::Choices {
            uri,
            target,
            diagnostics: parameters.context.diagnostics,
        })),
        None => Reply::Now(json!([])),
    }
}

fn resolve(action: CodeAction) -> Reply {
    let data = action.data.clone().unwrap_or_default();
    let part = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
    let uri = part("uri").and_then(|uri| uri.parse().ok());
    match (uri, part("kernel"), part("step")) {
        (Some(uri), Some(kernel), Some(step)) => Reply::Later(Box::new(Errand::Rewrite {
            uri,
            kernel,
            step,
            action: Box::new(action),
        })),
        _ => Reply::Now(json!(action)),
    }
}

fn execute(parameters: ExecuteCommandParams) -> Result<Reply, Refused> {
    if parameters.command != RUN_WITH_CHECK {
        let why = format!("no command is called {}", parameters.command);
        return Err((ErrorCode::InvalidParams, why));
    }
    let text = |index: usize| parameters.arguments.get(index).and_then(Value::as_str);
    let uri = text(0).and_then(|uri| uri.parse().ok());
    match (uri, text(1)) {
        (Some(uri), Some(kernel)) => Ok(Reply::Later(Box::new(Errand::Check {
            uri,
            kernel: kernel.to_owned(),
        }))),
        _ => Err((
            ErrorCode::InvalidParams,
            format!("{RUN_WITH_CHECK} takes a document's URI and a kernel's name"),
        )),
    }
}

fn notified(shared: &Shared, notification: Notification) {
    let parameters = notification.params;
    match notification.method.as_str() {
        "textDocument/didOpen" => with(parameters, |p| opened(shared, p)),
        "textDocument/didChange" => with(parameters, |p| changed(shared, p)),
        "textDocument/didClose" => with(parameters, |p| closed(shared, p)),
        "workspace/didChangeConfiguration" => {
            if let Some(settings) = parameters.get("settings") {
                configure(shared, settings);
            }
            ask_for_settings(shared);
        }
        "$/cancelRequest" => {
            let id = match parameters.get("id") {
                Some(Value::Number(number)) => {
                    let number = number
                        .as_i64()
                        .and_then(|number| i32::try_from(number).ok());
                    number.map(RequestId::from)
                }
                Some(Value::String(text)) => Some(RequestId::from(text.clone())),
                _ => None,
            };
            if let Some(id) = id {
                errands::cancel(shared, &id);
            }
        }
        _ => {}
    }
}

fn with<P: DeserializeOwned>(parameters: Value, act: impl FnOnce(P)) {
    if let Ok(parameters) = serde_json::from_value(parameters) {
        act(parameters);
    }
}

fn opened(shared: &Shared, parameters: DidOpenTextDocumentParams) {
    let item = parameters.text_document;
    if item.text.len() > LARGEST {
        shared.show(2, "assay: the file is too large to be looked at");
        return;
    }
    let key = item.uri.as_str().to_owned();
    let document = Document::new(item.uri, item.version, item.text);
    shared.lock().documents.insert(key, document);
    shared.wake();
}

fn changed(shared: &Shared, parameters: DidChangeTextDocumentParams) {
    let encoding = shared.encoding();
    let mut state = shared.lock();
    let debounce = state.settings.debounce;
    let uri = parameters.text_document.uri;
    let Some(document) = state.documents.get_mut(uri.as_str()) else {
        return;
    };
    for change in parameters.content_changes {
        let edited = document.text.edit(change.range, &change.text, encoding);
        document.shift(edited);
    }
    document.version = parameters.text_document.version;
    document.due = Instant::now() + debounce;
    drop(state);
    shared.wake();
}

fn closed(shared: &Shared, parameters: DidCloseTextDocumentParams) {
    let uri = parameters.text_document.uri;
    shared.lock().documents.remove(uri.as_str());
    let nothing = json!({ "uri": uri, "diagnostics": [] });
    shared.notify("textDocument/publishDiagnostics", nothing);
}

/// Asks for the section of settings, of a client that has them.
fn ask_for_settings(shared: &Shared) {
    if shared.client.has_configuration {
        shared.lock().settings_due = Some(Instant::now() + LONGEST_WAIT);
        shared.request(
            "workspace/configuration",
            json!({ "items": [{ "section": "assay" }] }),
        );
    }
}

fn answered(shared: &Shared, response: &Response) {
    let asked = response.id.to_string();
    if !asked.contains("workspace/configuration") {
        return;
    }
    shared.lock().settings_due = None;
    if let Ok(Value::Array(sections)) = &response.response_result {
        sections
            .iter()
            .for_each(|section| configure(shared, section));
    }
    shared.wake();
}

/// Takes settings over; documents are looked at again if they changed.
fn configure(shared: &Shared, given: &Value) {
    let (wrong, changed) = {
        let mut state = shared.lock();
        let before: Settings = state.settings.clone();
        let wrong = state.settings.update(given);
        if !state.settings.looks_like(&before) {
            state.generation += 1;
            for document in state.documents.values_mut() {
                document.analysed = None;
                document.due = Instant::now();
            }
        }
        (wrong, state.settings != before)
    };
    if changed {
        shared.refresh();
    }
    for text in wrong {
        shared.show(2, &text);
    }
    shared.wake();
}
