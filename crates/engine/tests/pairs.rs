//! Findings judged by pairs of faulty and cured kernels, one of each fault; `scripts/pairs.py` judges all of them, and the cures.

#[allow(dead_code, unreachable_pub, reason = "the example is a program, too")]
#[path = "../examples/pairs.rs"]
mod judge;

use std::path::Path;

#[test]
fn the_first_finding_is_the_planted_fault_with_its_weight_and_the_cure_ends_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pairs");
    let Some(pairs) = judge::pairs(&folder, 1) else {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    };
    assert_eq!(pairs.len(), 10);
    let wrong = pairs
        .iter()
        .filter(|pair| !(pair.is_named() && pair.is_weighed() && pair.is_gone()));
    assert_eq!(wrong.count(), 0, "{}", judge::table(&pairs));
}

#[test]
fn the_size_of_a_guessed_launch_is_no_fault_of_the_kernel() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pairs");
    let Some(workspace) = judge::workspace() else {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    };
    let file = folder.join("too-few-threadgroups/column_sums.faulty.metal");
    let names = |guessed: bool| -> Vec<&str> {
        let (_, found) = judge::findings(&workspace, &file, guessed);
        found.iter().map(|finding| finding.rule).collect()
    };
    assert!(names(false).contains(&"too-few-threadgroups"));
    assert!(!names(true).contains(&"too-few-threadgroups"));
}

#[test]
fn lines_that_several_loads_share_are_saved_once() {
    const LAUNCH: &str = "// assay: launch gemv_q4 --size R=256 --size nblk=256 --groups R --threadgroup 32 \
        --arg y=zeros:f32:R --arg q=random:u32:R*nblk*4 --arg sc=random:f16:R*nblk --arg x=random:f32:nblk*32 \
        --arg nblk=u32:nblk\n";
    let Some(workspace) = judge::workspace() else {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    };
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kernels/gemv_q4.metal");
    let text = std::fs::read_to_string(example).expect("the example is there");
    let judged = |name: &str, text: &str| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&file, format!("{LAUNCH}{text}")).expect("the file is written");
        judge::findings(&workspace, &file, false)
    };
    // A lane takes eight vectors that lie side by side; by hand, lanes take neighbouring ones.
    let (before, found) = judged("gemv_q4.metal", &text);
    let by_lane = "x[(w * 2 + e / 4) * nblk * 4 + b * 4 + e % 4]";
    let (after, _) = judged(
        "gemv_q4_by_lane.metal",
        &text.replace("x[b * 32 + w * 8 + e]", by_lane),
    );
    let scattered = found.iter().find(|one| one.rule == "scattered-access");
    let weight = scattered
        .and_then(|one| one.weight)
        .map_or(0.0, |weight| weight.us);
    let ratio = weight / (before - after);
    assert!(
        (1.0 / 1.5..=1.5).contains(&ratio),
        "{weight} of {before} to {after} us"
    );
}
