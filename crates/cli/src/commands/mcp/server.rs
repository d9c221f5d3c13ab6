//! The protocol's side: what a client asks, and what it is answered.

use super::arguments::{self, Call};
use super::tools::{self, TOOLS, Tool};
use super::worker::{Done, Process};
use super::{LARGEST_RESULT, Limits, broken, progress, prompt, resources, summary};
use crate::failure::{Failure, Kind};
use crate::progress::Step;
use assay_msl::beneath::Folders;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

const INSTRUCTIONS: &str = "\
Assay tells what a Metal compute kernel for Apple GPUs costs, whether it is right, and makes it faster; no Mac is needed. \
Kernels are given by `path` inside the allowed folders or as `text`. How a kernel is dispatched is its launch: flags such as \
`--size N=1024 --grid N --threadgroup 256 --buffer 0=random:f32:N --bytes 1=u32:N`, in the parameter `launch` or in a comment \
`// assay: launch KERNEL …` of the source. Predicted times and cycles are modelled, times of run and bench are this CPU's.

From a slow kernel to a proven faster one: inspect (arguments), profile (what limits it), rewrite with list (what applies), \
rewrite with recipes (a new source with its launch), compare (same results, bit for bit for class E), run with check (no \
faults), diff (predicted times of both). The prompt make-faster says it step by step.";

/// Bytes of a message. A longer one is dropped without an answer, so that even texts that are refused fit.
const LARGEST_MESSAGE: usize = 256 << 20;

/// Speaks the protocol until the client is gone.
pub(super) fn serve(limits: Limits) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| broken("cannot start", error))?;
    let server = Server::new(limits);
    let served = runtime.block_on(async {
        let (stdin, stdout) = rmcp::transport::stdio();
        let transport = AsyncRwTransport::new(stdin, stdout);
        let transport = transport.with_max_line_length(LARGEST_MESSAGE);
        let running = server.serve(transport).await;
        let running = running.map_err(|error| {
            Failure::input(format!("no session: {error}"))
                .advice("this command speaks the Model Context Protocol: let a client start it")
        })?;
        let ended = running.waiting().await;
        ended.map_err(|error| broken("the session", error))?;
        Ok(())
    });
    // A read of standard input may still be under way.
    runtime.shutdown_background();
    served
}

/// What answers, for one session or for many.
#[derive(Clone, Debug)]
pub(super) struct Server {
    limits: Arc<Limits>,
    /// One permit for each call that may run.
    free: Arc<Semaphore>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        let about = Implementation::new("assay", env!("CARGO_PKG_VERSION"))
            .with_title("Assay")
            .with_description(env!("CARGO_PKG_DESCRIPTION"));
        ServerConfig::new(capabilities)
            .with_server_info(about)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = TOOLS.iter().map(Tool::announced).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::named(&request.name) else {
            let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
            let message = format!(
                "no tool is called {}; there are {}",
                request.name,
                names.join(", ")
            );
            return Err(ErrorData::invalid_params(message, None));
        };
        let given = request.arguments.unwrap_or_default();
        let result = match self.answer(tool, &given, &context).await {
            Ok(result) => result,
            Err(failure) => failed(&crate::failure::to_json(&failure)),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::all()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resources::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&request.uri).map(Into::into)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompt::all()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let given = request.arguments.unwrap_or_default();
        prompt::of(&request.name, &given).map(Into::into)
    }
}

impl Server {
    pub(super) fn new(limits: Limits) -> Server {
        Server {
            free: Arc::new(Semaphore::new(limits.jobs)),
            limits: Arc::new(limits),
        }
    }

    /// Runs a call in a process of its own.
    async fn answer(
        &self,
        tool: &Tool,
        given: &JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, Failure> {
        let call = arguments::call(tool, given, &self.limits)?;
        let (steps, told) = tokio::sync::mpsc::unbounded_channel();
        if self.free.available_permits() == 0 {
            let what = "waiting for other calls to end".to_owned();
            let _ = steps.send(Step { what, count: None });
        }
        let telling = progress::tell(tool.name, told, context);
        let answering = async {
            let permit = self.free.acquire().await;
            let _permit = permit.map_err(|error| broken("no turn", error))?;
            let mut process = Process::start(&self.limits)?;
            let on_step = |step| {
                let _ = steps.send(step);
            };
            tokio::select! {
                done = process.finish(&call.job, on_step) => done,
                () = tokio::time::sleep(call.timeout) => Err(too_slow(call.timeout)),
            }
        };
        let done = tokio::select! {
            done = answering => done?,
            () = context.ct.cancelled() => return Err(cancelled()),
            () = telling => return Err(cancelled()),
        };
        result(tool, &call, &done)
    }
}

fn cancelled() -> Failure {
    Failure::new(Kind::Interrupted, "cancelled")
}

fn too_slow(limit: Duration) -> Failure {
    let seconds = limit.as_secs();
    Failure::input(format!("not finished in {seconds} s; the call was ended")).advice(
        "use smaller sizes, `max_steps` for a kernel that may not end, or start the server with a larger --timeout",
    )
}

/// The document of a command as a result: structured, and in a few lines.
fn result(tool: &Tool, call: &Call, done: &Done) -> Result<CallToolResult, Failure> {
    if let Some(error) = &done.error {
        return Ok(failed(error));
    }
    let document = summary::document(tool, &done.output, call.listing)?;
    let size = document.to_string().len();
    if size > LARGEST_RESULT {
        let message = format!(
            "the result has {} MiB, the most is {}",
            size >> 20,
            LARGEST_RESULT >> 20
        );
        return Err(Failure::input(message).advice("choose one kernel with `function`"));
    }
    let mut text = summary::text(tool, &document);
    if let Some(path) = &call.output {
        text.push_str(&written(&call.job.roots, path, &document)?);
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(document);
    Ok(result)
}

/// Writes the source of a document to a new file.
fn written(roots: &[PathBuf], path: &Path, document: &Value) -> Result<String, Failure> {
    let source = document.get("source").and_then(Value::as_str);
    let Some(source) = source.filter(|source| !source.is_empty()) else {
        return Ok("\nNothing was written: there is no source.".to_owned());
    };
    let fail =
        |error: std::io::Error| Failure::input(format!("cannot write {}: {error}", path.display()));
    Folders::new(roots)
        .create(path)?
        .write_all(source.as_bytes())
        .map_err(fail)?;
    Ok(format!("\nWritten to {}.", path.display()))
}

/// A failure that the model should read: the document of the error, and its sentence.
fn failed(error: &str) -> CallToolResult {
    let document: Value = serde_json::from_str(error).unwrap_or_default();
    let part = |name: &str| {
        let text = document.get("error").and_then(|error| error.get(name));
        text.and_then(Value::as_str)
    };
    let mut text = part("message").unwrap_or("the call failed").to_owned();
    if let Some(advice) = part("advice") {
        text.push_str("\nhelp: ");
        text.push_str(advice);
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(document);
    result
}
