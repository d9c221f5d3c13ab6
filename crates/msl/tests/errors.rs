//! Errors appear at the user's own file, line and column, whatever was rewritten.

mod common;

use assay_msl::{Compiled, Compiler, Diagnostic, Error, Options, Source, compile};
use common::{Cache, compilers, shared_cache};
use std::path::Path;
use std::sync::OnceLock;

fn attempt(text: &str) -> Option<Result<Compiled, Error>> {
    static COMPILER: OnceLock<Option<Compiler>> = OnceLock::new();
    let compiler = COMPILER
        .get_or_init(|| compilers().into_iter().next())
        .as_ref()?;
    let source = Source {
        path: Path::new("user.metal"),
        text: text.as_bytes(),
    };
    Some(compile(source, compiler, &Options::new(shared_cache())))
}

fn errors(text: &str) -> Option<Vec<Diagnostic>> {
    match attempt(text)? {
        Err(Error::Source(diagnostics)) => Some(diagnostics),
        other => panic!("{other:?}"),
    }
}

/// The first error is on the line and column of the `^` written below it.
fn check(text: &str, message: &str) {
    let marked: Vec<&str> = text.lines().collect();
    let mark = marked
        .iter()
        .position(|line| line.trim_start() == "^")
        .expect("a mark");
    let column = marked[mark].find('^').expect("a mark") + 1;
    let source: Vec<&str> = marked
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != mark)
        .map(|(_, line)| *line)
        .collect();
    let Some(found) = errors(&source.join("\n")) else {
        return;
    };
    let first = &found[0];
    let place = first.place.as_ref().expect("a place");
    assert!(first.message.contains(message), "{found:#?}");
    assert_eq!(
        (
            place.file.to_str(),
            place.line as usize,
            place.column as usize
        ),
        (Some("user.metal"), mark, column),
        "{found:#?}"
    );
    assert_eq!(first.source_line.as_deref(), Some(source[mark - 1]));
}

#[test]
fn behind_rewritten_parameters_and_collapsed_spaces() {
    check(
        "kernel void k(uint i [[thread_position_in_grid]], device float* a [[buffer(0)]]) { a[i] =     b; }
                                                                                              ^",
        "undeclared identifier 'b'",
    );
}

#[test]
fn at_an_attribute_nobody_knows() {
    check(
        "kernel void k(device float* o [[buffer(0)]], uint i [[thread_position_in_gird]]) { o[i] = 1; }
                                                      ^",
        "kernel arguments have no attribute 'thread_position_in_gird'; the nearest is 'thread_position_in_grid'",
    );
}

#[test]
fn behind_a_macro_and_inside_one() {
    check(
        "#define TWICE(x) ((x) * 2)
void f(float v) { float w = TWICE(v)  +  q; }
                                         ^",
        "undeclared identifier 'q'",
    );
    check(
        "#define BROKEN(x) ((x) * missing)
void f(float v) { float w = v + BROKEN(v); }
                                ^",
        "undeclared identifier 'missing'",
    );
}

#[test]
fn inside_a_template_with_the_place_that_asked_for_it() {
    let text = "using namespace metal;
template <typename T> T first(T v) { return v.none; }
kernel void k(device float4* a) { a[0] = first(a[1]); }";
    let Some(found) = errors(text) else { return };
    let place = found[0].place.as_ref().expect("a place");
    assert_eq!((place.line, place.column), (2, 47));
    assert_eq!(found[0].message, "no member named 'none' in 'float4'");
    let note = found[0].notes[0].place.as_ref().expect("a place");
    assert_eq!((note.line, note.column), (3, 42));
}

#[test]
fn inside_the_library_at_the_call() {
    check(
        "using namespace metal;
kernel void k(device float* a, device uchar* b) { a[0] = as_type<float>(b[0]); }
                                                         ^",
        "same size",
    );
}

#[test]
fn in_the_preprocessor() {
    check(
        "#include <metal_stdlib>\n  #include \"absent.h\"\n           ^",
        "'absent.h' file not found",
    );
    check("#if 1\n#error  told so\n ^\n#endif", "told so");
}

#[test]
fn at_tensor_operations_that_are_not_there() {
    check(
        "#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
kernel void k(device int *x) { uint4b_format small = x[0]; }
                               ^",
        "tensors of four-bit integers: not supported",
    );
}

#[test]
fn constructors_that_only_address_spaces_tell_apart() {
    let text = "struct pair { float x; pair(device float* s) { x = s[0]; }
pair(threadgroup float* s) { x = s[0] + 1; } };";
    let Some(found) = errors(text) else { return };
    assert!(
        found[0].message.contains("differ only in address spaces"),
        "{found:?}"
    );
    assert_eq!(
        found[0].place.as_ref().map(|p| (p.line, p.column)),
        Some((2, 1))
    );
    assert_eq!(
        found[0].notes[0].place.as_ref().map(|p| (p.line, p.column)),
        Some((1, 24))
    );
}

#[test]
fn hostile_text_is_an_error_not_a_panic() {
    let texts = [
        "kernel void k(",
        "kernel void k(device float* a [[buffer(0)]",
        "template [[host_name(",
        "constant int x [[function_constant(y)]];",
        "}}}}",
        "[[[[",
        "kernel kernel kernel",
        "struct { struct { struct {",
        "#define A A A\nA",
        "\"unterminated",
        "kernel void k(device float* a) { a.x += ; }",
        "\u{feff}\u{0}\u{1}é",
    ];
    for text in texts {
        let _ = attempt(text);
    }
    let deep = format!("void f() {}", "{".repeat(3000));
    let _ = attempt(&deep);
}

#[test]
fn a_missing_compiler_and_a_bad_cache_folder_say_so() {
    let source = Source {
        path: Path::new("user.metal"),
        text: b"",
    };
    let cache = Cache::new();
    let result = compile(
        source,
        &Compiler::new("/nonexistent/clang"),
        &Options::new(cache.path()),
    );
    assert!(matches!(result, Err(Error::CannotRun { .. })), "{result:?}");
    let file = cache.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let result = compile(
        source,
        &Compiler::new("true"),
        &Options::new(file.join("folder")),
    );
    assert!(matches!(result, Err(Error::Cache { .. })), "{result:?}");
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_source() {
    let text = "\u{feff}#include <metal_stdlib>\nkernel void k(device float* o [[buffer(0)]]) { o[0] = 1; }";
    if let Some(compiled) = attempt(text) {
        assert_eq!(compiled.expect("it compiles").kernels.len(), 1);
    }
}

#[test]
fn a_compiler_that_fails_in_silence_has_its_end_told() {
    let source = Source {
        path: Path::new("user.metal"),
        text: b"",
    };
    let cache = Cache::new();
    let result = compile(source, &Compiler::new("false"), &Options::new(cache.path()));
    let Err(error) = result else {
        panic!("it fails");
    };
    let words = error.to_string();
    assert!(
        words.contains("said nothing and ended with exit status: 1"),
        "{words}"
    );
}

#[test]
fn a_file_given_with_include_stands_before_the_source_and_moves_no_line() {
    let Some(compiler) = compilers().into_iter().next() else {
        return;
    };
    let cache = Cache::new();
    let before = cache.path().join("before.h");
    std::fs::write(&before, "typedef float real;\n#define SIX 6\n").expect("a file");
    let options = Options {
        include_files: vec![before],
        ..Options::new(shared_cache())
    };
    let compile = |text: &str| {
        let path = Path::new("user.metal");
        let text = text.as_bytes();
        compile(Source { path, text }, &compiler, &options)
    };
    assert!(compile("kernel void k(device real* o) { o[0] = SIX; }").is_ok());
    match compile("\nkernel void k(device real* o) { o[0] = SEVEN; }") {
        Err(Error::Source(errors)) => {
            let place = errors[0].place.as_ref().expect("a place");
            assert_eq!((place.file.to_str(), place.line), (Some("user.metal"), 2));
            assert!(errors[0].notes[0].message.contains("-include FILE"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_confined_source_reads_allowed_folders_only_and_shows_nothing_of_others() {
    let Some(compiler) = compilers().into_iter().next() else {
        return;
    };
    let cache = Cache::new();
    let (inside, outside) = (cache.path().join("in"), cache.path().join("out"));
    for folder in [&inside, &outside] {
        std::fs::create_dir(folder).expect("a folder");
        std::fs::write(folder.join("x.h"), "constant float hidden = 1;\n").expect("a file");
    }
    std::fs::write(outside.join("bad.h"), "#error hidden words\n").expect("a file");
    let options = Options {
        within: Some(vec![inside.clone()]),
        ..Options::new(shared_cache())
    };
    let attempt = |head: String| {
        let text = format!("{head}\nkernel void k(device float* o) {{ o[0] = 1; }}\n");
        let path = Path::new("user.metal");
        let text = text.as_bytes();
        compile(Source { path, text }, &compiler, &options)
    };
    assert!(attempt("#include <metal_stdlib>".to_owned()).is_ok());
    assert!(attempt(format!("#include \"{}/x.h\"", inside.display())).is_ok());
    let shown = outside.display();
    for head in [
        format!("#include \"{shown}/x.h\""),
        format!("#include \"{shown}/bad.h\""),
        format!("#define F \"{shown}/x.h\"\n#include F"),
        format!("# 1 \"{shown}/x.h\"\nint broken broken;"),
        format!("#line 1 \"{shown}/x.h\"\nint broken broken;"),
        format!("constant uchar b[] = {{\n#embed \"{shown}/x.h\"\n}};"),
    ] {
        match attempt(head.clone()) {
            Err(Error::Source(errors)) => {
                let said = format!("{errors:?}");
                assert!(!said.contains("hidden"), "{head}: {said}");
            }
            other => panic!("{head}: {other:?}"),
        }
    }
}
