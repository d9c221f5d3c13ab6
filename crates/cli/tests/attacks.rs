//! The page of attacks (`crates/msl/tests/attacks`) through the doors that strangers use: agents' tools over both transports,
//! the process that runs a fleet's jobs, the gate of a repository, and `assay run`. Every attack is refused, and what must stay
//! unknown is never shown.
//!
//! A door is tried with the sandbox of the system or by the rules for text alone: a clang behind a script that starts it is
//! not confined. Doors share what starts slowly; `ASSAY_ALL_ATTACKS=1` tries every attack at every door, both ways.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const ATTACKS: &str = include_str!("../../msl/tests/attacks/attacks.txt");

/// What must stay unknown.
const CANARY: &str = "kfinwpqzrtvbxmdhgcsjly";

struct World {
    folder: tempfile::TempDir,
    /// What runs clang: itself, or a script around it.
    clang: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Machine {
    Sandbox,
    TextRules,
}

fn assay() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    command.env("ASSAY_CACHE", cache).env("NO_COLOR", "1");
    command
}

/// The clang that is found here.
fn clang() -> Option<String> {
    let output = assay().args(["doctor", "--format", "json"]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = [
        "clang-22", "clang-21", "clang-20", "clang-19", "clang-18", "clang",
    ];
    let found = names.iter().find(|name| {
        let ran = Command::new(name).arg("--version").output();
        ran.is_ok_and(|ran| ran.status.success())
    });
    found
        .filter(|_| !text.is_empty())
        .map(|name| (*name).to_owned())
}

impl World {
    /// Folders `in` and `out`, of which the second has what must stay unknown; nothing where there is no clang.
    fn new(machine: Machine) -> Option<World> {
        let Some(clang) = clang() else {
            assay_fixtures::skip(assay_fixtures::Tool::Clang);
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("a folder");
        for name in ["in", "out"] {
            std::fs::create_dir(base.join(name)).expect("a folder");
        }
        let secret = base.join("out/canary.h");
        std::fs::write(
            &secret,
            format!("#error {CANARY}\nint {CANARY} = {CANARY};\n\"{CANARY}\"\n"),
        )
        .expect("a file");
        std::fs::write(base.join("in/x.h"), "constant int allowed = 1;\n").expect("a file");
        for (to, name) in [
            (secret.clone(), "link.h"),
            (secret.clone(), "\u{e9}.h"),
            (secret.clone(), "<x>"),
            (secret.clone(), "x\\y.h"),
            (secret, "x\"y.h"),
            (base.join("out"), "away"),
        ] {
            symlink(to, base.join("in").join(name)).expect("a link");
        }
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::ffi::OsStrExt;
            let name = std::ffi::OsStr::from_bytes(b"\xff.h");
            symlink(base.join("out/canary.h"), base.join("in").join(name)).expect("a link");
        }
        let script = base.join("clang");
        let text = format!("#!/bin/sh\n{clang} \"$@\"\nexit $?\n");
        std::fs::write(&script, text).expect("a script");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        Some(World {
            folder,
            clang: (machine == Machine::TextRules).then_some(script),
        })
    }

    fn base(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("a folder")
    }

    fn assay(&self) -> Command {
        let mut command = assay();
        if let Some(clang) = &self.clang {
            command.env("ASSAY_CLANG", clang);
        }
        command
    }

    /// Attacks whose titles begin with one of these words, one of so many, as sources.
    fn attacks(&self, words: &[&str], one_of: usize) -> Vec<(&'static str, String)> {
        let one_of = if std::env::var_os("ASSAY_ALL_ATTACKS").is_some() {
            1
        } else {
            one_of
        };
        let shown = |path: &str| self.base().join(path).display().to_string();
        let cases = ATTACKS.split("\n=== ").skip(1).filter_map(|case| {
            let (title, source) = case.split_once('\n')?;
            words
                .iter()
                .any(|word| title.starts_with(word))
                .then_some((title, source))
        });
        cases
            .step_by(one_of)
            .map(|(title, source)| {
                let mut source = source
                    .replace("{file}", &shown("out/canary.h"))
                    .replace("{folder}", &shown("out"))
                    .replace("{inside}", &shown("in"))
                    .replace("{name}", "out/canary.h")
                    .replace("{base}", "canary.h")
                    .replace("{own}", "/<metal>");
                source.push('\n');
                if !source.contains("kernel void") {
                    source.push_str("kernel void k(device float* o) { o[0] = 1; }\n");
                }
                (title, source)
            })
            .collect()
    }
}

/// Ends a process that the test has started.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn call(id: usize, source: &str) -> String {
    call_with(id, serde_json::json!({ "text": source }))
}

fn call_with(id: usize, arguments: serde_json::Value) -> String {
    let params = serde_json::json!({ "name": "profile", "arguments": arguments });
    serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        .to_string()
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// An answer of a tool refuses a source and tells nothing.
fn refused(title: &str, answer: &str) {
    assert!(!answer.contains(CANARY), "{title}: {answer}");
    assert!(answer.contains("\"isError\":true"), "{title}: {answer}");
}

const ALL: [&str; 3] = ["always: ", "refused: ", "linked: "];

fn by_standard_input(machine: Machine, one_of: usize) {
    let Some(world) = World::new(machine) else {
        return;
    };
    let (_server, mut input, mut output) = world.agents();
    let attacks = world.attacks(&ALL, one_of);
    let mut messages = vec![INITIALIZE.to_owned(), INITIALIZED.to_owned()];
    messages.extend(
        attacks
            .iter()
            .enumerate()
            .map(|(index, (_, source))| call(index + 1, source)),
    );
    let writer = std::thread::spawn(move || {
        for message in messages {
            writeln!(input, "{message}").expect("written");
        }
        input
    });
    let mut left = attacks.len() + 1;
    while left > 0 {
        let line = output.next().expect("an answer").expect("a line");
        let answer: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let Some(id) = answer["id"].as_u64() else {
            assert!(!line.contains(CANARY), "{line}");
            continue;
        };
        left -= 1;
        if id > 0 {
            refused(attacks[id as usize - 1].0, &line);
        }
    }
    drop(writer.join());
}

#[test]
fn agents_on_standard_input_in_the_sandbox() {
    by_standard_input(Machine::Sandbox, 1);
}

#[test]
fn agents_on_standard_input_by_the_rules_for_text() {
    by_standard_input(Machine::TextRules, 3);
}

/// One request, and everything that comes back.
fn ask(address: &str, session: Option<&str>, body: &str) -> String {
    let mut stream = std::net::TcpStream::connect(address).expect("a connection");
    let session = session.map_or(String::new(), |id| format!("Mcp-Session-Id: {id}\r\n"));
    let length = body.len();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{session}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("sent");
    stream.write_all(body.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    String::from_utf8_lossy(&answer).into_owned()
}

fn by_http(machine: Machine, one_of: usize) {
    let Some(world) = World::new(machine) else {
        return;
    };
    let mut server = world.assay();
    server.args(["mcp", "--http", "127.0.0.1:0", "--no-token", "--root"]);
    server.arg(world.base().join("in"));
    let server = server
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut server = Running(server.expect("a server"));
    let mut said = BufReader::new(server.0.stderr.take().expect("its messages"));
    let mut line = String::new();
    said.read_line(&mut line).expect("an address");
    let address = line
        .split("http://")
        .nth(1)
        .and_then(|rest| rest.split('/').next());
    let address = address.expect("an address").to_owned();
    let begun = ask(&address, None, INITIALIZE);
    let session = begun.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("mcp-session-id")
            .then(|| value.trim().to_owned())
    });
    ask(&address, session.as_deref(), INITIALIZED);
    for (index, (title, source)) in world.attacks(&ALL, one_of).into_iter().enumerate() {
        refused(
            title,
            &ask(&address, session.as_deref(), &call(index + 1, &source)),
        );
    }
}

#[test]
fn agents_over_http_in_the_sandbox() {
    by_http(Machine::Sandbox, 9);
}

#[test]
fn agents_over_http_by_the_rules_for_text() {
    by_http(Machine::TextRules, 9);
}

/// What clang would take for more than a macro: a file of further arguments, or lines of the source behind the macro's.
const DEFINES: [&str; 5] = [
    "@{inside}/more",
    "@{file}",
    "X=1\n#include \"{inside}/link.h\"",
    "X\n#embed \"{inside}/link.h\"\n",
    "X\\",
];

impl World {
    /// A server of agents over standard input, with both its ends.
    fn agents(&self) -> (Running, ChildStdin, Lines<BufReader<ChildStdout>>) {
        let mut server = self.assay();
        server.args(["mcp", "--root"]).arg(self.base().join("in"));
        let server = server
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut server = Running(server.expect("a server"));
        let input = server.0.stdin.take().expect("its input");
        let output = BufReader::new(server.0.stdout.take().expect("its output")).lines();
        (server, input, output)
    }

    /// [`DEFINES`], with a file of arguments that make a kernel compile which does not alone.
    fn defines(&self) -> Vec<String> {
        let inside = self.base().join("in").display().to_string();
        let file = self.base().join("out/canary.h").display().to_string();
        std::fs::write(self.base().join("in/more"), "X -DWANTED=1\n").expect("a file");
        let fill = |text: &&str| text.replace("{inside}", &inside).replace("{file}", &file);
        DEFINES.iter().map(fill).collect()
    }
}

const WANTS: &str = "kernel void k(device float* o) { o[0] = WANTED; }\n";

#[test]
fn macros_of_agents_are_nothing_else() {
    for machine in [Machine::Sandbox, Machine::TextRules] {
        let Some(world) = World::new(machine) else {
            return;
        };
        let (_server, mut input, mut output) = world.agents();
        let mut answer = |message: &str, id: u64| {
            writeln!(input, "{message}").expect("written");
            loop {
                let line = output.next().expect("an answer").expect("a line");
                let read: serde_json::Value = serde_json::from_str(&line).expect("JSON");
                if read["id"].as_u64() == Some(id) {
                    return line;
                }
            }
        };
        answer(INITIALIZE, 0);
        let list = r#"{"jsonrpc":"2.0","id":99,"method":"tools/list"}"#;
        answer(&format!("{INITIALIZED}\n{list}"), 99);
        for (id, define) in (1..).zip(world.defines()) {
            let arguments = serde_json::json!({ "text": WANTS, "defines": [define, "WANTED=2"] });
            let said = answer(&call_with(id, arguments), id as u64);
            refused(&define, &said);
            assert!(said.contains("not a macro"), "{define:?}: {said}");
        }
    }
}

/// The same in a repository's configuration, which a pull request brings.
#[test]
fn macros_of_a_repository_are_nothing_else() {
    for machine in [Machine::Sandbox, Machine::TextRules] {
        let Some(world) = World::new(machine) else {
            return;
        };
        let root = world.base().join("in");
        std::fs::write(root.join("k.metal"), WANTS).expect("a file");
        let mut git = Command::new("git");
        let git = git.arg("-C").arg(&root).args(["init", "-q"]).status();
        assert!(git.expect("git").success());
        for define in world.defines() {
            let define = serde_json::Value::from(define).to_string();
            let config = format!("[[kernels]]\nfiles = ['k.metal']\ndefines = [{define}]\n");
            std::fs::write(root.join("assay.toml"), config).expect("a file");
            let mut gate = world.assay();
            gate.current_dir(&root).args(["gate", "--format", "json"]);
            let output = gate.output().expect("it runs");
            let said = [&output.stdout, &output.stderr].map(|part| String::from_utf8_lossy(part));
            let said = said.concat();
            assert_eq!(output.status.code(), Some(1), "{define}: {said}");
            assert!(!said.contains(CANARY), "{define}: {said}");
            assert!(said.contains("not a macro"), "{define}: {said}");
        }
    }
}

/// A repository whose kernels are the attacks: each file fails, and the report tells nothing.
fn by_gate(machine: Machine, one_of: usize) {
    let Some(world) = World::new(machine) else {
        return;
    };
    let root = world.base().join("in");
    let attacks = world.attacks(&ALL, one_of);
    std::fs::create_dir(root.join("kernels")).expect("a folder");
    for (index, (_, source)) in attacks.iter().enumerate() {
        let file = root.join(format!("kernels/k{index:03}.metal"));
        std::fs::write(file, source).expect("a file");
    }
    let config = "[[kernels]]\nfiles = ['kernels/*.metal']\n";
    std::fs::write(root.join("assay.toml"), config).expect("a file");
    let git = Command::new("git")
        .arg("-C")
        .arg(&root)
        .args(["init", "-q"])
        .status();
    assert!(git.expect("git").success());
    for format in ["json", "github"] {
        let mut gate = world.assay();
        gate.current_dir(&root).args(["gate", "--format", format]);
        let output = gate.output().expect("it runs");
        let said = [&output.stdout, &output.stderr].map(|part| String::from_utf8_lossy(part));
        let canary = said.iter().flat_map(|text| text.lines());
        let canary: Vec<&str> = canary.filter(|line| line.contains(CANARY)).collect();
        assert!(canary.is_empty(), "{canary:#?}");
        assert_eq!(output.status.code(), Some(1), "{}", said[1]);
        if format != "json" {
            continue;
        }
        let report: serde_json::Value = serde_json::from_str(&said[0]).expect("JSON");
        let broken = report["summary"]["broken_files"].as_u64();
        assert_eq!(broken, Some(attacks.len() as u64), "{}", said[0]);
    }
}

#[test]
fn a_repository_in_the_sandbox() {
    by_gate(Machine::Sandbox, 1);
}

#[test]
fn a_repository_by_the_rules_for_text() {
    by_gate(Machine::TextRules, 1);
}

/// What is refused to everybody is refused to those who compile their own files.
#[test]
fn owners_of_files() {
    for (machine, one_of) in [(Machine::Sandbox, 4), (Machine::TextRules, 8)] {
        let Some(world) = World::new(machine) else {
            return;
        };
        let file = world.base().join("in/k.metal");
        for (title, source) in world.attacks(&["always: "], one_of) {
            std::fs::write(&file, source).expect("a file");
            let launch = [
                "--grid",
                "1",
                "--threadgroup",
                "1",
                "--buffer",
                "0=zeros:f32:1",
            ];
            let output = world
                .assay()
                .arg("run")
                .arg(&file)
                .args(launch)
                .output()
                .expect("it runs");
            let said = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(!said.contains(CANARY), "{title}: {said}");
            assert_eq!(output.status.code(), Some(3), "{title}: {said}");
        }
    }
}

/// The process that runs a worker's jobs, spoken to as its worker does.
#[cfg(feature = "fleet")]
fn by_jobs(machine: Machine, one_of: usize) {
    let Some(world) = World::new(machine) else {
        return;
    };
    let folder = world.base().join("in");
    let mut child = world.assay();
    child
        .args(["fleet", "child", "--memory", "8", "--folder"])
        .arg(&folder);
    let child = child
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    // It ends its whole group with its input.
    std::os::unix::process::CommandExt::process_group(child, 0);
    let mut child = Running(child.spawn().expect("a process"));
    let mut input = child.0.stdin.take().expect("its input");
    let mut output = BufReader::new(child.0.stdout.take().expect("its output")).lines();
    let mut job = |source: &str, buffer: &str| {
        std::fs::write(folder.join("k.metal"), source).expect("a file");
        let line = [
            "run",
            "k.metal",
            "--grid=1",
            "--threadgroup=1",
            buffer,
            "--format=json",
        ];
        writeln!(input, "{}", serde_json::json!({ "line": line })).expect("written");
        output.next().expect("an answer").expect("a line")
    };
    for (title, source) in world.attacks(&ALL, one_of) {
        let said = job(&source, "--buffer=0=zeros:f32:1");
        let done: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        assert!(!said.contains(CANARY), "{title}: {said}");
        assert_eq!(done["code"], 3, "{title}: {said}");
    }
    // Arrays outside have one answer, there or not, and no device is read.
    let kernel = "kernel void k(device float* o) { o[0] = 1; }\n";
    let outside = world.base().join("out");
    let answers = ["canary.h", "missing.h", "missing/x.npy"].map(|name| {
        let path = outside.join(name).display().to_string();
        job(kernel, &format!("--buffer=0={path}")).replace(&path, "it")
    });
    assert!(
        answers[0].contains("it is outside the allowed folders"),
        "{}",
        answers[0]
    );
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:#?}"
    );
    for name in ["link.h", "/dev/zero", "/proc/self/environ", "away/canary.h"] {
        let said = job(kernel, &format!("--buffer=0={name}"));
        assert!(
            said.contains("outside the allowed folders") && !said.contains(CANARY),
            "{said}"
        );
    }
    symlink("/dev/zero", folder.join("zero.npy")).expect("a link");
    let made = Command::new("mkfifo").arg(folder.join("fifo.npy")).status();
    assert!(made.expect("mkfifo").success());
    for (name, why) in [("zero.npy", "outside"), ("fifo.npy", "not a plain file")] {
        let said = job(kernel, &format!("--buffer=0={name}"));
        assert!(said.contains(why), "{said}");
    }
}

#[cfg(feature = "fleet")]
#[test]
fn jobs_of_a_fleet_in_the_sandbox() {
    by_jobs(Machine::Sandbox, 1);
}

#[cfg(feature = "fleet")]
#[test]
fn jobs_of_a_fleet_by_the_rules_for_text() {
    by_jobs(Machine::TextRules, 1);
}
