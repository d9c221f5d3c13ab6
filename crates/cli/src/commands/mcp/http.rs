//! The protocol over HTTP (streamable HTTP), for clients that do not start the server themselves.
//!
//! A server that listens on a port is open to every program and every web page of the machine. A request therefore needs a
//! token (`Authorization: Bearer …`), must name a host that the server is known by, so that no foreign domain can be pointed
//! at it, and must not come from a web page (an `Origin` is refused). Encryption is left to a proxy.

use super::server::Server;
use super::{LARGEST_TEXT, Limits, broken};
use crate::context::{Context, Verbosity};
use crate::failure::Failure;
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Where the server listens when nothing else is said.
pub(super) const DEFAULT_ADDRESS: &str = "127.0.0.1:8765";

/// The only path of the server.
const PATH: &str = "/mcp";

/// Connections that are open at once; others wait.
const MOST_CONNECTIONS: usize = 128;

/// How long a client may take to say what it wants.
const HEADER_TIME: Duration = Duration::from_secs(10);

/// Bytes of a request: a text of the largest size, in which every character is escaped.
const LARGEST_REQUEST: usize = 6 * LARGEST_TEXT + (1 << 20);

/// The environment variable that holds the token.
const TOKEN_VARIABLE: &str = "ASSAY_MCP_TOKEN";

/// Shortest token that is taken.
const SHORTEST_TOKEN: usize = 16;

#[derive(Debug, clap::Args)]
pub(super) struct HttpArgs {
    /// Serve over HTTP, at /mcp of this address, instead of standard input and output
    ///
    /// A port alone means this machine only. Requests need a token: that of the environment variable ASSAY_MCP_TOKEN or of
    /// --token-file, or else one that is made and shown. Requests of web pages (those with an Origin) are refused.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = DEFAULT_ADDRESS, value_parser = address)]
    pub(super) http: Option<SocketAddr>,

    /// With --http: a file that holds the token, 16 characters at least
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,

    /// With --http on this machine only: take requests without a token, of every user and program of the machine
    #[arg(long, requires = "http", conflicts_with = "token_file")]
    no_token: bool,

    /// With --http: a name the server is reached by, beside localhost and the address; may be repeated
    #[arg(long = "host", value_name = "NAME", requires = "http")]
    hosts: Vec<String>,
}

/// An address: `127.0.0.1:8765`, `[::1]:8765`, `localhost:8765`, or a port of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    let local = |port: &str| {
        let port = port.parse().map_err(|_| format!("{port} is no port"))?;
        Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    };
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    match text.strip_prefix("localhost:") {
        Some(port) => local(port),
        None if text.chars().all(|c| c.is_ascii_digit()) => local(text),
        None => Err("an address is IP:PORT, localhost:PORT or PORT".to_owned()),
    }
}

/// Serves until the program is ended.
pub(super) fn serve(
    limits: Limits,
    address: SocketAddr,
    args: &HttpArgs,
    context: &Context,
) -> Result<(), Failure> {
    let token = token(args, address, context)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| broken("cannot start", error))?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await.map_err(|error| {
            Failure::usage(format!("cannot listen on {address}: {error}")).advice(
                "name another address: --http 127.0.0.1:9000, or port 0 for any that is free",
            )
        })?;
        let bound = listener.local_addr()?;
        announce(&limits, bound, &token, context);
        let door = Door {
            service: Arc::new(service(limits, bound, &args.hosts)),
            token: Arc::new(token),
        };
        accept(&listener, &door).await
    })
}

/// What a request must bring.
#[derive(Debug, PartialEq, Eq)]
enum Token {
    /// Nothing.
    None,
    /// What the user has chosen.
    Given(String),
    /// What was made for this run.
    Made(String),
}

fn token(args: &HttpArgs, address: SocketAddr, context: &Context) -> Result<Token, Failure> {
    if args.no_token {
        if !address.ip().is_loopback() {
            return Err(
                Failure::usage(format!("--no-token is not taken for {address}"))
                    .advice("listen on 127.0.0.1, or keep the token"),
            );
        }
        return Ok(Token::None);
    }
    let given = match &args.token_file {
        Some(path) => Some((read_token(path)?, path.display().to_string())),
        None => match std::env::var(TOKEN_VARIABLE) {
            Ok(text) => Some((text, TOKEN_VARIABLE.to_owned())),
            Err(_) => None,
        },
    };
    if let Some((text, place)) = given {
        return checked_token(&text, &place).map(Token::Given);
    }
    if context.verbosity == Verbosity::Quiet {
        return Err(
            Failure::usage("with -q the token that is made would not be shown")
                .advice(format!("set {TOKEN_VARIABLE}, or use --token-file")),
        );
    }
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(|error| broken("no random numbers", error))?;
    let text = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Token::Made(text))
}

/// Bytes of a file with a token.
const LARGEST_TOKEN_FILE: u64 = 4096;

fn read_token(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let refused = |why: String| Failure::input(format!("--token-file {shown}: {why}"));
    let metadata = std::fs::metadata(path).map_err(|error| refused(error.to_string()))?;
    if !metadata.is_file() || metadata.len() > LARGEST_TOKEN_FILE {
        return Err(refused(format!(
            "no file of at most {LARGEST_TOKEN_FILE} bytes"
        )));
    }
    std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))
}

fn checked_token(text: &str, place: &str) -> Result<String, Failure> {
    let text = text.trim();
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    if text.len() < SHORTEST_TOKEN || !plain {
        return Err(Failure::usage(format!(
            "{place}: a token has {SHORTEST_TOKEN} characters at least, letters, digits and signs"
        ))
        .advice("openssl rand -hex 24 makes one"));
    }
    Ok(text.to_owned())
}

fn announce(limits: &Limits, bound: SocketAddr, token: &Token, context: &Context) {
    super::announce(limits, &format!("at http://{bound}{PATH}"), context);
    match token {
        Token::Made(token) => context.note(&format!(
            "requests need the header Authorization: Bearer {token}"
        )),
        Token::Given(_) => {}
        Token::None => {
            context.note("no token is asked for: every program on this machine can use the tools")
        }
    }
    if !bound.ip().is_loopback() {
        context.note("the connection is not encrypted: outside a trusted network, put a proxy with TLS before it");
    }
}

type Service = StreamableHttpService<Server, LocalSessionManager>;

fn service(limits: Limits, bound: SocketAddr, hosts: &[String]) -> Service {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".into(), "::1".into()];
    if !bound.ip().is_unspecified() {
        names.push(bound.ip().to_string());
    }
    names.extend(hosts.iter().cloned());
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(names)
        .enforce_origin_validation()
        .with_max_request_body_bytes(LARGEST_REQUEST);
    let mut sessions = LocalSessionManager::default();
    // A session outlives the longest call that says nothing.
    let kept = sessions.session_config.keep_alive.unwrap_or_default();
    sessions.session_config.keep_alive = Some(kept.max(limits.timeout * 2));
    let server = Server::new(limits);
    StreamableHttpService::new(move || Ok(server.clone()), Arc::new(sessions), config)
}

#[derive(Clone)]
struct Door {
    service: Arc<Service>,
    token: Arc<Token>,
}

async fn accept(listener: &TcpListener, door: &Door) -> Result<(), Failure> {
    let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let permit = Arc::clone(&free).acquire_owned().await;
        let permit = permit.map_err(|error| broken("no connection", error))?;
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, or a client that was gone at once.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let door = door.clone();
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let door = door.clone();
                async move { Ok::<_, Infallible>(door.answer(request).await) }
            });
            let mut connection = http1::Builder::new();
            connection
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIME);
            // A client that breaks off is none of ours.
            let _ = connection
                .serve_connection(TokioIo::new(stream), answer)
                .await;
            drop(permit);
        });
    }
}

impl Door {
    async fn answer(&self, request: Request<Incoming>) -> Response<BoxBody<Bytes, Infallible>> {
        if request.uri().path() != PATH {
            return refused(StatusCode::NOT_FOUND, "the protocol is spoken at /mcp\n");
        }
        if !self.token.admits(request.headers()) {
            let mut response = refused(
                StatusCode::UNAUTHORIZED,
                "the header Authorization: Bearer TOKEN is missing or wrong\n",
            );
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            return response;
        }
        self.service.handle(request).await
    }
}

impl Token {
    /// Returns true if the headers of a request bring the token.
    fn admits(&self, headers: &HeaderMap) -> bool {
        let expected = match self {
            Token::None => return true,
            Token::Given(expected) | Token::Made(expected) => expected.as_bytes(),
        };
        let given = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let Some((scheme, token)) = given.and_then(|given| given.split_at_checked(7)) else {
            return false;
        };
        // Every byte is looked at, so that the time taken says nothing about how many are right.
        let differs = |sum: u8, (a, b): (&u8, &u8)| sum | (a ^ b);
        scheme.eq_ignore_ascii_case(b"Bearer ")
            && token.len() == expected.len()
            && token.iter().zip(expected).fold(0, differs) == 0
    }
}

fn refused(status: StatusCode, why: &'static str) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::new(Bytes::from_static(why.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_this_machine() {
        assert_eq!(address("9000"), Ok(([127, 0, 0, 1], 9000).into()));
        assert_eq!(address("localhost:1"), Ok(([127, 0, 0, 1], 1).into()));
        assert_eq!(address("0.0.0.0:80"), Ok(([0, 0, 0, 0], 80).into()));
        assert!(address("[::1]:80").is_ok());
        for bad in ["", "70000", "example.com:80", "127.0.0.1", "localhost:"] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_whole_token_opens() {
        let token = Token::Given("0123456789abcdef".to_owned());
        let admits = |header: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(AUTHORIZATION, header.parse().unwrap());
            }
            token.admits(&headers)
        };
        assert!(admits(Some("Bearer 0123456789abcdef")));
        assert!(admits(Some("bearer 0123456789abcdef")));
        for wrong in [
            "Bearer 0123456789abcdeF",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdef0",
            "Bearer ",
            "Basic 0123456789abcdef",
            "0123456789abcdef",
            "",
        ] {
            assert!(!admits(Some(wrong)), "{wrong}");
        }
        assert!(!admits(None));
        assert!(Token::None.admits(&HeaderMap::new()));
    }

    #[test]
    fn short_tokens_and_tokens_with_blanks_are_refused() {
        assert_eq!(
            checked_token(" 0123456789abcdef\n", "file").unwrap(),
            "0123456789abcdef"
        );
        assert!(checked_token("short", "file").is_err());
        assert!(checked_token("0123456789 abcdef", "file").is_err());
    }
}
