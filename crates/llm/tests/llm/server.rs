//! A server on loopback that plays a model: well, badly, or not at all.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Play {
    /// Streams an answer.
    Answer(String),
    /// Streams it slowly.
    Slow(String),
    /// Answers without a stream.
    Whole(String),
    /// Stops at the limit of tokens.
    Cut,
    /// Streams events that are no JSON.
    Malformed,
    /// Answers with a page.
    Page,
    /// A status with a body.
    Status(u16, &'static str),
    /// Says nothing.
    Hang,
    /// Ends the connection in the middle of the answer.
    Reset,
    /// Never stops talking.
    Gigantic,
    /// Answers, and reports more tokens than there can be.
    Greedy(String),
    /// Refuses, with the key in its words.
    EchoKey,
}

pub(crate) struct Server {
    pub(crate) base: String,
    /// Requests so far: headers and body.
    pub(crate) heard: Arc<Mutex<Vec<(String, String)>>>,
}

impl Server {
    /// A server that plays these in order, then the last for ever.
    pub(crate) fn start(plays: Vec<Play>) -> Server {
        Server::playing(move |number, _| plays[number.min(plays.len() - 1)].clone())
    }

    /// A server whose answer follows from the request alone.
    pub(crate) fn answering(answer: fn(&str) -> String) -> Server {
        Server::playing(move |_, request| Play::Answer(answer(request)))
    }

    fn playing(play: impl Fn(usize, &str) -> Play + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&heard);
        let play = Arc::new(play);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let noted = Arc::clone(&noted);
                let play = Arc::clone(&play);
                // A client that went away is its own affair.
                std::thread::spawn(move || {
                    stream.and_then(|it| serve(it, &|request| play(number, request), &noted))
                });
            }
        });
        Server { base, heard }
    }

    pub(crate) fn requests(&self) -> usize {
        self.heard.lock().unwrap().len()
    }
}

fn serve(
    stream: TcpStream,
    play: &dyn Fn(&str) -> Play,
    noted: &Mutex<Vec<(String, String)>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut headers, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
        headers += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let play = play(&body);
    noted.lock().unwrap().push((headers.clone(), body));
    answer(stream, &play, &headers)
}

fn event(text: &str) -> String {
    let content =
        serde_json::json!({"choices": [{"delta": {"content": text}, "finish_reason": null}]});
    format!("data: {content}\n\n")
}

fn end(reason: &str, tokens: u64) -> String {
    let last = serde_json::json!({"choices": [{"delta": {}, "finish_reason": reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": tokens}});
    format!("data: {last}\n\ndata: [DONE]\n\n")
}

fn answer(mut stream: TcpStream, play: &Play, headers: &str) -> std::io::Result<()> {
    let stream_head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let whole = |status: u16, kind: &str, body: &str| {
        format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    match play {
        Play::Answer(text) => {
            let (a, b) = text.split_at(text.len() / 2);
            stream.write_all(
                format!("{stream_head}{}{}{}", event(a), event(b), end("stop", 20)).as_bytes(),
            )
        }
        Play::Slow(text) => {
            stream.write_all(stream_head.as_bytes())?;
            for c in text.chars().collect::<Vec<_>>().chunks(text.len() / 5 + 1) {
                std::thread::sleep(Duration::from_millis(60));
                stream.write_all(event(&c.iter().collect::<String>()).as_bytes())?;
            }
            stream.write_all(end("stop", 20).as_bytes())
        }
        Play::Whole(text) => {
            let body = serde_json::json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]});
            stream.write_all(whole(200, "application/json", &body.to_string()).as_bytes())
        }
        Play::Cut => stream.write_all(
            format!("{stream_head}{}{}", event("{\"prop"), end("length", 64)).as_bytes(),
        ),
        Play::Malformed => {
            stream.write_all(format!("{stream_head}data: {{nonsense\n\n").as_bytes())
        }
        Play::Page => stream.write_all(whole(200, "text/html", "<h1>Welcome</h1>").as_bytes()),
        Play::Status(status, body) => {
            stream.write_all(whole(*status, "application/json", body).as_bytes())
        }
        Play::Hang => {
            std::thread::sleep(Duration::from_secs(30));
            Ok(())
        }
        Play::Reset => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 100000\r\n\r\n";
            stream.write_all(format!("{head}{}", event("half of")).as_bytes())
        }
        Play::Gigantic => {
            stream.write_all(stream_head.as_bytes())?;
            let much = event(&"x".repeat(1 << 16));
            for _ in 0..400 {
                stream.write_all(much.as_bytes())?;
            }
            Ok(())
        }
        Play::Greedy(text) => stream
            .write_all(format!("{stream_head}{}{}", event(text), end("stop", 1 << 40)).as_bytes()),
        Play::EchoKey => {
            let body = serde_json::json!({"error": {"message": format!("bad request: {}", headers.replace("\r\n", " "))}});
            stream.write_all(whole(401, "application/json", &body.to_string()).as_bytes())
        }
    }
}
