//! The reader against odd, damaged and hostile exports.

#[allow(missing_docs)]
mod support;

use assay_trace::synth::{Scenario, Table, Trace, write_table};
use assay_trace::{Error, LoadOptions, Loader, Options, Recording, analyze};
use std::io::Write;

fn table(trace: &Trace, table: Table) -> String {
    let mut bytes = Vec::new();
    write_table(trace, table, &mut bytes).expect("memory to write to");
    String::from_utf8(bytes).expect("UTF-8")
}

fn small() -> String {
    table(
        &Trace::new(&Scenario::transfer_heavy(4)),
        Table::GpuIntervals,
    )
}

fn load(text: &[u8], two_passes_from: u64) -> Result<Recording, Error> {
    let mut loader = Loader::new(LoadOptions {
        run: None,
        two_passes_from,
    });
    loader.add("input", &text, &mut |_| {})?;
    loader.finish()
}

fn load_text(text: &str) -> Recording {
    load(text.as_bytes(), u64::MAX).unwrap_or_else(|error| panic!("{error}"))
}

/// What an analysis of it says, as JSON, for comparison.
fn fingerprint(recording: &Recording) -> String {
    let analysis = analyze(recording, &Options::default()).expect("an analysis");
    serde_json::to_string(&analysis).expect("JSON")
}

#[test]
fn one_pass_and_two_passes_read_the_same() {
    let text = small();
    let one = load(text.as_bytes(), u64::MAX).expect("one pass");
    let two = load(text.as_bytes(), 0).expect("two passes");
    assert!(!one.events.gpu.is_empty());
    assert_eq!(fingerprint(&one), fingerprint(&two));
}

#[test]
fn unusual_spelling_reads_the_same_as_the_usual_one() {
    let usual = small();
    let expected = fingerprint(&load_text(&usual));
    let spellings: [(&str, String); 6] = [
        (
            "comments",
            usual.replace("<gpu-state", "<!-- a </row> in a comment --><gpu-state"),
        ),
        ("line breaks", usual.replace("><", ">\n  <")),
        ("one line", usual.replace('\n', "")),
        (
            "single quotes",
            usual.replace(" ref=\"", " ref='").replace("\"/>", "'/>"),
        ),
        (
            "blanks in tags",
            usual
                .replace("<row>", "<row >")
                .replace("</row>", "</row>\n"),
        ),
        ("character numbers", usual.replace("Compute", "&#67;ompute")),
    ];
    for (name, text) in spellings {
        assert_eq!(fingerprint(&load_text(&text)), expected, "{name}");
        let two = load(text.as_bytes(), 0).expect("two passes");
        assert_eq!(fingerprint(&two), expected, "{name}, two passes");
    }
}

#[test]
fn a_file_cut_at_any_byte_keeps_its_complete_rows_or_says_why_not() {
    let text = small();
    let whole = load_text(&text).events.gpu.len();
    let mut kept_some = 0;
    for end in 0..text.len() {
        let Some(cut) = text.as_bytes().get(..end) else {
            continue;
        };
        match load(cut, u64::MAX) {
            Ok(recording) => {
                let complete = text.get(..end).unwrap_or("").matches("</row>").count();
                assert_eq!(recording.events.gpu.len(), complete, "cut at {end}");
                if complete < whole {
                    assert!(!recording.warnings.is_empty(), "silent at {end}");
                    kept_some += 1;
                }
            }
            Err(error) => {
                assert!(
                    !text.get(..end).unwrap_or("").contains("</schema>"),
                    "{end}: {error}"
                );
            }
        }
    }
    assert!(kept_some > 1000);
}

#[test]
fn a_row_with_a_missing_cell_is_left_out_and_said() {
    let text = small().replacen("<sentinel/>", "", 1);
    let recording = load_text(&text);
    assert_eq!(recording.tables[0].unusable, 1);
    assert_eq!(
        recording.events.gpu.len() as u64,
        recording.tables[0].rows - 1
    );
    let message = &recording.warnings[0].problem.message;
    assert!(
        message.contains("17 cells") && message.contains("18 columns"),
        "{message}"
    );
}

#[test]
fn sentinels_keep_columns_in_place() {
    let recording = load_text(&small());
    assert!(
        recording
            .events
            .gpu
            .iter()
            .all(|i| i.command_buffer > 0 && i.pid.is_some())
    );
    // A sentinel for latency is unknown, not zero.
    let text = small();
    let start = text.find("<duration id=").expect("a duration");
    let second = start + 1 + text[start + 1..].find("<duration id=").expect("a latency");
    let end = second + text[second..].find("</duration>").expect("its end") + "</duration>".len();
    let text = format!("{}<sentinel/>{}", &text[..second], &text[end..]);
    let recording = load_text(&text);
    assert_eq!(recording.events.gpu[0].latency.get(), None);
    assert!(recording.events.gpu[1].latency.get().is_some());
}

#[test]
fn references_to_nothing_and_numbers_out_of_range_are_said() {
    let text = small();
    let broken = text.replacen("<gpu-state ref=\"", "<gpu-state ref=\"9999", 1);
    for passes in [0, u64::MAX] {
        let recording = load(broken.as_bytes(), passes).expect("the rest");
        assert_eq!(recording.tables[0].unusable, 1);
        let message = &recording.warnings[0].problem.message;
        assert!(message.contains("not defined"), "{message}");
    }
    let start = text.find("<start-time").expect("a start");
    let value = start + text[start..].find('>').expect("its end") + 1;
    let huge = format!(
        "{}99999999999999999999{}",
        &text[..value],
        &text[value + 9..]
    );
    let recording = load_text(&huge);
    assert_eq!(recording.tables[0].unusable, 1);
    assert!(recording.warnings[0].problem.message.contains("start"));
}

#[test]
fn entity_bombs_and_doctypes_are_refused() {
    let bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE lolz [<!ENTITY lol \"lol\"><!ENTITY lol2 \"&lol;&lol;\">]>\n<trace-query-result><node><schema name=\"x\"></schema><row>&lol2;</row></node></trace-query-result>";
    assert!(matches!(
        load(bomb.as_bytes(), u64::MAX),
        Err(Error::Doctype { .. })
    ));
    let toc = bomb.replace("trace-query-result", "trace-toc");
    assert!(load(toc.as_bytes(), u64::MAX).is_err());
}

#[test]
fn other_files_are_recognised_for_what_they_are() {
    let says = |bytes: &[u8], expected: &str| {
        let error = load(bytes, u64::MAX).expect_err("not a trace").to_string();
        assert!(error.contains(expected), "{error}");
    };
    says(b"", "empty");
    says(b"MTSP\0\0\0\0", "bundle's folder");
    says(b"<html><body/></html>", "<html>");
    says(b"\x7fELF", "neither");
    says(
        b"version https://git-lfs.github.com/spec/v1\n",
        "git lfs pull",
    );
    says(b"{\"a\": 1}", "JSON");
    says(&[0x1f, 0x8b, 8, 0, 0, 0], "");
}

#[test]
fn header_only_tables_and_empty_results_are_not_errors() {
    let text = small();
    let header = format!(
        "{}</node></trace-query-result>",
        &text[..text.find("<row>").expect("rows")]
    );
    let recording = load_text(&header);
    assert!(recording.events.gpu.is_empty());
    assert!(recording.has_table("metal-gpu-intervals"));
    assert!(recording.warnings.is_empty());
    let recording = load_text("<?xml version=\"1.0\"?>\n<trace-query-result/>\n");
    assert!(
        recording.warnings[0]
            .problem
            .message
            .contains("empty query result")
    );
}

#[test]
fn several_nodes_share_definitions_and_schema() {
    // The second node has no schema of its own and points back into the first.
    let text = small();
    let first = text.find("</row>\n").expect("a row") + "</row>\n".len();
    let split = format!(
        "{}</node><node xpath='//trace-toc[1]/run[1]/data[1]/table[2]'>{}",
        &text[..first],
        &text[first..]
    );
    let whole = load_text(&text);
    let halves = load_text(&split);
    assert_eq!(halves.tables.len(), 2);
    assert_eq!(halves.events.gpu.len(), whole.events.gpu.len());
    assert!(halves.warnings.is_empty());
}

#[test]
fn runs_are_kept_apart() {
    let text = small();
    let second = text.replace("/run[1]/", "/run[2]/");
    let mut loader = Loader::new(LoadOptions::default());
    loader
        .add("one", &text.as_bytes(), &mut |_| {})
        .expect("run 1");
    loader
        .add("two", &second.as_bytes(), &mut |_| {})
        .expect("run 2");
    let recording = loader.finish().expect("a recording");
    assert_eq!(
        (recording.run, recording.runs.as_slice()),
        (1, [1, 2].as_slice())
    );
    let analysis = analyze(&recording, &Options::default()).expect("an analysis");
    assert!(
        analysis
            .recording
            .warnings
            .iter()
            .any(|w| w.contains("--run"))
    );

    // The same table of the same run twice is two recordings mixed up.
    let mut loader = Loader::new(LoadOptions::default());
    loader
        .add("one", &text.as_bytes(), &mut |_| {})
        .expect("run 1");
    let error = loader
        .add("two", &text.as_bytes(), &mut |_| {})
        .expect_err("a conflict");
    assert!(matches!(error, Error::Inconsistent(_)), "{error}");
}

#[test]
fn gzip_and_zstandard_are_read_and_a_cut_gzip_keeps_its_rows() {
    let text = table(
        &Trace::new(&Scenario::transfer_heavy(400)),
        Table::GpuIntervals,
    );
    let expected = fingerprint(&load_text(&text));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).expect("memory");
    let gz = encoder.finish().expect("memory");
    assert_eq!(fingerprint(&load(&gz, u64::MAX).expect("gzip")), expected);
    assert_eq!(fingerprint(&load(&gz, 0).expect("gzip twice")), expected);
    let zst = ruzstd::encoding::compress_to_vec(
        text.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    assert_eq!(fingerprint(&load(&zst, u64::MAX).expect("zstd")), expected);
    let cut = &gz[..gz.len() / 2];
    let recording = load(cut, u64::MAX).expect("the first half");
    assert!(!recording.events.gpu.is_empty());
    assert!(!recording.warnings.is_empty());
}

#[test]
fn versions_26_and_27_differ_in_details_that_do_not_matter() {
    // 27 adds documentation attributes, wraps backtraces and spells threads otherwise.
    let trace = Trace::new(&Scenario::synchronised(20));
    let old: Vec<String> = [Table::Toc, Table::GpuIntervals, Table::TimeProfile]
        .iter()
        .map(|&t| table(&trace, t))
        .collect();
    let new: Vec<String> = old
        .iter()
        .map(|text| {
            text.replace("<schema name", "<schema documentation=\"A &amp; B\" name")
                .replace("<table schema", "<table documentation=\"…\" schema")
                .replace("Main Thread 0x1f6b2d (", "Main Thread (0x1f6b2d) (")
                .replace("<backtrace id", "<tagged-backtrace><backtrace id")
                .replace("</backtrace>", "</backtrace></tagged-backtrace>")
                .replace(
                    "<engineering-type>backtrace",
                    "<engineering-type>tagged-backtrace",
                )
        })
        .collect();
    let load = |texts: &[String]| {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        fingerprint(&support::load_texts(&texts))
    };
    assert_eq!(load(&old), load(&new));
}

#[test]
fn deep_nesting_and_long_rows_are_limited() {
    let text = small();
    let deep = "<a>".repeat(100_000) + &"</a>".repeat(100_000);
    let text = text.replacen("<sentinel/>", &deep, 1);
    let recording = load_text(&text);
    assert_eq!(recording.tables[0].unusable, 1);
}

#[test]
fn every_column_of_a_table_becomes_csv() {
    let trace = Trace::new(&Scenario::transfer_heavy(2));
    let text = table(&trace, Table::GpuIntervals);
    let mut out = Vec::new();
    let (found, problems) =
        assay_trace::write_raw_csv(&text.as_bytes(), "metal-gpu-intervals", &mut out).expect("CSV");
    assert!(found && problems.is_empty());
    let csv = String::from_utf8(out).expect("UTF-8");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), trace.all().len() + 1);
    assert!(lines[0].starts_with("start,duration,channel-name,frame-number,start-latency"));
    assert_eq!(lines[1].split(',').count(), 18);
}
