//! Kernels that are right have nothing to report: those of `examples` with a launch in their source, as they are launched there.
//!
//! One in twenty is run, with `ASSAY_ALL_SOUND` in the environment all of them. Those of `examples/sound` are `assay-exec`'s tests'.

use super::{command, stderr, stdout};
use std::path::{Path, PathBuf};

/// Sources of a folder and of those in it; without the ones that are wrong on purpose.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != "faults" && name != "broken" && name != "sound" {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "metal") {
            found.push(path);
        }
    }
}

/// Each source with a kernel that it launches.
fn launched() -> Vec<(PathBuf, Option<String>)> {
    let mut files = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    sources(&folder, &mut files);
    files.sort();
    let mut all = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a text");
        let launches = text.split("// assay: launch ").skip(1);
        let mut names: Vec<Option<String>> = launches
            .filter_map(|launch| launch.split_whitespace().next())
            .map(|word| (!word.starts_with('-')).then(|| word.to_owned()))
            .collect();
        names.dedup();
        all.extend(names.into_iter().map(|name| (path.clone(), name)));
    }
    all
}

#[test]
fn examples_that_are_right_have_nothing_to_report() {
    let all = launched();
    assert!(all.len() >= 210, "{} kernels", all.len());
    let whole = std::env::var_os("ASSAY_ALL_SOUND").is_some();
    for (path, kernel) in all.iter().step_by(if whole { 1 } else { 20 }) {
        let mut command = command();
        command.arg(path).arg("--check");
        if let Some(kernel) = kernel {
            command.args(["-f", kernel]);
        }
        let output = command.output().expect("assay runs");
        if output.status.code() == Some(4) {
            assay_fixtures::skip(assay_fixtures::Tool::Clang);
            return;
        }
        let (said, found) = (stderr(&output), stdout(&output));
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}: {said}{found}",
            path.display()
        );
        assert!(
            found.contains("nothing found"),
            "{}: {said}{found}",
            path.display()
        );
    }
}
