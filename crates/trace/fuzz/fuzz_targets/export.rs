//! Exported tables: any bytes give a recording or an error, the same in one pass and in
//! two, and whatever was read can be analysed and shown.
#![no_main]

use assay_trace::{LoadOptions, Loader, Options, Recording, analyze, report_html, report_markdown};
use libfuzzer_sys::fuzz_target;

fn load(data: &[u8], two_passes_from: u64) -> Option<Recording> {
    let mut loader = Loader::new(LoadOptions {
        run: None,
        two_passes_from,
    });
    loader.add("input", &data, &mut |_| {}).ok()?;
    loader.finish().ok()
}

fuzz_target!(|data: &[u8]| {
    let one = load(data, u64::MAX);
    let two = load(data, 0);
    assert_eq!(one.is_some(), two.is_some());
    let (Some(one), Some(two)) = (one, two) else {
        return;
    };
    assert_eq!(one.events.gpu.len(), two.events.gpu.len());
    if let Ok(analysis) = analyze(&one, &Options::default()) {
        let _ = report_markdown(&analysis);
        let _ = report_html(&one, &Options::default());
        let _ = assay_trace::write_chrome(&one, &Options::default(), &mut std::io::sink());
    }
});
