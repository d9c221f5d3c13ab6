//! Host time of kernels that calculate, interpreted and as machine code, on one core:
//! `cargo bench -p assay-exec --features native --bench native`.
//!
//! `ASSAY_CLANG` names the clang. A line is a kernel, the least microseconds of many runs interpreted and as machine code, the work of a
//! run in GFLOP (0 where rates say nothing), the milliseconds of making the code, and `ok` if both left the same bytes.

#![allow(clippy::print_stdout, reason = "a program")]

use assay_exec::{Bindings, Buffer, Grid, Limits, Options, Program};
use assay_front::{Clang, Library, Source, SourceOptions};
use std::path::Path;
use std::time::Instant;

const RUNS: usize = 20;

type Failure = Box<dyn std::error::Error>;

struct Case {
    name: &'static str,
    file: &'static str,
    kernel: &'static str,
    grid: Grid,
    buffers: Vec<Buffer>,
    gigaflops: f64,
}

fn clang() -> String {
    std::env::var("ASSAY_CLANG").unwrap_or_else(|_| "clang-19".to_owned())
}

fn program(case: &Case, native: bool) -> Result<Program, Failure> {
    let mut compiler = assay_msl::Compiler::new(clang());
    compiler.identity = compiler.version().unwrap_or_default();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kernels");
    let path = path.join(format!("{}.metal", case.file));
    let text = std::fs::read(&path)?;
    let source = Source {
        path: &path,
        text: &text,
    };
    let clang = Clang::new(compiler, std::env::temp_dir().join("assay-bench-headers"));
    let library = Library::compile(source, &clang, &SourceOptions::default())?;
    let module = library.kernel(case.kernel)?.program(&[])?;
    let options = Options {
        native,
        ..Options::default()
    };
    Ok(Program::compile(&module, case.kernel, &options)?)
}

fn floats(len: usize) -> Buffer {
    let number = |i: usize| (i * 7919 % 1000) as f32 / 500.0 - 1.0;
    Buffer::from_slice(&(0..len).map(number).collect::<Vec<_>>())
}

fn words(len: usize) -> Buffer {
    let word = |i: usize| (i as u32).wrapping_mul(2_654_435_761);
    Buffer::from_slice(&(0..len).map(word).collect::<Vec<_>>())
}

fn halves(len: usize) -> Buffer {
    let half = |value: f32| assay_num::f32_to_f16(value);
    let values: Vec<u16> = floats(len).to_vec().into_iter().map(half).collect();
    Buffer::from_slice(&values)
}

fn word(value: u32) -> Buffer {
    Buffer::from_slice(&[value])
}

fn cases() -> Vec<Case> {
    let n = 512u32;
    let square = || floats((n * n) as usize);
    let product = 2.0 * f64::from(n).powi(3) / 1e9;
    let case = |name, file, kernel, grid, buffers, gigaflops| Case {
        name,
        file,
        kernel,
        grid,
        buffers,
        gigaflops,
    };
    vec![
        case(
            "matmul_tiled",
            "matmul_tiled",
            "matmul_tiled",
            Grid::threads([n, n, 1], [16, 16, 1]),
            vec![square(), square(), square(), word(n), word(n), word(n)],
            product,
        ),
        case(
            "matmul_simdgroup",
            "matmul_simdgroup",
            "matmul_simdgroup_f32",
            Grid::threads([n / 16 * 32, n / 16, 1], [32, 1, 1]),
            vec![square(), square(), square(), word(n), word(n)],
            product,
        ),
        case(
            "softmax",
            "softmax",
            "softmax",
            Grid::line(1024 * 256, 256),
            vec![floats(1 << 20), floats(1 << 20), word(1024)],
            0.0,
        ),
        case(
            "layernorm",
            "layernorm",
            "layernorm",
            Grid::line(1024 * 256, 256),
            vec![
                floats(1 << 20),
                floats(1 << 20),
                floats(1024),
                floats(1024),
                word(1024),
                floats(1),
            ],
            0.0,
        ),
        case(
            "reduce_sum",
            "reduce_sum",
            "reduce_sum",
            Grid::line(256 * 128, 128),
            vec![Buffer::zeroed(256 * 4), floats(1 << 20), word(1 << 20)],
            0.0,
        ),
        case(
            "conv2d_3x3",
            "conv2d_3x3",
            "conv2d_3x3",
            Grid::threads([1024, 1024, 1], [8, 8, 1]),
            vec![
                floats(1 << 20),
                floats(1 << 20),
                floats(9),
                word(1024),
                word(1024),
            ],
            0.0,
        ),
        case(
            "gemv_q4",
            "gemv_q4",
            "gemv_q4",
            Grid::line(1024 * 32, 32),
            vec![
                floats(1024),
                words(1024 * 32 * 4),
                halves(1024 * 32),
                floats(1024),
                word(32),
            ],
            0.0,
        ),
        case(
            "attention_row",
            "attention_row",
            "attention_row",
            Grid::line(256 * 32, 32),
            vec![
                floats(256 * 32),
                floats(256 * 32),
                floats(256 * 32),
                floats(256 * 32),
                word(256),
                floats(1),
            ],
            0.0,
        ),
        case(
            "saxpy",
            "saxpy",
            "saxpy",
            Grid::line(1 << 20, 64),
            vec![floats(1 << 20), floats(1 << 20), floats(1), word(1 << 20)],
            0.0,
        ),
        case(
            "relu",
            "relu",
            "relu",
            Grid::line(1 << 20, 256),
            vec![floats(1 << 20), Buffer::zeroed(4 << 20)],
            0.0,
        ),
    ]
}

impl Case {
    /// Least microseconds of some runs, and what the last left.
    fn measure(
        &self,
        program: &Program,
        pool: &rayon::ThreadPool,
    ) -> Result<(f64, Vec<Vec<u8>>), Failure> {
        let (mut least, mut left) = (f64::INFINITY, Vec::new());
        for _ in 0..RUNS {
            let mut bindings = Bindings::new();
            for (index, buffer) in (0..).zip(&self.buffers) {
                bindings.set(index, buffer.clone());
            }
            let start = Instant::now();
            pool.install(|| program.run(&self.grid, &mut bindings, &Limits::default()))?;
            least = least.min(start.elapsed().as_secs_f64() * 1e6);
            let buffers = (0..self.buffers.len() as u32).filter_map(|index| bindings.get(index));
            left = buffers.map(Buffer::to_vec::<u8>).collect();
        }
        Ok((least, left))
    }
}

fn main() -> Result<(), Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let wanted = std::env::args().nth(1).filter(|arg| !arg.starts_with('-'));
    let compiler = assay_native::Compiler::new(clang(), Vec::new());
    for case in cases() {
        if wanted
            .as_ref()
            .is_some_and(|wanted| !case.name.contains(wanted.as_str()))
        {
            continue;
        }
        let (interpreted, expected) = case.measure(&program(&case, false)?, &pool)?;
        let program = program(&case, true)?;
        let facts = program.make_native(&compiler, case.grid.threadgroup)?;
        let (native, left) = case.measure(&program, &pool)?;
        let verdict = if left == expected { "ok" } else { "wrong" };
        let making = (facts.emitted + facts.compiled + facts.loaded).as_secs_f64() * 1e3;
        println!(
            "{}\t{interpreted:.0}\t{native:.0}\t{:.3}\t{making:.0}\t{verdict}",
            case.name, case.gigaflops
        );
    }
    Ok(())
}
