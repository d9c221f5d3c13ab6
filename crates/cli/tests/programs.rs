//! Recordings of programs on the command line: what is modelled says so, damage says where.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/traces")
        .join(name)
}

fn trace(arguments: &[&str], input: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("trace")
        .args(arguments)
        .arg(input)
        .env("COLUMNS", "80")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .expect("assay runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_recording_is_modelled_on_every_chip_that_is_asked_for() {
    let report = || {
        trace(
            &[
                "report",
                "--chip",
                "m1,m4-max",
                "--step",
                "4",
                "--format",
                "json",
            ],
            &example("eager.recording"),
        )
    };
    let output = report();
    if output.status.code() == Some(4) {
        return assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["recording"]["time_source"], "modelled");
    let program = &document["program"];
    assert_eq!(program["basis"], "modelled");
    assert_eq!(
        (&program["dispatches"], &program["launches"]),
        (&160.into(), &5.into())
    );
    assert_eq!(program["unpredicted"], Value::Array(Vec::new()));
    let chips = program["chips"].as_array().expect("chips");
    assert_eq!(
        (&chips[0]["chip"], &chips[1]["chip"]),
        (&"m1".into(), &"m4-max".into())
    );
    assert_eq!(
        (&chips[0]["stand_in"], &chips[1]["stand_in"]),
        (&false.into(), &true.into())
    );
    let times = |name: &str| chips[0][name].as_f64().expect("a time");
    assert!(times("low_ms") < times("gpu_ms") && times("gpu_ms") < times("high_ms"));
    let steps = &program["steps"];
    assert_eq!(
        (&steps["count"], &steps["dispatches"]),
        (&4.into(), &40.0.into())
    );
    assert_eq!(output.stdout, report().stdout, "the same each time");
}

#[test]
fn the_first_screen_fits_a_terminal() {
    let output = trace(
        &["report", "--chip", "m2,m4-max"],
        &example("eager.recording"),
    );
    if output.status.code() == Some(4) {
        return assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    let screen = text(&output.stdout);
    assert!(screen.lines().count() <= 24, "{screen}");
    assert!(
        screen.lines().all(|line| line.chars().count() <= 80),
        "{screen}"
    );
    assert!(screen.contains("modelled"), "{screen}");
}

#[test]
fn a_damaged_recording_is_exit_3_and_says_where() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("damaged.recording");
    let mut bytes = std::fs::read(example("fused.recording")).expect("a recording");
    bytes[40] ^= 1;
    std::fs::write(&place, &bytes).expect("a file");
    let output = trace(&["report"], &place);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(
        said.contains("the recording is damaged at byte 17"),
        "{said}"
    );
    bytes[8] = 200;
    std::fs::write(&place, &bytes).expect("a file");
    let said = text(&trace(&["report"], &place).stderr);
    assert!(said.contains("a recording of version 200"), "{said}");
}

#[test]
fn a_recording_is_not_mixed_with_other_inputs() {
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/xctrace/baseline");
    let tables = tables.display().to_string();
    let output = trace(&["report", &tables], &example("fused.recording"));
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("cannot be mixed"), "{said}");
}

#[test]
fn a_kernel_is_tuned_on_the_launches_of_a_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = example("eager.recording").display().to_string();
    let tune = |kernel: &str| {
        Command::new(env!("CARGO_BIN_EXE_assay"))
            .args(["tune", "--program", &recording, "-f", kernel])
            .args(["--evaluations", "6", "--format", "json", "--attempts"])
            .arg(folder.path().join("attempts.db"))
            .stdin(Stdio::null())
            .output()
            .expect("assay runs")
    };
    let output = tune("product");
    if output.status.code() == Some(4) {
        return assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["kernel"], "product");
    let notes = document["notes"].to_string();
    assert!(notes.contains("32 dispatches by one launch in"), "{notes}");
    if document["improved"] == true {
        assert!(notes.contains("the program would be at least"), "{notes}");
    }
    let unknown = tune("tangent");
    assert_eq!(unknown.status.code(), Some(2));
    // Asked for JSON, the program says so in JSON.
    let said = text(&unknown.stdout) + &text(&unknown.stderr);
    assert!(said.contains("dispatches no kernel tangent"), "{said}");
    assert!(said.contains("cosine, exponential, logarithm"), "{said}");
}

/// The recording of a program that sums rows of two shapes, one of them three times as often.
fn sums_of_rows(source: &str) -> Vec<u8> {
    use assay_recording::{
        Binding, Buffer, Command, CommandBuffer, Contents, Device, Dispatch, Encoder, EncoderKind,
        Event, Extent, Form, Library, Pipeline, Writer, content_hash,
    };
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file).expect("a recording");
    let mut write = |event: Event| writer.write(&event).expect("an event");
    write(Event::Device(Device {
        name: "Apple M2".into(),
        chip: "m2".into(),
    }));
    write(Event::Library(Library {
        id: 0,
        form: Form::Source {
            fast_math: true,
            standard: "metal3.1".into(),
            defines: Vec::new(),
        },
        hash: content_hash(source.as_bytes()),
        contents: Contents::Here(source.as_bytes().into()),
    }));
    write(Event::Pipeline(Pipeline {
        id: 0,
        library: 0,
        function: "row_sum".into(),
        constants: Vec::new(),
        threadgroup_memory: 0,
        made_ns: [0, 0],
    }));
    let shapes: [(u32, u32); 4] = [(512, 256), (512, 256), (64, 1024), (512, 256)];
    for (id, floats) in [(1, 512 * 256), (2, 512), (3, 64 * 1024), (4, 64)] {
        write(Event::Buffer(Buffer {
            id,
            bytes: floats * 4,
            address: id << 32,
            ..Buffer::default()
        }));
    }
    write(Event::CommandBuffer(CommandBuffer {
        id: 1,
        commands: 1 + shapes.len() as u64,
        ..CommandBuffer::default()
    }));
    write(Event::Command(Command::Encoder(Encoder {
        kind: EncoderKind::Serial,
        label: "rows".into(),
        created_ns: 0,
    })));
    for (rows, columns) in shapes {
        let first = if rows == 512 { 1 } else { 3 };
        let buffer = |buffer| Binding::Buffer { buffer, offset: 0 };
        let number = |value: u32| Binding::Bytes(value.to_le_bytes().as_slice().into());
        write(Event::Command(Command::Dispatch(Box::new(Dispatch {
            pipeline: 0,
            extent: Extent::Threads([rows, 1, 1]),
            threadgroup: [64, 1, 1],
            bindings: vec![
                (0, buffer(first)),
                (1, buffer(first + 1)),
                (2, number(rows)),
                (3, number(columns)),
            ],
            memory: Vec::new(),
            label: "rows".into(),
            group: "".into(),
            encoded_ns: 0,
        }))));
    }
    writer.finish().expect("an end");
    file
}

#[test]
fn launches_of_several_sizes_are_tuned_together_and_none_becomes_slower() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        kernel void row_sum(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\n\
                            constant uint &R [[buffer(2)]], constant uint &C [[buffer(3)]],\n\
                            uint r [[thread_position_in_grid]]) {\n\
          if (r >= R) return;\n\
          float sum = 0;\n\
          for (uint c = 0; c < C; c++) sum += x[r * C + c];\n\
          y[r] = sum;\n\
        }\n";
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("rows.recording");
    std::fs::write(&recording, sums_of_rows(source)).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["tune", "-f", "row_sum", "--evaluations", "12"])
        .args(["--format", "json", "--program"])
        .arg(&recording)
        .arg("--attempts")
        .arg(folder.path().join("attempts.db"))
        .stdin(Stdio::null())
        .output()
        .expect("assay runs");
    if output.status.code() == Some(4) {
        return assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let notes = document["notes"].to_string();
    assert!(notes.contains("4 dispatches by 2 launches in"), "{notes}");
    assert_eq!(document["improved"], true, "{document}");
    assert!(notes.contains("the program would be at least"), "{notes}");
    let table = document["table"].as_array().expect("a table");
    assert_eq!(
        table.len(),
        2,
        "the program's sizes and no others: {document}"
    );
    for cell in table {
        let gain = cell["gain"].as_f64().expect("a gain");
        assert!(gain >= 0.98, "{cell}");
    }
}
