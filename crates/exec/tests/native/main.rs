//! Programs run as machine code do what the interpreter does, and touch nothing that they must not.
//!
//! A clang is needed: the one of `ASSAY_CLANG`, or the newest of the system's.

// Machine code is made on Linux alone.
#![cfg(target_os = "linux")]

mod hostile;
mod random;
mod stopped;
mod takes_over;

use assay_exec::{Options, Program};
use std::sync::OnceLock;

/// The clang that makes machine code; nothing, and the test counted as skipped, if there is none.
fn compiler() -> Option<&'static assay_native::Compiler> {
    static FOUND: OnceLock<Option<assay_native::Compiler>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
        let clang = assay_msl::find::find(Some(&variable("ASSAY_CLANG")), &variable("PATH"))?;
        let before = clang.arguments.iter().map(Into::into).collect();
        Some(assay_native::Compiler::new(clang.program, before))
    });
    if found.is_none() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    found.as_ref()
}

/// A program for the interpreter alone, and the same with machine code for threadgroups of a size.
fn both(text: &str, threadgroup: [u32; 3]) -> Option<[Program; 2]> {
    let compiler = compiler()?;
    let mut module = assay_ssa::parse(text).expect("a program");
    assay_ssa::verify(&module).expect("a sound program");
    assay_opt::pipeline::optimize(&mut module).expect("optimised");
    let options = Options {
        native: true,
        ..Options::default()
    };
    let plain = Program::compile(&module, "k", &Options::default()).expect("compiled");
    let native = Program::compile(&module, "k", &options).expect("compiled");
    native
        .make_native(compiler, threadgroup)
        .expect("machine code");
    Some([plain, native])
}
