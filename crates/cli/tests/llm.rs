//! `assay tune --llm` and `assay write` as a user runs them.

#[path = "llm/hostile.rs"]
mod hostile;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

const SECRET: &str = "sk-cli-do-not-show-0815";

fn assay() -> Command {
    Command::new(env!("CARGO_BIN_EXE_assay"))
}

/// The program where `assay` is on the path, as oracles that are references need it.
fn found_by_name() -> Command {
    let own = Path::new(env!("CARGO_BIN_EXE_assay")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = assay();
    command.env("PATH", format!("{}:{path}", own.display()));
    command
}

/// `assay write` of a specification; what is written and tried goes into the folder.
fn written(folder: &Path, spec: &Path) -> Output {
    let mut command = assay();
    command.arg("write").arg(spec);
    command.arg("--into").arg(folder.join("k"));
    command.arg("--attempts").arg(folder.join("a.db"));
    command.output().unwrap()
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Returns true if there is no clang: exit 4.
fn lacks_clang(code: Option<i32>, stderr: &str) -> bool {
    code == Some(4) && stderr.contains("clang")
}

fn cassette(path: &Path, answers: &[String]) {
    let mut text = "{\"cassette\":1,\"kind\":\"scripted\"}\n".to_owned();
    for answer in answers {
        text += &serde_json::json!({"model": "m", "text": answer}).to_string();
        text.push('\n');
    }
    std::fs::write(path, text).unwrap();
}

fn source(body: &str) -> String {
    format!(
        "```toml\ntechnique = \"by hand\"\n[geometry]\ngrid = [\"rows\"]\nthreadgroup = [\"32\"]\n```\n```metal\n\
         #include <metal_stdlib>\nusing namespace metal;\n\
         kernel void row_sum_f32(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\n\
         constant uint &cols [[buffer(2)]], uint r [[thread_position_in_grid]]) {{\n{body}\n}}\n```\n"
    )
}

const RIGHT: &str = "float s = 0; for (uint c = 0; c < cols; c++) s += x[r * cols + c]; y[r] = s;";

#[test]
fn write_keeps_what_passes_both_stages_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let tape = folder.path().join("tape.jsonl");
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/write/row_sum.toml");
    let write = |into: &str, rounds: &str| {
        assay()
            .arg("write")
            .arg(&spec)
            .arg("--into")
            .arg(folder.path().join(into))
            .arg("--llm")
            .arg(format!("replay:{}", tape.display()))
            .args(["--rounds", rounds, "--attempts"])
            .arg(folder.path().join("attempts.db"))
            .output()
            .unwrap()
    };
    // Right at the sizes that are shown, wrong elsewhere; outside; not Metal; then right.
    let answers = [
        source(
            "float s = 0; uint n = cols == 301 || cols == 1037 ? cols : 1; for (uint c = 0; c < n; c++) s += x[r * cols + c]; y[r] = s;",
        ),
        source("y[r] = x[r * cols + 100000000];"),
        source("y[r] = float5(x[r]);"),
        source(RIGHT),
    ];
    cassette(&tape, &answers[..1]);
    let (code, out, err) = said(&write("hidden", "1"));
    if lacks_clang(code, &err) {
        return;
    }
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(
        out.contains("refused (B): wrong at sizes or inputs that are not shown"),
        "{out}"
    );
    assert!(out.contains("nothing was written"), "{out}");
    assert!(!folder.path().join("hidden").join("common/row_sum").exists());
    cassette(&tape, &answers);
    let (code, out, err) = said(&write("kernels", "6"));
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("source 3: refused (compile): "), "{out}");
    let written = folder.path().join("kernels/common/row_sum");
    let mut names: Vec<_> = std::fs::read_dir(&written)
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["kernel.toml", "row_sum.metal"]);
    let (code, _, err) = said(&write("kernels", "6"));
    assert!(code == Some(2) && err.contains("is there already"), "{err}");
}

/// A reference kernel says what is right: taken as it is without a model, and held against what a model writes.
#[test]
fn a_reference_kernel_is_a_specification() {
    let folder = tempfile::tempdir().unwrap();
    let reference =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/naive/row_sum.metal");
    let tape = folder.path().join("tape.jsonl");
    let write = |name: &str, more: &[&str]| {
        let mut command = assay();
        command.arg("write").arg(&reference).args(["--name", name]);
        command.arg("--into").arg(folder.path().join("k"));
        command.arg("--attempts").arg(folder.path().join("a.db"));
        said(&command.args(more).output().unwrap())
    };
    let (code, out, err) = write("plain_sum", &[]);
    if lacks_clang(code, &err) {
        return;
    }
    assert!(
        code == Some(0) && out.contains("the reference as it is by skeleton"),
        "{out}{err}"
    );
    let source = |body: &str| {
        format!(
            "```toml\ntechnique = \"t\"\n[geometry]\ngrid = [\"R\"]\nthreadgroup = [\"32\"]\n```\n```metal\n\
             #include <metal_stdlib>\nusing namespace metal;\n\
             kernel void fast_sum_f32(device float *y [[buffer(0)]], device const float *x [[buffer(1)]],\n\
             constant uint &rows [[buffer(2)]], constant uint &columns [[buffer(3)]], uint r [[thread_position_in_grid]]) {{\n\
             if (r >= rows) return;\n{body}\n}}\n```\n"
        )
    };
    let answers = [
        source("y[r] = x[r * columns] * columns;"),
        source(
            "float a = 0, b = 0; uint c = 0; for (; c + 1 < columns; c += 2) { a += x[r * columns + c]; b += x[r * columns + c + 1]; }\n\
                y[r] = a + b + (c < columns ? x[r * columns + c] : 0.0f);",
        ),
    ];
    cassette(&tape, &answers);
    let model = format!("replay:{}", tape.display());
    let (code, out, err) = write("fast_sum", &["--llm", &model, "--rounds", "3"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("source 1: refused (A): "), "{out}");
    let written = folder.path().join("k/common/fast_sum");
    for file in ["kernel.toml", "fast_sum.metal", "reference.metal"] {
        assert!(written.join(file).is_file(), "{file}");
    }
    // The folder stands on its own: its oracle is this program with the reference beside it.
    let mut bench = found_by_name();
    bench.args(["bench", "fast_sum", "--quick", "--no-save", "--kernels"]);
    bench.arg(folder.path().join("k"));
    let (code, out, err) = said(&bench.output().unwrap());
    assert_eq!(code, Some(0), "{out}{err}");
}

#[test]
fn expressions_of_every_shape_become_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let tail = "[tolerance.f32]\nrelative = 1e-5\nabsolute = 1e-6\nreason = \"sums\"\n[cost]\nflops = \"1\"\n";
    let rows = "[sizes]\nreference = { rows = 64, cols = 64 }\nquick = { rows = 3, cols = 37 }\nodd = { rows = 5, cols = 41 }\nheld_out = { rows = 7, cols = 53 }\n";
    let x = "{ name = \"x\", role = \"input\", shape = [\"rows\", \"cols\"] }";
    let y = "{ name = \"y\", role = \"output\", shape = [\"rows\", \"cols\"] }";
    let cols = "{ name = \"cols\", role = \"scalar\", dtype = \"u32\", value = \"cols\" }";
    let softmax = "m[r < rows] = max(k < cols: x[r, k]); s[r < rows] = sum(k < cols: exp(x[r, k] - m[r])); y[r, c] = exp(x[r, c] - m[r]) / s[r]";
    let cases = [
        ("map", "y[r, c] = max(x[r, c], 0)", "map"),
        (
            "stencil",
            "y[r, c] = (if(c > 0, x[r, c - 1], 0) + x[r, c] + if(c < cols - 1, x[r, c + 1], 0)) / 3",
            "stencil",
        ),
        (
            "scan",
            "y[r, c] = x[r, c] + if(c > 0, y[r, c - 1], 0)",
            "scan",
        ),
        ("softmax", softmax, "row reduction"),
    ];
    for (name, expression, shape) in cases {
        let spec = folder.path().join(format!("{name}.toml"));
        let text = format!(
            "summary = \"a test\"\noracle = {{ expression = \"{expression}\" }}\narguments = [\n  {x},\n  {y},\n  {cols},\n]\n{rows}{tail}"
        );
        std::fs::write(&spec, text).unwrap();
        let (code, out, err) = said(&written(folder.path(), &spec));
        if lacks_clang(code, &err) {
            return;
        }
        assert!(
            code == Some(0) && out.contains(&format!("a plain {shape}")),
            "{name}: {out}{err}"
        );
    }
    let matmul = "summary = \"a product\"\noracle = { expression = \"c[i, j] = sum(k < K: a[i, k] * b[k, j])\" }\narguments = [\n\
        { name = \"a\", role = \"input\", shape = [\"M\", \"K\"] },\n{ name = \"b\", role = \"input\", shape = [\"K\", \"N\"] },\n\
        { name = \"c\", role = \"output\", shape = [\"M\", \"N\"] },\n{ name = \"N\", role = \"scalar\", dtype = \"u32\", value = \"N\" },\n\
        { name = \"K\", role = \"scalar\", dtype = \"u32\", value = \"K\" },\n]\n[sizes]\nreference = { M = 32, N = 32, K = 32 }\n\
        quick = { M = 3, N = 5, K = 37 }\nodd = { M = 9, N = 7, K = 41 }\nheld_out = { M = 11, N = 13, K = 17 }\n";
    let spec = folder.path().join("product.toml");
    std::fs::write(&spec, format!("{matmul}{tail}")).unwrap();
    let (code, out, err) = said(&written(folder.path(), &spec));
    assert!(
        code == Some(0) && out.contains("a plain matmul"),
        "{out}{err}"
    );
}

#[test]
fn what_is_missing_or_wrong_is_said_with_the_right_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let tune = |arguments: &[&str]| {
        let mut command = assay();
        command
            .args(["tune", "softmax_naive", "--size", "R=64", "--size", "C=64"])
            .args(arguments);
        command
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("OPENAI_API_KEY");
        command.env("ASSAY_ATTEMPTS", folder.path().join("a.db"));
        said(&command.output().unwrap())
    };
    let open = folder.path().join("key");
    std::fs::write(&open, SECRET).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let open = open.display().to_string();
    let cases: [(&[&str], i32, &str); 8] = [
        (&["--llm", "oracle-of-delphi:x"], 2, "there is no provider"),
        (&["--llm", "anthropic"], 2, "the model is not named"),
        (&["--llm", "anthropic:m"], 4, "there is no key"),
        (&["--llm", "replay:nowhere.jsonl"], 3, "nowhere.jsonl"),
        (
            &["--llm", "openai:m", "--llm-url", "ftp://x"],
            2,
            "is no address",
        ),
        (
            &["--llm", "openai:m", "--llm-key-file", &open],
            3,
            "others may read this key",
        ),
        (
            &["--llm", "replay:demo", "--max-cost", "1", "--price", "x"],
            2,
            "two numbers are needed",
        ),
        (&["--only", "model"], 2, "--only model needs a model"),
    ];
    for (arguments, expected, words) in cases {
        let (code, out, err) = tune(arguments);
        if lacks_clang(code, &err) {
            return;
        }
        assert!(
            code == Some(expected) && err.contains(words),
            "{arguments:?}: {code:?} {out}{err}"
        );
        assert!(!err.contains(SECRET) && !out.contains(SECRET));
    }
}

const RECIPE: &str = r#"{"proposals":[{"technique":"a simdgroup per row","hypothesis":{"term":"memory latency","falls_by":0.5},"steps":["simdgroup-rows:rows=1"]}]}"#;

/// A server that gives these answers in order, then the last for ever.
fn server(answers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let answer = &answers[number.min(answers.len() - 1)];
            let body = serde_json::json!({"choices": [{"message": {"content": answer}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 900, "completion_tokens": 60}})
            .to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all((head + &body).as_bytes()).unwrap();
        }
    });
    base
}

#[test]
fn a_session_over_http_keeps_its_gain_and_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let base = server(vec![RECIPE.to_owned()]);
    let tune = |more: &[&str]| {
        let mut command = assay();
        command.current_dir(folder.path());
        command.args([
            "tune",
            "softmax_naive",
            "--size",
            "R=256",
            "--size",
            "C=128",
            "--only",
            "model",
        ]);
        command.args([
            "--llm",
            "openai:tiny",
            "--llm-url",
            &base,
            "--rounds",
            "1",
            "--jobs",
            "1",
            "--evaluations",
            "8",
        ]);
        command.args([
            "--attempts",
            "a.db",
            "--llm-record",
            "tape.jsonl",
            "--report",
            "story.md",
            "--source",
            "out.metal",
            "-v",
        ]);
        command.env("OPENAI_API_KEY", SECRET).args(more);
        said(&command.output().unwrap())
    };
    let (code, out, err) = tune(&[]);
    if lacks_clang(code, &err) {
        return;
    }
    assert!(
        code == Some(0) && out.contains("times as fast"),
        "{out}{err}"
    );
    assert!(
        out.contains("simdgroup-rows:rows=1") && out.contains("tiny: "),
        "{out}"
    );
    // Ended: the same is told again, and nobody is asked.
    let (code, again, err) = tune(&["--resume"]);
    assert!(code == Some(0) && again == out, "{again}{err}");
    let story = std::fs::read_to_string(folder.path().join("story.md")).unwrap();
    assert!(
        story.contains("a simdgroup per row") && story.contains("memory latency falls by 50 %"),
        "{story}"
    );
    assert!(!out.contains(SECRET) && !err.contains(SECRET));
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(SECRET));
    }
    let output = assay()
        .args(["attempts", "--by", "model", "--attempts"])
        .arg(folder.path().join("a.db"))
        .output()
        .unwrap();
    let (_, table, _) = said(&output);
    assert!(table.contains("tiny"), "{table}");
}

/// A set of kernels with a model: killed, resumed to its end, and told again without asking anybody.
#[test]
fn a_set_is_tuned_to_its_end_wherever_it_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let reference = |name: &str| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        root.join("../../examples/naive").join(name)
    };
    for (name, source) in [("summed", "row_sum.metal"), ("greatest", "row_max.metal")] {
        let mut command = assay();
        command
            .arg("write")
            .arg(reference(source))
            .args(["--name", name]);
        command.arg("--into").arg(folder.path().join("k"));
        command
            .arg("--attempts")
            .arg(folder.path().join("write.db"));
        let (code, out, err) = said(&command.output().unwrap());
        if lacks_clang(code, &err) {
            return;
        }
        assert_eq!(code, Some(0), "{out}{err}");
    }
    let base = server(vec![RECIPE.to_owned()]);
    let tune = |database: &str| {
        let mut command = found_by_name();
        command
            .args(["tune", "--all", "--kernels"])
            .arg(folder.path().join("k"));
        command.args(["--llm", "openai:tiny", "--llm-url", &base, "--rounds", "1"]);
        command.args(["--jobs", "1", "--evaluations", "6", "--only", "model"]);
        command
            .args(["--format", "json", "--attempts"])
            .arg(folder.path().join(database));
        command
    };
    let (code, whole, err) = said(&tune("whole.db").output().unwrap());
    assert_eq!(code, Some(0), "{whole}{err}");
    let document: serde_json::Value = serde_json::from_str(&whole).unwrap();
    let kernels = document["kernels"].as_array().unwrap();
    assert!(
        kernels.len() == 2 && kernels.iter().all(|it| it["improved"] == true),
        "{whole}"
    );
    for pause in [300, 900, 1500] {
        let mut child = tune("killed.db")
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    for _ in 0..2 {
        let (code, again, err) = said(&tune("killed.db").output().unwrap());
        assert!(code == Some(0) && again == whole, "{again}{err}");
    }
}
