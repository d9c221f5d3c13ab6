//! What removing a term is said to bring, beside removals made by hand: one of each term; `scripts/removals.py` goes over all. Needs
//! a clang; without one the test says so and passes.

use std::path::Path;
use std::process::Command;

/// Kernels whose removals are tried, of each term one or two.
const SAMPLE: [&str; 6] = [
    "tanh_f32",
    "matvec_f32",
    "cosine_similarity_f32",
    "depthwise_conv2d_f32",
    "batch_norm_f32",
    "embedding_f32",
];

#[test]
fn terms_bring_what_is_said_when_they_are_removed_by_hand() {
    let doctor = Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("doctor")
        .output();
    if !doctor.is_ok_and(|output| output.status.code() == Some(0)) {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new("python3")
        .arg(root.join("scripts/removals.py"))
        .arg(env!("CARGO_BIN_EXE_assay"))
        .args(SAMPLE)
        .output()
        .expect("python3 runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
