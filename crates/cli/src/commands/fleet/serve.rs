//! `assay fleet serve`: a page for the team.
//!
//! It only reads, answers only GET, and knows three addresses. Every request is answered from the server and the board as they
//! are at that moment; the page asks again by itself.

use super::access::AccessArgs;
use super::{failure, runtime};
use crate::commands::board::location;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use crate::interrupt;
use assay_board::render::{self, View};
use assay_board::{Board, Filter};
use assay_fleet::{Fleet, Overview};
use assay_report::html::{escape, page};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Serve a page with workers, queues, recent answers and the board
///
/// Read-only, on this machine alone unless --listen says otherwise. Recent answers need the key of a viewer.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay fleet serve --server nats://macs.example:4222 --key screen.nk
  assay fleet serve --key screen.nk --board postgres://viewer@db.example/assay --listen 127.0.0.1:8080")]
pub(super) struct Args {
    #[command(flatten)]
    access: AccessArgs,

    /// The board [default: $ASSAY_BOARD, or board.db in your data folder]
    #[arg(long, value_name = "FILE")]
    board: Option<PathBuf>,

    /// Where to listen
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8722")]
    listen: String,
}

/// Bytes of a request that are read.
const LARGEST_REQUEST: usize = 8 << 10;
/// Connections at once.
const MOST: usize = 32;

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let access = args.access.access()?;
    interrupt::cooperate();
    runtime()?.block_on(async {
        let fleet = Fleet::connect(&access).await.map_err(failure)?;
        let listener = TcpListener::bind(&args.listen).await;
        let listener = listener
            .map_err(|error| Failure::new(Kind::Missing, format!("{}: {error}", args.listen)))?;
        let place = listener.local_addr()?;
        context.note(&format!("http://{place}/"));
        let room = std::sync::Arc::new(tokio::sync::Semaphore::new(MOST));
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let Ok((stream, _)) = accepted else { continue };
                    let Ok(seat) = std::sync::Arc::clone(&room).try_acquire_owned() else { continue };
                    let (fleet, board) = (fleet.clone(), args.board.clone());
                    tokio::spawn(async move {
                        let answer = tokio::time::timeout(Duration::from_secs(30), serve(stream, &fleet, board));
                        // A client that goes away or is slow is no news.
                        let _ = answer.await;
                        drop(seat);
                    });
                }
                () = tokio::time::sleep(Duration::from_millis(100)) => {
                    if interrupt::requested() {
                        return Ok(Outcome::Fine);
                    }
                }
            }
        }
    })
}

async fn serve(
    mut stream: TcpStream,
    fleet: &Fleet,
    board: Option<PathBuf>,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        let mut some = [0; 1024];
        let read = stream.read(&mut some).await?;
        if read == 0 || request.len() + read > LARGEST_REQUEST {
            return Ok(());
        }
        request.extend_from_slice(some.get(..read).unwrap_or_default());
    }
    let request = String::from_utf8_lossy(&request);
    let mut words = request.split_whitespace();
    let (status, kind, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/")) => match fleet.overview().await {
            Ok(found) => {
                let recent = fleet.recent(20).await.unwrap_or_default();
                ("200 OK", "text/html; charset=utf-8", front(&found, &recent))
            }
            Err(error) => (
                "503 Service Unavailable",
                "text/plain; charset=utf-8",
                error.to_string(),
            ),
        },
        (Some("GET"), Some("/overview.json")) => match fleet.overview().await {
            Ok(found) => {
                let text = serde_json::to_string(&found).unwrap_or_default();
                ("200 OK", "application/json", text)
            }
            Err(error) => (
                "503 Service Unavailable",
                "text/plain; charset=utf-8",
                error.to_string(),
            ),
        },
        (Some("GET"), Some("/board")) => {
            let text = tokio::task::spawn_blocking(move || board_page(board)).await;
            match text {
                Ok(Ok(text)) => ("200 OK", "text/html; charset=utf-8", text),
                Ok(Err(why)) => ("503 Service Unavailable", "text/plain; charset=utf-8", why),
                Err(_) => (
                    "500 Internal Server Error",
                    "text/plain; charset=utf-8",
                    String::new(),
                ),
            }
        }
        (Some("GET" | "HEAD"), _) => (
            "404 Not Found",
            "text/plain; charset=utf-8",
            "not here\n".to_owned(),
        ),
        _ => (
            "405 Method Not Allowed",
            "text/plain; charset=utf-8",
            "this page is only read\n".to_owned(),
        ),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

fn board_page(board: Option<PathBuf>) -> Result<String, String> {
    let board = Board::open_to_read(location::path(board.as_deref()));
    let board = board.map_err(|error| error.to_string())?;
    let read = |error: assay_board::Error| error.to_string();
    let filter = Filter::default();
    let view = View {
        results: board.entries(&filter).map_err(read)?,
        claims: board.claims(&filter).map_err(read)?,
        modelled: Vec::new(),
    };
    let history = Filter {
        all: true,
        with_sources: true,
        ..Filter::default()
    };
    let history = board.entries(&history).map_err(read)?;
    Ok(render::html(&view, &history))
}

const STYLE: &str = "
body { font: 15px/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 70rem; padding: 0 1rem; color: #1b1f24; background: #fff }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #d8dee4; vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
h2 { font-size: 1.1rem; margin: 1.5rem 0 0 } .wide { overflow-x: auto } .quiet { color: #57606a }
@media (prefers-color-scheme: dark) { body { background: #0d1117; color: #e6edf3 } th, td { border-color: #30363d } a { color: #58a6ff } .quiet { color: #8b949e } }
";

const SCRIPT: &str = "setTimeout(function () { location.reload() }, 5000)";

fn front(found: &Overview, recent: &[assay_fleet::Answer]) -> String {
    let mut body = String::from(
        "<h1>Fleet</h1>\n<p><a href=\"/board\">The board</a> · <a href=\"/overview.json\">as JSON</a></p>\n",
    );
    let mut table = |title: &str, heads: &[&str], rows: Vec<Vec<String>>, none: &str| {
        let _ = writeln!(body, "<h2>{title}</h2>");
        if rows.is_empty() {
            let _ = writeln!(body, "<p class=\"quiet\">{none}</p>");
            return;
        }
        body += "<div class=\"wide\"><table><tr>";
        for head in heads {
            let _ = write!(body, "<th>{head}</th>");
        }
        body += "</tr>\n";
        for row in rows {
            body += "<tr>";
            for cell in row {
                let _ = write!(body, "<td>{}</td>", escape(&cell));
            }
            body += "</tr>\n";
        }
        body += "</table></div>\n";
    };
    let workers = found.workers.iter().map(|worker| {
        let facts = &worker.machine.facts;
        let machine = facts.get("chip").or_else(|| facts.get("processor"));
        let at = worker
            .running
            .as_ref()
            .map_or("idle".to_owned(), |running| {
                format!(
                    "{} for {}, {:.0} s",
                    running.what, running.submitter, running.seconds
                )
            });
        vec![
            worker.machine.worker.clone(),
            worker.pool.clone(),
            machine.cloned().unwrap_or_default(),
            worker.machine.version.clone(),
            worker.answered.to_string(),
            worker.failed.to_string(),
            at,
        ]
    });
    let heads = [
        "worker", "pool", "machine", "assay", "answered", "failed", "at",
    ];
    table("Workers", &heads, workers.collect(), "Nobody works.");
    let lanes = found.lanes.iter().map(|lane| {
        let jobs = lane.jobs.to_string();
        vec![
            lane.pool.clone(),
            lane.priority.name().to_owned(),
            lane.submitter.clone(),
            jobs,
        ]
    });
    table(
        "Queues",
        &["pool", "priority", "submitter", "jobs"],
        lanes.collect(),
        "Nothing waits.",
    );
    let answers = recent.iter().map(|answer| {
        vec![
            answer.job.clone(),
            answer
                .ending
                .trouble()
                .unwrap_or_else(|| answer.ending.name().to_owned()),
            answer.machine.worker.clone(),
            format!("{:.2} s", answer.seconds),
            answer.deliveries.to_string(),
        ]
    });
    let heads = ["job", "ended", "worker", "took (host)", "deliveries"];
    table(
        "Recent answers",
        &heads,
        answers.collect(),
        "None, or the key is not a viewer's.",
    );
    let dead = found
        .dead
        .iter()
        .map(|(pool, submitter, job)| vec![job.clone(), pool.clone(), submitter.clone()]);
    table(
        "Given up",
        &["job", "pool", "submitter"],
        dead.collect(),
        "Nothing.",
    );
    page("Fleet", STYLE, &body, SCRIPT)
}
