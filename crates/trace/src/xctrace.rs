//! The command lines of xctrace: what to run on a Mac to record and export.

use crate::tables;
use crate::toc::TocRun;

/// The template recorded with by default.
pub const DEFAULT_TEMPLATE: &str = "Metal System Trace";

/// Tables that are exported only when they can have rows: they are huge otherwise.
const COUNTER_TABLES: [&str; 3] = [
    "metal-gpu-counter-intervals",
    "gpu-counter-value",
    "gpu-counter-info",
];

/// The tables the analysis uses.
pub fn useful_tables() -> Vec<&'static str> {
    tables::specs().map(|spec| spec.schema).collect()
}

/// The tables of a run worth exporting: those the analysis uses, as far as the table of
/// contents lists them.
pub fn tables_to_export(run: &TocRun) -> Vec<&'static str> {
    let counters = run
        .settings
        .get("Counter Set")
        .is_some_and(|set| set != "(null)");
    useful_tables()
        .into_iter()
        .filter(|schema| run.tables.contains_key(*schema))
        .filter(|schema| counters || !COUNTER_TABLES.contains(schema))
        .collect()
}

/// Arguments of `xctrace record`.
pub fn record_arguments(
    template: &str,
    time_limit: Option<&str>,
    output: &str,
    program: &[String],
) -> Vec<String> {
    let mut out = strings(&["record", "--template", template, "--output", output]);
    if let Some(limit) = time_limit {
        out.extend(strings(&["--time-limit", limit]));
    }
    out.extend(strings(&[
        "--no-prompt",
        "--target-stdout",
        "-",
        "--launch",
        "--",
    ]));
    out.extend(program.iter().cloned());
    out
}

/// Arguments that export the table of contents.
pub fn toc_arguments(input: &str, output: &str) -> Vec<String> {
    strings(&["export", "--input", input, "--toc", "--output", output])
}

/// Arguments that export one table.
///
/// ```
/// let arguments = assay_trace::xctrace::table_arguments("run.trace", 1, "time-profile", "t.xml");
/// assert_eq!(arguments[4], "/trace-toc/run[@number=\"1\"]/data/table[@schema=\"time-profile\"]");
/// ```
pub fn table_arguments(input: &str, run: u32, schema: &str, output: &str) -> Vec<String> {
    path_arguments(input, &table_path(run, schema), output)
}

/// Arguments that export several tables of a run into one file. A recording is hundreds of megabytes, which every export
/// opens and reads anew.
///
/// ```
/// let arguments = assay_trace::xctrace::tables_arguments("run.trace", 1, &["a", "b"], "t.xml");
/// assert_eq!(arguments[4], "/trace-toc/run[@number=\"1\"]/data/table[@schema=\"a\" or @schema=\"b\"]");
/// ```
pub fn tables_arguments(input: &str, run: u32, schemas: &[&str], output: &str) -> Vec<String> {
    let choices: Vec<String> = schemas
        .iter()
        .map(|schema| format!("@schema=\"{schema}\""))
        .collect();
    let path = format!(
        "/trace-toc/run[@number=\"{run}\"]/data/table[{}]",
        choices.join(" or ")
    );
    path_arguments(input, &path, output)
}

/// Arguments that export one detail of a track.
pub fn detail_arguments(
    input: &str,
    run: u32,
    track: &str,
    detail: &str,
    output: &str,
) -> Vec<String> {
    path_arguments(input, &detail_path(run, track, detail), output)
}

/// Details the analysis uses, by track.
const DETAILS: [(&str, &str); 3] = [
    ("Allocations", "Statistics"),
    ("Allocations", "Allocations List"),
    ("Leaks", "Leaks"),
];

/// The details of a run worth exporting, as pairs of track and detail.
pub fn details_to_export(run: &TocRun) -> Vec<(&'static str, &'static str)> {
    let mut details = DETAILS.to_vec();
    details.retain(|(track, detail)| run.has_detail(track, detail));
    details
}

/// The path of a table.
pub(crate) fn table_path(run: u32, schema: &str) -> String {
    format!("/trace-toc/run[@number=\"{run}\"]/data/table[@schema=\"{schema}\"]")
}

/// The path of a track's detail.
pub(crate) fn detail_path(run: u32, track: &str, detail: &str) -> String {
    format!(
        "/trace-toc/run[@number=\"{run}\"]/tracks/track[@name=\"{track}\"]/details/detail[@name=\"{detail}\"]"
    )
}

fn path_arguments(input: &str, path: &str, output: &str) -> Vec<String> {
    strings(&[
        "export", "--input", input, "--xpath", path, "--output", output,
    ])
}

/// The shell command that exports what lies at a path.
pub(crate) fn export_one(input: &str, path: &str, output: &str) -> String {
    let words = path_arguments(input, path, output);
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("xctrace {}", words.join(" "))
}

/// The two shell commands that record a program and export the tables that matter most,
/// for people to run on a Mac.
pub fn shell_commands(template: &str, time_limit: Option<&str>, program: &[String]) -> [String; 2] {
    let limit = time_limit.map_or_else(String::new, |limit| {
        format!(" --time-limit {}", quoted(limit))
    });
    let program: Vec<String> = program.iter().map(|word| quoted(word)).collect();
    [
        format!(
            "xctrace record --template {} --output run.trace{limit} --launch -- {}",
            quoted(template),
            program.join(" ")
        ),
        export_command("run.trace"),
    ]
}

/// The shell command that exports the tables that matter most from a recording.
pub fn export_command(input: &str) -> String {
    let input = quoted(input);
    format!(
        "mkdir -p exported && xctrace export --input {input} --toc --output exported/toc.xml && \
         for table in metal-gpu-intervals metal-gpu-state-intervals metal-command-buffer-completed \
         metal-application-encoders-list metal-application-command-buffer-submissions metal-driver-intervals \
         metal-driver-event-intervals metal-resource-allocations metal-current-allocated-size \
         gpu-performance-state-intervals time-profile dyld-library-load; do \
         xctrace export --input {input} --xpath \"/trace-toc/run[@number=\\\"1\\\"]/data/table[@schema=\\\"$table\\\"]\" \
         --output exported/$table.xml; done"
    )
}

/// What a failing xctrace wants, if its words tell: Xcode, a permission.
pub fn advice(message: &str) -> Option<&'static str> {
    let message = message.to_ascii_lowercase();
    let has = |text: &str| message.contains(text);
    let without_xcode = [
        "unable to find utility",
        "requires xcode",
        "invalid active developer path",
        "no developer tools were found",
    ];
    if without_xcode.iter().any(|text| has(text)) {
        return Some(
            "xctrace comes with Xcode, not with the command line tools: install Xcode from the App Store, then run sudo xcode-select -s /Applications/Xcode.app",
        );
    }
    if has("developer mode") || has("devtoolssecurity") {
        return Some("enable developer tools: sudo DevToolsSecurity -enable");
    }
    if has("get-task-allow") || has("task_for_pid") || has("hardened runtime") {
        return Some(
            "the program may not be traced: sign it for debugging with codesign -s - --entitlements (com.apple.security.get-task-allow)",
        );
    }
    let denied = [
        "permission",
        "not permitted",
        "not authorized",
        "requires root",
        "privilege",
    ];
    denied.iter().any(|text| has(text)).then_some(
        "xctrace lacks permission: run sudo DevToolsSecurity -enable, and allow the terminal under Privacy & Security > Developer Tools",
    )
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_survive_a_shell() {
        let program = ["./my prog".to_owned(), "it's".to_owned()];
        let [record, export] = shell_commands(DEFAULT_TEMPLATE, Some("10s"), &program);
        assert_eq!(
            record,
            "xctrace record --template 'Metal System Trace' --output run.trace --time-limit 10s --launch -- './my prog' 'it'\\''s'"
        );
        assert!(export.starts_with("mkdir -p exported && xctrace export --input run.trace --toc"));
    }

    #[test]
    fn refusals_are_recognised() {
        let is = |message, word| advice(message).is_some_and(|text| text.contains(word));
        assert!(is("Operation not permitted", "DevToolsSecurity"));
        assert!(is(
            "xcrun: error: unable to find utility \"xctrace\", not a developer tool or in PATH",
            "xcode-select -s"
        ));
        assert!(is(
            "xcode-select: error: tool 'xctrace' requires Xcode, but active developer directory '/Library/Developer/CommandLineTools' is a command line tools instance",
            "App Store"
        ));
        assert!(advice("Template not found").is_none());
    }
}
