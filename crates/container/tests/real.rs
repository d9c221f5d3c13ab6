//! Apple-compiled libraries from public wheels, when they are at hand:
//! `ASSAY_MLX_METALLIB` is the `mlx.metallib` of mlx-metal 0.32.4,
//! `ASSAY_TORCH_DYLIB` the `libtorch_cpu.dylib` of a macOS torch wheel.
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use assay_container::mtlb::FunctionKind;
use assay_container::{Contents, bitcode, open};

fn file(variable: &str) -> Option<Vec<u8>> {
    let path = std::env::var_os(variable);
    if path.is_none() {
        eprintln!("skipped: {variable} is not set");
    }
    path.map(|path| std::fs::read(path).unwrap())
}

#[test]
fn the_library_of_mlx() {
    let Some(bytes) = file("ASSAY_MLX_METALLIB") else {
        return;
    };
    let start = std::time::Instant::now();
    let opened = open(&bytes).unwrap();
    eprintln!("opened in {:?}", start.elapsed());
    let Contents::Metallib(library) = opened else {
        panic!("not a metallib");
    };
    assert_eq!(library.functions().len(), 17_248);
    for function in library.functions() {
        assert_eq!(function.kind, FunctionKind::Kernel);
        let module = bitcode::parse(function.bitcode.unwrap()).unwrap();
        assert!(module.wrapped);
    }
}

#[test]
fn the_libraries_inside_torch() {
    let Some(bytes) = file("ASSAY_TORCH_DYLIB") else {
        return;
    };
    let start = std::time::Instant::now();
    let opened = open(&bytes).unwrap();
    eprintln!("opened in {:?}", start.elapsed());
    let Contents::Embedded(found) = opened else {
        panic!("no libraries found inside");
    };
    assert_eq!(found.len(), 2);
    for embedded in &found {
        eprintln!(
            "{} functions in {:?}",
            embedded.metallib.functions().len(),
            embedded.section
        );
        assert!(embedded.section.is_some());
        for function in embedded.metallib.functions() {
            bitcode::parse(function.bitcode.unwrap()).unwrap();
        }
    }
}
