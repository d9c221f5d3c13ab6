//! The example kernels beside MLX on the CPU. Needs `python3` with `mlx[cpu]` and a clang; without them the
//! test says so and passes.

use std::path::Path;
use std::process::Command;

#[test]
fn example_kernels_agree_with_mlx() {
    let python = Command::new("python3")
        .args(["-c", "import mlx.core, numpy"])
        .output();
    if !python.is_ok_and(|output| output.status.success()) {
        assay_fixtures::skip(assay_fixtures::Tool::Mlx);
        return;
    }
    let doctor = Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("doctor")
        .output();
    if !doctor.is_ok_and(|output| output.status.code() == Some(0)) {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new("python3")
        .arg(root.join("scripts/mlx_examples.py"))
        .args(["--assay", env!("CARGO_BIN_EXE_assay")])
        .output()
        .expect("python3 runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
