//! The precompiled header: shared, replaced when damaged, safe to race for.

mod common;

use assay_msl::{Compiler, Options, Source, compile};
use common::{Cache, compilers};
use std::path::{Path, PathBuf};

const TEXT: &[u8] = b"using namespace metal;\n\
    kernel void k(device float4* a, uint i [[thread_position_in_grid]]) { a[i] = exp(a[i]); }";

fn compiles(compiler: &Compiler, options: &Options) -> Vec<u8> {
    let source = Source {
        path: Path::new("k.metal"),
        text: TEXT,
    };
    match compile(source, compiler, options) {
        Ok(compiled) => compiled.code,
        Err(error) => panic!("{error}"),
    }
}

/// The files of the cache with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    std::fs::read_dir(folder)
        .expect("the cache")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect()
}

fn headers(folder: &Path) -> Vec<PathBuf> {
    files(&folder.join("headers"), "pch")
}

#[test]
fn several_at_once_share_one_header_and_agree() {
    for compiler in compilers() {
        let cache = Cache::new();
        let options = Options::new(cache.path());
        let codes: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| compiles(&compiler, &options)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .collect()
        });
        assert!(codes[0].starts_with(b"BC\xc0\xde"));
        assert!(codes.iter().all(|code| *code == codes[0]));
        assert_eq!(headers(cache.path()).len(), 1);
    }
}

#[test]
fn a_damaged_header_is_made_again() {
    let Some(compiler) = compilers().into_iter().next() else {
        return;
    };
    let cache = Cache::new();
    let options = Options::new(cache.path());
    let code = compiles(&compiler, &options);
    let header = headers(cache.path()).remove(0);
    let bitcode = files(cache.path(), "bc").remove(0);
    let whole = std::fs::read(&header).expect("a header");
    for damaged in [&b""[..], &whole[..whole.len() / 2], b"not a header at all"] {
        std::fs::write(&header, damaged).expect("written");
        std::fs::remove_file(&bitcode).expect("kept again each time");
        assert!(compiles(&compiler, &options) == code);
    }
}

#[test]
fn damaged_bitcode_is_made_again() {
    let Some(compiler) = compilers().into_iter().next() else {
        return;
    };
    let cache = Cache::new();
    let options = Options::new(cache.path());
    let code = compiles(&compiler, &options);
    let kept = files(cache.path(), "bc").remove(0);
    let whole = std::fs::read(&kept).expect("bitcode");
    let mut flipped = whole.clone();
    flipped[100] ^= 1;
    for damaged in [&b""[..], &whole[..whole.len() / 2], &flipped] {
        std::fs::write(&kept, damaged).expect("written");
        assert!(compiles(&compiler, &options) == code);
    }
}

#[test]
fn options_that_change_the_library_have_their_own_header() {
    let Some(compiler) = compilers().into_iter().next() else {
        return;
    };
    let cache = Cache::new();
    let mut options = Options::new(cache.path());
    compiles(&compiler, &options);
    options.defines.push("UNUSED=1".to_owned());
    compiles(&compiler, &options);
    assert_eq!(headers(cache.path()).len(), 1);
    options.fast_math = false;
    compiles(&compiler, &options);
    assert_eq!(headers(cache.path()).len(), 2);
}

#[test]
fn the_result_does_not_depend_on_the_folder_of_the_cache() {
    for compiler in compilers() {
        let (here, there) = (Cache::new(), Cache::new());
        let source = Source {
            path: Path::new("k.metal"),
            text: b"#include <metal_stdlib>\nkernel void k(device float* a) { a[0] = metal::exp(a[1]); }",
        };
        let [one, other] = [here.path(), there.path()].map(|cache| {
            let compiled = compile(source, &compiler, &Options::new(cache));
            compiled.unwrap_or_else(|error| panic!("{error}")).code
        });
        assert!(one == other, "{}", compiler.command_line());
    }
}
