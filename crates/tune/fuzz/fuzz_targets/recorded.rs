//! Any bytes as a recorded tuning space: read without a panic, and what was read is searched.

#![no_main]

use assay_tune::replay::Recorded;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(recorded) = Recorded::read(bytes) else {
        return;
    };
    let _ = recorded.optimum();
    for evaluations in [0, 1, usize::MAX] {
        let _ = recorded.random_fraction(evaluations);
    }
});
