//! Any text as `assay.toml`: read without a panic, an error has a line of the text, and a configuration that was read answers for
//! any file and kernel.

#![no_main]

use assay_gate::Config;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str, &str)| {
    let (text, file, function) = input;
    match Config::parse(text) {
        Ok(mut config) => {
            let group = config.group(file, function);
            assert!(group.is_none_or(|group| group.has_file(file) && group.has_function(function)));
            let _ = config.groups_of_file(file).count();
            config.only(&[file.to_owned()], &[function.to_owned()]);
            let _ = config.group(file, function);
            for oracle in config.oracle.values() {
                let _ = oracle.parts();
            }
        }
        Err(error) => assert!(error.line.is_none_or(|line| line <= text.matches('\n').count() + 1)),
    }
});
