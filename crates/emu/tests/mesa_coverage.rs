//! Which of the Mesa-compiled programs are checked, and why the others are not.
#![allow(clippy::needless_range_loop, reason = "threads and lanes are numbers")]

mod common;
use common::fixtures;

/// Programs that are not run against a reference, with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("tex_fetch", "reads a texture; textures are not emulated"),
    ("tex_gather", "samples a texture; textures are not emulated"),
];

/// The test files that open kernels by name.
const TESTS: &[&str] = &[
    include_str!("mesa_control.rs"),
    include_str!("mesa_elementwise.rs"),
    include_str!("mesa_integer.rs"),
    include_str!("mesa_math.rs"),
    include_str!("mesa_memory.rs"),
    include_str!("mesa_registers.rs"),
    include_str!("mesa_subgroup.rs"),
];

#[test]
fn every_program_is_checked_or_explained() {
    let fixtures = fixtures();
    let mut checked = 0;
    for entry in std::fs::read_dir(fixtures.join("mesa")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(kernel) = name.strip_suffix(".cl") else {
            continue;
        };
        let quoted = format!("\"{kernel}\"");
        let listed = format!("{kernel}: 64;");
        let is_checked = TESTS
            .iter()
            .any(|text| text.contains(&quoted) || text.contains(&listed));
        let explained = NOT_RUN.iter().any(|(name, _)| *name == kernel);
        assert!(is_checked != explained, "{kernel}");
        checked += usize::from(is_checked);
    }
    assert!(checked >= 84, "{checked}");
}

#[test]
fn programs_that_are_not_run_say_so_themselves() {
    for (name, reason) in NOT_RUN {
        let mut k = common::Kernel::open(name);
        k.launch.lenient = true;
        if *name == "tex_fetch" {
            // Its constant program reads a descriptor.
            k.bytes("heap", &[0; 4096]);
        }
        let error = k.try_run([8, 8, 1]).unwrap_err().to_string();
        assert!(error.contains("not emulated"), "{name} ({reason}): {error}");
    }
}
