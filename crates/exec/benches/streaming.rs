//! Host time of kernels that wait for memory, on one core: `cargo bench -p assay-exec --bench streaming`.
//!
//! `scripts/peers.sh` runs it beside the same kernels on PoCL. Each line is a kernel and the least microseconds of many runs on the
//! same buffers, then `ok` if what it wrote is right.

#![allow(clippy::print_stdout, reason = "a program")]

use assay_exec::{Bindings, Buffer, Grid, Limits, Options, Program};
use assay_front::{Clang, Library, Source, SourceOptions};
use std::path::Path;
use std::time::Instant;

const RUNS: usize = 60;
/// Numbers of each buffer: more than the caches of a core hold.
const COUNT: usize = 1 << 22;
const SIDE: u32 = 2048;

type Failure = Box<dyn std::error::Error>;

fn compile(path: &str, kernel: &str) -> Result<Program, Failure> {
    let clang = std::env::var("ASSAY_CLANG").unwrap_or_else(|_| "clang-19".to_owned());
    let mut compiler = assay_msl::Compiler::new(clang);
    compiler.identity = compiler.version().unwrap_or_default();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read(&path)?;
    let source = Source {
        path: &path,
        text: &text,
    };
    let clang = Clang::new(compiler, std::env::temp_dir().join("assay-bench-headers"));
    let library = Library::compile(source, &clang, &SourceOptions::default())?;
    let module = library.kernel(kernel)?.program(&[])?;
    Ok(Program::compile(&module, kernel, &Options::default())?)
}

/// A number of each input: sums of these are exact.
fn number(index: usize) -> f32 {
    (index % 17) as f32 - 8.0
}

fn numbers(count: usize) -> Buffer {
    Buffer::from_slice(&(0..count).map(number).collect::<Vec<_>>())
}

fn word(value: u32) -> Buffer {
    Buffer::from_slice(&[value])
}

struct Case {
    name: &'static str,
    program: Program,
    grid: Grid,
    buffers: Vec<Buffer>,
    /// The buffer that is written, and what must be in it after one run.
    result: u32,
    expected: fn(usize) -> f32,
}

fn cases() -> Result<Vec<Case>, Failure> {
    let examples = "../../examples/kernels";
    let groups = 256;
    Ok(vec![
        Case {
            name: "saxpy",
            program: compile(&format!("{examples}/saxpy.metal"), "saxpy")?,
            grid: Grid::line(COUNT as u32, 64),
            buffers: vec![
                numbers(COUNT),
                numbers(COUNT),
                Buffer::from_slice(&[2.0f32]),
                word(COUNT as u32),
            ],
            result: 0,
            expected: |index| 3.0 * number(index),
        },
        Case {
            name: "relu",
            program: compile(&format!("{examples}/relu.metal"), "relu")?,
            grid: Grid::line(COUNT as u32, 256),
            buffers: vec![numbers(COUNT), Buffer::zeroed(COUNT * 4)],
            result: 1,
            expected: |index| number(index).max(0.0),
        },
        Case {
            name: "copy_2d",
            program: compile("benches/copy_2d.metal", "copy_2d")?,
            grid: Grid::threads([SIDE, SIDE, 1], [32, 8, 1]),
            buffers: vec![
                numbers(COUNT),
                Buffer::zeroed(COUNT * 4),
                Buffer::from_slice(&[SIDE, SIDE]),
            ],
            result: 1,
            expected: number,
        },
        Case {
            name: "reduce_sum",
            program: compile(&format!("{examples}/reduce_sum.metal"), "reduce_sum")?,
            grid: Grid::line(groups * 128, 128),
            buffers: vec![
                Buffer::zeroed(groups as usize * 4),
                numbers(COUNT),
                word(COUNT as u32),
            ],
            result: 0,
            expected: |group| {
                let first = group * 128;
                let lanes = (first..first + 128).flat_map(|at| (at..COUNT).step_by(256 * 128));
                lanes.map(number).sum()
            },
        },
    ])
}

impl Case {
    fn is_right(&self, bindings: &Bindings) -> bool {
        let written = bindings.get(self.result).map(Buffer::to_vec::<f32>);
        written.is_some_and(|written| {
            let mut numbers = written.iter().enumerate();
            numbers.all(|(at, number)| *number == (self.expected)(at))
        })
    }
}

fn main() -> Result<(), Failure> {
    // This thread is all there is: none waits for another.
    let one = rayon::ThreadPoolBuilder::new().num_threads(1);
    one.use_current_thread().build_global()?;
    for case in cases()? {
        let mut bindings = Bindings::new();
        for (index, buffer) in (0..).zip(&case.buffers) {
            bindings.set(index, buffer.clone());
        }
        let mut least = f64::INFINITY;
        let mut right = false;
        for run in 0..RUNS {
            let start = Instant::now();
            let done = case
                .program
                .run(&case.grid, &mut bindings, &Limits::default());
            least = least.min(start.elapsed().as_secs_f64());
            done?;
            if run == 0 {
                right = case.is_right(&bindings);
            }
        }
        let verdict = if right { "ok" } else { "WRONG" };
        println!("{}\t{:.0}\t{verdict}", case.name, least * 1e6);
    }
    Ok(())
}
