//! Any text as a model's answer: recipes or a source are found in it, or it is refused, without a panic.

#![no_main]

use assay_llm::answer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = answer::recipes(text);
    let _ = answer::source(text, None);
    let _ = answer::source(text, answer::shown(text));
});
