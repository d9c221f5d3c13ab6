//! Any text as a file of `assay calibrate`: read without a panic, and applied to a chip that can still predict.

#![no_main]

use assay_predict::Target;
use assay_predict::calibrate::ChipFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(file) = ChipFile::parse(text) else {
        return;
    };
    for chip in assay_chip::chips() {
        let mut target = Target::of(chip.clone());
        file.apply(&mut target.chip, &mut target.constants);
    }
    let again = ChipFile::parse(&file.to_text("fuzz"));
    again.expect("the writer's own text");
});
