//! How fast bitcode is read and lowered: one module of Apple's dialect, one of clang's.

use assay_air::{Options, llvm, lower};
use divan::counter::BytesCount;
use divan::{Bencher, black_box};

const MODULES: [(&str, &[u8]); 2] = [
    ("apple", include_bytes!("../tests/fixtures/apple.bc")),
    ("clang-22", include_bytes!("../tests/fixtures/clang-22.bc")),
];

fn main() {
    divan::main();
}

fn module(name: &str) -> &'static [u8] {
    let found = MODULES.iter().find(|(known, _)| *known == name);
    found.map_or(&[], |(_, bytes)| bytes)
}

#[divan::bench(args = ["apple", "clang-22"])]
fn read(bencher: Bencher<'_, '_>, name: &str) {
    let bytes = module(name);
    bencher
        .counter(BytesCount::of_slice(bytes))
        .bench(|| llvm::read(black_box(bytes)).map(|modules| modules.len()));
}

#[divan::bench(args = ["apple", "clang-22"])]
fn read_and_lower(bencher: Bencher<'_, '_>, name: &str) {
    let bytes = module(name);
    bencher.counter(BytesCount::of_slice(bytes)).bench(|| {
        let modules = llvm::read(black_box(bytes)).unwrap_or_default();
        let programs = modules
            .iter()
            .map(|module| lower(module, &Options::default()));
        programs.filter(Result::is_ok).count()
    });
}
