//! `assay fleet serve`: a page for the team.
//!
//! It only reads, answers only GET, and knows three addresses. Every request is answered from the server and the board as they
//! are at that moment; the page asks again by itself.

use super::access::AccessArgs;
use super::look::Document;
use super::{failure, page, runtime};
use crate::commands::board::location;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use crate::interrupt;
use assay_board::render::{self, View};
use assay_board::{Board, Filter};
use assay_fleet::Fleet;
use assay_report::envelope::Envelope;
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

    /// A name under which browsers know this machine, beside its addresses and localhost; may be repeated
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
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
                    let hosts = args.hosts.clone();
                    tokio::spawn(async move {
                        let own = |host: &str| is_own(host, place.port(), &hosts);
                        let answer = tokio::time::timeout(Duration::from_secs(30), serve(stream, &fleet, board, own));
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
    own: impl Fn(&str) -> bool,
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
        _ if !host(&request).is_some_and(own) => (
            "421 Misdirected Request",
            "text/plain; charset=utf-8",
            "this page is another host's; --host NAME of assay fleet serve adds a name\n"
                .to_owned(),
        ),
        (Some("GET"), Some("/")) => match fleet.overview().await {
            Ok(found) => {
                let recent = fleet.recent(20).await.unwrap_or_default();
                (
                    "200 OK",
                    "text/html; charset=utf-8",
                    page::front(&found, &recent),
                )
            }
            Err(error) => (
                "503 Service Unavailable",
                "text/plain; charset=utf-8",
                error.to_string(),
            ),
        },
        (Some("GET"), Some("/overview.json")) => match fleet.overview().await {
            Ok(found) => {
                let text = Envelope::new("assay.fleet", 1, Document::from(found)).to_json();
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

/// What a request says that it is for.
fn host(request: &str) -> Option<&str> {
    let head = request.split("\r\n\r\n").next()?;
    let mut found = head.lines().skip(1).filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    let host = found.next()?;
    found.next().is_none().then_some(host)
}

/// Returns true if a host is this server: an address, `localhost`, or a name that was given. A page of another name whose address
/// has become this one's must not read what is here.
fn is_own(host: &str, port: u16, names: &[String]) -> bool {
    use std::net::{IpAddr, SocketAddr};
    if let Ok(address) = host.parse::<SocketAddr>() {
        return address.port() == port;
    }
    let (name, said) = match host.rsplit_once(':') {
        Some((name, said)) if !host.ends_with(']') => (name, said.parse().ok()),
        _ => (host, Some(80)),
    };
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let known = address
        || name.eq_ignore_ascii_case("localhost")
        || names.iter().any(|own| own.eq_ignore_ascii_case(name));
    // A name that was given may be that of a proxy in front, with a port of its own.
    let given = names.iter().any(|own| own.eq_ignore_ascii_case(name));
    known && (given || said == Some(port))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_for_this_host_are_answered() {
        let names = ["screen.example".to_owned()];
        for own in [
            "127.0.0.1:8722",
            "[::1]:8722",
            "10.0.0.7:8722",
            "localhost:8722",
            "screen.example",
            "Screen.Example:443",
        ] {
            assert!(is_own(own, 8722, &names), "{own}");
        }
        for other in [
            "evil.example:8722",
            "evil.example",
            "localhost",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost.evil.example:8722",
            "127.0.0.1.evil.example:8722",
            "",
        ] {
            assert!(!is_own(other, 8722, &names), "{other}");
        }
        assert_eq!(host("GET / HTTP/1.1\r\nhOst: a:1\r\n\r\n"), Some("a:1"));
        for none in [
            "GET / HTTP/1.1\r\n\r\nHost: a:1\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        ] {
            assert_eq!(host(none), None);
        }
    }
}
