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
