//! Several sources as one library.

mod common;

use assay_msl::{Compiled, Emit, Error, Options, Source, compile};
use common::{compilers, shared_cache};
use std::path::{Path, PathBuf};

const FIRST: &str = "#include <metal_stdlib>\nusing namespace metal;\n\
    float scaled(device const float* x, uint i);\nextern constant float table[3];\n\
    static float own(float x) { return x + 1; }\n\
    kernel void first(device float* o, device const float* x, uint i [[thread_position_in_grid]]) {\n\
    o[i] = own(scaled(x, i)) + table[i % 3]; }\n";

const SECOND: &str = "#include <metal_stdlib>\nusing namespace metal;\n\
    static float own(float x) { return x * 2; }\n\
    extern constant float table[3] = {1, 2, 3};\n\
    float scaled(device const float* x, uint i) { return own(x[i]); }\n\
    kernel void second(device float* o) { o[0] = own(3.0f); }\n";

fn linked(
    text: &str,
    with: PathBuf,
    within: Option<Vec<PathBuf>>,
) -> Option<Result<Compiled, Error>> {
    let compiler = compilers().into_iter().next()?;
    let options = Options {
        link_files: vec![with],
        emit: Emit::Text,
        within,
        ..Options::new(shared_cache())
    };
    let source = Source {
        path: Path::new("first.metal"),
        text: text.as_bytes(),
    };
    Some(compile(source, &compiler, &options))
}

#[test]
fn functions_and_constants_of_another_file_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = folder.path().join("second.metal");
    std::fs::write(&other, SECOND).expect("a file");
    let Some(compiled) = linked(FIRST, other.clone(), None) else {
        return;
    };
    let compiled = compiled.expect("compiles");
    let names: Vec<&str> = compiled.kernels.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
    let text = String::from_utf8(compiled.code).expect("text");
    assert!(!text.contains("declare float @_Z6scaled"), "{text}");
    assert!(!text.contains("@table = external"), "{text}");
    match linked(SECOND, other, None) {
        Some(Err(error)) => assert!(error.to_string().contains("multiply defined"), "{error}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_confined_source_links_files_of_allowed_folders_only() {
    let [inside, outside] = [0; 2].map(|_| tempfile::tempdir().expect("a folder"));
    let other = outside.path().join("second.metal");
    std::fs::write(&other, SECOND).expect("a file");
    let within = vec![inside.path().to_owned()];
    match linked(FIRST, other, Some(within)) {
        Some(Err(error)) => assert!(
            error.to_string().contains("outside the allowed folders"),
            "{error}"
        ),
        Some(Ok(_)) => panic!("read"),
        None => {}
    }
}
