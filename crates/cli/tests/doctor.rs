//! `assay doctor`: what is there, what was refused and why, and the exit code.

use std::path::Path;
use std::process::{Command, Output};

fn doctor(arguments: &[&str], clang: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("doctor")
        .args(arguments)
        .env("ASSAY_CLANG", clang)
        .env(
            "ASSAY_CACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("doctor"),
        )
        .output()
        .expect("assay runs")
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

#[test]
fn a_clang_that_fails_the_probe_is_refused_with_the_reason() {
    let output = doctor(&["--format", "json"], Path::new("/bin/false"));
    assert_eq!(output.status.code(), Some(4));
    let document = json(&output);
    assert_eq!(document["schema"]["name"], "assay.doctor");
    assert_eq!(document["ready"], false);
    assert_eq!(document["candidates"][0]["accepted"], false);
    assert!(document["candidates"][0]["reason"].is_string());
    assert!(document["capabilities"][0]["fix"].is_string());
}

#[test]
fn what_only_a_mac_offers_is_listed_and_not_required() {
    let output = doctor(&["--format", "json"], Path::new("/bin/false"));
    let document = json(&output);
    let names: Vec<_> = document["capabilities"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|capability| capability["name"].as_str().unwrap_or("").to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "clang",
            "sandbox",
            "cache folder",
            "Apple chip",
            "Metal GPU",
            "GPU counters",
            "Metal compiler",
            "metal-tt",
            "xctrace",
            "MLX in Python"
        ]
    );
}

#[cfg(unix)]
#[test]
fn a_program_that_only_claims_to_be_clang_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let fake = folder.path().join("clang-99");
    std::fs::write(&fake, "#!/bin/sh\necho clang version 99.0.0\n").expect("written");
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let output = doctor(&[], &fake);
    assert_eq!(output.status.code(), Some(4));
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        shown.contains("clang-99 fails the probe: it does not compute in bfloat"),
        "{shown}"
    );
}
