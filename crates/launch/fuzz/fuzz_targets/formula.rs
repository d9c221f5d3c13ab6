//! Any text as a formula: read and evaluated without a panic, with sizes that exist and that do not.

#![no_main]

use assay_launch::{Formula, Sizes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, u64, u64)| {
    let (text, n, m) = input;
    let Ok(formula) = Formula::parse(text) else {
        return;
    };
    let sizes = Sizes::from([("N".to_owned(), n), ("M".to_owned(), m)]);
    let _ = formula.integer(&sizes);
    let _ = formula.real(&sizes);
    let _ = formula.names();
});
