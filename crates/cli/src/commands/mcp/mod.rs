//! `assay mcp`: the commands as tools for agents, over the Model Context Protocol.
//!
//! The server only speaks the protocol. A call becomes a command line ([`tools`] is the table, [`arguments`] the way), which a
//! process of its own runs ([`worker`]): it is confined to the allowed folders, limited in time and memory, and gone when
//! the client cancels. What comes back is the command's document, and [`summary`] says it in a few lines.

mod announce;
mod arguments;
mod compare;
mod http;
mod progress;
mod prompt;
mod resources;
mod server;
mod summary;
#[cfg(test)]
mod tests;
mod tools;
mod worker;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use std::path::PathBuf;
use std::time::Duration;

/// Serve the commands as tools for agents (Model Context Protocol)
///
/// An agent can profile, predict, run and check, compare, rewrite and measure kernels, given by path or as text. Paths are
/// allowed inside --root only, by their real places: what lies elsewhere is neither read nor written, nor included by a
/// source. Every call runs in a process of its own, which ends when its time is over or the client cancels. The protocol is
/// spoken on standard input and output, or with --http on a port.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay mcp
  assay mcp --root ~/src/my-kernels --root ~/arrays
  claude mcp add assay -- assay mcp --root .
  ASSAY_MCP_TOKEN=$(openssl rand -hex 24) assay mcp --http 8765 --root ~/src/my-kernels
  npx @modelcontextprotocol/inspector --cli assay mcp --method tools/list

In a client's configuration:
  { \"mcpServers\": { \"assay\": { \"command\": \"assay\", \"args\": [\"mcp\", \"--root\", \"/path/to/kernels\"] } } }")]
pub(crate) struct Args {
    /// A folder whose files may be read, and written where a tool writes; may be repeated [default: the current folder]
    #[arg(long = "root", value_name = "FOLDER")]
    roots: Vec<PathBuf>,

    /// How long a call may take
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,

    /// Calls that run at once; others wait [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,

    /// Memory of a call, where the system can limit it (Linux)
    #[arg(long, value_name = "GIB", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1024))]
    memory: u64,

    #[command(flatten)]
    http: http::HttpArgs,

    /// Run one call, told on standard input: what the server starts
    #[arg(long, hide = true)]
    worker: bool,
}

/// What calls are allowed.
#[derive(Clone, Debug)]
struct Limits {
    /// Real paths of folders.
    roots: Vec<PathBuf>,
    timeout: Duration,
    jobs: usize,
    memory: u64,
}

/// Bytes of text that a call may bring.
const LARGEST_TEXT: usize = 4 << 20;
/// Bytes of a file that a call may name.
const LARGEST_FILE: u64 = 1 << 30;
/// Bytes of a result.
const LARGEST_RESULT: usize = 4 << 20;

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    if args.worker {
        return worker::work();
    }
    let limits = limits(args)?;
    if let Some(address) = args.http.http {
        http::serve(limits, address, &args.http, context)?;
        return Ok(Outcome::Fine);
    }
    announce(&limits, "on standard input and output", context);
    server::serve(limits)?;
    Ok(Outcome::Fine)
}

/// Says which folders are served where.
fn announce(limits: &Limits, place: &str, context: &Context) {
    let roots: Vec<String> = limits
        .roots
        .iter()
        .map(|root| root.display().to_string())
        .collect();
    context.note(&format!("assay mcp: serving {} {place}", roots.join(", ")));
}

fn limits(args: &Args) -> Result<Limits, Failure> {
    let given = if args.roots.is_empty() {
        vec![PathBuf::from(".")]
    } else {
        args.roots.clone()
    };
    let mut roots = Vec::new();
    for root in given {
        let shown = root.display();
        let real = root
            .canonicalize()
            .map_err(|error| Failure::input(format!("--root {shown}: {error}")))?;
        if !real.is_dir() {
            return Err(Failure::usage(format!("--root {shown}: it is no folder")));
        }
        roots.push(real);
    }
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    Ok(Limits {
        roots,
        timeout: Duration::from_secs(args.timeout),
        jobs: args.jobs.map_or(cores.max(2), usize::from),
        memory: args.memory << 30,
    })
}

/// Something the server itself cannot do.
fn broken(what: &str, error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Missing, format!("{what}: {error}"))
}
