//! Any bytes as baselines: read without a panic, written and read back the same, and two of them judged and rendered.

#![no_main]

use assay_gate::render::{Style, github, junit, markdown, sarif, text};
use assay_gate::{Baseline, Config, Judge, judge};
use assay_report::style::Painter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], &[u8], &str)| {
    let (before, after, config) = input;
    let Ok(before) = Baseline::parse(before) else {
        return;
    };
    let again = Baseline::parse(before.to_json().as_bytes()).expect("the writer's own text");
    assert_eq!(again.to_json(), before.to_json());
    let after = Baseline::parse(after).unwrap_or_else(|_| Baseline::new(&before.snapshot()));
    let config = Config::parse(config)
        .or_else(|_| Config::parse("[[kernels]]\nfiles = ['**']\n"))
        .expect("a configuration");
    let report = judge(&Judge::new(&config), Some(&before.snapshot()), &after.snapshot());
    let style = Style {
        width: 40,
        painter: Painter::new(false),
        all: true,
    };
    let _ = (text(&report, &style), markdown(&report, ""), github(&report, "a"));
    let _ = (sarif(&report, ""), junit(&report));
});
