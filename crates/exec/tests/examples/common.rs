//! Compiles the example kernels and runs them.

use assay_exec::{Bindings, Buffer, Grid, Limits, Options, Program};
use assay_front::{Clang, Library, Source, SourceOptions};
use assay_msl::Compiler;
use std::path::Path;
use std::sync::OnceLock;

/// The newest clang that will do; without any, the test says so and does nothing.
pub(crate) fn compiler() -> Option<&'static Compiler> {
    static FOUND: OnceLock<Option<Compiler>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
            let usable = assay_msl::find::find(Some(&variable("ASSAY_CLANG")), &variable("PATH"));
            if usable.is_none() {
                assay_fixtures::skip(assay_fixtures::Tool::Clang);
            }
            usable
        })
        .as_ref()
}

/// Compiles a kernel of a source all the way; nothing without a clang.
pub(crate) fn program_of(text: &str, file: &str, kernel: &str) -> Option<Program> {
    program_with(text, file, kernel, &Options::default())
}

/// The same with values of function constants.
pub(crate) fn program_with(
    text: &str,
    file: &str,
    kernel: &str,
    given: &Options,
) -> Option<Program> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("metal-headers");
    let clang = Clang::new(compiler()?.clone(), cache);
    let source = Source {
        path: Path::new(file),
        text: text.as_bytes(),
    };
    let library = Library::compile(source, &clang, &SourceOptions::default()).expect("compiles");
    let kernel_code = library.kernel(kernel).expect("a kernel");
    let module = kernel_code.program(&[]).expect("a program");
    Some(Program::compile(&module, kernel, given).unwrap_or_else(|error| panic!("{error}")))
}

/// A kernel of the examples.
pub(crate) fn example(file: &str, kernel: &str) -> Option<Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/kernels")
        .join(file);
    let text = std::fs::read_to_string(&path).expect("an example");
    program_of(&text, file, kernel)
}

fn bind(buffers: &[Buffer]) -> Bindings {
    let mut bindings = Bindings::new();
    for (index, buffer) in (0..).zip(buffers) {
        bindings.set(index, buffer.clone());
    }
    bindings
}

/// Runs a program with buffers 0, 1, 2, … and gives them back. Checking must find nothing and compute the same.
pub(crate) fn run(program: &Program, grid: Grid, buffers: Vec<Buffer>) -> Vec<Buffer> {
    let results = run_unchecked(program, grid, &buffers);
    for check in [Program::check, Program::check_plainly] {
        let mut bindings = bind(&buffers);
        let reports = check(program, &grid, &mut bindings, &Limits::default());
        assert_eq!(reports, Ok(vec![]), "{}", program.name());
        for (index, result) in (0..).zip(&results) {
            let checked = bindings.get(index).map(Buffer::bytes);
            assert!(
                checked == Some(result.bytes()),
                "buffer {index} is another when checked"
            );
        }
    }
    results
}

/// The same without checking.
pub(crate) fn run_unchecked(program: &Program, grid: Grid, buffers: &[Buffer]) -> Vec<Buffer> {
    let mut bindings = bind(buffers);
    let count = buffers.len() as u32;
    let limits = Limits {
        max_steps: 100_000_000,
        ..Limits::default()
    };
    program
        .run(&grid, &mut bindings, &limits)
        .unwrap_or_else(|error| panic!("{error}"));
    (0..count)
        .map(|index| bindings.get(index).cloned().unwrap_or_default())
        .collect()
}

/// Numbers between −1 and 1.
pub(crate) fn random(seed: u32, len: usize) -> Vec<f32> {
    let mut state = u64::from(seed) * 2 + 1;
    let next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((state >> 40) as f32 / (1u64 << 23) as f32) - 1.0
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// 32-bit integers of all sizes.
pub(crate) fn random_bits(seed: u32, len: usize) -> Vec<u32> {
    let mut state = u64::from(seed) * 2 + 1;
    let next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as u32 ^ (state >> 13) as u32
    };
    std::iter::repeat_with(next).take(len).collect()
}

pub(crate) fn f32s(values: &[f32]) -> Buffer {
    Buffer::from_slice(values)
}

pub(crate) fn u32s(values: &[u32]) -> Buffer {
    Buffer::from_slice(values)
}

/// Half-precision numbers nearest to these, and what they are exactly.
pub(crate) fn halves(values: &[f32]) -> (Buffer, Vec<f64>) {
    let bits: Vec<u16> = values.iter().map(|&v| assay_num::f32_to_f16(v)).collect();
    let exact = bits
        .iter()
        .map(|&b| f64::from(assay_num::f16_to_f32(b)))
        .collect();
    (Buffer::from_slice(&bits), exact)
}

pub(crate) fn read_halves(buffer: &Buffer) -> Vec<f32> {
    buffer
        .to_vec::<u16>()
        .into_iter()
        .map(assay_num::f16_to_f32)
        .collect()
}

/// Brain floats nearest to these, and what they are exactly.
pub(crate) fn brains(values: &[f32]) -> (Buffer, Vec<f64>) {
    let bits: Vec<u16> = values.iter().map(|&v| assay_num::f32_to_bf16(v)).collect();
    let exact = bits
        .iter()
        .map(|&b| f64::from(assay_num::bf16_to_f32(b)))
        .collect();
    (Buffer::from_slice(&bits), exact)
}

/// Fails at the first number that is further away than `tolerance`, absolutely or relative to what was expected.
pub(crate) fn close(got: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    for (index, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let error = (f64::from(got) - expected).abs();
        assert!(
            error <= tolerance * expected.abs().max(1.0),
            "element {index}: {got}, expected {expected}"
        );
    }
}
